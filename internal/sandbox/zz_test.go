//go:build linux

package sandbox

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestZZ(t *testing.T) {
	dir := t.TempDir()
	out, p := run(t, Command{Path: "/bin/sh", Args: []string{"sh", "-c", os.Getenv("ZZ")}, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "TMPDIR=" + dir, "HOME="+dir, "LD_LIBRARY_PATH=/tmp/zz"}, Policy: Policy{Read: append(System(), "/tmp/zz"), Write: []string{dir}, Processes: strings.Contains(os.Getenv("ZZ"), "PROC")}, Mode: Require})
	_ = dir
	fmt.Printf("%s\n", out)
	for _, a := range p.Attempts() { fmt.Println("ATTEMPT", a) }
}

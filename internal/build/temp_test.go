package build

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is wrong with TMPDIR is said, with the remedy.
func TestNoTemporaryFolder(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	b := newBuilder(t)
	for dir, words := range map[string]string{
		filepath.Join(p.dir, "nowhere"): "TMPDIR names " + p.dir + "/nowhere, which does not exist",
		filepath.Join(p.dir, "k.c"):     "which is not a folder",
		"/proc":                         "cannot make a folder to compile in below /proc: ",
	} {
		t.Setenv("TMPDIR", dir)
		if o := p.one(b); o.Fault == nil || !strings.Contains(o.Fault.Message, words) || !strings.Contains(o.Fault.Hint, "set TMPDIR") {
			t.Errorf("%s: %+v", dir, o.Fault)
		}
	}
}

// A build removes what killed ones left, and nothing that may be in use.
func TestSweepTemp(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const dead = 1 << 30 // beyond all process numbers
	old := time.Now().Add(-2 * time.Hour)
	for name, gone := range map[string]bool{
		fmt.Sprintf("pawl-build-%d-1", dead): true, "pawl-build-123456789": true, fmt.Sprintf("pawl-build-%d-1", os.Getpid()): false, "other": false,
		fmt.Sprintf("pawl-build-%d-2", dead): false,
	} {
		path := filepath.Join(dir, name)
		writeFile(t, filepath.Join(path, "x"), "")
		if !strings.HasSuffix(name, "-2") { // which is young
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			if exists(path) == gone {
				t.Errorf("%s: gone should be %v", name, gone)
			}
		}()
	}
	newProject(t, map[string]string{"k.c": plainSource}).artifact(newBuilder(t))
}

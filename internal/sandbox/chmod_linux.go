//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// chmod changes a mode below a scratch folder on the program's behalf: linkers do it to their
// output. Landlock does not guard modes, so the call itself can never be allowed; the path may have
// changed by the time the kernel reads it. It returns false when the file is elsewhere.
func (r *reach) chmod(t thread, nr uint32, args [6]uint64) (done bool, result error) {
	c := findRefused(nr)
	if c == nil || c.mode == 0 {
		return false, nil
	}
	at := t.locateAt(*c.on, args)
	root := ""
	for _, dir := range r.scratch {
		// The outermost one is the one the program cannot replace.
		if below(at.real, []string{dir}) && (root == "" || len(dir) < len(root)) {
			root = dir
		}
	}
	if root == "" || at.real == root {
		return false, nil
	}
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, strings.TrimPrefix(at.real, root+"/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOSYS) {
		return false, nil // before Linux 5.6
	}
	if err != nil {
		return true, err
	}
	defer unix.Close(fd)
	return true, unix.Chmod(filepath.Join("/proc/self/fd", strconv.Itoa(fd)), uint32(args[c.mode])&0o777)
}

package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl/internal/result"
)

// tempName begins the name of every folder to compile in; the number of the process
// follows.
const tempName = "pawl-build-"

// sweepTemp removes the folders of killed processes. A folder that was used recently may still be
// in use by a process that is not visible from this container.
func sweepTemp(dir string, now time.Time) {
	left, _ := filepath.Glob(filepath.Join(dir, tempName+"*"))
	for _, path := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), tempName), "-")
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || now.Sub(info.ModTime()) < abandoned {
			continue
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(owner.Uid) != os.Geteuid() {
			continue
		}
		if pid, err := strconv.Atoi(number); err == nil && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			continue
		}
		_ = os.RemoveAll(path) // who cannot be removed stays
	}
}

// noTemp describes the problem with the folder for temporary files.
func noTemp(err error) *result.Fault {
	if errors.Is(err, syscall.ENOSPC) {
		return noSpace()
	}
	dir := os.TempDir()
	fault := newFault(result.CauseInternal, "set TMPDIR to a folder that you may write to", "cannot make a folder to compile in below %s: %v", dir, err)
	switch info, missing := os.Stat(dir); {
	case errors.Is(missing, os.ErrNotExist):
		fault.Message = fmt.Sprintf("TMPDIR names %s, which does not exist", dir)
	case missing == nil && !info.IsDir():
		fault.Message = fmt.Sprintf("TMPDIR names %s, which is not a folder", dir)
	}
	return fault
}

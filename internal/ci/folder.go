package ci

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// folder is an open folder that nothing can leave: names below it lead to no file outside.
type folder struct {
	*os.Root
	path string // as the policy has it
}

// openFolder opens a folder that is reached without any link: a job can replace the folders that are
// its own by links, and what is swept as root would be another folder. Unless owner is negative, the
// folder must be theirs.
func openFolder(path string, owner int) (*folder, error) {
	handle, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err == unix.ELOOP || err == unix.ENOTDIR { //nolint:errorlint // errno, as the system call returns it
		return nil, fmt.Errorf("%s is, or lies behind, a link or a file: expected a folder that is reached without links; put it back, or name the folder itself in the policy", path)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(handle) }()
	var stat unix.Stat_t
	if err := unix.Fstat(handle, &stat); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if owner >= 0 && int(stat.Uid) != owner {
		return nil, fmt.Errorf("%s belongs to user %d: expected the runner's user %d", path, stat.Uid, owner)
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", handle))
	if err != nil {
		return nil, err
	}
	return &folder{root, path}, nil
}

// bornBefore reports whether a file or folder below is older than a time: a change time moves with
// every file in a folder, and with every touch; a birth never does. Where the file system keeps no
// birth times it counts as new.
func (f *folder) bornBefore(name string, when time.Time) bool {
	file, err := f.OpenFile(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	var stat unix.Statx_t
	if unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &stat) != nil || stat.Mask&unix.STATX_BTIME == 0 {
		return false
	}
	return time.Unix(stat.Btime.Sec, int64(stat.Btime.Nsec)).Before(when.Add(-time.Second))
}

// flatten moves what is in folders below a folder up into it, and removes those folders, until there
// are none. It opens one folder at a time, however deep they lie.
func (f *folder) flatten(name string) error {
	for moved := 0; ; {
		entries, err := fs.ReadDir(f.FS(), name)
		if err != nil {
			return err
		}
		folders := 0
		for _, entry := range entries {
			if !entry.IsDir() {
				continue
			}
			folders++
			at := path.Join(name, entry.Name())
			inner, err := fs.ReadDir(f.FS(), at)
			if err != nil {
				return err
			}
			for _, below := range inner {
				moved++
				if err := f.Rename(path.Join(at, below.Name()), path.Join(name, fmt.Sprintf(".pawl-sweep-%d-%d", os.Getpid(), moved))); err != nil {
					return err
				}
			}
			if err := f.Remove(at); err != nil {
				return err
			}
		}
		if folders == 0 {
			return nil
		}
	}
}

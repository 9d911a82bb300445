package ci

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bornBefore reports whether a folder is older than a time: its change time moves with every file in
// it, its birth never does. Where the file system keeps no birth times the folder counts as new.
func bornBefore(root *os.Root, name string, when time.Time) bool {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
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

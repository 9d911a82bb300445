package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Lock waits for the lock of a file, which it creates: syscall.LOCK_SH or LOCK_EX. Whoever holds the
// lock may remove the file. Closing the returned file gives the lock back.
func Lock(ctx context.Context, path string, how int) (*os.File, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if file, err := TryLock(path, how); file != nil || err != nil {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// TryLock is Lock without waiting: it returns nil if somebody else holds the lock.
func TryLock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
	if err == nil && Names(path, file) { // else it was removed meanwhile
		return file, nil
	}
	file.Close()
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return nil, nil
}

// Names reports whether a path still names an open file.
func Names(path string, file *os.File) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

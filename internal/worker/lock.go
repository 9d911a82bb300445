package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockDevice takes the machine-wide lock of a device, so that two runs never
// measure on it at once. waiting is called once if somebody else holds it.
func lockDevice(ctx context.Context, device string, waiting func()) (*os.File, error) {
	file, err := openLock(device)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			file.Close()
			return nil, fmt.Errorf("lock device %s: %w", device, err)
		}
		if !told {
			waiting()
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// openLock opens the lock file of a device, which users share: the first one creates it, others
// open it for reading, which is enough to lock it.
func openLock(device string) (*os.File, error) {
	path := filepath.Join(cmp.Or(os.Getenv("PAWL_LOCK_DIR"), "/tmp"), ".pawl-"+device+".lock")
	for range 2 {
		file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if err == nil {
			return file, nil
		}
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("make the lock of device %s: %w (PAWL_LOCK_DIR names another folder)", device, err)
		}
	}
	return nil, fmt.Errorf("cannot open %s, the lock of device %s", path, device)
}

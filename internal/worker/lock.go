package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"golang.org/x/sys/unix"
)

// lockDevice takes the machine-wide lock of a device, so that two runs never
// measure on it at once. waiting is called once if somebody else holds it, with what is known of
// them.
func lockDevice(ctx context.Context, device string, waiting func(holder)) (*deviceLock, error) {
	file, err := openLock(device)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			write(file, ownRun())
			return &deviceLock{file}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			file.Close()
			return nil, fmt.Errorf("lock device %s: %w", device, err)
		}
		if !told {
			waiting(read(file))
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// deviceLock is a lock that this process holds.
type deviceLock struct{ file *os.File }

// Close gives the device to the next one.
func (l *deviceLock) Close() error {
	_ = l.file.Truncate(0)
	return l.file.Close()
}

// openLock opens the lock file of a device, which users share: the first one creates it, others
// open it. Who may not write to it can still lock it, but does not say who it is.
func openLock(device string) (*os.File, error) {
	path := filepath.Join(cmp.Or(os.Getenv("PAWL_LOCK_DIR"), "/tmp"), ".pawl-"+device+".lock")
	for range 2 {
		for _, how := range []int{os.O_RDWR, os.O_RDONLY} {
			if file, err := os.OpenFile(path, how|unix.O_NOFOLLOW, 0); err == nil {
				return file, nil
			}
		}
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			_ = file.Chmod(0o666) // whatever the umask
			return file, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("make the lock of device %s: %w (PAWL_LOCK_DIR names another folder)", device, err)
		}
	}
	return nil, fmt.Errorf("cannot open %s, the lock of device %s", path, device)
}

// holder is the run that holds a device, as its lock file says it. Any user can write to that file:
// the words are shown, and nothing else.
type holder struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Command string    `json:"command"`
}

// ownRun describes the run that this process works for: its parent, where that is a pawl.
func ownRun() holder {
	pid, args := os.Getpid(), os.Args
	own, _ := os.Readlink("/proc/self/exe")
	if parent, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid())); parent == own && own != "" {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
		if err == nil && len(raw) > 0 {
			pid, args = os.Getppid(), strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
		}
	}
	return holder{PID: pid, Since: time.Now(), Command: strings.Join(append([]string{filepath.Base(args[0])}, args[1:]...), " ")}
}

// write says in a lock file who holds it, where that is possible.
func write(file *os.File, h holder) {
	raw, err := json.Marshal(h)
	if err != nil || file.Truncate(0) != nil {
		return
	}
	_, _ = file.WriteAt(raw, 0)
}

// read returns who holds a lock; nobody where the file does not say it, or names a process that has
// ended.
func read(file *os.File) holder {
	const most = 4096
	raw := make([]byte, most)
	n, _ := file.ReadAt(raw, 0)
	var h holder
	if json.Unmarshal(raw[:n], &h) != nil || h.PID <= 0 || errors.Is(unix.Kill(h.PID, 0), unix.ESRCH) {
		return holder{}
	}
	return h
}

// String says which process it is, since when it holds the device, and what it does; "" where that
// is not known.
func (h holder) String() string {
	const most = 100
	if h.PID == 0 {
		return ""
	}
	since := h.Since.Local().Format("15:04:05")
	if time.Since(h.Since) > 12*time.Hour {
		since = h.Since.Local().Format("2006-01-02 15:04")
	}
	command := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, h.Command))
	if len(command) > most {
		command = append(command[:most-1], '…')
	}
	return fmt.Sprintf("process %d, since %s: %s", h.PID, since, string(command))
}

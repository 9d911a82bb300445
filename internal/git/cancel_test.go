package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A git that hangs ends with its context, and so does what it has started: at once, or
// soon where it ignores the signal.
func TestCancelEndsGit(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		limit time.Duration
	}{"hangs": {"", time.Second}, "ignores signals": {"trap '' TERM\n", 4 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			started := filepath.Join(dir, "started")
			script := "#!/bin/sh\n" + c.first + "sleep 60 &\necho $! >" + started + ".new\nmv " + started + ".new " + started + "\nwait\n"
			if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, _, err := Head(ctx, dir)
				done <- err
			}()
			var helper int
			for range 500 {
				if raw, err := os.ReadFile(started); err == nil {
					helper, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if helper == 0 {
				t.Fatal("git was not started")
			}
			cancel()
			select {
			case err := <-done:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(c.limit):
				t.Fatalf("it goes on after %v", c.limit)
			}
			for range 100 {
				if err := syscall.Kill(helper, 0); errors.Is(err, syscall.ESRCH) || zombie(helper) {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Error("what it has started goes on")
		})
	}
}

// zombie reports whether a process has ended and nobody has asked how.
func zombie(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(raw), ") Z ")
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestKill(t *testing.T) {
	p, err := Start(Command{Path: filepath.Join(programs(t), "tries"), Args: []string{"tries", "spin"}, Policy: Policy{Read: System()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if ws := state.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
		t.Errorf("ended with %v", state)
	}
	if err := p.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("second kill: %v", err)
	}
	again, err := p.Wait()
	if again != state || err != nil {
		t.Errorf("second wait: %v, %v", again, err)
	}
}

// Whatever happens to the worker, a program in a loop ends with it.
func TestEndsWithWorker(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	worker := exec.Command(exe, "helper", "worker", filepath.Join(programs(t), "tries"), "spin")
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })
	line, err := firstLine(out)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(line)
	}
	if err := unix.Kill(pid, 0); err != nil {
		t.Fatalf("program %d is not running: %v", pid, err)
	}
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	if !ended(pid) {
		_ = unix.Kill(pid, unix.SIGKILL)
		t.Error("the program outlived its worker")
	}
}

// Nor does what such a program has started go on when its caller is killed.
func TestChildrenEndWithCaller(t *testing.T) {
	needsAll(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []Mode{Require, Off} {
		caller := exec.Command(exe, "helper", "builder", mode.String())
		out, err := caller.StdoutPipe()
		if err == nil {
			err = caller.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = caller.Process.Kill(); _ = caller.Wait() })
		line, err := firstLine(out)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(line)
		}
		if err := caller.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = caller.Wait()
		if !ended(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
			t.Errorf("%v: the child outlived the caller", mode)
		}
	}
}

// The parent death signal is about threads, and Go threads come and go.
func TestOutlivesTheThreadThatAsked(t *testing.T) {
	needsAll(t)
	stdin, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := self(t, "wait")
	c.Stdin = stdin
	started := make(chan *Process)
	var tid int
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		tid = unix.Gettid()
		p, err := Start(c)
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	stdin.Close()
	if p == nil {
		return
	}
	gone := func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
		return err != nil
	}
	if tid != os.Getpid() { // the main thread never ends
		for range 500 {
			if gone() {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !gone() {
			t.Fatal("the thread is still there")
		}
	}
	w.Close()
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if !state.Success() {
		t.Errorf("ended with %v, want success", state)
	}
}

// Children that try to get away end with the program they came from.
func TestNoOrphans(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := Start(Command{
		Path: filepath.Join(programs(t), "tries"), Args: []string{"tries", "orphan"},
		Stdout: w, Policy: Policy{Read: System(), Processes: true}, Mode: Require,
	})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	line, err := firstLine(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(line)
	}
	if !ended(pid) {
		_ = unix.Kill(pid, unix.SIGKILL)
		t.Error("the child outlived the program")
	}
}

func TestModes(t *testing.T) {
	needsAll(t)
	tests := []struct {
		pretend older
		level   Level
	}{
		{older{LandlockABI: -1}, Level{Seccomp: SeccompNotify, NoNewPrivs: true, Missing: []string{missingLandlock}}},
		{older{LandlockABI: 1}, Level{Landlock: 1, Seccomp: SeccompNotify, NoNewPrivs: true, Missing: []string{missingTruncate}}},
		{older{LandlockABI: 4}, Level{Landlock: 4, Seccomp: SeccompNotify, NoNewPrivs: true}},
		{older{NoNotify: true, LandlockABI: 3}, Level{Landlock: 3, Seccomp: SeccompErrno, NoNewPrivs: true, Missing: []string{missingNotify}}},
		{
			older{NoSeccomp: true, LandlockABI: -1},
			Level{Seccomp: SeccompNone, NoNewPrivs: true, Missing: []string{missingLandlock, missingSeccomp, missingNotify}},
		},
	}
	for _, test := range tests {
		c := Command{Path: "/usr/bin/env", Env: []string{"A=1"}, Policy: Policy{Read: System()}, pretend: test.pretend}
		out, p := run(t, c)
		if out != "A=1" {
			t.Errorf("%+v: got %q", test.pretend, out)
		}
		noAttempts(t, p)
		if got := p.Level(); got.String() != test.level.String() || got.NoNewPrivs != test.level.NoNewPrivs {
			t.Errorf("%+v: level %v, want %v", test.pretend, got, test.level)
		}
		c.Mode = Require
		_, err := runTo(io.Discard, c)
		if len(test.level.Missing) == 0 {
			if err != nil {
				t.Errorf("%+v, required: %v", test.pretend, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.level.Missing[0]) {
			t.Errorf("%+v, required: error %v, want one about %q", test.pretend, err, test.level.Missing[0])
		}
	}
}

func TestOff(t *testing.T) {
	g := newGround(t)
	out, p := run(t, Command{
		Path: filepath.Join(programs(t), "tries"), Args: []string{"tries", "read", g.secret}, Mode: Off,
	})
	if out != "ok" || p.Level().String() != "off" {
		t.Errorf("got %q under %v", out, p.Level())
	}
	noAttempts(t, p)
}

func TestStartErrors(t *testing.T) {
	needsAll(t)
	for _, test := range []struct {
		c    Command
		want string
	}{
		{Command{Path: "true"}, "not an absolute path"},
		{Command{Path: "/bin/true", Policy: Policy{Read: []string{"x"}}}, "not an absolute path"},
		{Command{Path: "/nonexistent"}, "exec /nonexistent: no such file"},
		{Command{Path: "/etc/passwd"}, "exec /etc/passwd: permission denied"},
		{Command{Path: "/bin/true", Policy: Policy{Write: []string{"/nonexistent"}}, Dir: "/"}, "allow /nonexistent"},
		{Command{Path: "/bin/true", Dir: "/nonexistent"}, "no such file"},
	} {
		_, err := Start(test.c)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want one about %q", test.c, err, test.want)
		}
	}
}

// Nothing may be left behind by processes that have ended.
func TestNoLeaks(t *testing.T) {
	once := func() {
		if _, err := runTo(io.Discard, Command{Path: "/bin/true", Policy: Policy{Read: System()}}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() (int, int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds), runtime.NumGoroutine()
	}
	once()
	fds, goroutines := count()
	for range 20 {
		once()
	}
	// On a busy machine the last goroutine has said that it is done, and has not ended yet.
	f, g := count()
	for range 1000 {
		if f <= fds && g <= goroutines {
			return
		}
		time.Sleep(time.Millisecond)
		f, g = count()
	}
	t.Errorf("%d descriptors and %d goroutines have become %d and %d", fds, goroutines, f, g)
}

func TestProbe(t *testing.T) {
	_, p := run(t, Command{Path: "/bin/true", Policy: Policy{Read: System()}})
	if got, want := Probe().String(), p.Level().String(); got != want {
		t.Errorf("probe says %s, a process got %s", got, want)
	}
}

func BenchmarkStart(b *testing.B) {
	for _, mode := range []Mode{Off, Require} {
		b.Run(mode.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := runTo(io.Discard, Command{Path: "/bin/true", Policy: Policy{Read: System()}, Mode: mode}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

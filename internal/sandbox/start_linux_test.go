//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func noAttempts(t *testing.T, p *Process) {
	t.Helper()
	if got := p.Attempts(); len(got) > 0 {
		t.Errorf("attempts %v, want none", got)
	}
}

func TestEnvironmentIsScrubbed(t *testing.T) {
	t.Setenv("SANDBOX_TEST_SECRET", "xyzzy")
	c := self(t, "environ")
	c.Env = []string{"GIVEN=1"}
	out, p := run(t, c)
	if out != "GIVEN=1" {
		t.Errorf("environment is %q, want GIVEN=1 alone", out)
	}
	noAttempts(t, p)

	c.Env = nil
	if out, _ := run(t, c); out != "" {
		t.Errorf("environment is %q, want none", out)
	}
}

func TestDescriptors(t *testing.T) {
	// One that a careless parent left open for everybody.
	leak, err := unix.Open("/dev/null", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	var extra []*os.File
	for _, text := range []string{"three", "four"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		fmt.Fprint(w, text)
		w.Close()
		extra = append(extra, r)
	}
	c := self(t, "descriptors")
	c.ExtraFiles = extra
	out, p := run(t, c)
	var numbers []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "read") {
			number, _, _ := strings.Cut(line, " ")
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	if got := strings.Join(numbers, " "); got != "0 1 2 3 4" {
		t.Errorf("descriptors %s, want 0 1 2 3 4:\n%s", got, out)
	}
	for _, want := range []string{"read 3 three", "read 4 four"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	noAttempts(t, p)
}

func TestStatus(t *testing.T) {
	out, p := run(t, self(t, "status"))
	for _, want := range []string{
		"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if os.Geteuid() == 0 && !strings.Contains(out, "CapBnd:\t0000000000000000") {
		t.Errorf("bounding set is not empty:\n%s", out)
	}
	noAttempts(t, p)
	if l := p.Level(); l.Landlock < 3 || l.Seccomp != SeccompNotify || !l.NoNewPrivs || l.Missing != nil {
		t.Errorf("level %+v", l)
	}
}

func TestGoProgram(t *testing.T) {
	t.Parallel()
	out, p := run(t, self(t, "busy"))
	if out != "ok" {
		t.Errorf("got %q", out)
	}
	noAttempts(t, p)
}

// A crash is a fault, not an attempt, though it ends in signals.
func TestCrashIsNoAttempt(t *testing.T) {
	out, p := run(t, self(t, "panic"))
	if !strings.Contains(out, "nil pointer dereference") {
		t.Errorf("got %q", out)
	}
	noAttempts(t, p)

	_, p = run(t, Command{
		Path: filepath.Join(programs(t), "tries"), Args: []string{"tries", "abort"},
		Policy: Policy{Read: System()},
	})
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if ws := state.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGABRT || ws.CoreDump() {
		t.Errorf("ended with %v, want an abort without a core", state)
	}
	noAttempts(t, p)
}

func TestLimits(t *testing.T) {
	dir := programs(t)
	g := newGround(t)
	for _, test := range []struct {
		do, want string
		limits   Limits
	}{
		{"map 0x4000000", "ok", Limits{AddressSpace: 1 << 30}},
		{"map 0x80000000", "ENOMEM", Limits{AddressSpace: 1 << 30}},
		{"fill " + g.scratch + "/a 1000", "ok", Limits{FileSize: 1 << 20}},
		{"fill " + g.scratch + "/b 2000000", "EFBIG", Limits{FileSize: 1 << 20}},
		{"reopen " + g.input, "ok", Limits{OpenFiles: 5}},
		{"reopen " + g.input, "EMFILE", Limits{OpenFiles: 4}},
	} {
		p := g.policy()
		p.Limits = test.limits
		args := append([]string{"tries"}, strings.Fields(test.do)...)
		out, _ := run(t, Command{Path: filepath.Join(dir, "tries"), Args: args, Policy: p, Mode: Require})
		if got := errorName(out); got != test.want {
			t.Errorf("%s under %+v: %s, want %s", test.do, test.limits, got, test.want)
		}
	}
}

func TestCPULimitEndsALoop(t *testing.T) {
	p, err := Start(Command{
		Path: filepath.Join(programs(t), "tries"), Args: []string{"tries", "spin"},
		Policy: Policy{Read: System(), Limits: Limits{CPUSeconds: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if ws := state.Sys().(syscall.WaitStatus); !ws.Signaled() {
		t.Errorf("ended with %v, want a signal", state)
	}
}

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

// The parent death signal is about threads, and Go threads come and go.
func TestOutlivesTheThreadThatAsked(t *testing.T) {
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

func TestProcesses(t *testing.T) {
	dir := programs(t)
	g := newGround(t)
	policy := g.policy()
	policy.Processes = true
	policy.Read = append(policy.Read, dir)
	for _, pretend := range []older{{}, {NoNotify: true}} {
		for _, test := range []struct{ do, want, named string }{
			{"fork", "ok", ""},
			{"clone", "ok", ""},
			{"spawn", "ok", ""},
			{"exec /bin/true", "", ""},
			{"socketpair 1", "ok", ""},
			{"socketpair 2", "EPERM", "socketpair(AF_UNIX, SOCK_DGRAM)"},
			{"clonens", "EPERM", "clone into new namespaces"},
			{"socket 2 1", "EACCES", "socket(AF_INET, SOCK_STREAM)"},
			{"read " + g.secret, "EACCES", "open " + g.secret + " for reading"},
			{fmt.Sprintf("kill %d 15", os.Getpid()), "EPERM", fmt.Sprintf("kill(%d, SIGTERM)", os.Getpid())},
			{fmt.Sprintf("read /proc/%d/environ", os.Getpid()), "EACCES", fmt.Sprintf("open /proc/%d/environ for reading", os.Getpid())},
		} {
			out, p := run(t, Command{
				Path: filepath.Join(dir, "tries"), Args: append([]string{"tries"}, strings.Fields(test.do)...),
				Policy: policy, pretend: pretend,
			})
			if got := errorName(out); got != test.want {
				t.Errorf("%s, %+v: %s, want %s", test.do, pretend, got, test.want)
			}
			var want []string
			if test.named != "" && !pretend.NoNotify {
				want = []string{test.named}
			}
			if got := attempts(p); !slices.Equal(got, want) {
				t.Errorf("%s: attempts %q, want %q", test.do, got, want)
			}
		}
	}
}

// A shell with children of its own, signals between them included.
func TestShell(t *testing.T) {
	g := newGround(t)
	policy := g.policy()
	policy.Processes = true
	out, p := run(t, Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", "{ sleep 60 & kill $!; wait $!; } 2>/dev/null; cat " + g.input + " | cat; cat /proc/self/comm"},
		Policy: policy, Mode: Require,
	})
	if out != "contentcat" {
		t.Errorf("got %q", out)
	}
	noAttempts(t, p)
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

func TestLocalSockets(t *testing.T) {
	dir := programs(t)
	server := filepath.Join(newGround(t).outside, "s")
	l, err := net.Listen("unix", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, test := range []struct{ do, want, named string }{
		{"listen", "ok", ""},
		{"socket 1 2", "EACCES", "socket(AF_UNIX, SOCK_DGRAM)"},
		{"socket 2 1", "EACCES", "socket(AF_INET, SOCK_STREAM)"},
		{"connect " + server, "EPERM", "connect to " + server},
		{"connect " + server + "x", "EPERM", ""}, // nobody there
	} {
		out, p := run(t, Command{
			Path: filepath.Join(dir, "tries"), Args: append([]string{"tries"}, strings.Fields(test.do)...),
			Policy: Policy{Read: System(), LocalSockets: true}, Mode: Require,
		})
		if got := errorName(out); got != test.want {
			t.Errorf("%s: %s, want %s", test.do, got, test.want)
		}
		var want []string
		if test.named != "" {
			want = []string{test.named}
		}
		if got := attempts(p); !slices.Equal(got, want) {
			t.Errorf("%s: attempts %q, want %q", test.do, got, want)
		}
	}
}

func TestProcWritable(t *testing.T) {
	for _, test := range []struct{ path, want string }{
		{"/proc/self/comm", "ok"},
		{"/proc/thread-self/comm", "ok"},
		{"/proc/sys/kernel/core_pattern", "EACCES"},
		{"/proc/sys/vm/overcommit_memory", "EACCES"},
	} {
		out, _ := run(t, Command{
			Path: filepath.Join(programs(t), "tries"), Args: []string{"tries", "append", test.path},
			Policy: Policy{Read: System(), ProcWritable: true}, Mode: Require,
		})
		if got := errorName(out); got != test.want {
			t.Errorf("%s: %s, want %s", test.path, got, test.want)
		}
	}
}

// The CUDA driver starts under its policy and gives no cause for alarm.
func TestCUDA(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		t.Skip("no NVIDIA device")
	}
	dir := t.TempDir()
	out, p := run(t, Command{
		Path: filepath.Join(programs(t), "cuda"), Env: []string{"HOME=" + dir},
		Policy: Policy{Read: System(), Write: []string{dir}}.WithCUDA(), Mode: Require,
	})
	if out != "ok" {
		t.Errorf("got %q", out)
	}
	noAttempts(t, p)
}

func TestModes(t *testing.T) {
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
		c := self(t, "environ")
		c.Env = []string{"A=1"}
		c.pretend = test.pretend
		c.Mode = Auto
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

// Everything works for a worker that is nobody in particular.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("already unprivileged: every other test is this test")
	}
	dir := programs(t)
	root, err := os.MkdirTemp("", "pawl-sandbox-nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	exe := filepath.Join(root, "worker")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	secret, input, scratch := filepath.Join(root, "secret"), filepath.Join(root, "input"), filepath.Join(root, "scratch")
	const nobody = 65534
	for _, err := range []error{
		os.Chmod(root, 0o755),
		os.WriteFile(exe, image, 0o755),
		os.WriteFile(secret, []byte("s"), 0o644),
		os.WriteFile(input, []byte("i"), 0o644),
		os.Mkdir(scratch, 0o755),
		os.Chown(scratch, nobody, nobody),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(exe, "helper", "nobody", filepath.Join(dir, "tries"), secret, input, scratch)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	want := fmt.Sprintf(`read 13 [{open %s for reading 1}]
read ok []
write ok []
socket 13 [{socket(AF_INET, SOCK_DGRAM) 1}]
fork 1 [{fork 1}]
`, secret)
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
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
	if f, g := count(); f > fds || g > goroutines {
		t.Errorf("%d descriptors and %d goroutines have become %d and %d", fds, goroutines, f, g)
	}
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

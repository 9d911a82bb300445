//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

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
	c := Command{Path: "/usr/bin/env", Env: []string{"GIVEN=1"}, Policy: Policy{Read: System()}, Mode: Require}
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
	g := newGround(t)
	for _, test := range []struct {
		do, want         string
		fileSize, timers uint64
	}{
		{"fill " + g.scratch + "/a 1000", "ok", 1 << 20, 0},
		{"fill " + g.scratch + "/b 2000000", "EFBIG", 1 << 20, 0},
		{"timers 3", "ok", 0, 1000},
		{"timers 1000", "EAGAIN", 0, 100},
	} {
		p := g.policy()
		p.FileSize, p.Timers = test.fileSize, test.timers
		args := append([]string{"tries"}, strings.Fields(test.do)...)
		out, _ := run(t, Command{Path: filepath.Join(programs(t), "tries"), Args: args, Policy: p, Mode: Require})
		if got := errorName(out); got != test.want {
			t.Errorf("%s with files of %d bytes and %d timers at most: %s, want %s", test.do, test.fileSize, test.timers, got, test.want)
		}
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

// A child of the program names its own threads, as libcuda under a profiler does, and nobody else's.
func TestChildNamesItself(t *testing.T) {
	for _, test := range []struct {
		child, want string
		named       bool
		writable    bool
	}{
		{"echo renamed >/proc/self/comm; cat /proc/$$/comm", "renamed", false, true},
		{"echo renamed >/proc/$$/task/$$/comm; cat /proc/$$/comm", "renamed", false, true},
		{"cd /proc/$$/task; echo renamed >../comm; cat /proc/$$/comm", "renamed", false, true},
		{"echo renamed >/proc/$PPID/comm || cat /proc/$PPID/comm", "sh", false, true},
		{"echo 7 >/proc/sys/kernel/core_pattern || echo refused", "refused", true, true},
		{"echo 0 >/proc/self/oom_score_adj || echo refused", "refused", true, true},
		{"echo renamed >/proc/self/comm || cat /proc/$$/comm", "sh", true, false},
	} {
		out, p := run(t, Command{
			Path: "/bin/sh", Args: []string{"sh", "-c", `sh -c "$0" 2>/dev/null; true`, test.child},
			Policy: Policy{Read: System(), Processes: true, ProcWritable: test.writable}, Mode: Require,
		})
		if out != test.want {
			t.Errorf("%s: got %q, want %q", test.child, out, test.want)
		}
		if named := len(p.Attempts()) > 0; named != test.named {
			t.Errorf("%s: attempts %q", test.child, attempts(p))
		}
	}
}

// Frameworks see whose PCI devices there are, and nothing else of them.
func TestFrameworks(t *testing.T) {
	devices, err := filepath.Glob("/sys/bus/pci/devices/*")
	if err != nil || len(devices) == 0 {
		t.Skip("no PCI device")
	}
	for _, test := range []struct{ do, path, want string }{
		{"read", devices[0] + "/vendor", "ok"},
		{"read", devices[0] + "/device", "ok"},
		{"read", devices[0] + "/config", "EACCES"},
		{"append", devices[0] + "/device", "EACCES"},
		{"append", "/proc/self/comm", "ok"},
		{"append", "/proc/sys/kernel/core_pattern", "EACCES"},
	} {
		out, _ := run(t, Command{
			Path: filepath.Join(programs(t), "tries"), Args: []string{"tries", test.do, test.path},
			Policy: Policy{Read: System()}.WithFrameworks(), Mode: Require,
		})
		if got := errorName(out); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.do, test.path, got, test.want)
		}
	}
}

// The CUDA driver starts under its policy and gives no cause for alarm.
func TestCUDA(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		if os.Getenv("PAWL_REQUIRE_GPU") == "1" {
			t.Fatal("no NVIDIA device")
		}
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
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
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

// What nobody wants named needs no listener, and lacks nothing without one.
func TestUnnamed(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("xyzzy"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pretend := range []older{{}, {NoNotify: true}} {
		c := Command{
			Path: "/bin/sh", Args: []string{"sh", "-c", "cat " + secret + " /proc/1/cmdline; exec cat /proc/self/environ"}, Mode: Require, pretend: pretend,
			Policy: Policy{Processes: true, Unnamed: true, NoProc: true, Read: slices.DeleteFunc(System(), func(path string) bool { return path == "/proc/self" })},
		}
		out, p := run(t, c)
		if strings.Count(out, "Permission denied") != 3 || strings.Contains(out, "xyzzy") {
			t.Errorf("%+v: it was not refused three times: %s", pretend, out)
		}
		noAttempts(t, p)
		if level := p.Level(); level.Seccomp != SeccompErrno || level.Name() != "full" {
			t.Errorf("%+v: level %v", pretend, level)
		}
	}
}

// A folder may be listed of which nothing may be read, and that is no attempt.
func TestList(t *testing.T) {
	needsAll(t)
	root := realTemp(t)
	writeTree(t, root, "some/secret=hidden", "some/deep/other=hidden", "a=", "some/open=shown")
	policy := Policy{Read: append(System(), filepath.Join(root, "some/open")), List: []string{filepath.Join(root, "some"), filepath.Join(root, "a"), "/nowhere"}}
	for _, test := range []struct{ program, path, want, named string }{
		{"/bin/ls", "some", "deep\nopen\nsecret", ""},
		{"/bin/ls", "some/deep", "other", ""},
		{"/bin/cat", "some/open", "shown", ""},
		{"/bin/cat", "some/secret", "", "open " + root + "/some/secret for reading"},
		{"/bin/cat", "a", "", "open " + root + "/a for reading"},
		{"/bin/ls", "", "", "list " + root},
	} {
		path := filepath.Join(root, test.path)
		out, p := run(t, Command{Path: test.program, Args: []string{filepath.Base(test.program), path}, Policy: policy})
		if test.named == "" && out != test.want || strings.Contains(out, "hidden") {
			t.Errorf("%s %s: %q, want %q", test.program, test.path, out, test.want)
		}
		var want []string
		if test.named != "" {
			want = []string{test.named}
		}
		if got := attempts(p); !slices.Equal(got, want) {
			t.Errorf("%s %s: attempts %q, want %q", test.program, test.path, got, want)
		}
	}
}

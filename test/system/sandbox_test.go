package system

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// needSandbox skips where the kernel cannot give the whole sandbox, unless the
// environment says that it must.
func needSandbox(t *testing.T) {
	t.Helper()
	if level := sandbox.Probe(); len(level.Missing) > 0 {
		if os.Getenv("PAWL_REQUIRE_SANDBOX") != "" {
			t.Fatalf("this kernel lacks: %v", level.Missing)
		}
		t.Skipf("this kernel lacks: %v", level.Missing)
	}
}

// tried runs a kernel that tries something and goes on, and checks that each
// attempt is named in the result.
func tried(t *testing.T, p *project, kernel string, attempts ...string) *result.Row {
	t.Helper()
	report, got := p.bench("--require-sandbox")
	row := rowOf(t, report, kernel)
	mustMeasure(t, row)
	if got.code != 0 {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	if row.Sandbox.Level != "full" {
		t.Errorf("sandbox level %q, missing %v", row.Sandbox.Level, row.Sandbox.Missing)
	}
	all := strings.Join(row.Sandbox.Attempts, "\n")
	for _, want := range attempts {
		if !strings.Contains(all, want) {
			t.Errorf("no attempt %q among\n%s\nlog: %s", want, all, row.Log)
		}
	}
	warned := false
	for _, w := range row.Warnings {
		warned = warned || w.Code == "sandbox"
	}
	if !warned {
		t.Error("the report does not warn of the attempts")
	}
	return row
}

func TestHonestKernelTriesNothing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	p := newProject(t, "good", "prints", "slow")
	report, _ := p.bench("--require-sandbox")
	for _, row := range report.Rows {
		mustMeasure(t, row)
		if len(row.Sandbox.Attempts) > 0 {
			t.Errorf("%s: attempts %v", row.Name(), row.Sandbox.Attempts)
		}
	}
}

func TestEnvironmentIsHidden(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	const secret = "hunter2-in-the-environment"
	p := newProject(t, "reads_environment")
	p.env = append(p.env, "PAWL_TEST_SECRET="+secret)
	row := tried(t, p, "reads_environment", "/environ")
	if !strings.Contains(row.Log, "own: nothing") {
		t.Errorf("the kernel did not look: %s", row.Log)
	}
	if strings.Contains(row.Log, secret) {
		t.Errorf("the secret got out:\n%s", row.Log)
	}
}

func TestOtherFilesAreHidden(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	const secret = "hunter2-in-a-file"
	p := newProject(t, "reads_secret")
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	p.define("reads_secret", "SECRET", path)
	row := tried(t, p, "reads_secret", "open "+path+" for reading")
	if !strings.Contains(row.Log, "refused") || strings.Contains(row.Log, secret) {
		t.Errorf("the log is:\n%s", row.Log)
	}
}

func TestNothingIsWrittenOutside(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	p := newProject(t, "writes_outside")
	outside := t.TempDir()
	old := filepath.Join(outside, "old")
	if err := os.WriteFile(old, []byte("as it was"), 0o640); err != nil {
		t.Fatal(err)
	}
	p.define("writes_outside", "OUTSIDE", outside)
	row := tried(t, p, "writes_outside", filepath.Join(outside, "new"), old)
	if !strings.Contains(row.Log, "own scratch: yes") {
		t.Errorf("the kernel could not write into its own scratch folder: %s", row.Log)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder has %v, %v", entries, err)
	}
	text, err := os.ReadFile(old)
	if err != nil || string(text) != "as it was" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if info, err := os.Stat(old); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
}

func TestNoSockets(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	address := tcp.Addr().(*net.TCPAddr)
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: address.IP, Port: address.Port})
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	p := newProject(t, "opens_sockets")
	p.define("opens_sockets", "PORT", address.Port)
	tried(t, p, "opens_sockets", "SOCK_STREAM", "SOCK_DGRAM")
	soon := time.Now().Add(100 * time.Millisecond)
	_ = udp.SetReadDeadline(soon)
	if n, _, err := udp.ReadFromUDP(make([]byte, 64)); err == nil {
		t.Errorf("%d bytes came by UDP", n)
	}
	_ = tcp.(*net.TCPListener).SetDeadline(soon)
	if conn, err := tcp.Accept(); err == nil {
		conn.Close()
		t.Error("a TCP connection came")
	}
}

func TestParentIsNotSignalled(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	tried(t, newProject(t, "kills_parent"), "kills_parent", "SIGKILL")
}

func TestNoProcesses(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	row := tried(t, newProject(t, "forks"), "forks", "fork")
	if !strings.Contains(row.Log, "refused 1000 of 1000") {
		t.Errorf("the log is: %s", row.Log)
	}
	if strings.Contains(row.Log, "escaped") {
		t.Errorf("another program ran: %s", row.Log)
	}
}

func TestFramesOnStdoutAreOnlyOutput(t *testing.T) {
	t.Parallel()
	p := newProject(t, "prints_frames")
	report, got := p.bench()
	row := rowOf(t, report, "prints_frames")
	mustMeasure(t, row)
	if got.code != 0 || !strings.Contains(row.Log, `"message":"forged"`) {
		t.Errorf("exit code %d, log %s", got.code, row.Log)
	}
}

func TestForgedAnswersAreRejected(t *testing.T) {
	t.Parallel()
	for _, kernel := range []string{"forges_answer", "forges_garbage", "forges_at_load", "closes_descriptor"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			report, got := newProject(t, "good", kernel).bench()
			row := rowOf(t, report, kernel)
			mustFault(t, row, result.CauseForged)
			if row.Verdict != result.Rejected {
				t.Errorf("verdict %q, want rejected", row.Verdict)
			}
			mustMeasure(t, rowOf(t, report, "good"))
			if got.code != 1 {
				t.Errorf("exit code %d, want 1", got.code)
			}
		})
	}
}

func TestRowsSayWhatCannotBeGuaranteed(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	for try := 1; ; try++ {
		report, _ := p.bench()
		row := rowOf(t, report, "good")
		if row.Trust != "author" {
			t.Errorf("trust %q, want author: host kernels share their cell's address space", row.Trust)
		}
		c := row.Timing.Clock
		if c != nil && c.Disturbed && try < 20 { // by the tests beside this one
			continue
		}
		if c == nil || !(c.WorkerS > 0) || !(c.ClaimedS > 0) {
			t.Errorf("the worker's clock is missing: %+v", c)
		}
		return
	}
}

func TestSandboxCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	report, _ := p.bench("--no-sandbox")
	if row := rowOf(t, report, "good"); row.Sandbox.Level != "off" {
		t.Errorf("sandbox level %q, want off", row.Sandbox.Level)
	}
	if got := p.run("bench", "--no-sandbox", "--require-sandbox"); got.code != 3 {
		t.Errorf("contradicting flags: exit code %d, want 3", got.code)
	}
}

package worker

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/native/nvml/nvmltest"
	"pawl/internal/result"
)

// fakeNVML makes this process and its children find the fake.
func fakeNVML(t *testing.T) (log string) {
	t.Helper()
	library := nvmltest.Build(t)
	log = filepath.Join(t.TempDir(), "log")
	t.Setenv(nvmltest.LogVariable, log)
	// LD_LIBRARY_PATH is read when a process starts: only children see it.
	t.Setenv("LD_LIBRARY_PATH", filepath.Dir(library))
	return log
}

func readLog(t *testing.T, log string) string {
	t.Helper()
	raw, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// lockedChild starts this test binary as a worker that has locked the clocks.
func lockedChild(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "lock-clocks", nvmltest.UUID0)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if strings.TrimSpace(line) != "locked" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return cmd
}

func TestClocksAreGivenBack(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd){
		"at the end":        func(c *exec.Cmd) { _ = c.Stdin },
		"when it is killed": func(c *exec.Cmd) { _ = c.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			log := fakeNVML(t)
			child := lockedChild(t)
			if got := readLog(t, log); got != "lock "+nvmltest.UUID0+" 1500 1500" {
				t.Errorf("after locking: %q", got)
			}
			if name == "at the end" {
				_ = child.Process.Signal(os.Interrupt)
			}
			end(child)
			_ = child.Wait()
			want := "lock " + nvmltest.UUID0 + " 1500 1500\nreset " + nvmltest.UUID0
			for limit := time.Now().Add(time.Minute); readLog(t, log) != want; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatalf("the log is %q", readLog(t, log))
				}
			}
		})
	}
}

func TestClocksThatMayNotBeLocked(t *testing.T) {
	log := fakeNVML(t)
	t.Setenv(nvmltest.DenyVariable, "1")
	out, err := exec.Command(os.Args[0], "lock-clocks", nvmltest.UUID0).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "needs root") {
		t.Errorf("%v: %s", err, out)
	}
	if got := readLog(t, log); strings.Contains(got, "lock ") {
		t.Errorf("log: %q", got)
	}
	var none *gauges
	if _, err := none.lockClocks(nvmltest.UUID0, 1500); causeOf(err) != result.CauseUnsupported {
		t.Errorf("without NVML: %v", err)
	}
}

func TestClocksThatCannotBeGivenBack(t *testing.T) {
	fakeNVML(t)
	t.Setenv(nvmltest.KeepVariable, "1")
	cmd := exec.Command(os.Args[0], "lock-clocks", nvmltest.UUID0)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); strings.TrimSpace(line) != "locked" {
		t.Fatalf("the child says %q, %v: %s", line, err, &said)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), "are still locked (unlock the clocks: ") || !strings.Contains(said.String(), "--reset-gpu-clocks") {
		t.Errorf("%v: %s", err, &said)
	}
}

// lockForTest does the work of the child: lock, say so, wait for a signal or an end.
func lockForTest(uuid string) error {
	gauges, err := openGauges()
	if err != nil {
		return err
	}
	lock, err := gauges.lockClocks(uuid, 1500)
	if err != nil {
		if fault := (*result.Fault)(nil); asFault(err, &fault) {
			return fmt.Errorf("%w: %s", err, fault.Hint)
		}
		return err
	}
	wait := make(chan os.Signal, 1)
	notifyInterrupt(wait)
	fmt.Println("locked")
	<-wait
	return lock.release()
}

// Package system tests the shipped binary where it meets the machine: faults of
// kernels, cells and workers, the sandbox, signals, disks. PAWL_BIN names the
// binary; `make system` builds it.
package system

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

var (
	pawl  string // the binary under test
	cache string // shared by all tests, so that equal kernels compile once
)

func TestMain(m *testing.M) {
	if sandbox.EnterIfAsked(os.Args) { // a compiler, for a test that builds by itself
		return
	}
	pawl = os.Getenv("PAWL_BIN")
	if pawl == "" {
		fmt.Fprintln(os.Stderr, "system tests drive the shipped binary: run `make system`, or set PAWL_BIN")
		os.Exit(1)
	}
	var err error
	if cache, err = os.MkdirTemp("", "pawl-system-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

// project is a folder with a pawl.yaml, and the environment pawl runs in there.
type project struct {
	t      testing.TB
	dir    string
	env    []string
	binary string // in place of pawl
}

// kernelYAML describes kernel name in testdata/name.c: out[i] from in[i], N of
// them. extra are further lines of the kernel.
func kernelYAML(name string, extra ...string) string {
	lines := []string{
		"  " + name + ":",
		"    source: " + name + ".c",
		"    entry: kernel",
		"    args:",
		"      - {name: in, dtype: f32, shape: [N]}",
		"      - {name: out, dtype: f32, shape: [N], role: out}",
		"      - {name: n, dtype: i32, value: N}",
	}
	for _, e := range extra {
		lines = append(lines, "    "+e)
	}
	return strings.Join(lines, "\n") + "\n"
}

// newProject copies the named kernels from testdata and describes them, with one
// config of 4096 elements. Each test has its own device lock, so that tests can
// run beside each other.
func newProject(t testing.TB, kernels ...string) *project {
	t.Helper()
	p := &project{t: t, dir: t.TempDir()}
	yaml := "version: 1\nkernels:\n"
	for _, name := range kernels {
		source, err := os.ReadFile(filepath.Join("testdata", name+".c"))
		if err != nil {
			t.Fatal(err)
		}
		p.write(name+".c", string(source))
		yaml += kernelYAML(name)
	}
	p.write("pawl.yaml", yaml+"configs:\n  small: {N: 4096}\n")
	p.env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "PAWL_LOCK_DIR="+t.TempDir(), "NO_COLOR=1")
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// replace changes a part of a file of the project.
func (p *project) replace(name, old, by string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	raw, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		p.t.Fatalf("%s does not contain %q", name, old)
	}
	p.write(name, strings.ReplaceAll(string(raw), old, by))
}

// define puts a macro before a kernel's source.
func (p *project) define(kernel, name string, value any) {
	p.t.Helper()
	path := filepath.Join(p.dir, kernel+".c")
	raw, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(kernel+".c", fmt.Sprintf("#define %s %#v\n%s", name, value, raw))
}

// outcome is what a run of pawl left.
type outcome struct {
	code           int
	stdout, stderr string
}

// deadline for any one run of pawl in these tests; none comes near it.
const deadline = 5 * time.Minute

func (p *project) command(args ...string) *exec.Cmd {
	cmd := exec.Command(cmp.Or(p.binary, pawl), args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

func (p *project) run(args ...string) outcome {
	p.t.Helper()
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	timer := time.AfterFunc(deadline, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !timer.Stop() {
		p.t.Fatalf("pawl %v did not end within %v\n%s%s", args, deadline, &stdout, &stderr)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// bench runs pawl bench --json with a short budget and returns the report.
func (p *project) bench(args ...string) (*result.Report, outcome) {
	p.t.Helper()
	got := p.run(append([]string{"bench", "--json", "--budget", "50ms"}, args...)...)
	report, err := result.Decode([]byte(got.stdout))
	if err != nil {
		p.t.Fatalf("pawl bench: %v (exit %d)\n%s", err, got.code, got.stderr)
	}
	return report, got
}

func rowOf(t testing.TB, r *result.Report, kernel string) *result.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Kernel == kernel {
			return row
		}
	}
	t.Fatalf("no row of kernel %s", kernel)
	return nil
}

// mustFault checks that a kernel failed for the given cause, with a message that
// contains every part.
func mustFault(t *testing.T, row *result.Row, cause result.Cause, parts ...string) {
	t.Helper()
	if row.Fault == nil {
		t.Fatalf("%s: no fault, want %q; log: %s", row.Name(), cause, row.Log)
	}
	text := row.Fault.Message + "\n" + row.Fault.Hint
	if row.Fault.Cause != cause {
		t.Errorf("%s: cause %q, want %q: %s", row.Name(), row.Fault.Cause, cause, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q does not mention %q", row.Name(), text, part)
		}
	}
}

func mustMeasure(t *testing.T, row *result.Row) {
	t.Helper()
	if row.Fault != nil {
		t.Fatalf("%s: %s: %s", row.Name(), row.Fault.Cause, row.Fault.Message)
	}
	if row.Timing == nil || row.Timing.Stats.Count == 0 {
		t.Fatalf("%s has no samples", row.Name())
	}
}

// processes lists the running pawl processes of this binary whose command line
// contains word, as pid → command line.
func processes(word string) map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil || !bytes.HasPrefix(raw, []byte(pawl)) {
			continue
		}
		if line := strings.ReplaceAll(string(raw), "\x00", " "); strings.Contains(line, word) {
			found[pid] = line
		}
	}
	return found
}

// descendants returns the processes below pid, by the parent links in /proc.
func descendants(pid int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(raw), ") "); ok {
			var state string
			var parent int
			if _, err := fmt.Sscan(rest, &state, &parent); err == nil && state != "Z" {
				children[parent] = append(children[parent], child)
			}
		}
	}
	var all []int
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		all = append(all, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

// eventually waits until condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func alive(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func allGone(pids []int) bool {
	for _, pid := range pids {
		if alive(pid) {
			return false
		}
	}
	return true
}

func kill(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

// Package gpu tests the shipped binary on a real GPU: every fault a CUDA kernel can
// have, and that the device is free afterwards. PAWL_BIN names the binary. Without
// a GPU the tests skip; PAWL_REQUIRE_GPU=1 turns that into failure.
package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

var pawl = os.Getenv("PAWL_BIN")

// need skips without a GPU and nvcc.
func need(t *testing.T) {
	t.Helper()
	reason := ""
	if pawl == "" {
		reason = "PAWL_BIN names no binary"
	} else if out, err := exec.Command(pawl, "cell", "devices").CombinedOutput(); err != nil {
		reason = "no GPU: " + strings.TrimSpace(string(out))
	} else if _, err := exec.LookPath("nvcc"); err != nil {
		reason = "no nvcc"
	}
	if reason != "" {
		missing(t, reason)
	}
}

// missing skips a test for what the machine lacks, or fails it where that is required.
func missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("PAWL_REQUIRE_GPU") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

type project struct {
	t   *testing.T
	dir string
	env []string
}

var cache, _ = os.MkdirTemp("", "pawl-gpu-")

func TestMain(m *testing.M) {
	if sandbox.EnterIfAsked(os.Args) { // a compiler, for a test that builds by itself
		return
	}
	code := m.Run()
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

// newProject has the kernels of testdata/faults.cu, each with its own lines.
func newProject(t *testing.T, kernels string) *project {
	t.Helper()
	need(t)
	p := &project{t: t, dir: t.TempDir(), env: append(os.Environ(), "XDG_CACHE_HOME="+cache, "NO_COLOR=1")}
	for _, name := range []string{"faults.cu", "launchers.cu"} {
		source, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		p.write(name, string(source))
	}
	p.write("pawl.yaml", "version: 1\nkernels:\n"+kernels+"configs: {c: {N: 65536}}\n")
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// kernel describes one entry of faults.cu; more are further lines.
func kernel(entry string, more ...string) string {
	lines := []string{
		"source: faults.cu", "entry: " + entry,
		"args:", "  - {name: x, dtype: f32, shape: [N]}", "  - {name: y, dtype: f32, shape: [N], role: out}", "  - {name: n, dtype: i64, value: N}",
	}
	if len(more) == 0 {
		more = []string{`launch: {grid: "ceildiv(N, 256)", block: 256}`}
	}
	return "  " + entry + ":\n    " + strings.Join(append(lines, more...), "\n    ") + "\n"
}

func launcher(entry string) string {
	return strings.Replace(kernel(entry, "launcher: true"), "faults.cu", "launchers.cu", 1)
}

func (p *project) bench(args ...string) *result.Report {
	p.t.Helper()
	cmd := exec.Command(pawl, append([]string{"bench", "--json", "--budget", "50ms", "--timeout", "3s"}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	report, err := result.Decode(stdout.Bytes())
	if err != nil {
		p.t.Fatalf("%v\n%s", err, &stderr)
	}
	return report
}

func row(t *testing.T, r *result.Report, kernel string) *result.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Kernel == kernel {
			return row
		}
	}
	t.Fatalf("no row of %s", kernel)
	return nil
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

// All faults in one run, a kernel without any after each: none takes what comes after it along.
func TestFaults(t *testing.T) {
	faults := []struct {
		kernel string
		more   []string
		cause  result.Cause
		says   string
	}{
		{"endless", nil, result.CauseTimeout, "no answer after"},
		{"illegal_address", nil, result.CauseCrash, "ILLEGAL_ADDRESS"},
		{"misaligned", nil, result.CauseCrash, "MISALIGNED_ADDRESS"},
		{"past_end", nil, result.CauseOutOfBounds, "past the end of argument y (byte 262144 of 262144)"},
		{"before_start", nil, result.CauseOutOfBounds, "before the start of argument y"},
		{"stack_overflow", nil, result.CauseCrash, ""},
		{"asserts", nil, result.CauseCrash, "ASSERT"},
		{"traps", nil, result.CauseCrash, ""},
		{"changes_input", nil, result.CauseOutput, "changed its input x"},
		{"writes_nothing", nil, result.CauseNoEffect, "none of its outputs"},
		{"good", []string{`launch: {grid: 1, block: 256, shared: 300000}`}, result.CauseLaunch, "shared memory"},
		{"many_registers", []string{`launch: {grid: 1, block: 1024}`}, result.CauseLaunch, ""},
		{"good", []string{`launch: {grid: 100000, block: 256, cooperative: true}`}, result.CauseLaunch, ""},
	}
	named := func(entry, name string, more ...string) string {
		return strings.Replace(kernel(entry, more...), "  "+entry+":", "  "+name+":", 1)
	}
	yaml := named("good", "first")
	for i, f := range faults {
		yaml += named(f.kernel, fmt.Sprintf("fault%d", i), f.more...) + named("good", fmt.Sprintf("after%d", i))
	}
	report := newProject(t, yaml).bench()
	mustMeasure(t, row(t, report, "first"))
	for i, f := range faults {
		t.Run(fmt.Sprint(f.kernel, f.more), func(t *testing.T) {
			mustMeasure(t, row(t, report, fmt.Sprintf("after%d", i)))
			faulty := row(t, report, fmt.Sprintf("fault%d", i))
			if faulty.Fault == nil {
				t.Fatalf("no fault, want %s", f.cause)
			}
			if faulty.Fault.Cause != f.cause || !strings.Contains(faulty.Fault.Message, f.says) {
				t.Errorf("%s: %s, want %s: %s", faulty.Fault.Cause, faulty.Fault.Message, f.cause, f.says)
			}
			if faulty.Verdict != result.Broken {
				t.Errorf("verdict %q", faulty.Verdict)
			}
		})
	}
}

func TestOutOfDeviceMemory(t *testing.T) {
	p := newProject(t, strings.Replace(kernel("good"), "shape: [N]", "shape: [N * 1000000]", 1)+kernel("last"))
	report := p.bench()
	mustMeasure(t, row(t, report, "last"))
	if f := row(t, report, "good").Fault; f == nil || f.Cause != result.CauseMemory || f.Stage != "plan" {
		t.Errorf("%+v", f)
	}
	// What only the device can say: of what is read and written a copy is kept.
	large := fmt.Sprintf("shape: [%d], role: inout", report.Machine.GPU.MemoryBytes/4*2/3)
	p = newProject(t, strings.Replace(kernel("good"), "shape: [N], role: out", large, 1)+kernel("last"))
	report = p.bench()
	mustMeasure(t, row(t, report, "last"))
	if f := row(t, report, "good").Fault; f == nil || f.Cause != result.CauseMemory || f.Stage == "plan" {
		t.Errorf("%+v", f)
	}
}

func TestLaunchers(t *testing.T) {
	report := newProject(t, launcher("launch")+launcher("launch_nothing")+launcher("launch_elsewhere")+
		launcher("launch_all_elsewhere")+launcher("launch_joined")+launcher("launch_workspace")+kernel("good")).bench()
	mustMeasure(t, row(t, report, "launch"))
	if got := row(t, report, "launch").Trust; got != "author" {
		t.Errorf("trust %q", got)
	}
	if got := row(t, report, "good").Trust; got != "harness" {
		t.Errorf("trust %q", got)
	}
	if f := row(t, report, "launch_nothing").Fault; f == nil || f.Cause != result.CauseNoEffect {
		t.Errorf("a launcher that launches nothing: %+v", f)
	}
	joined := row(t, report, "launch_joined")
	mustMeasure(t, joined)
	if warned(joined, "streams") {
		t.Errorf("work that is joined was called stray: %+v", joined.Warnings)
	}
	for _, name := range []string{"launch", "launch_joined", "good"} { // the device's timer says a little more than the events
		c := row(t, report, name).Timing.Clock
		if c == nil || c.TimerS <= c.EventsS || c.TimerS > 2*c.EventsS+20e-6 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	short := row(t, report, "good").Timing // a few microseconds: several launches a sample, as a graph
	if short.Repeat < 2 || short.GapS <= 0 || short.GapS > 5e-6 {
		t.Errorf("%d launches a sample, %g s between two empty ones", short.Repeat, short.GapS)
	}
	if short.EnergyJ == nil || *short.EnergyJ <= 0 {
		t.Errorf("a launch takes %v J", short.EnergyJ)
	}
	for _, name := range []string{"launch_elsewhere", "launch_all_elsewhere"} {
		stray := row(t, report, name)
		mustMeasure(t, stray)
		if !warned(stray, "streams") {
			t.Errorf("%s: work on another stream was not noticed: %+v", name, stray.Warnings)
		}
		// It does the same work; what it hides must be counted, and no more.
		if ratio := stray.Timing.Stats.Median / joined.Timing.Stats.Median; ratio < 0.9 || ratio > 1.5 {
			t.Errorf("%s takes %.3g s, the same work joined %.3g s", name, stray.Timing.Stats.Median, joined.Timing.Stats.Median)
		}
	}
	if got := row(t, report, "launch_workspace").Timing.DeviceMemory; got < 64<<20 || got > 80<<20 {
		t.Errorf("a launcher that takes 64 MiB took %d bytes", got)
	}
	if got := row(t, report, "good").Timing.DeviceMemory; got < 2*4*65536 || got > 16<<20 {
		t.Errorf("a kernel on 512 KiB took %d bytes", got)
	}
}

func warned(r *result.Row, code string) bool {
	for _, w := range r.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

// The attributes a launch can have, in kernels that need them.
func TestLaunchAttributes(t *testing.T) {
	report := newProject(t, kernel("clustered", `launch: {grid: 256, block: 256, cluster: 4}`)+
		kernel("good", `launch: {grid: 256, block: 256, shared: 100000}`)+
		kernel("cooperates", `launch: {grid: 132, block: 256, cooperative: true}`)+
		kernel("first", `launch: {grid: 256, block: 256, programmatic_dependent: true}`)).bench()
	for _, r := range report.Rows {
		mustMeasure(t, r)
	}
	if r := row(t, report, "good").Timing.Resources[0]; r.Dynamic != 100000 || r.Registers == 0 || !(r.Occupancy > 0 && r.Occupancy < 1) {
		t.Errorf("resources %+v", r)
	}
}

func TestEverySampleHasItsClock(t *testing.T) {
	report := newProject(t, kernel("good")).bench()
	r := row(t, report, "good")
	mustMeasure(t, r)
	for i, ghz := range r.Timing.Samples.GHz {
		if ghz < 0.2 || ghz > 4 {
			t.Fatalf("sample %d ran at %g GHz", i, ghz)
		}
	}
	if report.Machine.GPU == nil || !strings.HasPrefix(report.Machine.GPU.Arch, "sm_") {
		t.Errorf("fingerprint %+v", report.Machine.GPU)
	}
	if r.Sandbox.Level != "full" || len(r.Sandbox.Attempts) > 0 {
		t.Errorf("sandbox %+v", r.Sandbox)
	}
}

func TestAnotherProcessIsNoticed(t *testing.T) {
	p := newProject(t, kernel("endless")+kernel("good"))
	other := exec.Command(pawl, "bench", "endless", "--timeout", "20s")
	other.Dir, other.Env = p.dir, append(p.env, "PAWL_LOCK_DIR="+t.TempDir()) // as if it were no pawl
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	time.Sleep(4 * time.Second)
	r := row(t, p.bench("good"), "good")
	mustMeasure(t, r)
	for _, w := range r.Warnings {
		if w.Code == "foreign-gpu" {
			return
		}
	}
	t.Errorf("warnings: %+v; state: %+v", r.Warnings, r.Timing.State)
}

// However the parent ends, worker and cell end too, whatever the device is doing,
// and the next run is normal.
func TestKilledParentFreesTheDevice(t *testing.T) {
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			killed(t, kernel([]string{"good", "endless"}[i%2]), func(int) {
				time.Sleep(time.Duration(2500+337*i) * time.Millisecond)
			})
		})
	}
	t.Run("while the blocker spins", func(t *testing.T) {
		killed(t, launcher("launch_late"), func(pid int) {
			for began := time.Now(); !slices.ContainsFunc(descendants(pid), hasThread("held")); {
				if time.Since(began) > 30*time.Second {
					t.Fatal("the stream is never held")
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	})
}

// killed kills a run once ready returns, and checks that its remaining processes end.
func killed(t *testing.T, kernels string, ready func(pid int)) {
	t.Helper()
	p := newProject(t, kernels)
	cmd := exec.Command(pawl, "bench", "--min-samples", "10000000", "--max-samples", "10000000", "--timeout", "60s")
	cmd.Dir, cmd.Env = p.dir, p.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	ready(cmd.Process.Pid)
	children := descendants(cmd.Process.Pid)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	for since := time.Now(); !allGone(children); {
		if time.Since(since) > 2*time.Second {
			t.Fatalf("still there after 2 s: %v", children)
		}
		time.Sleep(5 * time.Millisecond)
	}
	mustMeasure(t, row(t, newProject(t, kernel("good")).bench(), "good"))
}

// hasThread reports whether a process has a thread of that name.
func hasThread(name string) func(pid int) bool {
	return func(pid int) bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
		return slices.ContainsFunc(threads, func(file string) bool {
			found, err := os.ReadFile(file)
			return err == nil && strings.TrimSpace(string(found)) == name
		})
	}
}

func descendants(pid int) []int {
	raw, err := exec.Command("ps", "-eo", "pid=,ppid=").Output()
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for line := range strings.Lines(string(raw)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil {
			children[parent] = append(children[parent], child)
		}
	}
	var all []int
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		all = append(all, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

func allGone(pids []int) bool {
	for _, pid := range pids {
		if raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(raw), ") Z ") {
			return false
		}
	}
	return true
}

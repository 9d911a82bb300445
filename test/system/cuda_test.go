package system

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/native/nvml/nvmltest"
	"pawl/internal/result"
	"pawl/test/system/fakegpu/linked"
)

// fakeGPU builds pawl with two GPUs that do not exist.
var fakeGPU = sync.OnceValues(func() (string, error) { return buildFakeGPU("pawl-fakegpu") })

// buildFakeGPU builds it with settings of its main package, each NAME=VALUE.
func buildFakeGPU(name string, settings ...string) (string, error) {
	path := filepath.Join(cache, name)
	return path, linked.Build(path, settings...)
}

// newCUDAProject has the kernels of testdata/fake.cu that yaml describes, on a
// machine with the fake driver, the fake NVML and a compiler for them.
func newCUDAProject(t testing.TB, yaml string) *project {
	t.Helper()
	binary, err := fakeGPU()
	if err != nil {
		t.Skip(err)
	}
	p := newProject(t)
	p.binary = binary
	source, err := os.ReadFile("testdata/fake.cu")
	if err != nil {
		t.Fatal(err)
	}
	p.write("fake.cu", string(source))
	p.write("pawl.yaml", "version: 1\nkernels:\n"+yaml+"configs: {c: {N: 4096}}\n")
	p.env = append(p.env, "NVCC="+cudafake.Compiler(t), "LD_LIBRARY_PATH="+filepath.Dir(nvmltest.Build(t)))
	return p
}

// cudaKernel describes an entry of fake.cu; more are further lines.
func cudaKernel(name, entry string, more ...string) string {
	lines := []string{"source: fake.cu", "entry: " + entry, "oracle: {elementwise: 2 * x}", "args:", "  - {name: x, dtype: f32, shape: [N]}"}
	if entry == "staged_scale" {
		lines = append(lines, "  - {name: stage, dtype: f32, shape: [64], role: scratch}")
	}
	lines = append(lines, "  - {name: y, dtype: f32, shape: [N], role: out}", "  - {name: n, dtype: i32, value: N}")
	lines = append(lines, more...)
	if len(more) == 0 {
		lines = append(lines, `launch: {grid: "ceildiv(N, 256)", block: 256}`)
	}
	return "  " + name + ":\n    " + strings.Join(lines, "\n    ") + "\n"
}

// Launchers take the stream where args has it. One that is called with other parameters than it
// takes crashes, and the row has the signature that pawl called.
func TestCUDALauncherStream(t *testing.T) {
	t.Parallel()
	launcher := func(name, entry string, args ...string) string {
		return "  " + name + ": {source: launcher.cu, launcher: true, entry: " + entry + ", oracle: {elementwise: 2 * x}, args: [" + strings.Join(args, ", ") + "]}\n"
	}
	const x, y, n = "{name: x, dtype: f32, shape: [N]}", "{name: y, dtype: f32, shape: [N], role: out}", "{name: n, dtype: i32, value: N}"
	p := newCUDAProject(t, launcher("last", "stream_last", x, y, n, "stream")+launcher("second", "stream_second", x, "{name: stream}", y, n)+
		launcher("shifted", "hidden", x, y, n))
	source, err := os.ReadFile("testdata/launcher.cu")
	if err != nil {
		t.Fatal(err)
	}
	p.write("launcher.cu", string(source))
	report, _ := p.bench("--budget", "100ms")
	for _, name := range []string{"last", "second"} {
		row := rowOf(t, report, name)
		if row.Fault != nil {
			t.Errorf("%s: %+v", name, row.Fault)
		} else if got := row.Timing.Stats.Median; got < 300e-6 || got > 303e-6 {
			t.Errorf("%s takes %g s", name, got)
		}
	}
	fault := rowOf(t, report, "shifted").Fault
	const called = "pawl called void hidden(cudaStream_t stream, const float *x, float *y, int32_t n)"
	if fault == nil || fault.Cause != result.CauseCrash || !strings.Contains(fault.Hint, called) {
		t.Errorf("%+v; want a crash whose hint has %q", fault, called)
	}
}

// A whole bench: compiled, verified, measured in cells of both devices.
func TestCUDABench(t *testing.T) {
	t.Parallel()
	p := newCUDAProject(t, cudaKernel("one", "scale")+cudaKernel("two", "scale")+cudaKernel("short", "short_scale"))
	p.env = append(p.env, nvmltest.ProcessesVariable+"=3", nvmltest.ReasonsVariable+"=0x4")
	report, _ := p.bench("--budget", "100ms", "--device", "0,1")
	used := map[string]bool{}
	for _, row := range report.Rows {
		if row.Fault != nil {
			t.Fatalf("%s: %+v", row.Kernel, row.Fault)
		}
		used[row.Device] = true
		if row.Trust != "harness" || row.Sandbox == nil || len(row.Sandbox.Attempts) > 0 {
			t.Errorf("%s: trust %q, sandbox %+v", row.Kernel, row.Trust, row.Sandbox)
		}
		for i, ghz := range row.Timing.Samples.GHz {
			if ghz < 1.97 || ghz > 1.99 {
				t.Errorf("%s: sample %d at %g GHz", row.Kernel, i, ghz)
				break
			}
		}
	}
	if !used[cudafake.UUID0] || !used[cudafake.UUID1] {
		t.Errorf("the rows ran on %v", used)
	}
	for _, name := range []string{"one", "two"} {
		if got := rowOf(t, report, name).Timing.Stats.Median; got < 300e-6 || got > 303e-6 { // 300 µs and what a launch takes
			t.Errorf("%s takes %g s", name, got)
		}
	}
	short := rowOf(t, report, "short").Timing
	if short.Repeat < 2 || short.GapS < 0.9e-6 || short.GapS > 1.1e-6 || short.Stats.Median < 4.9e-6 || short.Stats.Median > 5.1e-6 {
		t.Errorf("%d launches a sample, %g s between two, %g s each", short.Repeat, short.GapS, short.Stats.Median)
	}
	gpu := report.Machine.GPU
	if gpu == nil || gpu.Name != "Fake GPU" || gpu.UUID != cudafake.UUID0 || gpu.Driver != "580.65.06" || gpu.PowerLimitW != 700 {
		t.Errorf("%+v", gpu)
	}
	states := rowOf(t, report, "one").Timing.State
	if len(states) == 0 {
		t.Fatal("the GPU's state was not read")
	}
	s := states[0]
	if s.TemperatureC == nil || *s.TemperatureC != 41 || s.PowerW == nil || *s.PowerW != 123.456 || s.GHz == nil || *s.GHz != 1.83 ||
		!slices.Equal(s.Throttled, []string{"power cap"}) || s.Processes == nil || *s.Processes < 1 {
		t.Errorf("%+v", s)
	}
}

// Every faulty kernel stands between good ones: the run goes on, on both devices.
func TestCUDAFaults(t *testing.T) {
	t.Parallel()
	faults := []struct {
		entry string
		more  []string
		cause result.Cause
		says  string
	}{
		{entry: "illegal_address", cause: result.CauseCrash, says: "CUDA_ERROR_ILLEGAL_ADDRESS"},
		{entry: "asserts", cause: result.CauseCrash, says: "a device assertion failed"},
		{entry: "traps", cause: result.CauseCrash, says: "CUDA_ERROR_LAUNCH_FAILED"},
		{entry: "past_the_end", cause: result.CauseOutOfBounds, says: "past the end of argument y (byte 16384 of 16384)"},
		{entry: "changes_input", cause: result.CauseOutput, says: "changed its input x"},
		{entry: "nothing", cause: result.CauseNoEffect, says: "none of its outputs"},
		{entry: "endless", cause: result.CauseTimeout, says: "no answer after"},
		{entry: "heavy_scale", cause: result.CauseLaunch, says: "__launch_bounds__"},
		{entry: "scale", more: []string{"launch: {grid: 1, block: 256, shared: 300000}"}, cause: result.CauseLaunch, says: "shared memory"},
		{entry: "scale", more: []string{"launch: {grid: 100000, block: 256, cooperative: true}"}, cause: result.CauseLaunch, says: "COOPERATIVE"},
	}
	yaml := cudaKernel("first", "scale")
	for i, f := range faults {
		yaml += cudaKernel(fmt.Sprintf("faulty%d", i), f.entry, f.more...)
	}
	report, _ := newCUDAProject(t, yaml+cudaKernel("last", "scale")).bench("--timeout", "3s")
	mustMeasure(t, rowOf(t, report, "first"))
	mustMeasure(t, rowOf(t, report, "last"))
	for i, f := range faults {
		row := rowOf(t, report, fmt.Sprintf("faulty%d", i))
		mustFault(t, row, f.cause, f.says)
		if row.Verdict != result.Broken {
			t.Errorf("%s: verdict %q", f.entry, row.Verdict)
		}
	}
}

// A check verifies kernels side by side, plays the versions of each in one cell and knows the slower
// one. A kernel that does not end is tried again alone.
func TestCUDACheck(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	changes := []struct {
		entry   string
		verdict result.Verdict
		cause   result.Cause
	}{
		{"slow_scale", result.Regression, ""},
		{"wrong_scale", result.Incorrect, ""},
		{"other_scale", result.Maintained, ""},
		{"staged_scale", result.Maintained, ""}, // with a further argument, so that its output is another one
		{"illegal_address", result.Broken, result.CauseCrash},
		{"endless", result.Broken, result.CauseTimeout},
		{"heavy_scale", result.Broken, result.CauseLaunch},
		{"scale", result.Unchanged, ""},
	}
	describe := func(entry func(i int) string) (yaml string) {
		for i := range changes {
			yaml += cudaKernel(fmt.Sprintf("kernel%d", i), entry(i))
		}
		return "version: 1\nkernels:\n" + yaml + "configs: {c: {N: 4096}}\n"
	}
	p := newCUDAProject(t, "")
	p.write("pawl.yaml", describe(func(int) string { return "scale" }))
	p.commitAll()
	p.write("pawl.yaml", describe(func(i int) string { return changes[i].entry }))
	got := p.run("check", "--json", "--budget", "50ms", "--timeout", "1s")
	report, err := result.Decode([]byte(got.stdout))
	if err != nil {
		t.Fatalf("%v\n%s", err, got.stderr)
	}
	if got.code != 1 || len(report.Rows) != len(changes) {
		t.Errorf("exit %d, %d rows", got.code, len(report.Rows))
	}
	for i, row := range report.Rows {
		want := changes[i]
		cause := result.Cause("")
		if row.Fault != nil {
			cause = row.Fault.Cause
		}
		if row.Verdict != want.verdict || cause != want.cause {
			t.Errorf("%s (%s): %s %q, want %s %q: %+v %+v", row.Name(), want.entry, row.Verdict, cause, want.verdict, want.cause, row.Fault, row.Reasons)
		}
		again := slices.ContainsFunc(row.Warnings, func(w result.Warning) bool { return w.Code == "crowded" })
		if again != (want.entry == "endless") {
			t.Errorf("%s (%s): it was verified again: %t", row.Name(), want.entry, again)
		}
	}
}

// commitAll makes a repository of the project with one commit.
func (p *project) commitAll() {
	p.t.Helper()
	p.env = append(p.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}, {"commit", "--quiet", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil {
			p.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// A whole check of kernels that read a symbol: the oracles know its data, also in timed samples.
func TestCUDASymbols(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestCUDACheck checks device code, internal/worker/cell reads symbols")
	}
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	symbolKernel := func(name, entry, oracle, symbol string) string {
		return fmt.Sprintf("  %s: {source: fake.cu, entry: %s, launch: {grid: 16, block: 256}, oracle: %s, args: [{name: x, dtype: f32, shape: [N]}, "+
			"{name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i32, value: N}, {name: f, dtype: f32, shape: [4096], symbol: %s}]}\n", name, entry, oracle, symbol)
	}
	const formula, host = "{elementwise: 2 * x + f}", "{kernel: reference}"
	describe := func(entry, wrong, symbol string) string {
		return "version: 1\nkernels:\n" + symbolKernel("elementwise", entry, formula, "filter") + symbolKernel("kernel", entry, host, "filter") +
			symbolKernel("wrong", wrong, formula, "filter") + symbolKernel("missing", "filtered", formula, symbol) +
			"  reference: {source: reference.c, entry: reference, args: [{name: x, dtype: f32, shape: [N]}, {name: f, dtype: f32, shape: [4096]}, " +
			"{name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i32, value: N}]}\nconfigs: {c: {N: 4096}}\n"
	}
	p := newCUDAProject(t, "")
	p.write("reference.c", "void reference(const float *x, const float *f, float *y, int n) { for (int i = 0; i < n; i++) y[i] = 2 * x[i] + f[i]; }\n")
	p.write("pawl.yaml", describe("filtered", "filtered", "filter"))
	p.commitAll()
	p.write("pawl.yaml", describe("other_filtered", "wrong_filtered", "filtre"))
	got := p.run("check", "--json", "--budget", "200ms")
	report, err := result.Decode([]byte(got.stdout))
	if err != nil {
		t.Fatalf("%v\n%s", err, got.stderr)
	}
	for name, want := range map[string]result.Verdict{
		"elementwise": result.Maintained, "kernel": result.Maintained, "wrong": result.Incorrect, "missing": result.Broken, "reference": result.Unchanged,
	} {
		if row := rowOf(t, report, name); row.Verdict != want {
			t.Errorf("%s: %s, want %s: %+v %+v", name, row.Verdict, want, row.Fault, row.Reasons)
		}
	}
	for _, name := range []string{"elementwise", "kernel"} {
		v := rowOf(t, report, name).Verification
		if v == nil || !slices.ContainsFunc(v.Cases, func(c *result.Case) bool { return c.Lane == result.TimedLane }) {
			t.Errorf("%s: no timed sample was verified: %+v", name, v)
		}
	}
	if fault := rowOf(t, report, "missing").Fault; fault == nil || fault.Cause != result.CauseNoEntry || !strings.Contains(fault.Hint, "it has: filter") {
		t.Errorf("%+v", fault)
	}
}

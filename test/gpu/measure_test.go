package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/result"
)

// The data is generated anew for every batch, at the same addresses.
func TestDataIsRegenerated(t *testing.T) {
	r := row(t, newProject(t, kernel("remembers")).bench("--budget", "500ms", "--min-samples", "2000"), "remembers")
	mustMeasure(t, r)
	if n := strings.Count(r.Log, "new data"); n < 3 {
		t.Errorf("the data changed %d times\n%s", n, r.Log)
	}
}

// A hot launch finds its arguments in the cache; a cold one does not.
func TestHotIsHotterThanCold(t *testing.T) {
	p := newProject(t, strings.Replace(kernel("good"), "ceildiv(N, 256)", "ceildiv(N, 256)", 1))
	p.write("pawl.yaml", "version: 1\nkernels:\n"+kernel("good")+"configs: {c: {N: 2097152}}\n") // 16 MiB: fits the L2
	cold, hot := row(t, p.bench("--cache", "cold"), "good"), row(t, p.bench("--cache", "hot"), "good")
	mustMeasure(t, cold)
	mustMeasure(t, hot)
	if ratio := hot.Timing.Stats.Median / cold.Timing.Stats.Median; ratio > 0.9 {
		t.Errorf("hot %.3g s, cold %.3g s", hot.Timing.Stats.Median, cold.Timing.Stats.Median)
	}
}

func TestSustain(t *testing.T) {
	p := newProject(t, kernel("good")+kernel("first"))
	p.write("pawl.yaml", "version: 1\nkernels:\n"+kernel("good")+kernel("first")+"configs: {c: {N: 67108864}}\n")
	report := p.bench("good", "--sustain", "--against", "first")
	r := row(t, report, "good")
	mustMeasure(t, r)
	if report.Method.Cache != "sustained" || r.Timing.Stats.Count < 8 || len(r.Rivals) != 1 || r.Rivals[0].Ratio == nil {
		t.Fatalf("cache %s, %d stretches, rivals %+v", report.Method.Cache, r.Timing.Stats.Count, r.Rivals)
	}
	if r.Timing.Stats.GHz < 0.2 {
		t.Errorf("the clock is not known: %g GHz", r.Timing.Stats.GHz)
	}
	if each := r.Timing.Clock.WorkerS / r.Timing.Stats.Median; each < 0.8 || each > 1.25 {
		t.Errorf("sustained %.3g s a launch, by the worker's clock %.3g s", r.Timing.Stats.Median, r.Timing.Clock.WorkerS)
	}
}

func TestDevices(t *testing.T) {
	p := newProject(t, kernel("good")+kernel("first"))
	report := p.bench("--device", "all")
	mustMeasure(t, row(t, report, "good"))
	mustMeasure(t, row(t, report, "first"))
	cmd := exec.Command(pawl, "bench", "--device", "0,77")
	cmd.Dir, cmd.Env = p.dir, p.env
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "there is no GPU 77") {
		t.Errorf("GPU 77: %v\n%s", err, out)
	}
	if f := row(t, p.bench("--device", "77"), "good").Fault; f == nil || f.Cause != result.CauseUnsupported || !strings.Contains(f.Message, "there is no GPU 77") {
		t.Errorf("GPU 77 alone: %+v", f)
	}
}

// shadow compiles a library that hides the real one of that name.
func shadow(t *testing.T, p *project, name, source string, flags ...string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "shadow.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", append([]string{"-shared", "-fPIC", "-o", filepath.Join(dir, name), file}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.env = append(p.env, "LD_LIBRARY_PATH="+dir)
}

// A driver older than pawl needs: the reason reaches the row, with the minimum.
func TestDriverTooOld(t *testing.T) {
	p := newProject(t, kernel("good"))
	p.bench() // the artifact is in the cache, so that only the driver is missing
	shadow(t, p, "libcuda.so.1", "int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int *v) { *v = 11040; return 0; }")
	f := row(t, p.bench(), "good").Fault
	if f == nil || f.Cause != result.CauseUnsupported || !strings.Contains(f.Message, "11.4") || !strings.Contains(f.Message, "12.0") {
		t.Errorf("%+v", f)
	}
}

// Without NVML the GPU's state is not known; the measuring goes on, and says so.
func TestNoNVML(t *testing.T) {
	p := newProject(t, kernel("good"))
	shadow(t, p, "libnvidia-ml.so.1", "int nothing;")
	report := p.bench()
	r := row(t, report, "good")
	mustMeasure(t, r)
	for _, state := range r.Timing.State {
		if state.PowerW != nil || state.TemperatureC != nil {
			t.Errorf("a state without NVML: %+v", state)
		}
	}
	found := false
	for _, w := range report.Warnings {
		found = found || w.Code == "nvml"
	}
	if !found {
		t.Errorf("nobody said so: %+v", report.Warnings)
	}
}

// Where there is no nvcc, NVRTC compiles, and what it made runs.
func TestNVRTC(t *testing.T) {
	p := newProject(t, kernel("good"))
	nvcc, err := exec.LookPath("nvcc")
	if err != nil {
		t.Fatal(err)
	}
	if nvcc, err = filepath.EvalSymlinks(nvcc); err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(filepath.Dir(nvcc))
	p.env = append(p.env, "PAWL_NVRTC="+filepath.Join(home, "lib64"), "CUDA_HOME="+home, "NVCC=")
	r := row(t, p.bench(), "good")
	mustMeasure(t, r)
	if !strings.Contains(r.Build.Compiler, "NVRTC") {
		t.Errorf("compiled by %s", r.Build.Compiler)
	}
}

const strayPython = `import torch
_other = None

def joined(x, y):
    torch.mul(x, 2, out=y)
    for _ in range(20):
        y.add_(1)

def stray(x, y):
    global _other
    if _other is None:
        _other = torch.cuda.Stream()
    with torch.cuda.stream(_other):
        torch.mul(x, 2, out=y)
        for _ in range(20):
            y.add_(1)
`

// Python that leaves its work on another stream.
func TestPythonOnAnotherStream(t *testing.T) {
	p := newProject(t, kernel("good"))
	if out, err := exec.Command("python3", "-c", "import torch").CombinedOutput(); err != nil {
		missing(t, "no PyTorch: "+string(out))
	}
	p.write("streams.py", strayPython)
	yaml := "version: 1\nkernels:\n"
	for _, name := range []string{"joined", "stray"} {
		yaml += "  " + name + ":\n    python: streams:" + name + "\n    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}]\n"
	}
	p.write("pawl.yaml", yaml+"configs: {c: {N: 16777216}}\n")
	report := p.bench("--timeout", "60s")
	joined, stray := row(t, report, "joined"), row(t, report, "stray")
	mustMeasure(t, joined)
	mustMeasure(t, stray)
	if !warned(stray, "streams") || warned(joined, "streams") {
		t.Errorf("joined: %+v\nstray: %+v", joined.Warnings, stray.Warnings)
	}
	if ratio := stray.Timing.Stats.Median / joined.Timing.Stats.Median; ratio < 0.9 || ratio > 1.5 {
		t.Errorf("stray takes %.3g s, joined %.3g s", stray.Timing.Stats.Median, joined.Timing.Stats.Median)
	}
}

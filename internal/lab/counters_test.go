package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/advice"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/sandbox"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// realPawl is a name of the test binary under which it is a real worker with real cells.
const realPawl = "real-pawl"

// bePawl is what pawl does as a worker and as a cell.
func bePawl() {
	switch {
	case sandbox.EnterIfAsked(os.Args):
	case os.Args[1] == "worker":
		_ = worker.Serve(context.Background(), os.Stdin, os.Stdout, worker.ServeOptions{})
	default:
		_ = cell.Serve(os.Args[2], os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies"))
	}
}

// realLab returns a lab with real cells, whose launches begin so.
func realLab(t *testing.T, cache string) *Lab {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	real := filepath.Join(filepath.Dir(self), realPawl)
	if err := os.Link(self, real); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	report := &result.Report{}
	report.Method.Cache, report.Method.Seed = cache, 7
	opts := Options{Sandbox: "auto", Worker: []string{"env", "PAWL_LOCK_DIR=" + dir, real, "worker"}, Timeout: 10 * time.Second}
	opts.Build.CacheDir = filepath.Join(dir, "cache")
	b := New(run.New(dir, time.Now(), nil), report, opts)
	t.Cleanup(b.Close)
	return b
}

// built returns the jobs of a spec's kernels, built.
func built(t *testing.T, b *Lab, yaml string, files map[string]string) []*Job {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "pawl.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := spec.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*Job
	for _, k := range s.Kernels {
		for _, c := range k.Configs {
			jobs = append(jobs, NewJob(s.Dir, k.Default(), c))
		}
	}
	if err := b.Build(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	for _, job := range jobs {
		if fault := job.Record.Fault; fault != nil {
			t.Fatalf("%s: %s (%s)", job.Name(), fault.Message, fault.Hint)
		}
	}
	return jobs
}

const countedYAML = `version: 1
kernels:
  calm: {source: k.c, entry: calm, args: &args [{name: x, dtype: f32, shape: [65536], role: inout}, {name: n, dtype: i64, value: 65536}], configs: {c: {}}}
  faults: {source: k.c, entry: faults, args: *args, configs: {c: {}}}
  sleeps: {source: k.c, entry: sleeps, args: *args, configs: {c: {}}}
`

const faultedPages = 300

// faults touches fresh pages in every launch, sleeps leaves the processor once.
const countedSource = `#define _GNU_SOURCE
#include <sys/mman.h>
#include <time.h>
void calm(float *x, long n) { for (long i = 0; i < n; i++) x[i] = x[i] * 0.5f + 1; }
void faults(float *x, long n) {
	long size = 300 * 4096;
	char *fresh = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(fresh, size, MADV_NOHUGEPAGE);
	for (long at = 0; at < size; at += 4096) fresh[at] = 1;
	x[0] = fresh[n % size];
	munmap(fresh, size);
}
void sleeps(float *x, long n) {
	struct timespec t = {0, 2000000};
	calm(x, n);
	nanosleep(&t, 0);
}
`

// The kernel's own events are counted one by one: what the cell does besides, between launches and
// before them, is not among them. What findings say of time needs a machine that is not too busy.
func TestCountersOfAKernel(t *testing.T) {
	for _, cache := range []string{"cold", "hot"} {
		t.Run(cache, func(t *testing.T) {
			b := realLab(t, cache)
			jobs := built(t, b, countedYAML, map[string]string{"k.c": countedSource})
			var wrong []string
			for range 6 {
				if wrong = countedWrong(t, b, jobs, cache); len(wrong) == 0 {
					return
				}
				t.Logf("once more: %s", strings.Join(wrong, "; "))
			}
			t.Error(strings.Join(wrong, "; "))
		})
	}
}

// countedWrong counts calm, faults and sleeps, and returns what is wrong with the times.
func countedWrong(t *testing.T, b *Lab, jobs []*Job, cache string) (wrong []string) {
	t.Helper()
	got := map[string]*Counters{}
	for i, want := range []string{"", "host-page-faults", "host-waiting"} {
		name := jobs[i].Variant.Kernel.Name
		c, err := b.Counters(t.Context(), jobs[i])
		if err != nil {
			t.Fatal(err)
		}
		got[name] = c
		t.Logf("%s: %.3g s, %d × %d launches, %v", name, c.Seconds, c.Readings, c.Launches, c.Values)
		if c.Cache != cache && c.Cache != "hot" || len(c.Values)+len(c.Absent) != 16 {
			t.Errorf("%s: %s, %d values and %d absent", name, c.Cache, len(c.Values), len(c.Absent))
		}
		for _, a := range c.Absent {
			if a.Why == "" || c.Values[a.Name] != (Counted{}) {
				t.Errorf("%s: %+v", name, a)
			}
		}
		said := advice.Builtin().Judge(advice.Gather(b.HostEvidence(jobs[i], nil, c)))
		switch {
		case want == "":
		case cache == "cold" && c.Seconds == 0 && len(said.Findings) == 0: // flushing took longer at times than with the launch: other work
		case len(said.Findings) == 0:
			wrong = append(wrong, name+": no finding")
		case said.Findings[0].ID != want || !slices.Contains(said.Findings[0].Rests, advice.FromCounters):
			wrong = append(wrong, fmt.Sprintf("%s: %+v", name, said.Findings[0]))
		default:
			t.Logf("%s: %s: %s", name, said.Findings[0].Evidence, said.Findings[0].Gain())
		}
	}
	near := func(name, counter string, want, by float64) {
		t.Helper()
		if v, counted := got[name].Values[counter]; counted && math.Abs(v.Value-want) > by {
			wrong = append(wrong, fmt.Sprintf("%s: %s is %v, want %v ± %v", name, counter, v.Value, want, by))
		}
	}
	near("calm", "page-faults", 0, 1)
	near("faults", "page-faults", faultedPages, 3)
	near("sleeps", "page-faults", 0, 1)
	switches := 0.0
	if cache == "cold" { // flushing takes so long that other work interrupts launches of every kernel
		switches = got["calm"].Values["context-switches"].Value
	}
	near("calm", "context-switches", switches, 1)
	near("sleeps", "context-switches", switches+1.5, 1)
	if cache == "hot" { // from cold caches it has the time in which dirty lines are written back, which other work stretches
		near("calm", "task-clock", got["calm"].Seconds, 2*got["calm"].Seconds)
	}
	near("sleeps", "task-clock", 0, 1e-3)
	near("calm", "instructions", 10*16384, 10*16384)
	if _, counted := got["calm"].Values["page-faults"]; !counted {
		t.Skip("this system counts no page faults")
	}
	if s := got["sleeps"].Seconds; s < 1.2e-3 && (s > 0 || cache == "hot") { // 0: other work hid it, as above
		wrong = append(wrong, fmt.Sprintf("a launch that sleeps 2 ms takes %v s", s))
	}
	return wrong
}

// What does not run on the processor is not counted there, and a worker that does not know counters
// is not asked.
func TestCountersOfNoHostKernel(t *testing.T) {
	b := labWithGPU(t, "")
	for name, job := range map[string]*Job{"profile it with ncu": twoVersions(t)[0], "same version of pawl": scripted(t, "small", puppet.Script{})} {
		c, err := b.Counters(t.Context(), job)
		fault, ok := errors.AsType[*result.Fault](err)
		if c != nil || !ok || fault.Cause != result.CauseUnsupported || !strings.Contains(fault.Hint, name) {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// Values are medians of differences, for one launch; noise makes nothing negative.
func TestReading(t *testing.T) {
	r := reading{share: 1}
	for i, with := range []float64{100, 130, 110, 1e6, 120} {
		r.add(result.Count{Value: 50}, result.Count{Value: with, Unit: "s", EnabledS: 2, RunningS: 2 - float64(i)/4}, 10)
	}
	if got, want := r.counted(), (Counted{Value: 7, Unit: "s", Spread: 1, Share: 0.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r = reading{share: 1}
	r.add(result.Count{Value: 50}, result.Count{Value: 40}, 10)
	if got := r.counted(); got.Value != 0 || got.Share != 1 {
		t.Errorf("%+v", got)
	}
	for _, test := range []struct {
		seconds []float64
		repeat  int
		waited  float64
		want    float64
	}{
		{[]float64{1e-4, 1e-4, 9e-3}, 1, 8e-3, 1e-4},    // flushing takes longer; one sample was interrupted
		{[]float64{5e-3, 7e-3, 6e-3}, 1, 6e-3, 4e-3},    // the launches take most of the request, and waited
		{[]float64{2e-5}, 1000, 6e-3, 1.4e-5},           // many launches of one sample
		{[]float64{5e-3, 5e-3, 5e-3, 5e-3}, 1, 1, 0},    // the clocks differ
		{[]float64{5e-3, 5e-3, 5e-3, 5e-3}, 1, 0, 5e-3}, // an idle machine
	} {
		reply := &wire.SampleReply{WorkerS: 30e-3}
		reply.Seconds, reply.WaitedS = test.seconds, test.waited
		if got := ran(reply, test.repeat); math.Abs(got-test.want) > 1e-3*test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	names := []string{"a", "b", "c"}
	c := &tally{}
	if left := c.without(names, []result.Uncounted{{Name: "b", Why: "x"}}); !slices.Equal(left, []string{"a", "c"}) || len(c.Absent) != 1 || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("%v, %v", left, c.Absent)
	}
}

// What readings do not agree on is not known; little is, however little they agree.
func TestVague(t *testing.T) {
	c := &Counters{Seconds: 1e-4, Values: map[string]Counted{
		"task-clock": {Value: 0, Spread: 2e-4}, "page-faults": {Value: 300, Spread: 150}, "context-switches": {Value: 0, Spread: 0.5}, "cycles": {Value: 3e5, Spread: 9e4},
		"instructions": {Value: 1e5, Spread: 5e4}, "branch-misses": {Value: 20, Spread: 30}, "cache-misses": {Value: 2000, Spread: 3000},
	}}
	var vague []string
	for name := range c.Values {
		if c.vague(name) {
			vague = append(vague, name)
		}
	}
	slices.Sort(vague)
	if got := strings.Join(vague, " "); got != "cache-misses instructions page-faults task-clock" {
		t.Error(got)
	}
}

// Evidence has what the file declares, what was timed and counted, and the roof of the processor.
func TestHostEvidence(t *testing.T) {
	folder := t.TempDir()
	peaksIn(t, folder)
	b := onProcessor(folder)
	job := jobOf(spec.CellHost, 1, 5, 0)
	job.Instance.Flops, job.Instance.Bytes, job.Record.Build = 100, 400, &result.Build{Flags: []string{"-g", "-O0"}}
	counted := &Counters{Seconds: 3e-3, Values: map[string]Counted{"page-faults": {Value: 7, Spread: 1, Share: 1}, "task-clock": {Spread: 1e-3}}}
	e := b.HostEvidence(job.Job, job.timing, counted)
	if e.Flops != 100 || e.Bytes != 400 || !e.Debug || e.Seconds != job.timing.Stats.Median || e.Processor.Seconds != 3e-3 || e.Bandwidth != 10e9 || e.Processor.Threads != 1 ||
		math.Abs(e.Processor.RoofPct-50) > 1e-9 || !e.Processor.Memory || len(e.Processor.Counters) != 1 || e.Processor.Counters["page-faults"] != 7 {
		t.Errorf("%+v, %+v", e, *e.Processor)
	}
	e = b.HostEvidence(job.Job, job.timing, nil)
	if e.Seconds != job.timing.Stats.Median || e.Processor.Counters != nil {
		t.Errorf("nothing counted: %+v, %+v", e, *e.Processor)
	}
	job = jobOf(spec.CellHost, 4, 5, 0)
	job.Record.Build = nil
	if e = b.HostEvidence(job.Job, nil, nil); e.Bandwidth != 0 || e.Processor.Threads != 4 || e.Seconds != 0 || e.Processor.RoofPct != 0 || e.Debug {
		t.Errorf("several threads: %+v, %+v", e, *e.Processor)
	}
	numpy := pythonOf("numpy", 1, 5)
	if e = b.HostEvidence(numpy.Job, numpy.timing, nil); e.Processor.Threads != 0 { // its libraries use as many as they like
		t.Errorf("NumPy: %+v", *e.Processor)
	}
}

// Python functions on the CPU are counted like compiled ones, with what the interpreter does for them.
func TestCountersOfPython(t *testing.T) {
	if os.Getenv("PAWL_PYTHON") == "" {
		t.Skip(`no Python: PAWL_PYTHON="$(tools/python)" installs and names one with NumPy`)
	}
	b := realLab(t, "cold")
	job := built(t, b, `version: 1
kernels:
  pages: {python: "k:run", args: [{name: x, dtype: f32, shape: [4096]}, {name: y, dtype: f32, shape: [4096], role: out}], configs: {c: {}}}
`, map[string]string{"k.py": "import mmap\nimport numpy\n\ndef run(x, y):\n    fresh = mmap.mmap(-1, 300 * 4096)\n    fresh.madvise(15)\n    for at in range(0, 300 * 4096, 4096):\n        fresh[at] = 1\n    fresh.close()\n    y[:] = x\n"})[0]
	c, err := b.Counters(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.3g s, %d × %d launches, %v", c.Seconds, c.Readings, c.Launches, c.Values)
	if v, counted := c.Values["page-faults"]; counted && math.Abs(v.Value-faultedPages) > 10 {
		t.Errorf("page faults: %+v", v)
	}
	if e := b.HostEvidence(job, nil, c); e.Processor.Threads != 0 {
		t.Errorf("%+v", *e.Processor)
	}
}

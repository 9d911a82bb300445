package lab

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/sandbox"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/puppet"
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
// before them, is not among them.
func TestCountersOfAKernel(t *testing.T) {
	for _, cache := range []string{"cold", "hot"} {
		t.Run(cache, func(t *testing.T) {
			b := realLab(t, cache)
			jobs := built(t, b, countedYAML, map[string]string{"k.c": countedSource})
			got := map[string]*Counters{}
			for _, job := range jobs {
				c, err := b.Counters(t.Context(), job)
				if err != nil {
					t.Fatal(err)
				}
				got[job.Variant.Kernel.Name] = c
				t.Logf("%s: %.3g s, %d × %d launches, %v", job.Name(), c.Seconds, c.Readings, c.Launches, c.Values)
			}
			calm, faults, sleeps := got["calm"], got["faults"], got["sleeps"]
			if calm.Cache != cache && calm.Cache != "hot" {
				t.Errorf("%s", calm.Cache)
			}
			for name, c := range got {
				for _, a := range c.Absent {
					if a.Why == "" || c.Values[a.Name] != (Counted{}) {
						t.Errorf("%s: %+v", name, a)
					}
				}
				if len(c.Values)+len(c.Absent) != 16 {
					t.Errorf("%s: %d values and %d absent", name, len(c.Values), len(c.Absent))
				}
			}
			if _, counted := calm.Values["page-faults"]; !counted {
				t.Skip("this system counts no page faults")
			}
			near := func(what string, got, want, by float64) {
				t.Helper()
				if math.Abs(got-want) > by {
					t.Errorf("%s: %v, want %v ± %v", what, got, want, by)
				}
			}
			near("page faults of calm", calm.Values["page-faults"].Value, 0, 1)
			near("page faults of faults", faults.Values["page-faults"].Value, faultedPages, 3)
			near("page faults of sleeps", sleeps.Values["page-faults"].Value, 0, 1)
			clock := calm.Values["task-clock"]
			if clock.Unit != "s" || clock.Value < 0.3*calm.Seconds || clock.Value > 3*calm.Seconds {
				t.Errorf("task-clock of calm: %+v; a launch takes %v s", clock, calm.Seconds)
			}
			if c := sleeps.Values["task-clock"].Value; c > 1e-3 || sleeps.Seconds < 2e-3 {
				t.Errorf("task-clock of sleeps: %v s; a launch takes %v s", c, sleeps.Seconds)
			}
			if c, known := sleeps.Values["context-switches"]; known {
				near("context switches of sleeps", c.Value, 1.5, 1) // a busy machine adds some
				near("context switches of calm", calm.Values["context-switches"].Value, 0, 1)
			}
			if inst, known := calm.Values["instructions"]; known && (inst.Value < 16384 || inst.Value > 20*65536) {
				t.Errorf("instructions of calm: %+v", inst)
			}
		})
	}
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
	names := []string{"a", "b", "c"}
	c := &tally{}
	if left := c.without(names, []result.Uncounted{{Name: "b", Why: "x"}}); !slices.Equal(left, []string{"a", "c"}) || len(c.Absent) != 1 || !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("%v, %v", left, c.Absent)
	}
}

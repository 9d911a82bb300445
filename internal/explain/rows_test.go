package explain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// jobOf is a job that launches functions.
func jobOf(name string, functions ...string) *lab.Job {
	job := &lab.Job{Config: &spec.Config{Name: "c"}, Instance: &spec.Instance{}, Artifact: &build.Artifact{Symbols: functions}}
	job.Variant.Kernel = &spec.Kernel{Name: name, Cell: spec.CellCUDA}
	job.Instance.Launches = make([]spec.InstanceLaunch, len(functions))
	return job
}

func askingIn(t *testing.T) *asking {
	t.Helper()
	return &asking{run: run.New(t.TempDir(), time.Now(), nil), seen: map[*lab.Job]*seen{}}
}

// A function is compared with that of its name, else with that at its place, unless that has a partner.
func TestPartners(t *testing.T) {
	for _, test := range []struct{ now, before, want string }{
		{"a b", "a b", "a b"},
		{"b a", "a b", "b a"},
		{"new b", "old b", "old b"},
		{"new a", "a b", "new a"}, // what stands at its place is a's
		{"new a", "a", "new a"},
		{"a new", "a", "a new"},
		{"_Z3newPf", "_Z3oldPf", "old"},
	} {
		a := askingIn(t)
		now, before := jobOf("k", strings.Fields(test.now)...), jobOf("k", strings.Fields(test.before)...)
		var got []string
		for i, name := range a.functions(now) {
			got = append(got, a.partner(now, before, i, name))
			if same := a.partner(now, now, i, name); same != name {
				t.Errorf("%s is compared with %s of its own version", name, same)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s after %s: compared with %s, want %s", test.now, test.before, got, test.want)
		}
	}
}

// The launches of a profile belong to its jobs, in their order; launches of one function are repeats.
func TestLaunchesOfJobs(t *testing.T) {
	file := unpack(t, t.TempDir(), "h200_planted_curated.csv.gz", "some.csv", func(line string) bool { return only("copy_ok")(line) || only("load_bad")(line) })
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := profile.Read(file, raw)
	if err != nil || len(whole.Launches) < 6 {
		t.Fatalf("%v, %d launches", err, len(whole.Launches))
	}
	first, n := plain(whole.Launches[0].Kernel), len(whole.Launches)
	a := askingIn(t)
	one, rest := jobOf("k", "x"), jobOf("l", "y")
	opts := lab.Profiling{Cache: "all", Clock: "none", Replay: "kernel"}
	made := &lab.Profiled{Raw: raw, Report: []byte("NVR"), Tool: "ncu 1", Command: []string{"ncu"}, Launches: []int{3, n - 3}}
	if err := a.read([]*lab.Job{one, rest}, made, opts); err != nil {
		t.Fatal(err)
	}
	second := plain(whole.Launches[1].Kernel) // they take turns
	if names := a.functions(one); first == second || !slices.Equal(names, []string{first, second}) || len(a.of(one).launches[first]) != 2 || len(a.of(one).launches[second]) != 1 {
		t.Errorf("%s: %d launches of %s", names, len(a.of(one).launches[first]), first)
	}
	got := 0
	for _, name := range a.functions(rest) {
		got += len(a.of(rest).launches[name])
	}
	if got != n-3 {
		t.Errorf("%d launches of the second, want %d", got, n-3)
	}
	by := a.of(rest).profiler
	if by == nil || by != a.of(one).profiler || !slices.Equal(by.Files, []string{"profile-0.csv", "profile-0.ncu-rep"}) || by.Cache != "all" {
		t.Fatalf("%+v", by)
	}
	for _, name := range by.Files {
		if _, err := os.Stat(filepath.Join(a.run.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	launcher := jobOf("m", "z") // nobody knows how many kernels it launches
	if err := a.read([]*lab.Job{launcher}, &lab.Profiled{Raw: raw, Launches: []int{-1}}, opts); err != nil || len(a.functions(launcher)) != 2 {
		t.Errorf("%v, %s", err, a.functions(launcher))
	}
	if files := a.of(launcher).profiler.Files; !slices.Equal(files, []string{"profile-1.csv"}) {
		t.Errorf("the second profile is in %s", files)
	}
	a = askingIn(t)
	err = a.read([]*lab.Job{one, rest}, &lab.Profiled{Raw: raw, Launches: []int{3, n}}, opts)
	if err == nil || !strings.Contains(err.Error(), "l/c has ") || !strings.HasSuffix(err.Error(), " from the 4. on") {
		t.Errorf("more launches than were profiled: %v", err)
	}
	if a.of(one).profiler != nil || len(a.of(one).order) > 0 {
		t.Errorf("a profile that does not add up is believed in part: %+v", a.of(one))
	}
}

// A run keeps profiles up to a size, and says what it does not keep.
func TestProfilesAreBounded(t *testing.T) {
	a := askingIn(t)
	job := jobOf("k", "x")
	a.bytes = mostKept - 2
	names := a.keep([]*lab.Job{job}, &lab.Profiled{Raw: []byte("abc"), Report: []byte("ab")})
	if !slices.Equal(names, []string{"profile-0.ncu-rep"}) || a.bytes != mostKept {
		t.Errorf("kept %s, %d bytes", names, a.bytes)
	}
	if limits := a.of(job).limits; len(limits) != 1 || !strings.Contains(limits[0].Message, "profile-0.csv is not kept: profiles of this run take more than 32 MiB") {
		t.Errorf("%+v", limits)
	}
}

// What is lacking is said once, with its reason; where the time was spent, that is the reason.
func TestLacks(t *testing.T) {
	s := &seen{}
	for range 2 {
		s.lacks(t.Context(), "not profiled", result.Faultf(result.CauseUnsupported, "no ncu").WithHint("install it"))
	}
	late, cancel := context.WithTimeoutCause(t.Context(), 0, errNoTime)
	defer cancel()
	s.lacks(late, "not profiled", errors.New("cancelled"))
	if len(s.limits) != 2 || s.limits[0].Message != "not profiled: no ncu" || s.limits[0].Hint != "install it" ||
		s.limits[1].Message != "not profiled: there was no time left for it" || s.limits[1].Hint == "" {
		t.Errorf("%+v", s.limits)
	}
}

// The measured ratio is of all launches together: it says nothing of one of several functions.
func TestSlowdown(t *testing.T) {
	timed := func(seconds float64) *result.Timing {
		return &result.Timing{Stats: result.Stats{Median: seconds, Count: 1}}
	}
	q := func(functions string, before, after *result.Timing) Question {
		return Question{[]Version{{Job: jobOf("k", "x"), Timing: before}, {Job: jobOf("k", strings.Fields(functions)...), Timing: after}}}
	}
	for _, test := range []struct {
		q    Question
		want float64
	}{{q("x", timed(1), timed(3)), 3}, {q("x y", timed(1), timed(3)), 0}, {q("x", timed(0), timed(3)), 0}, {q("x", nil, timed(3)), 0}} {
		if got := slowdown(test.q); got != test.want {
			t.Errorf("%g, want %g", got, test.want)
		}
	}
}

// answered asks about one job of which nothing but what was seen is known.
func answered(t *testing.T, a *asking, job *lab.Job, seconds float64) []*result.Why {
	t.Helper()
	a.lab = lab.New(a.run, &result.Report{}, lab.Options{})
	t.Cleanup(a.lab.Close)
	a.of(job).looked = true
	return a.answer(t.Context(), Question{[]Version{{Job: job, Timing: &result.Timing{Stats: result.Stats{Median: seconds, Count: 1}}}}})
}

// There is a reason for every function, the longest first, and each has what could not be seen.
func TestAnswerOfSeveralFunctions(t *testing.T) {
	a := askingIn(t)
	job := jobOf("k", "x", "y", "x")
	job.Instance.Bytes = 1e9
	a.of(job).limits = []result.Warning{{Code: "unseen", Message: "something"}}
	whys := answered(t, a, job, 1e-3)
	if len(whys) != 2 || whys[0].Kernel != "x" || whys[1].Kernel != "y" {
		t.Fatalf("%+v", whys)
	}
	for _, w := range whys {
		if _, known := w.Last().Get("seconds"); known {
			t.Errorf("%s has the time of all", w.Kernel)
		}
		if len(w.Limits) != 2 || w.Limits[0].Message != "something" || w.Limits[1].Hint != "pawl calibrate --roofline" {
			t.Errorf("%s: %+v", w.Kernel, w.Limits)
		}
	}
	a = askingIn(t)
	seen := a.of(job)
	for i, name := range []string{"x", "y"} {
		seen.order = append(seen.order, name)
		seen.launches[name] = []*profile.Profile{{Kernel: name, Metrics: map[profile.Metric]profile.Value{profile.Duration: {Number: float64(1 + i), Unit: "s"}}}}
	}
	seen.profiler = &result.Profiler{Tool: "ncu 1"}
	whys = answered(t, a, job, 1e-3)
	if len(whys) != 2 || whys[0].Kernel != "y" || whys[1].Kernel != "x" || whys[0].Last().Repeats != 1 || whys[0].Profiler != seen.profiler || len(whys[0].Limits) != 0 {
		t.Fatalf("%+v", whys)
	}
}

// The time and the declared work of a row are those of its only function.
func TestAnswerOfOneFunction(t *testing.T) {
	a := askingIn(t)
	job := jobOf("k", "x")
	job.Instance.Bytes = 1e9
	job.Variant.Kernel.Oracle = &spec.Oracle{Builtin: "attention"}
	side := answered(t, a, job, 1e-3)[0].Last()
	for fact, want := range map[string]float64{"seconds": 1e-3, "work_bytes": 1e9, "matmul": 1} {
		if got, known := side.Get(fact); !known || got != want {
			t.Errorf("%s: %g, want %g", fact, got, want)
		}
	}
	job = jobOf("k", "x") // without declared work no peaks are missed
	job.Variant.Kernel.Oracle = &spec.Oracle{Builtin: "sum"}
	why := answered(t, askingIn(t), job, 1e-3)[0]
	if len(why.Limits) != 0 {
		t.Errorf("%+v", why.Limits)
	}
	if product, known := why.Last().Get("matmul"); !known || product != 0 {
		t.Errorf("matmul %g", product)
	}
}

// Events that are not counted for one reason have one line, with what helps.
func TestUncounted(t *testing.T) {
	s := &seen{counters: &lab.Counters{Absent: []result.Uncounted{
		{Name: "cycles", Why: "no PMU", Hint: "bare metal"}, {Name: "cpu-migrations", Why: "not permitted"}, {Name: "branches", Why: "no PMU", Hint: "bare metal"},
	}}}
	s.uncounted()
	if len(s.limits) != 2 || s.limits[0].Message != "not counted: cycles, branches: no PMU" || s.limits[0].Hint != "bare metal" || s.limits[1].Hint != "" {
		t.Errorf("%+v", s.limits)
	}
}

func TestCCOf(t *testing.T) {
	for arch, want := range map[string]int{"sm_90": 90, "sm_90a": 90, "sm_103f": 103, "sm_121": 121, "": 0, "gfx90": 0} {
		if got := ccOf(arch); got != want {
			t.Errorf("%s: %d, want %d", arch, got, want)
		}
	}
}

// Caches are before a profiled launch as they were before a timed one.
func TestCaches(t *testing.T) {
	for cache, want := range map[string]string{"cold": "all", "hot": "none"} {
		a := askingIn(t)
		report := &result.Report{}
		report.Method.Cache = cache
		a.lab = lab.New(a.run, report, lab.Options{})
		defer a.lab.Close()
		if got := a.caches(); got != want {
			t.Errorf("%s: %s, want %s", cache, got, want)
		}
	}
}

// A Python function for GPUs, on a machine without one, runs on the CPU: no profiler of GPUs looks at it, and what
// is known of it is what is known of kernels there.
func TestPythonWithoutGPU(t *testing.T) {
	a := askingIn(t)
	job := jobOf("k", "f")
	job.Variant.Kernel.Cell, job.Artifact.Framework, job.Instance.Bytes = spec.CellPython, "torch", 1e6
	a.lab = lab.New(a.run, &result.Report{}, lab.Options{Worker: []string{"false"}}) // nothing may start one
	t.Cleanup(a.lab.Close)
	a.of(job).looked = true
	v := Version{Job: job, Timing: &result.Timing{Stats: result.Stats{Median: 1e-3, Count: 1}}}
	a.profile(t.Context(), []Question{{[]Version{v}}})
	if limits := a.of(job).limits; len(limits) > 0 {
		t.Errorf("a profiler of GPUs: %+v", limits)
	}
	if s := a.side(v, "f"); s.Processor == nil || !s.Processor.Python || s.Seconds != 1e-3 || s.Bytes != 1e6 {
		t.Errorf("%+v", s)
	}
}

package calibrate

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pawl/internal/build"
	"pawl/internal/curve"
	"pawl/internal/diag"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

// The test binary stands in for pawl's worker and cells, in which the gate's kernel
// takes exactly as long as it has rounds to do.
func TestMain(m *testing.M) {
	if puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		return
	}
	home, err := os.MkdirTemp("", "pawl-calibrate-")
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"XDG_CACHE_HOME": home, "PAWL_LOCK_DIR": home, "GORACE": "atexit_sleep_ms=0"} {
		_ = os.Setenv(name, value)
	}
	if overtime > 12*time.Second { // the rest of 15 s is for ending the cells, and for the report
		panic("--for 2m ends after more than 2:15")
	}
	overtime = time.Minute // a busy machine must not decide what a test sees
	visit = time.Millisecond
	code := puppet.Run(m)
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// trying restricts the gate to these trials.
func trying(t *testing.T, these ...trial) {
	t.Helper()
	before := trials
	t.Cleanup(func() { trials = before })
	trials = these
}

// once returns options for one set of decisions.
func once(t *testing.T) GateOptions {
	t.Helper()
	return GateOptions{
		Options: Options{Tool: result.Tool{Version: "test"}, Device: FirstDevice, Host: true, Sandbox: "off", Started: time.Now()},
		Gate:    spec.DefaultGate, Folder: t.TempDir(), For: time.Nanosecond,
	}
}

// reload reads the one curve in a folder.
func reload(t *testing.T, opts GateOptions, class string) *curve.Curve {
	t.Helper()
	c, err := curve.Load(opts.Folder, class, opts.Gate)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustBeDecided compares a level with the wanted one: estimates, in order, and how many of them
// fail.
func mustBeDecided(t *testing.T, l *curve.Level, failed int, changes ...float64) {
	t.Helper()
	ok := len(l.Decisions) == len(changes) && l.Failed() == failed && l.Undecided() == 0
	for i := range min(len(changes), len(l.Decisions)) {
		ok = ok && math.Abs(l.Decisions[i].Change-changes[i]) < 1e-4
	}
	if !ok {
		t.Errorf("%s +%g, behind %t: %+v; want %d of %v to fail", l.Kernel, l.Nominal, l.Behind, l.Decisions, failed, changes)
	}
}

// Others who wait for the device get it between two sets, and what they keep it is not counted.
func TestGateStepsAside(t *testing.T) {
	before := turn
	t.Cleanup(func() { turn = before })
	turn = 0
	trying(t, trial{0, 0, false, firstSet + 7}) // three sets
	opts := once(t)
	opts.For = time.Minute
	got := make(chan error, 1)
	go func() {
		for saved, _ := os.ReadDir(opts.Folder); len(saved) == 0 && t.Context().Err() == nil; saved, _ = os.ReadDir(opts.Folder) {
			time.Sleep(time.Millisecond)
		}
		file, err := os.OpenFile(os.Getenv("PAWL_LOCK_DIR")+"/.pawl-host.lock", os.O_RDWR, 0)
		if err == nil {
			err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
			time.Sleep(200 * time.Millisecond)
			file.Close()
		}
		got <- err
	}()
	c, _, err := Gate(t.Context(), opts)
	if err != nil || c.Sets < 3 {
		t.Fatal(err, c.Sets)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	default:
		t.Error("the device was kept to the end")
	}
}

// Calls accumulate, one set of cells each, until everything wanted is decided.
func TestGateGoesOnWhereItStopped(t *testing.T) {
	same, calls := 6, 4
	if testing.Short() { // TestGateTellsHowFarItIs has decisions of one kind in several sets
		same, calls = 1, 3
	}
	trying(t, trial{0, 0, false, same}, trial{0, 5.0 / 3, false, 1}, trial{0, 0, true, 1}, trial{1, 4.0 / 3, false, 1})
	opts := once(t)
	var last *curve.Curve
	for call := 1; call <= calls; call++ {
		opts.Started = time.Now()
		c, complete, err := Gate(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if complete != (call == calls) {
			t.Errorf("call %d of %d: complete is %t", call, calls, complete)
		}
		if c.Sets != call || c.Seconds <= 0 || c.Method != curve.Method {
			t.Errorf("call %d: %d sets, %g s, method %d", call, c.Sets, c.Seconds, c.Method)
		}
		if diff := cmp.Diff(c, reload(t, opts, c.DeviceClass)); diff != "" {
			t.Errorf("call %d: what is kept differs (-made +kept):\n%s", call, diff)
		}
		if last != nil && (!c.Started.Equal(last.Started) || !c.Updated.After(last.Updated) || c.Decisions() <= last.Decisions()) {
			t.Errorf("call %d: started %v, then %v; %d decisions, then %d", call, last.Started, c.Started, last.Decisions(), c.Decisions())
		}
		last = c
	}
	mustBeDecided(t, last.At("compute", 0, false), 0, make([]float64, same)...)
	mustBeDecided(t, last.At("compute", 0.05, false), 1, 0.05)
	mustBeDecided(t, last.At("compute", 0, true), 0, 0)
	mustBeDecided(t, last.At("memory", 0.04, false), 1, 0.04)
	// Everything is known: nothing more is measured.
	opts.For = time.Hour
	again, _, err := Gate(t.Context(), opts)
	if diff := cmp.Diff(last, again); err != nil || diff != "" {
		t.Errorf("%v (-before +after):\n%s", err, diff)
	}
}

// A calibration is for the given gate: a tighter one is tried with smaller steps.
func TestGateIsTheProjects(t *testing.T) {
	trying(t, trial{0, 5.0 / 3, false, 1}, trial{0, 2.0 / 3, false, 1})
	opts := once(t)
	opts.Gate.Regression = 0.012
	c, _, err := Gate(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	mustBeDecided(t, c.At("compute", 0.02, false), 1, 0.02)
	mustBeDecided(t, c.At("compute", 0.008, false), 0, 0.008)
	if c.Gate.Regression != 0.012 || reload(t, opts, c.DeviceClass) == nil {
		t.Errorf("%+v", c.Gate)
	}
	opts.Gate.Regression = 0.03
	if kept := reload(t, opts, c.DeviceClass); kept != nil {
		t.Errorf("another gate has %+v", kept)
	}
}

// interruptedAt cancels at the nth progress event of a match with this name.
func interruptedAt(t *testing.T, opts *GateOptions, says string, nth int) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	opts.Follow = func(e run.Event) {
		if e.Kind == run.Measure && strings.Contains(e.Row, says) {
			if nth--; nth == 0 {
				cancel()
			}
		}
	}
	return ctx
}

// Half a set is no decision, and what was known is kept.
func TestGateIsInterrupted(t *testing.T) {
	trying(t, trial{0, 0, false, 1}, trial{0, 0, true, 1})
	opts := once(t)
	if _, _, err := Gate(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	opts.Started, opts.For = time.Now(), time.Minute
	c, _, err := Gate(interruptedAt(t, &opts, "behind the best, 1 of 1", 5), opts)
	if !errors.Is(err, context.Canceled) || c.Decisions() != 1 || c.Sets != 1 {
		t.Errorf("in a set: %v, %+v", err, c)
	}
	if kept := reload(t, opts, c.DeviceClass); kept.Decisions() != 1 {
		t.Errorf("kept %+v", kept)
	}
	if _, err := Duet(interruptedAt(t, &opts, "the same kernel twice", 5), opts); !errors.Is(err, context.Canceled) {
		t.Errorf("in a duet: %v", err)
	}
}

// When time is up a set of decisions ends, and counts for nothing; without any other there is
// nothing to show.
func TestGateEndsInTime(t *testing.T) {
	trying(t, trial{0, 0, false, 1}, trial{0, 0, true, 1})
	opts := once(t)
	opts.Started = time.Now().Add(-overtime - time.Hour)
	opts.For = time.Hour
	var problem *diag.Problem
	if _, _, err := Gate(t.Context(), opts); !errors.As(err, &problem) || !strings.Contains(problem.Hint, "--for") {
		t.Errorf("no time at all: %v", err)
	}
	opts.Started, opts.For = time.Now(), time.Nanosecond
	if _, _, err := Gate(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	opts.Started, opts.For = time.Now().Add(-overtime-time.Hour), time.Hour
	said := ""
	opts.Follow = func(e run.Event) {
		if e.Kind == run.Note {
			said += e.Text
		}
	}
	if c, _, err := Gate(t.Context(), opts); err != nil || c.Decisions() != 1 || !strings.Contains(said, "the 1 that were there are all there are") {
		t.Errorf("%v: %d decisions, want those of before; said %q", err, c.Decisions(), said)
	}
}

// Progress grows during a set, and never exceeds the expected total.
func TestGateTellsHowFarItIs(t *testing.T) {
	decisions := 7
	if testing.Short() {
		decisions = 4
	}
	trying(t, trial{0, 0, false, decisions})
	opts := once(t)
	opts.For = 10 * time.Minute // a busy machine needs more than one
	seen := map[int]bool{}
	opts.Follow = func(e run.Event) {
		if e.Kind != run.Measure {
			return
		}
		seen[e.Done] = true
		if e.Done >= e.Total || e.Total > decisions {
			t.Errorf("%d of %d", e.Done, e.Total)
		}
	}
	c, _, err := Gate(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	mustBeDecided(t, c.At("compute", 0, false), 0, make([]float64, decisions)...)
	if len(seen) <= 2 { // sets
		t.Errorf("progress was told at %v alone", seen)
	}
}

func TestGateOfWhatThereIs(t *testing.T) {
	trying(t) // nothing is wanted
	opts := once(t)
	here, err := findPlace(t.Context(), opts.Options)
	if err != nil {
		t.Fatal(err)
	}
	there := &curve.Curve{
		Schema: curve.Schema, Method: curve.Method, DeviceClass: here.class, Gate: curve.Gate{Regression: 0.03, Improvement: 0.05, HalfWidth: 0.005},
		Levels: []*curve.Level{{Kernel: "compute", Decisions: []curve.Decision{{Verdict: result.Maintained, Change: 0.007}}}},
	}
	path, err := curve.Save(opts.Folder, there)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := Gate(t.Context(), opts)
	if err != nil || c.Decisions() != 1 || c.Tool.Version != "test" {
		t.Errorf("%v: what there is was not taken: %+v", err, c)
	}
	// Decisions by another method say nothing of the present one.
	there.Method--
	if _, err := curve.Save(opts.Folder, there); err != nil {
		t.Fatal(err)
	}
	if c, _, err := Gate(t.Context(), opts); err != nil || c.Decisions() != 0 || c.Method != curve.Method {
		t.Errorf("%v: another method goes on with %+v", err, c)
	}
	if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	var damaged *diag.Problem
	if _, _, err := Gate(t.Context(), opts); !errors.As(err, &damaged) || !strings.Contains(damaged.Message, path) || !strings.Contains(damaged.Hint, "--fresh") {
		t.Errorf("a damaged file: %v", err)
	}
	opts.Fresh = true
	if c, _, err := Gate(t.Context(), opts); err != nil || c.Decisions() > 0 || c.Cell != "host" {
		t.Errorf("afresh: %v, %+v", err, c)
	}
	opts.Host, opts.Device = false, 99
	var fault *result.Fault
	if _, _, err := Gate(t.Context(), opts); !errors.As(err, &fault) || fault.Cause != result.CauseUnsupported {
		t.Errorf("GPU 99: %v", err)
	}
}

func TestDuetOfTheSameKernel(t *testing.T) {
	opts := once(t)
	c, err := Duet(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Cells) != 4 || math.Abs(c.Median) > 1e-12 || measure.DuetNeeds(c.Cells, 0.03) != 4 {
		t.Errorf("%+v", c)
	}
}

// Every slowdown that the gate is tried with is that much more work, in buffers that are large
// enough, on either kind of device and for any gate.
func TestGateKernelsDoAsMuchWork(t *testing.T) {
	for _, cell := range []string{spec.CellHost, spec.CellCUDA} {
		for _, regression := range []float64{0.001, 0.03, 0.5} {
			folder := t.TempDir()
			if err := writeKernels("gate/"+cell, folder); err != nil {
				t.Fatal(err)
			}
			s, err := spec.Load(folder + "/" + spec.FileName)
			if err != nil {
				t.Fatal(err)
			}
			g := &gate{GateOptions: GateOptions{Gate: spec.Gate{Regression: regression}}}
			for _, k := range s.Kernels {
				if k.Cell != cell {
					t.Errorf("%s: kernel of a %s cell", cell, k.Cell)
				}
				set(k.Configs[0], "MOST", g.slower(mostSlower))
				g.jobs = append(g.jobs, &lab.Job{Variant: k.Default(), Artifact: &build.Artifact{}})
			}
			for _, trial := range trials {
				if trial.kernel >= len(g.jobs) {
					continue
				}
				m, err := g.match((&lab.Lab{}).NewHost(), trial, "")
				if err != nil {
					t.Fatal(err)
				}
				var work []float64
				for _, side := range m.Sides {
					size := int64(math.MaxInt64)
					for _, arg := range side.Instance.Args {
						if arg.Buffer {
							size = min(size, arg.Elements)
						} else if n, ok := arg.Scalar.Int(); ok {
							work = append(work, float64(n))
						}
					}
					if g.jobs[trial.kernel].Variant.Kernel.Name == "memory" && work[len(work)-1] > float64(size) {
						t.Errorf("%s, gate %g: %g elements of %d", cell, regression, work[len(work)-1], size)
					}
				}
				if got, want := work[0]/work[1], 1+trial.part*regression; math.Abs(got-want) > 2e-5 {
					t.Errorf("%s, gate %g, %+v: %g times the work, want %g", cell, regression, trial, got, want)
				}
				if trial.behind && work[1]/work[2] <= 1+regression {
					t.Errorf("%s: %g times the best's work is not behind it", cell, work[1]/work[2])
				}
			}
		}
	}
}

// Sets come from the group that is furthest behind, all wanted decisions are made, and
// none beyond.
func TestNextSet(t *testing.T) {
	made := map[trial]int{}
	have := func(t trial) int { return made[t] }
	groups, sets := map[bool]int{}, 0
	for number := 0; ; number++ {
		next := nextSet(trials, have, 6, number)
		if next == nil {
			break
		}
		sets++
		for _, one := range next {
			if !one.together(next[0]) {
				t.Fatalf("%+v and %+v in one set", one, next[0])
			}
			if made[one]++; made[one] > one.wanted {
				t.Fatalf("%+v is decided %d times", one, made[one])
			}
			groups[one.behind]++
		}
		if number == 9 && (groups[true] == 0 || groups[false] == 0 || made[trials[0]] == 0 || made[trials[7]] == 0) {
			t.Errorf("after ten sets: %v", made)
		}
	}
	total := 0
	for _, one := range trials {
		if total += one.wanted; made[one] != one.wanted {
			t.Errorf("%+v: %d decisions", one, made[one])
		}
	}
	if sets > total/6+5 {
		t.Errorf("%d sets for %d decisions", sets, total)
	}
}

// Nothing is known of a machine in its first set of decisions, and there may be time for no more.
func TestGateTellsHowFarTheFirstSetIs(t *testing.T) {
	g := &gate{curve: &curve.Curve{}, trials: []trial{{0, 0, false, 1000}}}
	g.duet.Budget = 10 * time.Second
	if got := g.expected(time.Now().Add(2 * time.Minute)); got < 1 || got > 12 {
		t.Errorf("%d decisions in two minutes", got)
	}
	done := 0
	g.run = run.New(t.TempDir(), time.Now(), func(e run.Event) { done = e.Done })
	g.duet.Budget = time.Millisecond
	tell := g.progress(6, 12)
	for end := time.Now().Add(10 * time.Second); done < 5 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		tell(&measure.Match{}, measure.Progress{})
	}
	if done != 5 {
		t.Errorf("it stays at %d", done)
	}
}

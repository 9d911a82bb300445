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

	"pawl/internal/curve"
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
	code := puppet.Run(m)
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// trying lets the gate be tried with one decision a round of each level, until
// there are so many.
func trying(t *testing.T, wanted map[int64]int) {
	t.Helper()
	before := levels
	t.Cleanup(func() { levels = before })
	levels = nil
	for _, l := range before {
		if n, asked := wanted[l.percent]; asked {
			l.wanted, l.perRound = n, 1
			levels = append(levels, l)
		}
	}
}

// once are options for one round.
func once(t *testing.T) GateOptions {
	t.Helper()
	return GateOptions{
		Options: Options{Tool: result.Tool{Version: "test"}, Device: FirstDevice, Host: true, Sandbox: "off", Started: time.Now()},
		Gate:    spec.DefaultGate, Folder: t.TempDir(), For: 100 * time.Millisecond,
	}
}

// reload reads the one curve in a folder.
func reload(t *testing.T, opts GateOptions, class string) *curve.Curve {
	t.Helper()
	c, err := curve.Load(opts.Folder, class)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Calls add up: decisions first, and when there are enough the truth of each level.
func TestGateGoesOnWhereItStopped(t *testing.T) {
	trying(t, map[int64]int{0: 2, 5: 1})
	opts := once(t)
	var last *curve.Curve
	for call := 1; call <= 2; call++ {
		c, err := Gate(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		same, slower := c.At(0), c.At(0.05)
		if same.Decisions() != call || same.Passed != call || slower.Decisions() != 1 || slower.Failed != 1 {
			t.Fatalf("call %d: %+v, %+v", call, same, slower)
		}
		if math.Abs(same.Changes[call-1]) > 1e-9 || math.Abs(slower.Changes[0]-0.05) > 1e-9 || same.Truth != nil {
			t.Errorf("call %d: %+v, %+v", call, same, slower)
		}
		if c.Runs != call || c.FalseRuns != 0 || c.Seconds <= 0 {
			t.Errorf("call %d: %+v", call, c)
		}
		if diff := cmp.Diff(c, reload(t, opts, c.DeviceClass)); diff != "" {
			t.Errorf("call %d: what is kept differs (-made +kept):\n%s", call, diff)
		}
		if last != nil && (!c.Started.Equal(last.Started) || !c.Updated.After(last.Updated)) {
			t.Errorf("started %v, then %v", last.Started, c.Started)
		}
		last = c
	}
	opts.For = time.Minute
	c, err := Gate(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for percent, want := range map[float64]float64{0: 0, 0.05: 0.05} {
		l := c.At(percent)
		if l.Decisions() != last.At(percent).Decisions() || l.Truth == nil || math.Abs(l.Truth.Median-want) > 1e-9 || l.Truth.Cells < 4 || l.Truth.Pairs < 30 {
			t.Errorf("level %g: %d decisions, truth %+v", percent, l.Decisions(), l.Truth)
		}
	}
	// All is known: nothing more is measured.
	again, err := Gate(t.Context(), opts)
	if diff := cmp.Diff(c, again); err != nil || diff != "" {
		t.Errorf("%v (-before +after):\n%s", err, diff)
	}
}

// interruptedAt cancels when the nth progress of a match is told whose name says so.
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

// Half a round is no decision, half a truth is none, and what was known is kept.
func TestGateIsInterrupted(t *testing.T) {
	trying(t, map[int64]int{0: 1})
	opts := once(t)
	c, err := Gate(interruptedAt(t, &opts, "decision 1", 5), opts)
	if !errors.Is(err, context.Canceled) || c.At(0).Decisions() != 0 || c.Runs != 0 {
		t.Errorf("in a round: %v, %+v", err, c)
	}
	if kept := reload(t, opts, c.DeviceClass); kept != nil {
		t.Errorf("half a round is kept: %+v", kept)
	}
	opts.Follow = nil
	if c, err = Gate(t.Context(), opts); err != nil || c.At(0).Decisions() != 1 {
		t.Fatal(err, c)
	}
	opts.For = time.Minute
	c, err = Gate(interruptedAt(t, &opts, "the truth of +0%", 5), opts)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("in a truth: %v", err)
	}
	if kept := reload(t, opts, c.DeviceClass); kept.At(0).Decisions() != 1 || kept.At(0).Truth != nil {
		t.Errorf("kept %+v", kept.At(0))
	}
	if _, err := Duet(interruptedAt(t, &opts, "the same kernel twice", 5), opts); !errors.Is(err, context.Canceled) {
		t.Errorf("in a duet: %v", err)
	}
}

func TestGateOfWhatThereIs(t *testing.T) {
	trying(t, map[int64]int{0: 0}) // nothing is wanted: nothing is measured but the truth, and that is known
	opts := once(t)
	here, err := look(t.Context(), opts.Options)
	if err != nil {
		t.Fatal(err)
	}
	there := &curve.Curve{
		Schema: curve.Schema, DeviceClass: here.class, Gate: curve.Gate{Regression: 0.03, Improvement: 0.05, HalfWidth: 0.005},
		Levels: []*curve.Level{{Truth: &curve.Truth{Median: 0.7}}},
	}
	path, err := curve.Save(opts.Folder, there)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Gate(t.Context(), opts)
	if err != nil || c.At(0).Truth == nil || c.At(0).Truth.Median != 0.7 || c.Tool.Version != "test" {
		t.Errorf("%v: what there is was not taken: %+v", err, c)
	}
	// What another gate has decided says nothing of this one.
	other := opts
	other.Gate.Regression, other.For = 0.1, time.Nanosecond
	if c, err := Gate(t.Context(), other); err != nil || c.At(0).Truth != nil || c.Gate.Regression != 0.1 || c.Cell != "host" {
		t.Errorf("%v: another gate goes on with %+v", err, c)
	}
	if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Gate(t.Context(), opts); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
	opts.Fresh, opts.For = true, time.Nanosecond
	if c, err := Gate(t.Context(), opts); err != nil || len(c.At(0).Changes) > 0 {
		t.Errorf("afresh: %v, %+v", err, c)
	}
	opts.Host, opts.Device = false, 99
	var fault *result.Fault
	if _, err := Gate(t.Context(), opts); !errors.As(err, &fault) || fault.Cause != result.CauseUnsupported {
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

// Every slowdown that the gate is tried with has its config, for either kind of device.
func TestGateKernelsHaveEveryLevel(t *testing.T) {
	for _, cell := range []string{spec.CellHost, spec.CellCUDA} {
		folder := t.TempDir()
		if err := writeKernels("gate/"+cell, folder); err != nil {
			t.Fatal(err)
		}
		s, err := spec.Load(folder + "/" + spec.FileName)
		if err != nil {
			t.Fatal(err)
		}
		k := s.Kernels[0]
		if k.Cell != cell {
			t.Errorf("%s: kernel of a %s cell", cell, k.Cell)
		}
		work := map[int64]int64{}
		for _, c := range k.Configs {
			in, err := k.Default().At(c)
			if err != nil {
				t.Fatal(err)
			}
			var slower int64
			for _, v := range c.Vars {
				if n, ok := v.Value.Int(); ok && v.Name == "SLOWER" {
					slower = n
				}
			}
			for _, arg := range in.Args {
				if n, ok := arg.Scalar.Int(); ok && !arg.Buffer {
					work[slower] = max(work[slower], n)
				}
			}
		}
		for _, l := range levels {
			if got, want := float64(work[l.percent])/float64(work[0]), 1+float64(l.percent)/100; math.Abs(got-want) > 1e-4 {
				t.Errorf("%s, +%d%%: %g times the work", cell, l.percent, got)
			}
		}
	}
}

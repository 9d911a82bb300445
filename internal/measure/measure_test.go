package measure

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

func instance(role spec.Role) *spec.Instance {
	return &spec.Instance{
		Variant: spec.Variant{Kernel: &spec.Kernel{Cell: spec.CellHost}},
		Args: []spec.InstanceArg{
			{Name: "x", DType: "f32", Buffer: true, Elements: 8, Bytes: 32, Role: role, Init: spec.Init{Kind: "uniform", Args: []float64{0, 1}}},
			{Name: "n", DType: "i64", Scalar: formula.Int(8)},
			{Name: "a", DType: "f32", Scalar: formula.Float(0.5)},
		},
		Launches: []spec.InstanceLaunch{{Threads: 1}, {Threads: 3}},
	}
}

func TestProblem(t *testing.T) {
	want := wire.Prepare{Seed: 7, Threads: 3, Pin: true, Args: []wire.Arg{
		{Name: "x", DType: "f32", Buffer: true, Count: 8, Role: "in", Init: "uniform", Params: []float64{0, 1}},
		{Name: "n", DType: "i64", Value: "8"},
		{Name: "a", DType: "f32", Value: "0.5"},
	}}
	if diff := cmp.Diff(want, Side{Instance: instance(spec.RoleIn)}.problem(7)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblemTensorMap(t *testing.T) {
	in := instance(spec.RoleIn)
	in.Args = append(in.Args, spec.InstanceArg{Name: "m", TensorMap: &spec.InstanceTensorMap{
		Of: 0, Dims: []int64{2, 4}, Strides: []int64{16}, Box: []int64{1, 4}, ElementStrides: []int64{1, 1},
		Swizzle: "none", Interleave: "none", L2: "128B", Fill: "zero",
	}})
	want := wire.Arg{Name: "m", TensorMap: &wire.TensorMap{
		Of: 0, Dims: []int64{2, 4}, Strides: []int64{16}, Box: []int64{1, 4}, ElementStrides: []int64{1, 1},
		Swizzle: "none", Interleave: "none", L2: "128B", Fill: "zero",
	}}
	if diff := cmp.Diff(want, Side{Instance: in}.problem(7).Args[3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckOfOptions(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		want   string // the setting that is refused
	}{
		"as they are":          {func(*Options) {}, ""},
		"hot":                  {func(o *Options) { o.Cache = "hot" }, ""},
		"another cache":        {func(o *Options) { o.Cache = "warm" }, "cache"},
		"no budget":            {func(o *Options) { o.Budget = 0 }, "budget"},
		"an hour":              {func(o *Options) { o.Budget = time.Hour }, ""},
		"more than an hour":    {func(o *Options) { o.Budget = time.Hour + 1 }, "budget"},
		"one sample":           {func(o *Options) { o.MinSamples, o.MaxSamples = 1, 1 }, ""},
		"no samples":           {func(o *Options) { o.MinSamples = 0 }, "min-samples"},
		"most less than least": {func(o *Options) { o.MaxSamples = o.MinSamples - 1 }, "max-samples"},
		"no timeout":           {func(o *Options) { o.Timeout = 0 }, "timeout"},
	} {
		opts := Default()
		test.change(&opts)
		got := ""
		if refused, ok := errors.AsType[*diag.SettingError](opts.Check()); ok {
			got = refused.Setting
		}
		if got != test.want {
			t.Errorf("%s: %q is refused, want %q", name, got, test.want)
		}
	}
}

func TestRepeat(t *testing.T) {
	for _, tc := range []struct {
		cache  string
		role   spec.Role
		median float64
		want   int
	}{
		{"hot", spec.RoleIn, 1.1e-6, 19},
		{"hot", spec.RoleIn, 30e-6, 1},
		{"hot", spec.RoleIn, 0, 10_000},
		{"hot", spec.RoleInOut, 1e-6, 1}, // a launch would find the last one's output
		{"cold", spec.RoleIn, 1e-6, 1},   // the second launch would not be cold
	} {
		s := newSeries(Side{Instance: instance(tc.role)}, Options{Cache: tc.cache}, nil)
		if got := s.repeat(tc.median); got != tc.want {
			t.Errorf("%+v: %d launches a sample", tc, got)
		}
	}
}

func TestSteady(t *testing.T) {
	falling := []float64{9, 8, 7, 6, 5, 4, 3, 2, 1.5, 1.2}
	level := []float64{9, 9, 9, 9, 9, 1, 1.01, 1, 0.99, 1, 1, 1.01, 1, 0.99, 1}
	if steady(falling) {
		t.Error("a falling series is called steady")
	}
	if !steady(level) {
		t.Error("a level end is not called steady")
	}
	if steady(level[:9]) {
		t.Error("steady after too few samples")
	}
}

func TestNoteKeepsTheWorst(t *testing.T) {
	s := &series{}
	state := func(when string, busy, celsius float64) *result.State {
		return &result.State{When: when, Busy: &busy, TemperatureC: &celsius}
	}
	s.note(nil)
	s.note(state("before", 9, 20))
	s.note(state("during", 0.1, 90))
	s.note(state("during", 0.7, 50))
	s.note(state("during", 0.2, 60))
	want := []result.State{*state("before", 9, 20), *state("during", 0.7, 90), *state("after", 0.2, 60)}
	if diff := cmp.Diff(want, s.noted.State); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDoubts(t *testing.T) {
	quiet := func() *result.Timing {
		seconds := make([]float64, 40)
		for i := range seconds {
			seconds[i] = 1e-3
		}
		return &result.Timing{
			Repeat: 1, Pinned: []int{1}, Stopped: "width", CallOverheadS: 1e-7,
			Samples: result.Samples{Seconds: seconds}, Stats: result.Stats{Count: 40, Median: 1e-3, CV: 0.01},
			State: []result.State{{When: "before"}, {When: "during"}, {When: "after"}},
		}
	}
	big := 85.0
	for name, tc := range map[string]struct {
		change func(*result.Timing)
		want   []string
	}{
		"a GPU's host": {func(r *result.Timing) { r.OnDevice, r.Pinned, r.Preempted, r.Stats.Median = true, nil, 20, 1e-6 }, nil},
		"quiet":        {func(*result.Timing) {}, nil},
		"no samples":   {func(r *result.Timing) { r.Stats = result.Stats{} }, nil},
		"noise":        {func(r *result.Timing) { r.Stats.CV = 0.13 }, []string{"cv"}},
		"at the gate":  {func(r *result.Timing) { r.Stats.CV = 0.12 }, nil},
		"drift": {func(r *result.Timing) {
			for i := 20; i < 40; i++ {
				r.Samples.Seconds[i] = 1.03e-3
			}
		}, []string{"drift"}},
		"budget":      {func(r *result.Timing) { r.Stopped, r.HalfWidth = "budget", 0.02 }, []string{"width"}},
		"well enough": {func(r *result.Timing) { r.Stopped, r.HalfWidth = "budget", 0.006 }, nil},
		"short":       {func(r *result.Timing) { r.Stats.Median = 1e-6 }, []string{"short"}},
		"repeated":    {func(r *result.Timing) { r.Stats.Median, r.Repeat = 1e-6, 20 }, nil},
		"not pinned":  {func(r *result.Timing) { r.Pinned = nil }, []string{"pin"}},
		"preempted":   {func(r *result.Timing) { r.Preempted = 20 }, []string{"preempted"}},
		"temperature": {func(r *result.Timing) { r.State[1].TemperatureC = &big }, []string{"temperature"}},
		"before only": {func(r *result.Timing) { r.State[0].TemperatureC = &big }, nil},
		"steal":       {func(r *result.Timing) { r.State[1].StealPct = &big }, []string{"steal"}},
		"foreign":     {func(r *result.Timing) { r.State[1].Busy = &big }, []string{"foreign"}},
	} {
		t.Run(name, func(t *testing.T) {
			timing := quiet()
			tc.change(timing)
			var got []string
			for _, w := range Doubts(timing, 0.12) {
				got = append(got, w.Code)
				if w.Message == "" {
					t.Errorf("%s has no message", w.Code)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A percentage helps nobody where single samples take many times as long as the others.
func TestDoubtsOfWildSamples(t *testing.T) {
	for cv, want := range map[float64]string{
		0.3:  "samples vary by 30.0% (more than 12.0%) (a quieter machine or a longer --budget)",
		9.22: "samples vary wildly: half take at most 1.00 ms, the slowest took 1.20 s (other work probably ran on the machine: stop it and measure again)",
	} {
		timing := &result.Timing{
			Pinned: []int{1}, Stopped: "width", Stats: result.Stats{Count: 3, Median: 1e-3, CV: cv},
			Samples: result.Samples{Seconds: []float64{1e-3, 1.2, 1e-3}},
		}
		got := Doubts(timing, 0.12)
		if len(got) != 1 || got[0].Code != "cv" || got[0].Message+" ("+got[0].Hint+")" != want {
			t.Errorf("%g: %+v", cv, got)
		}
	}
}

// Several launches in a sample help where a sample has one.
func TestDoubtsOfShortSamples(t *testing.T) {
	for repeat, want := range map[int]bool{1: true, 2: false} {
		timing := &result.Timing{
			Repeat: repeat, Pinned: []int{1}, Stopped: "width", CallOverheadS: 1e-6, Stats: result.Stats{Count: 1, Median: 1e-6},
			Samples: result.Samples{Seconds: []float64{1e-6}},
		}
		if got := Doubts(timing, 0.12); len(got) != 1 || got[0].Code != "short" || strings.Contains(got[0].Hint, "--cache hot") != want {
			t.Errorf("%d launches in a sample: %+v", repeat, got)
		}
	}
}

func TestDoubtsNameWhatIsHot(t *testing.T) {
	celsius := 85.0
	for onDevice, want := range map[bool]string{false: "the processor reached 85 °C", true: "the GPU reached 85 °C"} {
		timing := &result.Timing{
			OnDevice: onDevice, Pinned: []int{1}, Stopped: "width", Stats: result.Stats{Count: 1, Median: 1e-3},
			Samples: result.Samples{Seconds: []float64{1e-3}}, State: []result.State{{When: "during", TemperatureC: &celsius}},
		}
		if got := Doubts(timing, 0.12); len(got) != 1 || got[0].Message != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

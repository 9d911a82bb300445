package measure

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// inTurns lets puppets take turns, each in a cell of its own.
func inTurns(t *testing.T, opts Options, scripts ...puppet.Script) ([]*result.Timing, []*result.Ratio, []error) {
	t.Helper()
	client := newWorker(t, unstolen)
	var sides []Side
	for _, script := range scripts {
		sides = append(sides, Side{Cell: loaded(t, client, script), Instance: sized(spec.CellHost, 8)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return Turns(ctx, sides, opts, func(Progress) {})
}

func quickly() Options {
	opts := Default()
	opts.Budget, opts.Timeout = 50*time.Millisecond, 5*time.Second
	return opts
}

// A side that fails costs the others nothing but the comparison with it.
func TestTurnsWithoutSomebody(t *testing.T) {
	t.Parallel()
	fine, slower := puppet.Script{Micros: 10}, puppet.Script{Micros: 20}
	atOnce := puppet.Script{Micros: 10, Crash: wire.OpSample}
	later := puppet.Script{Micros: 1000, Crash: wire.OpSample, After: 40} // warm-up takes fewer samples, the rounds more
	forged := puppet.Script{Micros: 1e-3, Spin: 100}
	for name, test := range map[string]struct {
		scripts []puppet.Script
		failed  []bool
		ratios  []float64 // 0: none
	}{
		"nobody fails":              {[]puppet.Script{fine, slower}, []bool{false, false}, []float64{2}},
		"the first at once":         {[]puppet.Script{atOnce, fine}, []bool{true, false}, []float64{0}},
		"the first of three":        {[]puppet.Script{atOnce, fine, slower}, []bool{true, false, false}, []float64{0, 0}},
		"the first while preparing": {[]puppet.Script{{Crash: wire.OpPrepare}, fine}, []bool{true, false}, []float64{0}},
		"the first later":           {[]puppet.Script{later, fine}, []bool{true, false}, []float64{0}},
		"the first is rejected":     {[]puppet.Script{forged, fine}, []bool{true, false}, []float64{0}},
		"a rival":                   {[]puppet.Script{fine, atOnce, slower}, []bool{false, true, false}, []float64{0, 2}},
		"a rival is rejected":       {[]puppet.Script{fine, forged}, []bool{false, true}, []float64{0}},
		"everybody":                 {[]puppet.Script{atOnce, atOnce}, []bool{true, true}, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "the first of three" || name == "the first while preparing" || name == "a rival is rejected") {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			timings, ratios, errs := inTurns(t, quickly(), test.scripts...)
			for i, want := range test.failed {
				if errors.Is(errs[i], context.DeadlineExceeded) || (errs[i] != nil) != want {
					t.Errorf("side %d: %v", i, errs[i])
				}
				if timing := timings[i]; !want && (timing.Stats.Count < Default().MinSamples || timing.Clock == nil || timing.Stopped == "") {
					t.Errorf("side %d is measured by %d samples, stopped by %q", i, timing.Stats.Count, timing.Stopped)
				}
			}
			for i, want := range test.ratios {
				if got := ratios[i]; (got != nil) != (want > 0) || got != nil && math.Abs(got.Median-want) > 1e-9 {
					t.Errorf("ratio of side %d: %+v, want %g", i+1, got, want)
				}
			}
		})
	}
}

// No side takes more samples than it may, however many fit into the budget.
func TestTurnsStopAtTheMostSamples(t *testing.T) {
	t.Parallel()
	quick, slow := puppet.Script{Micros: 10}, puppet.Script{Micros: 5000} // whose turn is always of turnLeast samples
	for name, test := range map[string]struct {
		scripts     []puppet.Script
		least, most int
		sustain     bool
		rounds      int // that is certain where turns are no longer than turnLeast
	}{
		"a few":                   {[]puppet.Script{quick, quick}, 5, 30, false, 10},
		"fewer than rounds":       {[]puppet.Script{quick, quick, quick}, 1, 3, false, 3},
		"one":                     {[]puppet.Script{quick, quick}, 1, 1, false, 1},
		"many":                    {[]puppet.Script{quick, quick}, 20, 5000, false, 0},
		"a slow rival":            {[]puppet.Script{quick, slow}, 20, 300, false, 0},
		"a slow first":            {[]puppet.Script{slow, quick}, 20, 300, false, 0},
		"a slow first needs more": {[]puppet.Script{slow, quick}, 280, 300, false, 0},
		"sustained":               {[]puppet.Script{quick, quick}, 1, 10, true, 10},
		"sustained, too few":      {[]puppet.Script{quick, quick}, 1, 2, true, stretchLeast},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "many" || name == "a slow first") {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			opts := quickly()
			opts.Budget, opts.HalfWidth = time.Hour, -1 // neither ends it
			opts.MinSamples, opts.MaxSamples, opts.Sustain = test.least, test.most, test.sustain
			timings, ratios, errs := inTurns(t, opts, test.scripts...)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			want, reached := test.most, false
			if test.sustain {
				want = max(want, stretchLeast)
			}
			for i, timing := range timings {
				count := timing.Stats.Count
				if count > want || timing.Stopped != "samples" {
					t.Errorf("side %d: %d samples, stopped by %q; want %d at most", i, count, timing.Stopped, want)
				}
				reached = reached || count == want
			}
			if first := timings[0].Stats.Count; !reached || first < test.least {
				t.Errorf("ended by nobody, or too early: %d samples of the first side", first)
			}
			for i, ratio := range ratios {
				if ratio.Rounds < min(test.most, roundsLeast) || test.rounds > 0 && ratio.Rounds != test.rounds {
					t.Errorf("ratio of side %d: %d rounds", i+1, ratio.Rounds)
				}
			}
		})
	}
}

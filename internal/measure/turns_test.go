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
func inTurns(t *testing.T, scripts ...puppet.Script) ([]*result.Timing, []*result.Ratio, []error) {
	t.Helper()
	client := newWorker(t)
	var sides []Side
	for _, script := range scripts {
		sides = append(sides, Side{Cell: loaded(t, client, script), Instance: sized(spec.CellHost, 8)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return Turns(ctx, sides, quickly(), func(Progress) {})
}

func quickly() Options {
	opts := Default()
	opts.Budget, opts.Timeout = 50*time.Millisecond, 5*time.Second
	return opts
}

// A side that fails takes nothing from the others but the comparison with it.
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
			t.Parallel()
			timings, ratios, errs := inTurns(t, test.scripts...)
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

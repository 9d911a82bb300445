package measure

import (
	"math"
	"slices"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
)

// Two windows agree to two percent, whichever is the longer.
func TestSteadyAgreement(t *testing.T) {
	for now, want := range map[float64]bool{1: true, 1.015: true, 0.985: true, 1.03: false, 0.97: false} {
		if got := steady(slices.Concat(slices.Repeat([]float64{1}, warmWindow), slices.Repeat([]float64{now}, warmWindow))); got != want {
			t.Errorf("a window of 1 and one of %g: %t", now, got)
		}
	}
}

// Events that the timer contradicts are a launcher's lie, and of device code the
// machine's trouble; without a timer nothing is known.
func TestWhoseClockIsWrong(t *testing.T) {
	b := &worker.Batch{Seconds: []float64{1e-6, 1e-6}}
	b.Count, b.GlobalS = 2, 1
	for launcher, want := range map[bool]result.Cause{true: result.CauseForged, false: result.CauseInternal} {
		var d deviceClock
		var err error
		for range clockTries {
			err = d.hold(b, 1, launcher)
		}
		if causeOf(err) != want {
			t.Errorf("launcher %t: %v", launcher, err)
		}
	}
	var d deviceClock
	b.GlobalS = 0
	check := &result.ClockCheck{}
	if err := d.hold(b, 1, true); err != nil || d.samples != 0 {
		t.Errorf("without a timer: %v, %d samples", err, d.samples)
	}
	if d.beside(check); check.EventsS != 0 || check.TimerS != 0 {
		t.Errorf("%+v", check)
	}
}

// Cycles are time and clock together.
func TestLogsOfATurn(t *testing.T) {
	turn := turn{seconds: []float64{2, 3}, ghz: []float64{5, 7}}
	for cycles, want := range map[bool][]float64{false: {math.Log(2), math.Log(3)}, true: {math.Log(10), math.Log(21)}} {
		if got := turn.logs(cycles); !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("cycles %t: %v", cycles, got)
		}
	}
}

// A tally says how much longer a sample took with launches than without.
func TestTallyAdds(t *testing.T) {
	var tally tally
	if tally.add(0.5, 0.25, 12, 3, 4, 6); tally.longer != 3-0.5 || tally.claimed != 0.5 || tally.pairs != 1 || tally.agree != 0 {
		t.Errorf("%+v", tally)
	}
	if tally.add(0.5, 0.25, 6, 3, 4, 6); tally.longer != 1.5-0.5 || tally.pairs != 2 || tally.agree != 1 {
		t.Errorf("%+v", tally)
	}
}

// A cell that waited for its core took what it worked; without that knowledge, what
// has passed.
func TestUndisturbedTakesTheProcessorsTime(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	s.timing.Repeat = 2
	for name, test := range map[string]struct {
		busy      float64
		preempted int64
		waited    float64
		took      float64
		claimed   float64
	}{
		"it waited":        {0.5, 1, 9, 0.5, 2 * 0.1},
		"it worked":        {1, 1, 0, 1, 2 * 0.2},
		"nobody knows":     {0, 1, 0, 1, 2 * 0.2},
		"half at the most": {0.5, 9, 9, 0.5, 2 * 0.125},
		"it waited less":   {0.5, 1, 0.3, 0.5, 2 * (0.2 - 0.05)}, // 0.3 s over two launches and three samples
	} {
		b := &worker.Batch{Seconds: []float64{0.1, 0.4, 0.1, 0.2}}
		if test.preempted == 1 {
			b.Seconds = []float64{0.1, 0.4, 0.1}
		}
		b.WorkerS, b.BusyS, b.Preempted, b.WaitedS = 1, test.busy, test.preempted, test.waited
		if took, claimed := s.undisturbed(b); took != test.took || math.Abs(claimed-test.claimed) > 1e-12 {
			t.Errorf("%s: %g s, of which %g s are claimed", name, took, claimed)
		}
	}
}

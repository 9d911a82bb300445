package measure

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// Two windows agree to two percent, whichever is the longer.
func TestSteadyAgreement(t *testing.T) {
	for now, want := range map[float64]bool{1: true, 1.015: true, 0.985: true, 1.03: false, 0.97: false} {
		if got := steady(slices.Concat(slices.Repeat([]float64{1}, warmWindow), slices.Repeat([]float64{now}, warmWindow))); got != want {
			t.Errorf("a window of 1 and one of %g: %t", now, got)
		}
	}
}

// Events that the timer contradicts are a lie of a launcher, and a fault of the machine for device
// code; without a timer nothing is known.
func TestWhoseClockIsWrong(t *testing.T) {
	b := &wire.SampleReply{Samples: wire.Samples{Seconds: []float64{1e-6, 1e-6}}}
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
	turn := turn{Samples: result.Samples{Seconds: []float64{2, 3}, GHz: []float64{5, 7}}}
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

// A side is released once more than half of at least three pairs agree with its claims, or more
// than a few of all.
func TestWhenATallyContradicts(t *testing.T) {
	for _, test := range []struct {
		pairs, agree int
		want         bool
	}{
		{0, 0, false}, {1, 0, true}, {2, 2, true}, {3, 3, false}, {5, 3, false}, {6, 3, true}, {30, addSpare, true}, {30, addSpare + 1, false},
	} {
		if got := (&tally{pairs: test.pairs, agree: test.agree}).contradicts(); got != test.want {
			t.Errorf("%d of %d pairs agree: contradicts %t", test.agree, test.pairs, got)
		}
	}
}

// A launcher may take a moment to queue each launch of a sample, Python to inspect a result, and a CPU's caches
// to give up what a launch has changed; a request takes a moment itself.
func TestWhatASampleMayTakeBesides(t *testing.T) {
	for name, test := range map[string]struct {
		cell     string
		launcher bool
		want     float64
	}{
		"a launcher":     {spec.CellCUDA, true, 5e-6 + 4*20e-6 + 1e-3},
		"Python":         {spec.CellPython, false, 5e-6 + 100e-6},
		"a CPU's kernel": {spec.CellHost, false, 5e-6 + 10e-6},
	} {
		s := newSeries(Side{Instance: sized(test.cell, 8)}, Options{}, nil)
		s.perSample, s.hostS = 4, 1e-3
		if got := s.besidesLaunching(test.launcher, 100, 40e-6); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %g s, want %g", name, got, test.want)
		}
	}
}

// The time of a cell that waited for its core is its CPU time; without CPU time, wall time.
func TestUndisturbedTakesTheProcessorsTime(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	s.perSample = 2
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
		b := &wire.SampleReply{Samples: wire.Samples{Seconds: []float64{0.1, 0.4, 0.1, 0.2}}}
		if test.preempted == 1 {
			b.Seconds = []float64{0.1, 0.4, 0.1}
		}
		b.WorkerS, b.BusyS, b.Preempted, b.WaitedS = 1, test.busy, test.preempted, test.waited
		if took, claimed := s.undisturbed(b); took != test.took || math.Abs(claimed-test.claimed) > 1e-12 {
			t.Errorf("%s: %g s, of which %g s are claimed", name, took, claimed)
		}
	}
}

// A host that opens cells ahead is told of the first four, then of two at a time, before
// the first of them is opened.
func TestExpect(t *testing.T) {
	host := &knowing{}
	for cell := range 10 {
		host.told = nil
		expect(t.Context(), host, &Match{Sides: make([]Side, 3)}, cell)
		want := map[int]int{0: 4, 4: 2, 6: 2, 8: 2}[cell]
		if len(host.told) != want {
			t.Errorf("before cell %d: told of %d cells, want %d", cell, len(host.told), want)
		}
		for ahead, order := range host.told {
			if !slices.Equal(order, loadingOrder(3, cell+ahead)) {
				t.Errorf("cell %d: loaded in order %v", cell+ahead, order)
			}
		}
	}
	expect(t.Context(), newStage(t, nil), &Match{Sides: make([]Side, 2)}, 0) // which does not ask
}

// knowing is a host that opens cells ahead.
type knowing struct {
	stage
	told [][]int
}

func (k *knowing) Expect(_ context.Context, _ *Match, orders [][]int) { k.told = orders }

func (k *knowing) Release(context.Context) {}

// The unclaimed time is per launch, whatever the number of launches in a sample.
func TestUnclaimedOfALaunch(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	s.perSample = 4
	with, without := &wire.SampleReply{Samples: wire.Samples{Seconds: []float64{1, 1}}}, &wire.SampleReply{Samples: wire.Samples{Seconds: []float64{0, 0}}}
	with.Count, with.WorkerS, with.BusyS = 2, 14, 14
	without.Count, without.WorkerS, without.BusyS = 2, 2, 2
	// 7 s a sample with launches and 1 without; four launches claim 4 of these 6 s.
	if beyond, helped, _ := s.unclaimed(with, without); math.Abs(beyond-0.5) > 1e-12 || math.Abs(helped-0.5) > 1e-12 {
		t.Errorf("beyond %g, helped %g", beyond, helped)
	}
}

// A request has time for its launches, and for filling its arguments.
func TestDeadlineOfARequest(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{Timeout: 2 * time.Second}, nil)
	s.perItem = 0.5
	s.Instance.Footprint = 100e6
	if got := s.deadline(3); got != 2+2+4*0.5*3 {
		t.Errorf("%g s", got)
	}
}

// A turn of a launcher has as many samples as there are copies of its arguments.
func TestTurnsOfLaunchers(t *testing.T) {
	for _, test := range []struct {
		cell         string
		launcher     bool
		cache        string
		sets, repeat int
		want         int
	}{
		{spec.CellCUDA, true, "cold", 8, 1, 8},
		{spec.CellCUDA, true, "cold", 3, 1, 3},
		{spec.CellCUDA, true, "cold", 8, 3, 2},
		{spec.CellCUDA, true, "cold", 1, 4, 1},
		{spec.CellCUDA, true, "cold", 100, 1, turnMost},
		{spec.CellCUDA, true, "hot", 1, 1, turnMost},
		{spec.CellCUDA, false, "cold", 1, 1, turnMost},
		{spec.CellHost, false, "cold", 0, 1, turnMost},
	} {
		in := sized(test.cell, 8)
		in.Variant.Kernel.Launcher = test.launcher
		s := newSeries(Side{Instance: in}, Options{Cache: test.cache}, nil)
		s.sets, s.perSample = test.sets, test.repeat
		if got := s.turnLongest(); got != test.want || s.launches() != test.launcher {
			t.Errorf("%+v: %d samples", test, got)
		}
	}
}

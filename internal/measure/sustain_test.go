package measure

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

// sustained measures a puppet in stretches.
func sustained(t *testing.T, script puppet.Script, in *spec.Instance) (*result.Timing, error) {
	t.Helper()
	c := loaded(t, newWorker(t, unstolen), script)
	opts := Default()
	opts.Sustain, opts.Budget, opts.MinSamples = true, time.Second, 1000
	timings, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: in}}, opts, func(Progress) {})
	return timings[0], errs[0]
}

// A stretch's beginning still runs at the clock of the work before: its second series of launches
// is the sample.
func TestStretchesLeaveOutTheirBeginning(t *testing.T) {
	t.Parallel()
	timing, err := sustained(t, puppet.Script{Micros: 5, Ramp: true}, sized(spec.CellHost, 8))
	if err != nil {
		t.Fatal(err)
	}
	s := timing.Stats
	if math.Abs(s.Median-5e-6) > 1e-12 || s.Count < stretchLeast || s.P99 > 5.1e-6 || timing.Stopped != "width" {
		t.Errorf("%d stretches, median %g, P99 %g, stopped by %s", s.Count, s.Median, s.P99, timing.Stopped)
	}
	for _, d := range timing.Samples.Dropped {
		if d.Cause != "warm-up" && d.Cause != "clock check" {
			t.Errorf("dropped %+v", d)
		}
	}
}

func TestStretchesNeedInputsThatStay(t *testing.T) {
	t.Parallel()
	in := sized(spec.CellHost, 8)
	in.Args[0].Role = spec.RoleInOut
	_, err := sustained(t, puppet.Script{Micros: 5}, in)
	var fault *result.Fault
	if !errors.As(err, &fault) || fault.Cause != result.CauseUnsupported || !strings.Contains(fault.Message, "argument x") || !strings.Contains(fault.Hint, "--sustain") {
		t.Errorf("%v: %+v", err, fault)
	}
}

// A launch that does not end is stopped after its timeout and the time of a few stretches.
func TestStretchesEnd(t *testing.T) {
	t.Parallel()
	opts := quickly()
	opts.Timeout = time.Second
	s := newSeries(Side{Cell: loaded(t, newWorker(t, unstolen), puppet.Script{Micros: 100, Idle: 4000}), Instance: sized(spec.CellHost, 8)}, opts, func(Progress) {})
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.stretch(t.Context()); causeOf(err) != result.CauseTimeout {
		t.Errorf("runs of 4 s: %v", err)
	}
}

// Readings taken during warm-up say nothing of the clock it can sustain.
func TestStretchesLookAtTheMachine(t *testing.T) {
	t.Parallel()
	script := puppet.Script{Micros: 5, Spin: 60} // both runs together last long enough for another reading
	s := newSeries(Side{Cell: loaded(t, newWorker(t, unstolen), script), Instance: sized(spec.CellHost, 8)}, quickly(), func(Progress) {})
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.noted.State = nil
	if err := s.stretch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := s.noted.State; len(state) != 2 || state[0].When != "during" || state[0].Load1 == nil {
		t.Errorf("%+v", state)
	}
}

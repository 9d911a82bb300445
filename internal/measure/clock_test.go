package measure

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl as a worker, and as cells that claim what
// their artifact's text says.
func TestMain(m *testing.M) {
	if !puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		os.Exit(puppet.Run(m))
	}
}

func TestClaimsThatTheWorkersClockContradicts(t *testing.T) {
	client := newWorker(t)
	for name, test := range map[string]struct {
		spins int // milliseconds, of which it claims a nanosecond
		want  result.Cause
	}{"slow": {30, result.CauseForged}, "quick": {0, ""}} {
		t.Run(name, func(t *testing.T) {
			sha, err := client.Upload(t.Context(), []byte(puppet.Script{Micros: 1e-3, Spin: test.spins}.String()))
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Load(t.Context(), wire.Load{SHA256: sha}); err != nil {
				t.Fatal(err)
			}
			opts := Default()
			opts.Budget = 50 * time.Millisecond
			timings, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: instance(spec.RoleIn)}}, opts, func(Progress) {})
			var fault *result.Fault
			got := result.Cause("")
			if errors.As(errs[0], &fault) {
				got = fault.Cause
			}
			if got != test.want {
				t.Errorf("cause %q (%v), want %q", got, errs[0], test.want)
			}
			if timings[0].Clock == nil || timings[0].Stats.Count == 0 {
				t.Errorf("what was measured is not kept: %+v", timings[0].Stats)
			}
		})
	}
}

func TestEventsThatTheGPUsTimerContradicts(t *testing.T) {
	batch := func(events, timer float64) *worker.Batch {
		b := &worker.Batch{Seconds: []float64{events, events}}
		b.Count, b.PairS, b.GlobalS = 2, 1e-6, 2*timer
		return b
	}
	for name, test := range map[string]struct {
		events, timer float64 // seconds of a launch and of a sample of four
		forged        bool
	}{
		"honest":       {10e-6, 45e-6, false},
		"unknown":      {10e-6, 0, false},
		"short":        {1e-6, 15e-6, false}, // stamps and events are launches too
		"a quarter":    {25e-6, 400e-6, true},
		"next to none": {1e-9, 100e-6, true},
	} {
		t.Run(name, func(t *testing.T) {
			var d deviceClock
			for request := range clockTries {
				err := d.hold(batch(test.events, test.timer), 4, true)
				if last := request == clockTries-1; (err != nil) != (last && test.forged) {
					t.Fatalf("request %d: %v", request, err)
				}
			}
			check := &result.ClockCheck{}
			if d.beside(check); test.timer > 0 && (math.Abs(check.TimerS-test.timer) > 1e-12 || math.Abs(check.EventsS-4*test.events-1e-6) > 1e-12) {
				t.Errorf("%+v", check)
			}
		})
	}
	var d deviceClock
	for request := range 3 * clockTries { // a card that is held up now and then accuses nobody
		timer := 400e-6
		if request%clockTries == clockTries-1 {
			timer = 110e-6
		}
		if err := d.hold(batch(25e-6, timer), 4, true); err != nil {
			t.Fatal(err)
		}
	}
}

// Python may take longer to queue what a GPU then runs than that takes itself.
func TestPythonQueuesSlowly(t *testing.T) {
	honest, slow := puppet.Script{Micros: 50}, puppet.Script{Micros: 50, Spin: 75} // some 200 launches
	for name, test := range map[string]struct {
		onDevice bool
		want     result.Cause
	}{"on the processor": {false, result.CauseForged}, "on a GPU": {true, ""}} {
		t.Run(name, func(t *testing.T) {
			client := newWorker(t)
			first, rival := loaded(t, client, honest), loaded(t, client, slow)
			rival.OnDevice = test.onDevice
			sides := []Side{{Cell: first, Instance: sized(spec.CellHost, 8)}, {Cell: rival, Instance: sized(spec.CellPython, 8)}}
			timings, _, errs := Turns(t.Context(), sides, quickly(), func(Progress) {})
			var fault *result.Fault
			got := result.Cause("")
			if errors.As(errs[1], &fault) {
				got = fault.Cause
			}
			if got != test.want || timings[0].OnDevice || timings[1].OnDevice != test.onDevice {
				t.Errorf("cause %q (%v), want %q; on a GPU: %t, %t", got, errs[1], test.want, timings[0].OnDevice, timings[1].OnDevice)
			}
		})
	}
}

package measure

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl as a worker, and as cells that claim what their artifact's
// text says.
func TestMain(m *testing.M) {
	if !puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		os.Exit(puppet.Run(m))
	}
}

func TestClaimsThatTheWorkersClockContradicts(t *testing.T) {
	client := newWorker(t, unstolen)
	for name, test := range map[string]struct {
		spins   int // milliseconds, of which it claims a nanosecond
		problem *spec.Instance
		want    result.Cause
	}{
		"slow": {30, sized(spec.CellHost, 8), result.CauseForged}, "quick": {0, sized(spec.CellHost, 8), ""},
		// For threads, which work for more time than passes, only the sums count.
		"slow threads": {30, instance(spec.RoleIn), ""},
	} {
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
			timings, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: test.problem}}, opts, func(Progress) {})
			got := causeOf(errs[0])
			if got != test.want {
				t.Errorf("cause %q (%v), want %q", got, errs[0], test.want)
			}
			if timings[0].Clock == nil || timings[0].Stats.Count == 0 {
				t.Errorf("what was measured is not kept: %+v", timings[0].Stats)
			}
		})
	}
}

// A worker's clock that ran on while the core was stolen accuses nobody; time missing beyond that
// does.
func TestStolenTimeExplainsTheWorkersClock(t *testing.T) {
	const spins = 60 // milliseconds, of which it claims one
	for name, test := range map[string]struct {
		stolen string
		apart  int // milliseconds of it that processor time does not have, as on some kernels
		want   result.Cause
	}{
		"nearly all is stolen":  {"0.99", 0, ""},
		"a little is":           {"0.02", 0, result.CauseForged},
		"nothing is":            {"0", 0, result.CauseForged},
		"more than half, apart": {"0.6", 2 * spins, result.CauseForged},
	} {
		t.Run(name, func(t *testing.T) {
			cell := loaded(t, newWorker(t, puppet.Stolen+"="+test.stolen), puppet.Script{Micros: 1e-3, Spin: spins, Idle: test.apart})
			timings, _, errs := Turns(t.Context(), []Side{{Cell: cell, Instance: sized(spec.CellHost, 8)}}, quickly(), func(Progress) {})
			if got := causeOf(errs[0]); got != test.want {
				t.Errorf("cause %q (%v), want %q", got, errs[0], test.want)
			}
			if c := timings[0].Clock; c == nil || c.Disturbed && test.want != "" { // what is left of nearly all may be a nanosecond
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestEventsThatTheGPUsTimerContradicts(t *testing.T) {
	batch := func(events, timer float64) *wire.SampleReply {
		b := &wire.SampleReply{Samples: wire.Samples{Seconds: []float64{events, events}}}
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
	for toll, forged := range map[wire.Toll]bool{{}: true, {WaitedS: 1}: false, {StolenS: 0.01}: false, {WaitedS: 1e-4}: true} {
		var d deviceClock
		var err error
		for range clockTries {
			b := batch(25e-6, 400e-6)
			b.Toll = toll
			err = d.hold(b, 4, true)
		}
		if (err != nil) != forged {
			t.Errorf("%+v: %v", toll, err)
		}
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

// Where other work explains all the time on the worker's clock, there is no reading: it is not a
// launch of 0 seconds.
func TestReadingThatOtherWorkExplains(t *testing.T) {
	for stolen, disturbed := range map[string]bool{"3": true, "0": false} {
		t.Run(stolen, func(t *testing.T) {
			var raw []byte
			for range 10 { // other work may really have disturbed it
				cell := loaded(t, newWorker(t, puppet.Stolen+"="+stolen), puppet.Script{Micros: 2e4, Spin: 20}) // one launch
				timings, _, errs := Turns(t.Context(), []Side{{Cell: cell, Instance: sized(spec.CellHost, 8)}}, quickly(), func(Progress) {})
				c := timings[0].Clock
				if errs[0] != nil || c == nil {
					t.Fatalf("%v, %+v", errs[0], c)
				}
				var err error
				if raw, err = json.Marshal(c); err != nil {
					t.Fatal(err)
				}
				if c.Disturbed == disturbed && (c.WorkerS > 0) != disturbed && strings.Contains(string(raw), "worker_s") != disturbed {
					return
				}
			}
			t.Errorf("%s", raw)
		})
	}
}

// Requests are compared under noise many times the hidden time: honest code is not accused, and
// code that hides more than the noise is found.
func TestRequestsAddUpUnderNoise(t *testing.T) {
	const (
		machines = 4000
		claimed  = 1e-6 // seconds
		flush    = 30e-6
	)
	noises := map[string]func(*rand.Rand) float64{
		"none":   func(*rand.Rand) float64 { return 0 },
		"even":   func(r *rand.Rand) float64 { return 20e-6 * r.NormFloat64() },
		"spikes": func(r *rand.Rand) float64 { return 20e-6 * math.Exp(2*r.NormFloat64()) },
		"modes":  func(r *rand.Rand) float64 { return 20e-6 * float64(r.IntN(2)) },
	}
	for name, noise := range noises {
		for takes, want := range map[float64]string{claimed: "few", 50 * claimed: "", 1000 * claimed: "all"} {
			accused := 0
			r := rand.New(rand.NewPCG(1, 2))
			for range machines {
				var requests tally
				for requests.pairs == 0 || requests.contradicts() && requests.pairs < addTries {
					requests.add(claimed, 0, 100*(flush+takes+noise(r)), 10*(flush+noise(r)), 100, 10)
				}
				if requests.contradicts() {
					accused++
				}
			}
			most := machines / 1000 // one in 6,000, and a little luck
			if want == "few" && accused > most || want == "all" && name != "spikes" && accused < machines {
				t.Errorf("%s: of %d machines on which a sample that claims %g s takes %g s, %d are accused; want %s", name, machines, claimed, takes, accused, want)
			}
		}
	}
}

// Preparing the next sample takes longer after a launch, which is no lie. These are readings of a kernel
// that writes 1 KiB in a microsecond, on a busy virtual machine: seconds of a request with launches and of
// one without, and the claims, per sample.
func TestChangedLinesAreNotForged(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	var requests, liar tally
	for _, r := range [][4]float64{ // and the samples of the request
		{33.696e-6, 20.148e-6, 1.343e-6, 266},
		{22.414e-6, 18.973e-6, 0.801e-6, 266},
		{22.519e-6, 19.245e-6, 0.843e-6, 266},
		{22.773e-6, 19.058e-6, 0.774e-6, 266},
		{22.849e-6, 19.014e-6, 0.801e-6, 266},
		{30.097e-6, 24.374e-6, 1.096e-6, 437},
		{29.153e-6, 24.449e-6, 1.875e-6, 437},
		{32.060e-6, 28.092e-6, 1.207e-6, 311},
		{30.909e-6, 26.762e-6, 1.012e-6, 320},
		{28.540e-6, 25.382e-6, 1.199e-6, 327},
	} {
		with, without, claimed, count := r[0], r[1], r[2], int(r[3])
		requests.add(claimed, s.besidesLaunching(false, count, without), with*r[3], without*r[3], count, count)
		liar.add(claimed, s.besidesLaunching(false, count, without), (with+10e-6)*r[3], without*r[3], count, count)
	}
	if requests.contradicts() || requests.agree < 9 {
		t.Errorf("an honest kernel is accused: %+v", requests)
	}
	if !liar.contradicts() {
		t.Errorf("one that hides 10 µs is not: %+v", liar)
	}
}

// A few disturbed pairs decide nothing.
func TestContradictions(t *testing.T) {
	const claimed, flush, lie = 1e-6, 30e-6, 20e-6
	for agree := range addSpare + 3 {
		var requests tally
		for try := range addTries {
			takes := lie
			if try%4 == 3 && try/4 < agree {
				takes = claimed
			}
			requests.add(claimed, 0, flush+takes, flush, 1, 1)
		}
		if got, want := requests.contradicts(), agree <= addSpare; got != want {
			t.Errorf("%d of %d pairs agree with their claims: contradicts %t", agree, addTries, got)
		}
		if requests.claimed != claimed || math.Abs(requests.longer-lie) > 1e-12 {
			t.Errorf("%+v", requests)
		}
	}
	var quick tally
	for try := range 3 {
		quick.add(claimed, 0, flush+claimed, flush, 1, 1)
		if got, want := quick.contradicts(), try < 2; got != want {
			t.Errorf("after %d honest pairs: contradicts %t", try+1, got)
		}
	}
}

// The time of a request and the claims of its samples use one clock: CPU time, without waiting, or
// wall time.
func TestClaimsWithoutWhatDisturbedThem(t *testing.T) {
	for name, test := range map[string]struct {
		threads       int
		toll          wire.Toll
		busy          float64
		took, claimed float64
	}{
		"left alone":              {1, wire.Toll{}, 17, 17, 8},
		"preempted once":          {1, wire.Toll{Preempted: 1, WaitedS: 8}, 11, 11, 6},
		"preempted for long":      {1, wire.Toll{Preempted: 1, WaitedS: 80}, 11, 11, 4.25},
		"preempted all the time":  {1, wire.Toll{Preempted: 100, WaitedS: 80}, 9, 9, 4},
		"slow, and did not wait":  {1, wire.Toll{Preempted: 2}, 9, 9, 8},
		"processor time unknown":  {1, wire.Toll{Preempted: 1, WaitedS: 5}, 0, 15, 8},
		"as busy as time goes by": {1, wire.Toll{Preempted: 1}, 21, 20, 8},
		"stolen":                  {1, wire.Toll{StolenS: 4}, 20, 16, 8},
		"stolen in both clocks":   {1, wire.Toll{StolenS: 4}, 19.5, 16, 8},
		"stolen and told apart":   {1, wire.Toll{StolenS: 4}, 16, 16, 8},
		"stolen and slept":        {1, wire.Toll{StolenS: 4}, 9, 9, 8},
		"stolen and preempted":    {1, wire.Toll{Preempted: 1, StolenS: 4, WaitedS: 4}, 16, 12, 7},
		"waited for what it lost": {1, wire.Toll{Preempted: 1, StolenS: 4, WaitedS: 4}, 17, 13, 7},
		"preempted and told":      {1, wire.Toll{Preempted: 1, StolenS: 4, WaitedS: 4}, 12, 12, 7},
		"two threads":             {2, wire.Toll{Preempted: 1}, 39, 20, 8},
		"two threads that wait":   {2, wire.Toll{Preempted: 1, WaitedS: 3, StolenS: 1}, 19, 16, 8},
	} {
		b := &wire.SampleReply{Samples: wire.Samples{Seconds: []float64{10, 1, 3, 2}}}
		b.Toll, b.WorkerS, b.BusyS = test.toll, 20, test.busy
		s := &series{Side: Side{Instance: &spec.Instance{Launches: []spec.InstanceLaunch{{Threads: test.threads}}}}, sampling: sampling{perSample: 2}}
		if took, claimed := s.undisturbed(b); took != test.took || claimed != test.claimed {
			t.Errorf("%s: %g and %g, want %g and %g", name, took, claimed, test.took, test.claimed)
		}
	}
}

// Launches back to back take the samples' mean: a kernel of which one launch in ten takes thirty
// times as long is uneven, and no liar.
func TestUnevenIsNotForged(t *testing.T) {
	for name, test := range map[string]struct {
		script puppet.Script
		want   result.Cause
	}{
		"uneven": {puppet.Script{Micros: 100, Part: 10, By: 30, Spin: 60}, ""},
		"a lie":  {puppet.Script{Micros: 100, Spin: 400}, result.CauseForged},
		"uneven, and takes longer still": {
			puppet.Script{Micros: 100, Part: 10, By: 30, Spin: 400}, result.CauseForged,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "a lie" {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			opts := quickly()
			opts.MinSamples, opts.Timeout = 200, time.Minute // spinning takes long on a busy machine
			timings, _, errs := Turns(t.Context(), []Side{{Cell: loaded(t, newWorker(t, unstolen), test.script), Instance: sized(spec.CellHost, 8)}}, opts, func(Progress) {})
			if got := causeOf(errs[0]); got != test.want {
				t.Errorf("cause %q (%v), want %q; %+v", got, errs[0], test.want, timings[0].Clock)
			}
			said := slices.ContainsFunc(Doubts(timings[0], 10), func(w result.Warning) bool { return w.Code == "uneven" })
			if said != (test.want == "") {
				t.Errorf("uneven is said: %t; %+v", said, timings[0].Clock)
			}
		})
	}
}

// The host may take far longer for a launch than the GPU, which samples do not show.
func TestHostBoundIsNotForged(t *testing.T) {
	honest := puppet.Script{Micros: 1000, Spin: 5, Host: 5000} // one launch
	slow := puppet.Script{Micros: 1000, Spin: 50}              // some ten
	for name, test := range map[string]struct {
		script puppet.Script
		want   result.Cause
	}{"the host is slow": {honest, ""}, "nothing is": {slow, result.CauseForged}} {
		t.Run(name, func(t *testing.T) {
			client := newWorker(t, unstolen)
			first, rival := loaded(t, client, puppet.Script{Micros: 50}), loaded(t, client, test.script)
			rival.OnDevice = true
			sides := []Side{{Cell: first, Instance: sized(spec.CellHost, 8)}, {Cell: rival, Instance: sized(spec.CellPython, 8)}}
			timings, _, errs := Turns(t.Context(), sides, quickly(), func(Progress) {})
			got := causeOf(errs[1])
			said := slices.ContainsFunc(Doubts(timings[1], 1), func(w result.Warning) bool { return w.Code == "host-bound" })
			if got != test.want || said != (test.want == "") {
				t.Errorf("cause %q (%v), want %q; host-bound is said: %t; %+v", got, errs[1], test.want, said, timings[1].Clock)
			}
			if median := timings[1].Stats.Median; test.want == "" && math.Abs(median-6e-3) > 1e-9 {
				t.Errorf("the host's part is not counted: %g s", median)
			}
		})
	}
}

// All sides are timed in the same way.
func TestAllAreTimedAlike(t *testing.T) {
	client := newWorker(t, unstolen)
	var sides []Side
	for _, script := range []puppet.Script{{Micros: 1000, Spin: 1, Host: 400}, {Micros: 1000, Spin: 5, Host: 5000}} {
		cell := loaded(t, client, script)
		cell.OnDevice = true
		sides = append(sides, Side{Cell: cell, Instance: sized(spec.CellPython, 8)})
	}
	timings, ratios, errs := Turns(t.Context(), sides, quickly(), func(Progress) {})
	if errs[0] != nil || errs[1] != nil {
		t.Fatal(errs)
	}
	for i, host := range []bool{false, true} {
		said := slices.ContainsFunc(Doubts(timings[i], 1), func(w result.Warning) bool { return w.Code == "host-bound" })
		if timings[i].HostBound() != host || !timings[i].Unhidden || !said {
			t.Errorf("side %d: host-bound %t, unhidden %t, said %t", i, timings[i].HostBound(), timings[i].Unhidden, said)
		}
	}
	if math.Abs(ratios[0].Median-6/1.4) > 1e-6 {
		t.Errorf("ratio %g", ratios[0].Median)
	}
}

// A host that became slower while it was measured is no forger; but nobody knows what it did
// meanwhile.
func TestHostThatBecomesSlow(t *testing.T) {
	cell := loaded(t, newWorker(t, unstolen), puppet.Script{Micros: 1000, Spin: 50, Host: 5000})
	cell.OnDevice = true
	s := newSeries(Side{Cell: cell, Instance: sized(spec.CellPython, 8)}, quickly(), func(Progress) {})
	s.hostChecked = true
	err := s.begin(t.Context())
	if err == nil {
		err = s.sample(t.Context())
	}
	if err == nil {
		err = s.checkClock(t.Context())
	}
	if c := s.clock; err != nil || c == nil || math.Abs(c.HostS-6e-3) > 1e-9 || s.noted.HostBound() {
		t.Errorf("%v, %+v, host-bound: %t", err, c, s.noted.HostBound())
	}
}

// Python may take longer to queue work than the GPU takes to run it.
func TestPythonQueuesSlowly(t *testing.T) {
	honest, slow := puppet.Script{Micros: 50}, puppet.Script{Micros: 50, Spin: 75} // some 200 launches
	for name, test := range map[string]struct {
		onDevice bool
		want     result.Cause
	}{"on the processor": {false, result.CauseForged}, "on a GPU": {true, ""}} {
		t.Run(name, func(t *testing.T) {
			client := newWorker(t, unstolen)
			first, rival := loaded(t, client, honest), loaded(t, client, slow)
			rival.OnDevice = test.onDevice
			sides := []Side{{Cell: first, Instance: sized(spec.CellHost, 8)}, {Cell: rival, Instance: sized(spec.CellPython, 8)}}
			timings, _, errs := Turns(t.Context(), sides, quickly(), func(Progress) {})
			got := causeOf(errs[1])
			if got != test.want || timings[0].OnDevice || timings[1].OnDevice != test.onDevice {
				t.Errorf("cause %q (%v), want %q; on a GPU: %t, %t", got, errs[1], test.want, timings[0].OnDevice, timings[1].OnDevice)
			}
		})
	}
}

// causeOf returns the cause of an error that is a fault, or none.
func causeOf(err error) result.Cause {
	var fault *result.Fault
	if errors.As(err, &fault) {
		return fault.Cause
	}
	return ""
}

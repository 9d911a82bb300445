package measure

import (
	"context"
	"math"
	"slices"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker/wire"
)

// contradiction is the factor between a launch's time by the worker's clock and its claim from
// which the claim is called forged. It must be exceeded in clockTries, each with a fresh claim, or
// over all of addTries pairs of requests, so that a machine that was descheduled or became slower
// accuses nobody.
const (
	contradiction = 2.0
	clockTries    = 5
	clockSpan     = 0.01   // seconds of launches a try takes
	energySpan    = 0.5    // seconds of launches that a GPU's energy counter, read ten times a second, can resolve
	askingCost    = 500e-6 // seconds of overhead that a request itself may take
	queueingCost  = 20e-6  // seconds a launcher may take to queue one launch
	stampingCost  = 20e-6  // seconds that may lie between the stamps of a sample and its events
	pythonCost    = 300e-6 // seconds Python may take to queue work that the GPU then runs faster
)

// deviceClock compares the GPU's own timer with the events that time the samples. The timer's
// stamps lie outside of the events, so it reads a little more; a timer that reads far more
// contradicts the events.
type deviceClock struct {
	samples       int
	events, timer float64 // seconds over all requests
	contradicted  int     // contradicted requests in a row
}

// hold records both clocks' times of a request's samples. Device code can reach neither; a launcher
// shares the process that reads them.
func (d *deviceClock) hold(got *wire.SampleReply, repeat int, launcher bool) error {
	if got.GlobalS == 0 {
		return nil // nothing was stamped
	}
	count := float64(got.Count)
	events := stat.Mean(got.Seconds)*count*float64(repeat) + got.PairS*count
	d.samples, d.events, d.timer = d.samples+got.Count, d.events+events, d.timer+got.GlobalS
	if got.GlobalS <= contradiction*events+stampingCost*count+excuse(got.Toll).most() {
		d.contradicted = 0
		return nil
	}
	if d.contradicted++; d.contradicted < clockTries {
		return nil
	}
	fault := result.Faultf(result.CauseInternal, "clock-mismatch: a sample takes %.3g s by CUDA events, but %.3g s by the GPU's own timer", events/count, got.GlobalS/count).
		WithHint("this driver's events or this GPU's timer are not reliable")
	if launcher {
		fault.Cause, fault.Hint = result.CauseForged, "candidate code, which shares the cell's address space, has tampered with its events"
	}
	return fault
}

// beside fills in both clocks' times of a sample.
func (d *deviceClock) beside(check *result.ClockCheck) {
	if d.samples > 0 {
		check.EventsS, check.TimerS = d.events/float64(d.samples), d.timer/float64(d.samples)
	}
}

// checkClock launches back to back while the worker times the request from outside.
func (s *series) checkClock(ctx context.Context) error {
	if err := s.keepLastOutput(ctx); err != nil {
		return err
	}
	kept := s.samples.Kept()
	if len(kept) == 0 {
		return nil // nothing is claimed
	}
	claimed := stat.Median(kept)
	check := &result.ClockCheck{ClaimedS: claimed}
	if s.inPlace() { // back to back nothing restores the input, so the launches would solve another problem
		s.device.beside(check)
		s.clock = check
		return s.addUp(ctx)
	}
	span := clockSpan
	if s.onGPU() && s.primary {
		span = energySpan
	}
	launches := int64(min(1e6, max(1, span/claimed)))
	host, quickest := 0.0, math.Inf(1) // a launch including the host's part, and the fastest of the tries
	longer := 0                        // tries that were made longer, to tell stolen time from hidden time
	for try := 0; try < clockTries+longer; try++ {
		if try > 0 { // the machine may have become slower since: take a new claim
			if err := s.claimAgain(ctx, check); err != nil {
				return err
			}
			claimed = check.ClaimedS
		}
		reply, err := s.Cell.Run(ctx, wire.Run{
			Side: s.Index, Launches: launches, DeadlineS: s.opts.Timeout.Seconds() + 10*claimed*float64(launches),
		})
		if err != nil {
			return err
		}
		excused := excuse(reply.Toll)
		check.WorkerS = max(0, reply.WorkerS-excused.seconds) / float64(launches)
		check.Disturbed = check.WorkerS == 0
		s.device.beside(check)
		s.clock = check
		if reply.EnergyJ != nil && (s.primary || !s.onGPU()) {
			perLaunch := *reply.EnergyJ / float64(launches)
			s.noted.EnergyJ = &perLaunch
		}
		// Device code cannot reach the cell's clock, and launches of very short kernels queue more
		// slowly than they run: there is nothing to accuse. For several threads CPU time says
		// nothing, and wall time goes on while they wait for their cores, which most samples do
		// not.
		asking := askingCost / float64(launches)
		if s.Instance.Variant.Kernel.DeviceCode() || !s.onGPU() && s.threads() > 1 || check.WorkerS <= s.plausible(claimed)+asking {
			return s.addUp(ctx)
		}
		if beyond := (check.WorkerS - asking - s.plausible(claimed)) * float64(launches); beyond <= excused.unsure {
			if check.Disturbed = longer == clockTries; check.Disturbed {
				return s.addUp(ctx)
			}
			longer++
			launches = min(2*launches, 1e6)
			continue
		}
		if quickest = min(quickest, check.WorkerS-asking); s.onGPU() && !s.unhidden {
			took, err := s.aside(ctx, true)
			if err != nil {
				return err
			}
			host = max(host, took)
		}
	}
	if host > 0 && quickest <= s.plausible(host) { // it has become slower, or works behind the samples' back
		check.HostS = host
		return nil
	}
	// Launches back to back take the samples' mean, not their median. An uneven kernel is no liar;
	// but a liar could move its time into a few samples.
	if mean := stat.Mean(kept); quickest <= s.plausible(mean) {
		check.MeanS = mean
		return s.addUp(ctx)
	}
	return result.Faultf(result.CauseForged, "the cell claims %.3g s a launch; by the worker's clock a launch takes at least %.3g s", claimed, check.WorkerS).
		WithHint("candidate code, which shares the cell's address space, has tampered with its clock or its results")
}

// inPlace reports whether launches change their inputs.
func (s *series) inPlace() bool {
	return slices.ContainsFunc(s.Instance.Args, func(arg spec.InstanceArg) bool { return arg.Buffer && arg.Role == spec.RoleInOut })
}

// claimAgain takes a few more samples, which the statistics leave out, and makes their median the
// cell's claim: an accusation must compare clocks of the same moment.
func (s *series) claimAgain(ctx context.Context, check *result.ClockCheck) error {
	const enough = 20
	samples := &s.samples
	from := len(samples.Seconds)
	if err := s.beside(ctx, enough, "clock check"); err != nil {
		return err
	}
	check.ClaimedS = stat.Median(samples.Seconds[from:])
	return nil
}

// plausible returns how many seconds a launch may take by the worker's clock if it takes the
// claimed seconds by the cell's.
func (s *series) plausible(claimed float64) float64 {
	switch {
	case s.cuda():
		return contradiction*claimed + queueingCost
	case s.onGPU():
		return contradiction*claimed + pythonCost
	}
	return contradiction * claimed
}

// excused is the part of a request's time that other work of the machine explains.
type excused struct {
	seconds float64
	unsure  float64 // uncertainty on top: stolen time is counted in ticks
}

// excuse computes how much of a request's time other work of the machine explains. Where no time
// was stolen nothing is uncertain: an honest request that seems contradicted has lost more than a
// tick.
func excuse(t wire.Toll) excused {
	e := excused{seconds: t.StolenS + t.WaitedS}
	if t.StolenS > 0 {
		e.unsure = wire.StealTick.Seconds()
	}
	return e
}

// most returns the longest time that may be excused.
func (e excused) most() float64 { return e.seconds + e.unsure }

const hostShare = 0.75 // of the plausible time: a host that takes longer is timed, too

// checkHostShare finds out whether samples must include the host's part of a launch. Where the host
// takes far longer than the GPU, nobody can tell whether it does work that ought to be timed,
// elsewhere while the samples' stream is held.
func (s *series) checkHostShare(ctx context.Context) error {
	if s.Instance.Variant.Kernel.DeviceCode() || !s.onGPU() || s.opts.Sustain || s.hostChecked {
		return nil
	}
	s.hostChecked = true
	var took [2]float64
	for i, unhidden := range []bool{false, true} {
		var err error
		if took[i], err = s.aside(ctx, unhidden); err != nil {
			return err
		}
	}
	if gpu, whole := took[0], took[1]; whole > hostShare*s.plausible(gpu) {
		s.noted.GPUS = gpu
		s.unhide()
	} else {
		s.hostS = whole
	}
	return nil
}

// unhide makes samples begin on an idle device from now on.
func (s *series) unhide() { s.unhidden, s.perSample = true, 1 }

// unhideAll times all sides that run on a GPU in the way that one of them requires.
func unhideAll(sides []*series) {
	if slices.ContainsFunc(sides, func(s *series) bool { return s.unhidden }) {
		for _, s := range sides {
			if s.onGPU() {
				s.unhide()
			}
		}
	}
}

// aside returns the time of a launch by the cell's own clock, with or without the host's part.
// These samples enter no statistics.
func (s *series) aside(ctx context.Context, unhidden bool) (float64, error) {
	const enough = 7
	m := s.wanted(enough)
	m.Repeat, m.Unhidden = 1, unhidden
	got, err := s.take(ctx, m)
	if err != nil {
		return 0, err
	}
	return stat.Median(got.Seconds), nil
}

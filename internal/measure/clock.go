package measure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// contradiction is how many times slower than claimed a launch must be by the
// worker's clock before the claim is called forged. It must be so in clockTries,
// each with a fresh claim, and in none that was left alone may it be otherwise, so
// that a machine that was descheduled or became slower accuses nobody.
const (
	contradiction = 2.0
	clockTries    = 5
	// Where requests are added up, those whose core was taken away in between acquit
	// nobody: if no other agrees, so many that contradict are enough.
	contradictedLeast = 3
	beyondSpan        = 100 * time.Millisecond
	beyondTries       = 3      // requests of which it is taken down what they take beyond their claims
	clockSpan         = 0.01   // seconds of launches a try takes
	energySpan        = 0.5    // seconds of launches that a GPU's energy counter, read ten times a second, can tell
	askingCost        = 500e-6 // seconds a request itself may take
	queueingCost      = 20e-6  // seconds a launcher may take to queue one launch
	stampingCost      = 20e-6  // seconds that may lie between the stamps of a sample and its events
	timerCost         = 3e-6   // seconds by which the GPU's timer may be off in a sample
	lookingCost       = 100e-6 // seconds a Python cell may take to look at what a call returned
	pythonCost        = 300e-6 // seconds Python may take to queue what a GPU then runs faster
)

// deviceClock holds the GPU's own timer against the events that samples are taken
// by. The stamps of the timer lie outside of the events, so it says a little more;
// one that says far more contradicts them.
type deviceClock struct {
	samples       int
	events, timer float64 // seconds of all of them
	contradicted  int     // requests in a row
}

// hold takes down what both say of a request's samples. Device code reaches neither;
// a launcher shares the process that reads them.
func (d *deviceClock) hold(got *worker.Batch, repeat int, launcher bool) error {
	if got.GlobalS == 0 {
		return nil // nothing was stamped
	}
	count := float64(got.Count)
	events := stat.Mean(got.Seconds)*count*float64(repeat) + got.PairS*count
	d.samples, d.events, d.timer = d.samples+got.Count, d.events+events, d.timer+got.GlobalS
	if got.GlobalS <= contradiction*events+stampingCost*count {
		d.contradicted = 0
		return nil
	}
	if d.contradicted++; d.contradicted < clockTries {
		return nil
	}
	fault := &result.Fault{
		Cause: result.CauseInternal, Message: fmt.Sprintf("clock-mismatch: events say that a sample takes %.3g s, the GPU's own timer says %.3g s", events/count, got.GlobalS/count),
		Hint: "the events of this driver, or the timer of this GPU, cannot be relied on",
	}
	if launcher {
		fault.Cause, fault.Hint = result.CauseForged, "candidate code shares the cell's address space and has tampered with its events"
	}
	return fault
}

// beside fills in what the two say of a sample.
func (d *deviceClock) beside(check *result.ClockCheck) {
	if d.samples > 0 {
		check.EventsS, check.TimerS = d.events/float64(d.samples), d.timer/float64(d.samples)
	}
}

// checkClock launches back to back and lets the worker time that from outside.
func (s *series) checkClock(ctx context.Context) error {
	for _, arg := range s.Instance.Args {
		if arg.Buffer && arg.Role == spec.RoleInOut {
			return s.addUp(ctx) // launches that do not restore their input are another problem
		}
	}
	kept := s.timing.Samples.Kept()
	if len(kept) == 0 {
		return nil // nothing is claimed
	}
	claimed := stat.Median(kept)
	span := clockSpan
	if s.onGPU() && s.primary {
		span = energySpan
	}
	launches := int64(min(1e6, max(1, span/claimed)))
	check := &result.ClockCheck{ClaimedS: claimed, WorkerS: math.Inf(1)}
	for try := range clockTries {
		if try > 0 { // the machine may have become slower since: what does the cell claim now?
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
		check.WorkerS = reply.WorkerS / float64(launches)
		s.device.beside(check)
		s.timing.Clock = check
		if reply.EnergyJ != nil && (s.primary || !s.onGPU()) {
			perLaunch := *reply.EnergyJ / float64(launches)
			s.timing.EnergyJ = &perLaunch
		}
		// Device code cannot reach the cell's clock, and launches of very short
		// kernels queue more slowly than they run: there is nothing to accuse.
		queueing := 0.0
		switch {
		case s.cuda():
			queueing = queueingCost
		case s.onGPU():
			queueing = pythonCost
		}
		if s.Instance.Variant.Kernel.DeviceCode() || check.WorkerS <= contradiction*claimed+queueing+askingCost/float64(launches) {
			return s.addUp(ctx)
		}
	}
	return &result.Fault{
		Cause: result.CauseForged,
		Message: fmt.Sprintf("the cell claims %.3g s a launch; by the worker's clock it takes %.3g s at least",
			claimed, check.WorkerS),
		Hint: "candidate code shares the cell's address space and has tampered with its clock or its results",
	}
}

// addUp compares what samples claim with what their requests take by the worker's
// clock, less what the same requests take without a launch: code that is idle where
// the worker looks, and lies where it does not, is seen by the sum.
func (s *series) addUp(ctx context.Context) error {
	launcher := s.cuda() && s.Instance.Variant.Kernel.Launcher
	if s.onGPU() && !launcher || s.opts.Sustain {
		return nil
	}
	began := time.Now()
	var lie sum
	var beyond, disturbed []float64 // per launch, of requests that do not contradict their claims
	contradicted := 0
	acquit := func() bool { // several times over where it costs little
		return len(beyond) >= beyondTries || len(beyond)+len(disturbed) > 0 && time.Since(began) > beyondSpan
	}
	for try := 0; try < 2*clockTries && contradicted < clockTries && !acquit(); try++ {
		one, err := s.addOnce(ctx, launcher)
		if err != nil || one.unknown {
			return err
		}
		more := (one.longer - one.claimed) / float64(s.timing.Repeat)
		switch {
		case one.contradicts:
			lie = one
			contradicted++
		case launcher:
			return nil
		case one.disturbed: // its claims have time in them that was not its own
			disturbed = append(disturbed, more)
		default:
			beyond = append(beyond, more)
		}
	}
	if len(beyond) == 0 && contradicted < contradictedLeast {
		beyond = disturbed
	}
	if len(beyond) > 0 {
		if s.timing.Clock != nil {
			s.timing.Clock.Beyond = []float64{slices.Min(beyond), slices.Max(beyond)}
		}
		return nil
	}
	return &result.Fault{
		Cause: result.CauseForged,
		Message: fmt.Sprintf("the cell claims %.3g s a sample; by %s requests take %.3g s a sample longer than without launches",
			lie.claimed, lie.by, lie.longer),
		Hint: "candidate code shares the cell's address space and has tampered with its clock or its results",
	}
}

// sum is what a request claims a sample, and what it takes longer than without
// launches by some other clock.
type sum struct {
	claimed, longer                 float64
	by                              string
	contradicts, disturbed, unknown bool
}

// addOnce asks for samples, and for the same without launches.
func (s *series) addOnce(ctx context.Context, launcher bool) (sum, error) {
	enough := s.fitting(time.Duration(clockSpan*float64(time.Second)), 10)
	m := wire.Sample{Side: s.Index, Count: enough, Repeat: s.timing.Repeat, Cache: s.opts.Cache, DeadlineS: s.opts.Timeout.Seconds()}
	var asked [2]*worker.Batch
	for i := range asked {
		s.freshen(&m)
		m.Dry = i == 1
		var err error
		if asked[i], err = s.Cell.Sample(ctx, m); err != nil {
			return sum{}, err
		}
		s.keep(m, asked[i])
	}
	got, dry := asked[0], asked[1]
	if got.Count != dry.Count {
		return sum{unknown: true}, nil
	}
	queueing := 0.0
	switch {
	case launcher:
		queueing = queueingCost * float64(s.timing.Repeat)
	case s.Instance.Variant.Kernel.Cell == spec.CellPython:
		queueing = lookingCost
	}
	one := sum{
		claimed: stat.Mean(got.Seconds) * float64(s.timing.Repeat), longer: (busy(got) - busy(dry)) / float64(got.Count),
		by: "the worker's clock", disturbed: got.Preempted+dry.Preempted > 0,
	}
	one.contradicts = one.longer > contradiction*one.claimed+queueing+askingCost/float64(enough)
	if one.contradicts || !launcher || got.OtherStreams { // the GPU's timer has nothing to do with other streams
		return one, nil
	}
	one.longer, one.by = (got.GlobalS-dry.GlobalS)/float64(got.Count), "the GPU's own timer"
	if got.GlobalS == 0 || dry.GlobalS == 0 {
		one.longer, one.by = math.Inf(1), "the GPU's own timer, which somebody has silenced,"
	}
	one.contradicts = one.longer > contradiction*one.claimed+timerCost
	return one, nil
}

// busy is what a request took at least: a cell that had to wait for its core was
// not slow.
func busy(b *worker.Batch) float64 {
	if b.BusyS > 0 {
		return min(b.WorkerS, b.BusyS)
	}
	return b.WorkerS
}

// claimAgain takes a few more samples, which the statistics leave out, and makes
// their median the cell's claim: an accusation compares clocks of one moment.
func (s *series) claimAgain(ctx context.Context, check *result.ClockCheck) error {
	const enough = 20
	samples := &s.timing.Samples
	from := len(samples.Seconds)
	if err := s.batch(ctx, enough); err != nil {
		return err
	}
	samples.Dropped = append(samples.Dropped, result.Drop{From: from, To: len(samples.Seconds), Cause: "clock check"})
	check.ClaimedS = stat.Median(samples.Seconds[from:])
	return nil
}

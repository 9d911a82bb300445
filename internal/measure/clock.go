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
// each with a fresh claim, or over all of addTries pairs of requests, so that a
// machine that was descheduled or became slower accuses nobody.
const (
	contradiction = 2.0
	clockTries    = 5
	addTries      = 10
	beyondSpan    = 200 * time.Millisecond
	beyondTries   = 5      // requests of which it is taken down what they take beyond their claims
	clockSpan     = 0.01   // seconds of launches a try takes
	addMost       = 0.5    // seconds that a request may take for the sake of having several samples
	energySpan    = 0.5    // seconds of launches that a GPU's energy counter, read ten times a second, can tell
	askingCost    = 500e-6 // seconds a request itself may take
	queueingCost  = 20e-6  // seconds a launcher may take to queue one launch
	stampingCost  = 20e-6  // seconds that may lie between the stamps of a sample and its events
	timerCost     = 3e-6   // seconds by which the GPU's timer may be off in a sample
	lookingCost   = 100e-6 // seconds a Python cell may take to look at what a call returned
	pythonCost    = 300e-6 // seconds Python may take to queue what a GPU then runs faster
	hostShare     = 0.75   // of what is plausible: a host that takes longer is timed, too
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
	host, quickest := 0.0, math.Inf(1) // a launch with the host's part in it, and one of the tries
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
		// kernels queue more slowly than they run: there is nothing to accuse. Of
		// several threads processor time says nothing, and the wall's clock goes on
		// while they wait for their cores, which most samples do not.
		asking := askingCost / float64(launches)
		if s.Instance.Variant.Kernel.DeviceCode() || !s.onGPU() && s.threads() > 1 || check.WorkerS <= s.plausible(claimed)+asking {
			return s.addUp(ctx)
		}
		if quickest = min(quickest, check.WorkerS-asking); s.onGPU() && !s.unhidden {
			took, err := s.aside(ctx, true)
			if err != nil {
				return err
			}
			host = max(host, took)
		}
	}
	if host > 0 && quickest <= s.plausible(host) { // it has become slower, or something is done behind the samples' back
		check.HostS = host
		return nil
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
	worker, timer := &tally{by: "the worker's clock"}, &tally{}
	var beyond []float64 // per launch
	for try := range addTries {
		with, without, err := s.withAndWithout(ctx, try)
		if err != nil {
			return err
		}
		took, claimed := s.undisturbed(with)
		other, _ := s.undisturbed(without)
		longer := worker.add(claimed, s.besidesLaunching(launcher)+askingCost/float64(with.Count), took, other, with.Count, without.Count)
		beyond = append(beyond, (longer-claimed)/float64(s.timing.Repeat))
		if launcher && !with.OtherStreams { // of other streams the GPU's timer knows nothing
			took := with.GlobalS
			if timer.by = "the GPU's own timer"; with.GlobalS == 0 || without.GlobalS == 0 {
				took, timer.by = math.Inf(1), "the GPU's own timer, which somebody has silenced,"
			}
			timer.add(claimed, timerCost, took, without.GlobalS, with.Count, without.Count)
		}
		if worker.contradicts() || timer.contradicts() {
			continue
		}
		if launcher {
			return nil
		}
		if len(beyond) >= beyondTries || time.Since(began) > beyondSpan {
			if s.timing.Clock != nil {
				s.timing.Clock.Beyond = []float64{slices.Min(beyond), slices.Max(beyond)}
			}
			return nil
		}
	}
	lie := worker
	if !worker.contradicts() {
		lie = timer
	}
	return &result.Fault{
		Cause: result.CauseForged,
		Message: fmt.Sprintf("the cell claims %.3g s a sample; by %s requests take %.3g s a sample longer than without launches",
			lie.claimed, lie.by, lie.longer),
		Hint: "candidate code shares the cell's address space and has tampered with its clock or its results",
	}
}

// withAndWithout asks for samples, and for the same without launches; every other
// time in the other order, so that a machine that becomes slower favours neither.
func (s *series) withAndWithout(ctx context.Context, try int) (with, without *worker.Batch, err error) {
	enough := s.fitting(time.Duration(clockSpan*float64(time.Second)), 10)
	if s.perItem > 0 {
		enough = max(1, min(enough, int(addMost/s.perItem)))
	}
	m := wire.Sample{Side: s.Index, Count: enough, Repeat: s.timing.Repeat, Cache: s.opts.Cache, Unhidden: s.unhidden, DeadlineS: s.deadline(enough)}
	for turn := range 2 {
		s.freshen(&m)
		m.Dry = (turn+try)%2 == 1
		got, err := s.Cell.Sample(ctx, m)
		if err != nil {
			return nil, nil, err
		}
		s.keep(m, got)
		if m.Dry {
			without = got
		} else {
			with = got
		}
	}
	return with, without, nil
}

// besidesLaunching is what a sample may take beyond its claim, in seconds.
func (s *series) besidesLaunching(launcher bool) float64 {
	switch {
	case launcher:
		return queueingCost*float64(s.timing.Repeat) + s.hostS
	case s.Instance.Variant.Kernel.Cell == spec.CellPython:
		return lookingCost
	}
	return 0
}

// A tally holds requests with launches against the same without, by one clock. All
// numbers are seconds a sample.
type tally struct {
	by              string
	with            []float64 // less what the claims allow for
	without         []float64
	claimed, longer float64 // of the last pair
}

// add takes down a pair, and says how much longer the one with launches took.
func (t *tally) add(claimed, besides, with, without float64, count, countWithout int) float64 {
	with, without = with/float64(count), without/float64(countWithout)
	t.with, t.without = append(t.with, with-contradiction*claimed-besides), append(t.without, without)
	t.claimed, t.longer = claimed, with-without
	return t.longer
}

// contradicts tells whether requests with launches take longer than can be, as far
// as is known: each but the quickest takes longer, even less all that it may, than
// each without but the slowest. If launches take what they claim, however much the
// machine varies, that is so by chance after addTries pairs in one of 1,829 cases at
// most. What has been found otherwise from the second pair on stays so.
func (t *tally) contradicts() bool {
	n := len(t.with)
	if n < 2 {
		return n == 1 && t.with[0] > t.without[0]
	}
	slices.Sort(t.with)
	slices.Sort(t.without)
	return t.with[1] > t.without[n-2]
}

// undisturbed is what a request took, and what its samples claim each, both in
// seconds. A cell that had to wait for its core was not slow: where it worked for
// less time than has passed, the former is the processor's, and the claims are those
// without the slowest, one for each time that the core was taken away. Threads work
// for more than has passed, and then all claims count.
func (s *series) undisturbed(b *worker.Batch) (took, claimed float64) {
	seconds := b.Seconds
	took = b.WorkerS
	if s.threads() == 1 && b.BusyS > 0 && b.BusyS < b.WorkerS {
		took, seconds = b.BusyS, slices.Sorted(slices.Values(seconds))
		seconds = seconds[:len(seconds)-int(min(b.Preempted, int64(len(seconds)/2)))]
	}
	return took, stat.Mean(seconds) * float64(s.timing.Repeat)
}

// threads are those that the kernel may compute with on a processor.
func (s *series) threads() int {
	most := 1
	for _, launch := range s.Instance.Launches {
		most = max(most, launch.Threads)
	}
	return most
}

// plausible is how many seconds a launch may take by the worker's clock that takes so
// many by the cell's.
func (s *series) plausible(claimed float64) float64 {
	switch {
	case s.cuda():
		return contradiction*claimed + queueingCost
	case s.onGPU():
		return contradiction*claimed + pythonCost
	}
	return contradiction * claimed
}

// lookAtHost finds out whether samples must have the host's part of a launch in them.
// Where that takes far longer than the GPU, nobody can tell whether it is work that
// ought to be timed, done elsewhere while the samples' stream is held.
func (s *series) lookAtHost(ctx context.Context) error {
	if s.Instance.Variant.Kernel.DeviceCode() || !s.onGPU() || s.opts.Sustain || s.looked {
		return nil
	}
	s.looked = true
	var took [2]float64
	for i, unhidden := range []bool{false, true} {
		var err error
		if took[i], err = s.aside(ctx, unhidden); err != nil {
			return err
		}
	}
	if gpu, whole := took[0], took[1]; whole > hostShare*s.plausible(gpu) {
		s.timing.GPUS = gpu
		s.expose()
	} else {
		s.hostS = whole
	}
	return nil
}

// expose lets samples begin on an idle device from now on.
func (s *series) expose() { s.unhidden, s.timing.Unhidden, s.timing.Repeat = true, true, 1 }

// exposeAll times all sides that run on a GPU in the way that one of them must be.
func exposeAll(sides []*series) {
	if slices.ContainsFunc(sides, func(s *series) bool { return s.unhidden }) {
		for _, s := range sides {
			if s.onGPU() {
				s.expose()
			}
		}
	}
}

// aside is what a launch takes by the cell's own clock, with the host's part in it or
// without. No statistics know of these samples.
func (s *series) aside(ctx context.Context, unhidden bool) (float64, error) {
	const enough = 7
	m := wire.Sample{Side: s.Index, Count: enough, Repeat: 1, Cache: s.opts.Cache, Unhidden: unhidden, DeadlineS: s.deadline(enough)}
	s.freshen(&m)
	got, err := s.Cell.Sample(ctx, m)
	if err != nil {
		return 0, err
	}
	s.keep(m, got)
	return stat.Median(got.Seconds), nil
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

package measure

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"pawl/internal/clocks"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker/wire"
)

const (
	addTries    = 30 // pairs of requests, of which all but addSpare must contradict the claims
	addSpare    = 5
	addMost     = 0.5    // longest time in seconds of a request that is extended to have several samples
	timerCost   = 3e-6   // seconds by which the GPU's timer may be off in a sample
	lookingCost = 100e-6 // seconds a Python cell may take to inspect the result of a call

	// preparingPart is the part by which preparing the next sample may take longer after a launch: lines
	// that it has changed leave the caches more slowly. 3.5 of 19 µs were measured for 1 KiB of outputs.
	preparingPart = 0.25
)

// addUp compares the claims of samples with the time of their requests by the worker's clock, less
// the time of the same requests without launches. Code that idles where the worker checks, and lies
// where it does not, shows in the sum.
func (s *series) addUp(ctx context.Context) error {
	launcher := s.cuda() && s.Instance.Variant.Kernel.Launcher
	if s.onGPU() && !launcher || s.opts.Sustain {
		return nil
	}
	worker, timer := &tally{by: "the worker's clock"}, &tally{}
	for try := range addTries {
		with, without, err := s.withAndWithout(ctx, try, s.opts.Cache)
		if err != nil {
			return err
		}
		took, claimed := s.undisturbed(with)
		other := s.idle(without)
		worker.add(claimed, s.besidesLaunching(launcher, with.Count, other/float64(without.Count)), took, other, with.Count, without.Count)
		if launcher && !with.OtherStreams { // the GPU's timer does not cover other streams
			took := with.GlobalS
			if timer.by = "the GPU's own timer"; with.GlobalS == 0 || without.GlobalS == 0 {
				took, timer.by = math.Inf(1), "the GPU's own timer, which has been disabled,"
			}
			timer.add(claimed, timerCost, took, without.GlobalS, with.Count, without.Count)
		}
		if !worker.contradicts() && !timer.contradicts() {
			return nil
		}
	}
	lie := worker
	if !worker.contradicts() {
		lie = timer
	}
	return result.Faultf(result.CauseForged, "the cell claims %.3g s a sample; by %s a request takes %.3g s a sample longer than one without launches", lie.claimed, lie.by, lie.longer).
		WithHint("candidate code, which shares the cell's address space, has tampered with its clock or its results")
}

// withAndWithout asks for samples, and for the same request without launches and with the given
// cache state. Every other time the order is reversed, so that a machine that becomes slower
// favours neither.
func (s *series) withAndWithout(ctx context.Context, try int, cacheWithout string) (with, without *wire.SampleReply, err error) {
	enough := s.fitting(time.Duration(clockSpan*float64(time.Second)), 10)
	if s.perItem > 0 {
		enough = max(1, min(enough, int(addMost/s.perItem)))
	}
	for turn := range 2 {
		m := s.wanted(enough)
		m.Unhidden = s.unhidden
		if m.Dry = (turn+try)%2 == 1; m.Dry {
			m.Cache = cacheWithout
		}
		got, err := s.take(ctx, m)
		if err != nil {
			return nil, nil, err
		}
		if m.Dry {
			without = got
		} else {
			with = got
		}
	}
	return with, without, nil
}

// besidesLaunching returns the seconds that a sample may take beyond its claim, in a request for so many
// where one without launches takes the given seconds.
func (s *series) besidesLaunching(launcher bool, count int, preparing float64) float64 {
	asking := askingCost / float64(count)
	switch {
	case launcher:
		return asking + queueingCost*float64(s.perSample) + s.hostS
	case s.Instance.Variant.Kernel.Cell == spec.CellPython:
		return asking + lookingCost
	}
	return asking + preparingPart*max(0, preparing)
}

// A tally compares requests with launches and the same requests without, by one clock. All numbers
// are seconds per sample.
type tally struct {
	by              string
	pairs, agree    int     // pairs compared, and pairs that do not contradict the claims
	claimed, longer float64 // of the last pair
}

// add records a pair.
func (t *tally) add(claimed, besides, with, without float64, count, countWithout int) {
	with, without = with/float64(count), without/float64(countWithout)
	t.claimed, t.longer = claimed, with-without
	t.pairs++
	if t.longer <= contradiction*claimed+besides {
		t.agree++
	}
}

// contradicts reports whether requests with launches take longer than their claims allow, as far as
// is known. If launches take what they claim, a pair contradicts in at most half of all cases,
// however much the machine varies, and all but addSpare of addTries do so by chance in one of 6,000
// series. A side that agrees in more than half of the first pairs is released early.
func (t *tally) contradicts() bool {
	return t.pairs > 0 && t.agree <= addSpare && (t.agree <= 2 || 2*t.agree <= t.pairs)
}

// undisturbed returns the time of a request, and the claim of each of its samples, both in seconds.
// A cell that had to wait for its core was not slow: if it worked for less time than has passed,
// CPU time is used, and the waiting time is subtracted from the slowest claims, as many as the
// number of times that the core was taken away. Threads work for more time than has passed, and
// then all claims count. Time that the hypervisor took from the cell is in wall time, and may be in
// CPU time.
func (s *series) undisturbed(b *wire.SampleReply) (took, claimed float64) {
	took, claimed = b.WorkerS, stat.Mean(b.Seconds)
	toll := b.Toll
	if s.threads() == 1 && b.BusyS > 0 && b.BusyS < b.WorkerS {
		took, toll = b.BusyS, b.OfProcessor(b.WorkerS, b.BusyS)
		ascending := slices.Sorted(slices.Values(b.Seconds))
		usual, beyond := stat.Median(ascending), 0.0
		for _, slow := range ascending[len(ascending)-int(min(b.Preempted, int64(len(ascending)/2))):] {
			beyond += slow - usual
		}
		claimed -= min(beyond, b.WaitedS/float64(s.perSample)) / float64(len(ascending))
	}
	return took - excuse(toll).seconds, claimed * float64(s.perSample)
}

// idle is undisturbed for samples without launches, less the time that was timed in their place.
func (s *series) idle(b *wire.SampleReply) float64 {
	took, claimed := s.undisturbed(b)
	return took - claimed*float64(b.Count)
}

// threads returns the number of threads that the kernel may use on a CPU.
func (s *series) threads() int {
	most := 1
	for _, launch := range s.Instance.Launches {
		most = max(most, launch.Threads)
	}
	return most
}

// compareClocks measures, by the worker's clocks, how much longer samples of each side take than
// they claim, and how much longer their CPUs work. A first side that hides more than every other,
// or has more help, is found this way. Sides take turns, and every other round has the reverse
// order, so that disturbances of the machine affect all sides alike. The error is a *SideError.
func compareClocks(ctx context.Context, all []*series) error {
	if len(all) < 2 || slices.ContainsFunc(all, func(s *series) bool { return s.clock == nil || s.onGPU() || s.opts.Sustain }) {
		return nil
	}
	var others []*result.ClockCheck
	for _, s := range all[1:] {
		others = append(others, s.clock)
	}
	for round := 0; ; round++ {
		for _, i := range turnOrder(len(all), round) {
			if err := all[i].beyond(ctx, round); err != nil {
				return &SideError{i, at("measure", err)}
			}
		}
		_, hides := clocks.Hides(all[0].clock, others...)
		_, helped := clocks.HasHelp(all[0].clock, others...)
		_, company := clocks.HasCompany(all[0].clock, others...)
		if !hides && !helped && !company {
			return nil
		}
	}
}

// beyond measures how many seconds longer a launch takes than it claims, and how many seconds
// longer its CPUs work than its threads can. Launches may leave their arguments in a cache or out
// of it (by non-temporal stores). Preparing the arguments for the next sample then takes longer,
// which is no lie: so the requests to compare with are made with cold arguments.
func (s *series) beyond(ctx context.Context, round int) error {
	with, without, err := s.withAndWithout(ctx, round, "cold")
	if err != nil {
		return err
	}
	clock := s.clock
	clock.CachesS = s.caches()
	beyond, helped, beside := s.unclaimed(with, without)
	clock.Beyond, clock.Helped, clock.Beside = append(clock.Beyond, beyond), append(clock.Helped, helped), append(clock.Beside, beside)
	clock.Waited = append(clock.Waited, s.waited(with))
	return nil
}

// unclaimed computes, from samples and from the same request without launches, how many seconds a
// launch takes beyond its claim, how many seconds its CPUs work beyond what its threads can, and
// how many additional threads work while nothing is launched.
func (s *series) unclaimed(with, without *wire.SampleReply) (beyond, helped, beside float64) {
	more := func(a, b float64) float64 { return a/float64(with.Count) - b/float64(without.Count) }
	took, claimed := s.undisturbed(with)
	other := s.idle(without)
	repeat, threads := float64(s.perSample), float64(s.threads())
	helped = more(with.BusyS, without.BusyS)/repeat + stat.Mean(without.Seconds) - stat.Mean(with.Seconds)
	if threads > 1 { // threads may busy-wait between launches
		helped = (with.BusyS - threads*with.WorkerS) / float64(with.Count) / repeat
	}
	return (more(took, other) - claimed) / repeat, helped, without.BusyS/without.WorkerS - threads
}

// waited returns how many seconds of a launch's claim its cell may have waited for a CPU, which
// another process had or the hypervisor.
func (s *series) waited(b *wire.SampleReply) float64 {
	return min(stat.Mean(b.Seconds), (b.WaitedS+b.StolenS)/float64(b.Count*s.perSample))
}

// cachesPerByte is the allowance, in seconds for each byte of the arguments, for preparing the next
// sample: a launch that reads a table leaves the arguments elsewhere than one that does not. 8 to
// 11 ps were measured where only one version reads 8 MiB.
const cachesPerByte = 15e-12

// caches returns the allowance for all arguments, per launch.
func (s *series) caches() float64 {
	return cachesPerByte * float64(s.Instance.Footprint) / float64(s.perSample)
}

// Clocks are compared in two of three rounds of turns; in one of three where a visit has this many
// rounds; in three of four with wholly new data.
const heldMany = 32

// holds draws whether the clocks are compared in the next turn of every side. Candidate code cannot
// know: the additional request comes after its turn. So being honest only in requests that look
// like a clock comparison does not help a cheat.
func (m *Match) holds(count int, fresh bool) bool {
	span := 0.0
	for _, s := range m.series {
		if s.onGPU() {
			return false
		}
		span += s.perItem * float64(s.reached(count))
	}
	if fresh {
		return rand.IntN(4) < 3
	}
	most := 2
	if span*heldMany < visitHost.Seconds() {
		most = 1
	}
	return rand.IntN(3) < most
}

// hold repeats the request of a turn without launches and with cold arguments, as in beyond, and
// records how long the turn's launches took beyond their claims.
func (s *series) hold(ctx context.Context, turn *wire.SampleReply) error {
	m := s.wanted(turn.Count)
	m.Cache, m.Dry = "cold", true
	without, err := s.take(ctx, m)
	if err != nil {
		return err
	}
	if s.inTurns == nil {
		s.inTurns = &result.TurnClocks{CachesS: s.caches()}
	}
	c := s.inTurns
	beyond, helped, beside := s.unclaimed(turn, without)
	if turn.Fresh > 0 && s.staged != nil { // a helper that waits for new data starts as soon as the data is there
		beside = (without.BusyS+s.staged.BusyS)/(without.WorkerS+s.staged.WorkerS) - float64(s.threads())
	}
	c.Claimed, c.Fresh = append(c.Claimed, stat.Mean(turn.Seconds)), append(c.Fresh, turn.Fresh > 0)
	c.Beyond, c.Helped, c.Beside = append(c.Beyond, beyond), append(c.Helped, helped), append(c.Beside, beside)
	c.Waited = append(c.Waited, s.waited(turn))
	return nil
}

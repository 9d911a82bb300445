package measure

import (
	"context"
	"math/rand/v2"
	"slices"

	"pawl/internal/clocks"
	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/worker/wire"
)

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
	return nil
}

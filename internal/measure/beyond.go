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

// compareClocks measures by clocks of the worker's how much longer samples of each side
// take than they claim, and how much longer their processors work, so that a first side
// that hides more than every other, or has more help, can be found. Sides take turns, and
// every other round has the other order, so that disturbances of the machine meet all
// sides alike. The error is a *SideError.
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

// beyond measures how many seconds longer a launch takes than it claims, and how many
// its processors work longer than its threads can. Launches may leave their arguments in a
// cache or out of it (by non-temporal stores), and making them ready for the next sample takes
// longer then, which is nobody's lie: what is held against them is done with cold arguments.
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

// unclaimed computes from samples, and from the same without launches, how many seconds a
// launch takes beyond its claim, how many its processors work beyond what its threads can,
// and how many more threads than those work while nothing is launched.
func (s *series) unclaimed(with, without *wire.SampleReply) (beyond, helped, beside float64) {
	more := func(a, b float64) float64 { return a/float64(with.Count) - b/float64(without.Count) }
	took, claimed := s.undisturbed(with)
	other := s.idle(without)
	repeat, threads := float64(s.perSample), float64(s.threads())
	helped = more(with.BusyS, without.BusyS)/repeat + stat.Mean(without.Seconds) - stat.Mean(with.Seconds)
	if threads > 1 { // which may wait actively between launches
		helped = (with.BusyS - threads*with.WorkerS) / float64(with.Count) / repeat
	}
	return (more(took, other) - claimed) / repeat, helped, without.BusyS/without.WorkerS - threads
}

// cachesPerByte is how many seconds each byte of the arguments may take longer to be made
// ready for the next sample: a launch that reads a table leaves them elsewhere than one that
// does not. 8 to 11 ps were seen where one version alone reads 8 MiB.
const cachesPerByte = 15e-12

// caches is that of all arguments, per launch.
func (s *series) caches() float64 {
	return cachesPerByte * float64(s.Instance.Footprint) / float64(s.perSample)
}

// Clocks are held in two of three rounds of turns; in one of three where a visit has so
// many rounds; in three of four with wholly new data.
const heldMany = 32

// holds draws whether the clocks are held against each other in the next turn of every
// side. Candidate code cannot know: what is asked for besides comes after its turn. So it
// is no use to be honest in requests that look as if they were made for this.
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

// hold asks for the samples of a turn once more, without launches and with cold arguments
// as in beyond, and takes down what its launches took beyond their claims.
func (s *series) hold(ctx context.Context, turn *wire.SampleReply) error {
	m := wire.Sample{Side: s.Index, Count: turn.Count, Repeat: s.perSample, Cache: "cold", Dry: true, DeadlineS: s.deadline(turn.Count)}
	s.freshen(&m)
	without, err := s.Cell.Sample(ctx, m)
	if err != nil {
		return err
	}
	s.keep(m, without)
	if s.inTurns == nil {
		s.inTurns = &result.TurnClocks{CachesS: s.caches()}
	}
	c := s.inTurns
	beyond, helped, beside := s.unclaimed(turn, without)
	if turn.Fresh > 0 && s.staged != nil { // who waits for new data works as soon as it is there
		beside = (without.BusyS+s.staged.BusyS)/(without.WorkerS+s.staged.WorkerS) - float64(s.threads())
	}
	c.Claimed, c.Fresh = append(c.Claimed, stat.Mean(turn.Seconds)), append(c.Fresh, turn.Fresh > 0)
	c.Beyond, c.Helped, c.Beside = append(c.Beyond, beyond), append(c.Helped, helped), append(c.Beside, beside)
	return nil
}

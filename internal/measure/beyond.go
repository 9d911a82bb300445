package measure

import (
	"context"
	"slices"

	"pawl/internal/stat"
)

// compareClocks measures by clocks of the worker's how much longer samples of each side
// take than they claim, and how much longer their processors work, so that a first side
// that hides more than the others, or has more help, can be found. Sides take turns, and
// every other round has the other order, so that disturbances of the machine meet all
// sides alike. With an error it returns the side that failed.
func compareClocks(ctx context.Context, all []*series) (side int, err error) {
	others := all[1:]
	if len(others) == 0 || slices.ContainsFunc(all, func(s *series) bool { return s.timing.Clock == nil || s.onGPU() || s.opts.Sustain }) {
		return 0, nil
	}
	for round := 0; ; round++ {
		for _, i := range turnOrder(len(all), round) {
			if err := all[i].beyond(ctx, round); err != nil {
				return i, at("measure", err)
			}
		}
		open := slices.ContainsFunc(others, func(s *series) bool {
			_, hides := all[0].timing.Clock.Hides(s.timing.Clock)
			_, helped := all[0].timing.Clock.HasHelp(s.timing.Clock)
			_, company := all[0].timing.Clock.HasCompany(s.timing.Clock)
			return hides || helped || company
		})
		if !open {
			return 0, nil
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
	more := func(a, b float64) float64 { return a/float64(with.Count) - b/float64(without.Count) }
	took, claimed := s.undisturbed(with)
	other, _ := s.undisturbed(without)
	clock, repeat := s.timing.Clock, float64(s.timing.Repeat)
	clock.Beyond = append(clock.Beyond, (more(took, other)-claimed)/repeat)
	helped := more(with.BusyS, without.BusyS)/repeat - stat.Mean(with.Seconds)
	if threads := float64(s.threads()); threads > 1 { // which may wait actively between launches
		helped = (with.BusyS - threads*with.WorkerS) / float64(with.Count) / repeat
	}
	clock.Helped = append(clock.Helped, helped)
	clock.Beside = append(clock.Beside, without.BusyS/without.WorkerS-float64(s.threads()))
	return nil
}

package measure

import (
	"context"
	"slices"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// compareClocks measures by clocks of the worker's how much longer samples of each side
// take than they claim, and how much longer their processors work, so that a first side
// that hides more than every other, or has more help, can be found. Sides take turns, and
// every other round has the other order, so that disturbances of the machine meet all
// sides alike. With an error it returns the side that failed.
func compareClocks(ctx context.Context, all []*series) (side int, err error) {
	if len(all) < 2 || slices.ContainsFunc(all, func(s *series) bool { return s.timing.Clock == nil || s.onGPU() || s.opts.Sustain }) {
		return 0, nil
	}
	var others []*result.ClockCheck
	for _, s := range all[1:] {
		others = append(others, s.timing.Clock)
	}
	for round := 0; ; round++ {
		for _, i := range turnOrder(len(all), round) {
			if err := all[i].beyond(ctx, round); err != nil {
				return i, at("measure", err)
			}
		}
		_, hides := all[0].timing.Clock.Hides(others...)
		_, helped := all[0].timing.Clock.HasHelp(others...)
		_, company := all[0].timing.Clock.HasCompany(others...)
		if !hides && !helped && !company {
			return 0, nil
		}
	}
}

// beyond measures how many seconds longer a launch takes than it claims, and how many
// its processors work longer than its threads can.
func (s *series) beyond(ctx context.Context, round int) error {
	with, without, err := s.withAndWithout(ctx, round)
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

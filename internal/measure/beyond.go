package measure

import (
	"context"
	"slices"
)

// compareClocks measures by the worker's clock how much longer samples of each side take
// than they claim, so that a first side that hides more than the others can be found.
// Sides take turns, and every other round has the other order, so that disturbances of
// the machine meet all sides alike. With an error it returns the side that failed.
func compareClocks(ctx context.Context, all []*series) (side int, err error) {
	others := all[1:]
	if len(others) == 0 || slices.ContainsFunc(all, func(s *series) bool { return s.timing.Clock == nil || s.onGPU() || s.opts.Sustain }) {
		return 0, nil
	}
	for round := 0; ; round++ {
		for _, i := range turnOrder(len(all), round) {
			beyond, err := all[i].beyond(ctx, round)
			if err != nil {
				return i, at("measure", err)
			}
			clock := all[i].timing.Clock
			clock.Beyond = append(clock.Beyond, beyond)
		}
		open := slices.ContainsFunc(others, func(s *series) bool {
			_, open := all[0].timing.Clock.Hides(s.timing.Clock)
			return open
		})
		if !open {
			return 0, nil
		}
	}
}

// beyond measures how many seconds longer a launch takes than it claims.
func (s *series) beyond(ctx context.Context, round int) (float64, error) {
	with, without, err := s.withAndWithout(ctx, round)
	if err != nil {
		return 0, err
	}
	took, claimed := s.undisturbed(with)
	other, _ := s.undisturbed(without)
	return (took/float64(with.Count) - other/float64(without.Count) - claimed) / float64(s.timing.Repeat), nil
}

package lab

import (
	"context"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
)

// Duel is a match and the function that judges it.
type Duel struct {
	Match  *measure.Match
	Settle func() result.Verdict // records what the match has found so far, and judges it

	verdict result.Verdict
}

// PlayOut plays duels that share their cells to the end. It plays a first set of cells; once more
// with a double budget if that was undecided; and a second, independent set for a verdict that
// would fail a change or move the baseline.
func PlayOut(ctx context.Context, host measure.Host, duels []*Duel, opts measure.DuetOptions, progress func(*measure.Match, measure.Progress)) {
	play := func(set int, opts measure.DuetOptions, wanted func(result.Verdict) bool) {
		var chosen []*Duel
		var matches []*measure.Match
		for _, d := range duels {
			if wanted(d.verdict) {
				chosen, matches = append(chosen, d), append(matches, d.Match)
			}
		}
		if len(matches) > 0 && ctx.Err() == nil {
			measure.Play(ctx, matches, host, set, opts, progress)
		}
		for _, d := range chosen {
			d.verdict = d.Settle()
		}
	}
	play(0, opts, func(result.Verdict) bool { return true })
	longer := opts
	longer.Budget *= 2
	play(0, longer, func(v result.Verdict) bool { return v == result.Inconclusive })
	play(1, opts, judge.Confirm)
}

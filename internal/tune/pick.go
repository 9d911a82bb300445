package tune

import (
	"context"
	"slices"
	"time"

	"pawl/internal/result"
)

// A config's champion is a finalist, too, if it seems this much faster there than the best over all
// configs.
const championGain = 0.05

// withChampions adds the best trial of each config, where that is much better there than the best over
// all configs: a program may choose at run time.
func (t *tune) withChampions(trials []*result.Trial) []*result.Trial {
	if len(t.configs) < 2 || len(trials) == 0 || t.Objective == Energy {
		return trials
	}
	for i := range t.configs {
		best := trials[0]
		for _, trial := range t.tuning.Trials {
			if trial.Status == result.TrialOK && len(trial.On) == len(t.configs) && trial.On[i].Ratio < best.On[i].Ratio {
				best = trial
			}
		}
		if best.On[i].Ratio < (1-championGain)*trials[0].On[i].Ratio && !slices.Contains(trials, best) {
			trials = append(trials, best)
		}
	}
	return trials
}

// pick names the best setting of each config: the winner, or a finalist that is surely faster there, by
// duets, and right.
func (t *tune) pick(ctx context.Context, all []*finalist, winner *finalist) {
	if len(t.configs) < 2 {
		return
	}
	verified := map[*finalist]bool{winner: true}
	for _, config := range t.configs {
		best := winner
		for _, f := range all {
			if f.out.Fault != nil || f.out.Changes[config.Name].High >= best.out.Changes[config.Name].Low {
				continue
			}
			if !verified[f] {
				if time.Until(t.began.Add(t.Budget)) < t.verifyTime() {
					continue
				}
				if f.out.Fault = t.verifyAgain(ctx, f); f.out.Fault != nil {
					continue
				}
				verified[f] = true
			}
			best = f
		}
		t.tuning.Picks = append(t.tuning.Picks, &result.Pick{
			Config: config.Name, Trial: best.trial.N, Params: best.trial.Params,
			Gain: 1 - (1+best.out.Changes[config.Name].Median)/(1+winner.out.Changes[config.Name].Median),
		})
	}
}

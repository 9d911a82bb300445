package tune

import (
	"testing"

	"pawl/internal/result"
)

// A config's own setting is one that duets have shown to be faster there, and that is right; what was
// only measured while searching is none.
func TestPick(t *testing.T) {
	h := bare(t, 2)
	of := func(n int, fault *result.Fault, changes ...[3]float64) *finalist {
		f := &finalist{trial: &result.Trial{N: n}, out: &result.Finalist{Trial: n, Fault: fault, Changes: map[string]*result.Change{}}}
		for i, c := range changes {
			f.out.Changes[h.configs[i].Name] = &result.Change{Low: c[0], Median: c[1], High: c[2]}
		}
		return f
	}
	winner := of(1, nil, [3]float64{-0.32, -0.3, -0.28}, [3]float64{-0.12, -0.1, -0.08})
	tied := of(2, nil, [3]float64{-0.1, 0, 0.1}, [3]float64{-0.2, -0.11, 0})
	wrong := of(3, &result.Fault{Cause: result.CauseWrong}, [3]float64{-0.9, -0.9, -0.9}, [3]float64{-0.9, -0.9, -0.9})
	better := of(4, nil, [3]float64{0, 0.1, 0.2}, [3]float64{-0.32, -0.3, -0.28})
	better.candidate = &candidate{} // whose answers are right: there is no config to verify them on
	h.pick(t.Context(), []*finalist{winner, tied, wrong, better}, winner)
	if picks := h.tuning.Picks; len(picks) != 2 || picks[0].Trial != 1 || picks[0].Gain != 0 || picks[1].Trial != 4 || picks[1].Gain < 0.22 || picks[1].Gain > 0.23 {
		t.Errorf("%+v", picks)
	}
}

// Finalists are the best over all configs, and whoever is much better on one.
func TestChampions(t *testing.T) {
	h := bare(t, 2)
	on := func(n int, ratios ...float64) *result.Trial {
		trial := &result.Trial{N: n, Status: result.TrialOK}
		for _, r := range ratios {
			trial.On = append(trial.On, result.TrialConfig{Ratio: r})
		}
		return trial
	}
	best, near, one := on(1, 0.5, 0.5), on(2, 0.49, 0.9), on(3, 0.9, 0.4)
	h.tuning.Trials = []*result.Trial{best, near, one}
	if got := h.withChampions([]*result.Trial{best}); len(got) != 2 || got[1] != one {
		t.Errorf("%+v", got)
	}
}

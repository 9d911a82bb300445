package result

import (
	"fmt"
	"math"
)

// WorthwhileGain is the smallest gain of a search that is worth applying. A smaller one is real in its
// duets, but no larger than what placement, clocks or the next driver move.
const WorthwhileGain = 0.05

// Measured reports whether a trial has a cost of its own: it was not cut early, and is not equal to
// another one.
func (t *Trial) Measured() bool { return t.Status == TrialOK && t.Cost > 0 }

// Failed reports whether a trial says that its setting does not work. One that the device cannot run by
// its formulas was never tried, and one whose worker ended says nothing.
func (t *Trial) Failed() bool {
	switch t.Status {
	case TrialOK, TrialCut, TrialSame, TrialUnfit, TrialLost:
		return false
	}
	return true
}

// Is reports whether a trial has these params.
func (t *Trial) Is(params map[string]string) bool {
	for name, value := range params {
		if t.Params[name] != value {
			return false
		}
	}
	return len(t.Params) == len(params)
}

// Seconds is the time of a launch: over several configs, the geometric mean. 0: it was not measured on
// all of them.
func (t *Trial) Seconds(configs int) float64 {
	return t.mean(configs, func(c TrialConfig) float64 { return c.MedianS })
}

// Joules is the energy of a launch, as Seconds is its time.
func (t *Trial) Joules(configs int) float64 {
	return t.mean(configs, func(c TrialConfig) float64 { return c.Joules })
}

func (t *Trial) mean(configs int, of func(TrialConfig) float64) float64 {
	if len(t.On) == 0 || len(t.On) < configs {
		return 0
	}
	logs := 0.0
	for _, c := range t.On {
		v := of(c)
		if !(v > 0) || math.IsInf(v, 1) {
			return 0
		}
		logs += math.Log(v)
	}
	return math.Exp(logs / float64(len(t.On)))
}

// Defaults are the params that the kernel has today.
func (s Space) Defaults() map[string]string {
	out := map[string]string{}
	for _, p := range s.Params {
		out[p.Name] = p.Default
	}
	return out
}

// Default returns the trial of today's defaults; nil if they were not tried.
func (t *Tuning) Default() *Trial {
	today := t.Space.Defaults()
	for _, trial := range t.Trials {
		if trial.Is(today) {
			return trial
		}
	}
	return nil
}

// Winner returns the finalist that is suggested, or would be if it were better than today's defaults;
// nil if there is none.
func (t *Tuning) Winner() *Finalist {
	for _, f := range t.Finalists {
		if f.Fault == nil {
			return f
		}
	}
	return nil
}

// Suggested returns the finalist that is worth applying; nil if there is none, for the reason in
// NoSuggestion.
func (t *Tuning) Suggested() *Finalist {
	if t.NoSuggestion != "" {
		return nil
	}
	return t.Winner()
}

// Trial returns the trial of a number; nil if there is none.
func (t *Tuning) Trial(n int) *Trial {
	for _, trial := range t.Trials {
		if trial.N == n {
			return trial
		}
	}
	return nil
}

// check refuses a search that no reader could show: numbers of trials must be of one trial each.
func (t *Tuning) check() error {
	numbers := map[int]bool{}
	for i, trial := range t.Trials {
		switch {
		case trial == nil:
			return fmt.Errorf("trials[%d] is null", i)
		case trial.N < 1 || numbers[trial.N]:
			return fmt.Errorf("trials[%d] has the number %d; expected one from 1 that no other has", i, trial.N)
		}
		numbers[trial.N] = true
	}
	for i, f := range t.Finalists {
		switch {
		case f == nil:
			return fmt.Errorf("finalists[%d] is null", i)
		case !numbers[f.Trial]:
			return fmt.Errorf("finalists[%d] is trial %d, which is not there", i, f.Trial)
		}
		for config, c := range f.Changes {
			if c == nil {
				return fmt.Errorf("finalists[%d] has no change on %s", i, config)
			}
		}
	}
	for i, p := range t.Picks {
		if p == nil {
			return fmt.Errorf("picks[%d] is null", i)
		}
	}
	for i, n := range t.Front {
		if !numbers[n] {
			return fmt.Errorf("front[%d] is trial %d, which is not there", i, n)
		}
	}
	return nil
}

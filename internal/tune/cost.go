package tune

import (
	"math"

	"pawl/internal/result"
)

// weight returns what a config counts for.
func (t *tune) weight(config int) float64 {
	if w, given := t.Weights[t.configs[config].Name]; given {
		return w
	}
	return 1
}

// combine makes one cost of the costs on several configs, each relative to today's defaults.
func (t *tune) combine(costs []float64) float64 {
	worst, sum, weights := 0.0, 0.0, 0.0
	for i, cost := range costs {
		worst = max(worst, cost)
		sum += t.weight(i) * math.Log(cost)
		weights += t.weight(i)
	}
	if t.Over == Worst {
		return worst
	}
	return math.Exp(sum / weights)
}

// A trial is given up when it cannot come near the best, even if it did this much better than the
// best on all the configs that it has not been measured on.
const (
	cutBeyond = 1.25
	cutHope   = 0.7
)

// cutAt returns the cost on a config above which a trial is given up; costs are those on the configs
// before it. 0: nothing is known that it could be worse than.
func (t *tune) cutAt(costs []float64) float64 {
	t.mu.Lock()
	best := t.best
	t.mu.Unlock()
	if best == nil || t.Objective != Time {
		return 0
	}
	limit := cutBeyond * best.Cost
	if t.Over == Worst {
		return limit
	}
	at := len(costs)
	left, weights := 0.0, 0.0
	for i := range t.configs {
		weights += t.weight(i)
		switch {
		case i < at:
			left -= t.weight(i) * math.Log(costs[i])
		case i > at:
			left -= t.weight(i) * math.Log(cutHope*t.relative(best, i))
		}
	}
	return math.Exp((left + weights*math.Log(limit)) / t.weight(at))
}

// cutSeconds returns the median on the next config above which a trial is given up, where a cost of 1 is
// scale seconds; 0: none. What is not slower than the best was is never given up: today's defaults may have
// been measured beside busy compilers when the best was tried, and its cost then be too low for ever.
func (t *tune) cutSeconds(costs []float64, scale float64) float64 {
	limit := t.cutAt(costs) * scale
	if limit == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(limit, cutBeyond*t.best.On[len(costs)].MedianS)
}

// relative returns a trial's cost on a config.
func (t *tune) relative(trial *result.Trial, config int) float64 {
	on := trial.On[config]
	if on.Ratio > 0 {
		return on.Ratio
	}
	return 1
}

// costOf returns the cost on one config: of time, of energy, or of both.
func (t *tune) costOf(on result.TrialConfig, scaleS, scaleJ float64) float64 {
	switch t.Objective {
	case Energy:
		return on.Joules / scaleJ
	case Both:
		return math.Sqrt(on.MedianS / scaleS * on.Joules / scaleJ)
	}
	return on.MedianS / scaleS
}

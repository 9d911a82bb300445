// Package effect says what a search has learned: how much each param matters for the cost, and which
// settings no other beats in both time and energy. Both are pure functions of the trials.
//
// A search looks most where settings are fast, so that the values of its trials are neither uniform nor
// independent. A comparison of the trials' averages, or of correlations, would measure the strategy's
// taste as well. Of therefore fits a random forest to the logarithm of the cost, and decomposes the
// variance of the forest's function over all combinations of values, each as likely as the others
// (functional ANOVA, after Hutter, Hoos and Leyton-Brown, 2014). Trees are boxes with a constant in
// each, for which the decomposition is a sum and needs no further sampling.
package effect

import (
	"cmp"
	"math"
	"slices"

	"pawl/internal/result"
)

// fewest is the number of trials with a cost below which a share would say nothing.
const fewest = 10

// Of returns what each param matters, the largest share first; nil if there are too few trials to tell.
// Trials that failed have no cost: they are counted at their values, and are no part of the shares. One
// that was cut early counts with the cost that it had then.
func Of(params []result.SpaceParam, trials []*result.Trial) []result.Effect {
	var costs []*result.Trial
	for _, t := range trials {
		if hasCost(t) {
			costs = append(costs, t)
		}
	}
	if len(costs) < fewest {
		return nil
	}
	shares := newForest(params, costs).shares()
	out := make([]result.Effect, len(params))
	for i, p := range params {
		out[i] = result.Effect{Param: p.Name, Share: shares[i], Values: values(p, trials)}
	}
	slices.SortStableFunc(out, func(a, b result.Effect) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

func hasCost(t *result.Trial) bool {
	return t.Cost > 0 && !math.IsInf(t.Cost, 1) && !t.Failed()
}

// values says what every value of a param came to.
func values(p result.SpaceParam, trials []*result.Trial) []result.EffectValue {
	out := make([]result.EffectValue, len(p.Values))
	costs := make([][]float64, len(p.Values))
	for i, value := range p.Values {
		out[i].Value = value
	}
	for _, t := range trials {
		i := slices.Index(p.Values, t.Params[p.Name])
		if i < 0 || t.Status == result.TrialUnfit {
			continue
		}
		out[i].Trials++
		switch {
		case t.Failed():
			out[i].Failed++
		case hasCost(t):
			costs[i] = append(costs[i], t.Cost)
			if t.Status != result.TrialCut && (out[i].Best == 0 || t.Cost < out[i].Best) {
				out[i].Best = t.Cost
			}
		}
	}
	for i, list := range costs {
		if n := len(list); n > 0 {
			slices.Sort(list)
			out[i].Median = (list[(n-1)/2] + list[n/2]) / 2
		}
	}
	return out
}

// Front returns the numbers of the trials that no other beats in both time and energy, the fastest
// first. Of equal ones it has the first. Over several configs, time and energy are geometric means, so
// that a config that takes long weighs no more than others.
func Front(trials []*result.Trial, configs int) []int {
	type point struct {
		n              int
		seconds, joule float64
	}
	var all []point
	for _, t := range trials {
		if s, j := t.Seconds(configs), t.Joules(configs); t.Measured() && s > 0 && j > 0 {
			all = append(all, point{t.N, s, j})
		}
	}
	slices.SortStableFunc(all, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.joule, b.joule))
	})
	var out []int
	least := math.Inf(1)
	for _, p := range all {
		if p.joule < least {
			least = p.joule
			out = append(out, p.n)
		}
	}
	return out
}

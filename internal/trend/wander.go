package trend

import (
	"math"
	"slices"
)

// Longer series know their own memory, and more levels are no wander.
const (
	mostWander = 1000 // points
	mostStairs = 50   // levels
)

// withoutWander takes out cuts where noise that remembers explains the series as well as they do. The noise inside
// levels has lost the slow part of what it remembers, since a short level takes it up. So levels around which the
// noise has one memory are compared with fewer levels around which it has more, all the way to none. A level must gain
// as much as a cut between independent points.
func (n *noise) withoutWander(values []float64, starts []int) []int {
	if len(starts) == 1 || len(starts) > mostStairs || len(values) >= mostWander {
		return starts
	}
	usual := n.usual(values, starts)
	pay := n.penalty() / n.memory
	best, least := starts, n.wander(values, usual, starts)+pay*float64(len(starts))
	for rest := starts; len(rest) > 1; {
		var next []int
		cost := math.Inf(1)
		for i := 1; i < len(rest); i++ {
			without := slices.Delete(slices.Clone(rest), i, i+1)
			if c := n.wander(values, usual, without); c < cost {
				cost, next = c, without
			}
		}
		rest = next
		if c := cost + pay*float64(len(rest)); c < least {
			best, least = rest, c
		}
	}
	return best
}

// usual says which points are no outliers of their levels.
func (n *noise) usual(values []float64, starts []int) []bool {
	out := make([]bool, len(values))
	for i, from := range starts {
		to := endOf(starts, i, len(values))
		level := n.level(values, from, to).at
		for j := from; j < to; j++ {
			out[j] = math.Abs(values[j]-level) < outlier*n.scales[j]
		}
	}
	return out
}

// wander returns −2 times the logarithm of the likelihood of levels with an autoregression of points around them, but
// for a constant. Outliers are left out.
func (n *noise) wander(values []float64, usual []bool, starts []int) float64 {
	rest := make([]float64, 0, len(values)) // distances from the levels
	for i, from := range starts {
		to := endOf(starts, i, len(values))
		sum, weight := 0.0, 0.0
		for j := from; j < to; j++ {
			if usual[j] {
				w := 1 / (n.scales[j] * n.scales[j])
				sum, weight = sum+float64(w*values[j]), weight+w
			}
		}
		for j := from; j < to; j++ {
			if usual[j] {
				rest = append(rest, (values[j]-sum/weight)/n.scales[j])
			}
		}
	}
	both, before := 0.0, 0.0
	for i := 1; i < len(rest); i++ {
		both += float64(rest[i] * rest[i-1])
		before += float64(rest[i-1] * rest[i-1])
	}
	phi := 0.0
	if before > 0 {
		phi = min(max(both/before, 0), 0.98)
	}
	sum := 0.0
	for i := range rest {
		d := rest[i]
		if i > 0 {
			d -= phi * rest[i-1]
		} else {
			d *= math.Sqrt(1 - phi*phi)
		}
		sum += float64(d * d)
	}
	if sum == 0 {
		return math.Inf(-1)
	}
	return float64(len(rest))*math.Log(sum/float64(len(rest))) - math.Log(1-phi*phi)
}

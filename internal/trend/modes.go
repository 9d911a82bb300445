package trend

import (
	"math"

	"pawl/internal/stat"
)

// A machine may have two speeds and go from one to the other: which one a run meets is
// chance, though it may stay for many runs. Each stay is a level of its own to potts. What
// tells it from a change of the code is that it comes back, to the same two levels, again
// and again.
const (
	minCrossings = 3   // A B A B: a change that is taken back has two
	apart        = 4.0 // standard deviations inside the levels that they must lie apart
	rare         = 0.05
)

// Two labels say which of two levels a point is near; 0: neither.
const (
	nearLeft  = int8(1)
	nearRight = int8(2)
)

// flip reports whether the cut between segments [from, cut) and [cut, to) is one of a
// series that goes to and fro between their levels. Then neither of the two stays is longer
// than the others make likely, and both levels are as common before as after.
func flip(values, scales []float64, from, cut, to int, left, right float64) bool {
	labels := make([]int8, len(values))
	var inside []float64
	last, crossings := int8(0), 0
	for i, v := range values {
		near := min(math.Abs(right-left)/2, outlier*scales[i])
		l, r := math.Abs(v-left), math.Abs(v-right)
		if min(l, r) >= near {
			continue
		}
		labels[i] = nearLeft
		if r < l {
			labels[i] = nearRight
		}
		inside = append(inside, min(l, r))
		if last != 0 && last != labels[i] {
			crossings++
		}
		last = labels[i]
	}
	if crossings < minCrossings || math.Abs(right-left) < apart*madScale*stat.Median(inside) {
		return false
	}
	return !unusual(labels, from, cut, nearLeft) && !unusual(labels, cut, to, nearRight) && !differ(labels, cut)
}

// unusual reports whether a stay at a level is longer than all other points make likely: by
// the ratio of likelihoods of two chains, with the probabilities inside the stay and with
// those outside.
func unusual(labels []int8, from, to int, level int8) bool {
	type chain struct {
		points, at, after, stayed float64
		last                      int8
	}
	var in, out chain
	for i, l := range labels {
		if l == 0 {
			continue
		}
		c := &out
		if from <= i && i < to {
			c = &in
		}
		c.points++
		if l == level {
			c.at++
		}
		if c.last == level {
			c.after++
			if l == level {
				c.stayed++
			}
		}
		c.last = l
	}
	if in.at == 0 {
		return false
	}
	const prior = 2.0 // points that a level is expected to keep to its share outside of what was seen
	share := (out.at + 0.5) / (out.points + 1)
	stays := (out.stayed + prior*share) / (out.after + prior)
	own := (in.stayed + 0.5) / (in.after + 1)
	evidence := -math.Log(share) + in.stayed*math.Log(own/stays) + (in.after-in.stayed)*math.Log((1-own)/(1-stays))
	return evidence > math.Log(float64(len(labels))/rare)
}

// differ reports whether the two levels follow each other otherwise after a cut than before
// it: whether two chains describe the labels better than one.
func differ(labels []int8, cut int) bool {
	return chainLikelihood(labels[:cut])+chainLikelihood(labels[cut:])-chainLikelihood(labels) > math.Log(float64(len(labels)))
}

// chainLikelihood returns the logarithm of the probability of labels under a chain whose
// probabilities are not known (Krichevsky and Trofimov): more of them cost by themselves.
func chainLikelihood(labels []int8) float64 {
	var follows [3][3]float64
	last := int8(0)
	for _, l := range labels {
		if l != 0 {
			follows[last][l]++
			last = l
		}
	}
	sum := 0.0
	for _, f := range follows {
		a, _ := math.Lgamma(f[nearLeft] + 0.5)
		b, _ := math.Lgamma(f[nearRight] + 0.5)
		n, _ := math.Lgamma(f[nearLeft] + f[nearRight] + 1)
		sum += a + b - n - math.Log(math.Pi)
	}
	return sum
}

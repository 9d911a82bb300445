package trend

import (
	"math"

	"pawl/internal/stat"
)

// A machine may have two speeds and go from one to the other: which one a run meets is
// chance, though it may stay for many runs. Each stay is a level of its own to potts. What
// tells it from a change of the code is that it comes back, to the same two levels.
const (
	apart    = 4.0 // standard deviations inside the levels that they must lie apart
	evidence = 7.4 // logarithm of the ratio of likelihoods from which a stay is none of the machine's
	matched  = 2.5 // standard errors that the levels of two stays at one speed may lie apart
)

// How often a series must cross between two levels for them to be speeds. A B A is a change that was taken back, or
// a machine that slowed down for a while. Times of separate runs do not say which, while duets, whose sides meet the
// same machine, say that it was the code.
const (
	crossingsOfTimes = 2
	crossingsOfIndex = 3
)

// Two labels say which of two levels a point is near; 0: neither.
const (
	nearLeft  = int8(1)
	nearRight = int8(2)
)

// flip reports whether the cut between segments [from, cut) and [cut, to) is one of a
// series that goes to and fro between their levels, so many times at least. Then neither of the two stays is longer
// than the others make likely, and both levels are as common before as after.
func (n *noise) flip(values []float64, from, cut, to int, left, right float64, least int) bool {
	labels := make([]int8, len(values))
	var inside []float64
	last, crossings := int8(0), 0
	for i, v := range values {
		near := min(math.Abs(right-left)/2, outlier*n.scales[i])
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
	if crossings < least || math.Abs(right-left) < apart*madScale*stat.Median(inside) {
		return false
	}
	if n.elsewhere(values, labels, from, cut, nearLeft) || n.elsewhere(values, labels, cut, to, nearRight) {
		return false
	}
	return !unusual(labels, from, cut, nearLeft) && !unusual(labels, cut, to, nearRight) && !differ(labels, cut)
}

// elsewhere reports whether a stay lies beside the level of the others: a machine comes back to the same speed, a
// change of the code hardly ever does.
func (n *noise) elsewhere(values []float64, labels []int8, from, to int, level int8) bool {
	var in, out []float64
	variance := 0.0
	for i, l := range labels {
		switch {
		case l != level:
		case from <= i && i < to:
			in = append(in, values[i])
			variance += float64(n.scales[i] * n.scales[i])
		default:
			out = append(out, values[i])
		}
	}
	if len(in) < 2 || len(out) < 2 {
		return false
	}
	variance *= math.Pi / 2 / float64(len(in)) // of medians
	return math.Abs(stat.Median(in)-stat.Median(out)) > matched*math.Sqrt(variance/float64(len(in))+variance/float64(len(out)))
}

// unusual reports whether a stay at a level is longer than all other points make likely: by
// the ratio of likelihoods of two chains, one with the probability of staying that fits this stay best, the other with
// every probability that the other stays leave possible (Krichevsky and Trofimov). One or two of them leave many.
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
	share := (out.at + 0.5) / (out.points + 1)
	left := in.after - in.stayed
	stayed, gone := out.stayed+0.5, out.after-out.stayed+0.5
	expected := logBeta(stayed+in.stayed, gone+left) - logBeta(stayed, gone)
	return likeliest(in.stayed, left)-expected-math.Log(share) > evidence
}

// likeliest returns the logarithm of the largest probability that so many points stay and so many leave.
func likeliest(stayed, left float64) float64 {
	sum := 0.0
	for _, n := range []float64{stayed, left} {
		if n > 0 {
			sum += float64(n * math.Log(n/(stayed+left)))
		}
	}
	return sum
}

// logBeta returns the logarithm of the beta function.
func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	both, _ := math.Lgamma(a + b)
	return x + y - both
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

package stat

import "math"

const level = 0.95

// MinInterval is the least number of samples for which a 95% interval of the
// median exists: five samples all fall on one side of it in 2/2⁵ = 6.25% of
// cases.
const MinInterval = 6

// MedianCI returns a 95% confidence interval of the median: the exact
// order-statistic (binomial, or sign-test) interval. The number of samples
// below the true median is binomial with probability ½ whatever the
// distribution is, so the k-th smallest and the k-th largest sample enclose it
// with a probability that needs no assumption about shape; k is the largest for
// which that probability is at least 95%. It is conservative: for small n the
// true coverage is up to 99%.
//
// Below MinInterval samples there is no such interval: the result is then the
// least and the greatest sample, and ok is false. For no samples both are NaN.
func MedianCI(samples []float64) (low, high float64, ok bool) {
	if hasNaN(samples) {
		return math.NaN(), math.NaN(), false
	}
	return medianCI(sorted(samples))
}

func medianCI(sorted []float64) (low, high float64, ok bool) {
	n := len(sorted)
	if n == 0 {
		return math.NaN(), math.NaN(), false
	}
	k := medianRank(n)
	if k == 0 {
		return sorted[0], sorted[n-1], false
	}
	return sorted[k-1], sorted[n-k], true
}

// medianRank returns the largest k for which P(k ≤ X ≤ n−k) ≥ level, X binomial
// (n, ½), or 0 when there is none. It adds probabilities from the middle
// outwards, which takes about √n steps and never meets numbers too small for a
// float64.
func medianRank(n int) int {
	if n < MinInterval {
		return 0
	}
	k := n / 2
	term := middleBinomial(n)
	inside := term
	if n%2 == 1 {
		inside += term
	}
	for inside < level {
		term *= float64(k) / float64(n-k+1)
		k--
		inside += 2 * term
	}
	return k
}

// middleBinomial is P(X = ⌊n/2⌋) for X binomial (n, ½).
func middleBinomial(n int) float64 {
	lgamma := func(x int) float64 {
		v, _ := math.Lgamma(float64(x))
		return v
	}
	k := n / 2
	return math.Exp(lgamma(n+1) - lgamma(k+1) - lgamma(n-k+1) - float64(n)*math.Ln2)
}

// HalfWidth returns half the width of the median's 95% interval as a fraction of the
// median. Where that is not defined (fewer than MinInterval samples, or a
// median of 0) it is 1, that is 100%: too wide to stop sampling at, and still a
// number that a report can hold.
func HalfWidth(samples []float64) float64 {
	if hasNaN(samples) {
		return math.NaN()
	}
	s := sorted(samples)
	low, high, ok := medianCI(s)
	middle := median(s)
	if !ok || middle == 0 {
		return 1
	}
	return (high - low) / 2 / math.Abs(middle)
}

package stat

import (
	"math"
	"math/rand/v2"
)

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

// What every report resamples with, so that anybody who has its samples gets
// its intervals.
const (
	BootstrapResamples = 10_000
	BootstrapSeed      = 42
)

const (
	lowTail  = (1 - level) / 2
	highTail = 1 - lowTail
)

// BootstrapMedian returns the 95% percentile-bootstrap interval of the median: the
// medians of that many resamples, and of these the 2.5th and 97.5th percentile
// as Percentile takes them.
//
// A resample is n draws with replacement, and its median depends on nothing but
// the ranks of its middle one or two draws. So those ranks alone are drawn, from
// the distribution that they have in a resample (see middleRanks): each resample
// is a fresh, independent one, and only what its median does not depend on is left
// undrawn. The same seed gives the same bits on every processor.
//
// Both ends are NaN for no samples, for less than one resample, and where a
// median is not defined (a NaN, or both infinities).
func BootstrapMedian(samples []float64, resamples int, seed uint64) (low, high float64) {
	s := sorted(samples)
	if resamples < 1 || !hasMedian(s) {
		return math.NaN(), math.NaN()
	}
	middle := ranksOf(len(s))
	counts := middle.count(resamples, rand.NewPCG(seed, uint64(len(s))))
	end := func(p float64) float64 {
		at := float64(p * float64(resamples-1))
		before := math.Floor(at)
		a := middle.quantile(s, counts, before+1)
		b := middle.quantile(s, counts, min(before+2, float64(resamples)))
		return interpolate(a, b, at-before)
	}
	return end(lowTail), end(highTail)
}

// BootstrapMedianExact returns the closed form of BootstrapMedian: the interval that
// infinitely many resamples would give. The probability that a resample's median
// is at most some value is a sum of binomial tails over the order statistics, so
// it can be computed and nothing needs to be drawn. The ends are the least
// medians at which that probability reaches 2.5% and 97.5%.
//
// Both ends are NaN where BootstrapMedian's are.
func BootstrapMedianExact(samples []float64) (low, high float64) {
	s := sorted(samples)
	if !hasMedian(s) {
		return math.NaN(), math.NaN()
	}
	middle := ranksOf(len(s))
	return middle.quantile(s, middle.upTo, lowTail), middle.quantile(s, middle.upTo, highTail)
}

// midpoint returns the mean of two, and exactly their value when they are equal.
func midpoint(a, b float64) float64 {
	if a == b {
		return a
	}
	return (a + b) / 2
}

// hasMedian reports whether the medians of all resamples are defined: not for a NaN, which is sorted
// to the front, nor for both infinities.
func hasMedian(sorted []float64) bool {
	n := len(sorted)
	return n > 0 && !math.IsNaN(sorted[0]) && !(math.IsInf(sorted[0], -1) && math.IsInf(sorted[n-1], 1))
}

// unit turns random bits into a number in [0, 1).
func unit(random uint64) float64 { return float64(random>>11) * 0x1p-53 }

package stat

import (
	"math"
	"math/rand/v2"
)

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
	n := len(samples)
	if n == 0 || resamples < 1 || hasNaN(samples) {
		return math.NaN(), math.NaN()
	}
	s := sorted(samples)
	if !oneInfinity(s) {
		return math.NaN(), math.NaN()
	}
	middle := ranksOf(n)
	counts := middle.count(resamples, rand.NewPCG(seed, uint64(n)))
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
	n := len(samples)
	if n == 0 || hasNaN(samples) {
		return math.NaN(), math.NaN()
	}
	s := sorted(samples)
	if !oneInfinity(s) {
		return math.NaN(), math.NaN()
	}
	middle := ranksOf(n)
	return middle.quantile(s, middle.upTo, lowTail), middle.quantile(s, middle.upTo, highTail)
}

// midpoint returns the mean of two, and exactly their value when they are equal.
func midpoint(a, b float64) float64 {
	if a == b {
		return a
	}
	return (a + b) / 2
}

// oneInfinity reports whether halfway between any two of the samples is defined.
func oneInfinity(sorted []float64) bool {
	return !math.IsInf(sorted[0], -1) || !math.IsInf(sorted[len(sorted)-1], 1)
}

// unit turns random bits into a number in [0, 1).
func unit(random uint64) float64 { return float64(random>>11) * 0x1p-53 }

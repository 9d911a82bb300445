// Package stat summarises samples: location, spread, percentiles, and an exact
// confidence interval of the median. Its functions are pure and leave their
// input as it was.
//
// A sample that is not a number has no place in an order, so no answer about
// the rest would mean anything: every function answers NaN when one is among
// its samples. Check finds such samples, and infinite ones, and is the way to
// refuse them with an error where they come in.
//
// Products are rounded before they are added (the conversions to float64 that
// seem to do nothing), so that the same samples give the same bits on every
// processor.
package stat

import (
	"fmt"
	"math"
	"slices"
)

// Check returns an error that names the first sample that is not a finite
// number.
func Check(samples []float64) error {
	for i, x := range samples {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("sample %d of %d is %v, not a finite number", i, len(samples), x)
		}
	}
	return nil
}

// Mean is the arithmetic mean, NaN for no samples.
func Mean(samples []float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	// Summing distances from the first sample makes the mean of equal samples
	// exactly their value, and so their spread exactly zero.
	first, sum := samples[0], 0.0
	for _, x := range samples {
		sum += x - first
	}
	return first + sum/float64(len(samples))
}

// Std is the sample standard deviation (over n−1). Fewer than two samples show
// no spread: it is then 0.
func Std(samples []float64) float64 {
	if hasNaN(samples) {
		return math.NaN()
	}
	if len(samples) < 2 {
		return 0
	}
	mean, sum := Mean(samples), 0.0
	for _, x := range samples {
		d := x - mean
		sum += float64(d * d)
	}
	return math.Sqrt(sum / float64(len(samples)-1))
}

// CV is the coefficient of variation: Std as a fraction of the mean's
// magnitude. It is 0 when there is no spread.
func CV(samples []float64) float64 { return ratio(Std(samples), math.Abs(Mean(samples))) }

func ratio(std, mean float64) float64 {
	if std == 0 {
		return 0
	}
	return std / mean
}

// Median is the middle sample, or halfway between the middle two; NaN for no
// samples.
func Median(samples []float64) float64 {
	if hasNaN(samples) {
		return math.NaN()
	}
	return median(sorted(samples))
}

// Percentile is the p-th percentile, p from 0 to 100, interpolated linearly
// between the two nearest samples: NumPy's default method. It is NaN for no
// samples and for a p out of range.
func Percentile(samples []float64, p float64) float64 {
	if hasNaN(samples) {
		return math.NaN()
	}
	return percentile(sorted(samples), p)
}

func sorted(samples []float64) []float64 {
	s := slices.Clone(samples)
	slices.Sort(s)
	return s
}

func hasNaN(samples []float64) bool { return slices.ContainsFunc(samples, math.IsNaN) }

func median(sorted []float64) float64 {
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

func percentile(sorted []float64, p float64) float64 {
	n := len(sorted)
	if n == 0 || !(p >= 0 && p <= 100) {
		return math.NaN()
	}
	at := float64(p / 100 * float64(n-1))
	below := int(at)
	if below >= n-1 {
		return sorted[n-1]
	}
	a, b, t := sorted[below], sorted[below+1], at-math.Floor(at)
	// From the nearer end, as NumPy does it, so that equal neighbours
	// interpolate to themselves and the result is monotone in p.
	if t >= 0.5 {
		return b - float64((b-a)*(1-t))
	}
	return a + float64((b-a)*t)
}

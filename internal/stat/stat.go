// Package stat holds the statistics of samples: location and spread, intervals of the median, the
// change between two sides of a duet or between two lists, whether that change is more than chance,
// and whether there is more than one mode. docs/statistics.md says what each function is for, and
// on which data it was chosen. All functions are pure and leave their input unchanged.
//
// A sample that is not a number has no place in an order, so no answer about the rest would mean
// anything: every function returns NaN when one is among its samples. Check finds NaN and infinite
// samples; call it where samples come in, to refuse them with an error.
//
// Products are rounded before they are added (by the conversions to float64 that seem to do
// nothing), so that the same samples give the same bits on every processor. Functions that need
// Student's or the normal distribution are excepted: the functions of package math may differ in
// the last bit.
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

// Mean returns the arithmetic mean, NaN for no samples.
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

// Std returns the sample standard deviation (over n−1). Fewer than two samples show
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

func ratio(std, mean float64) float64 {
	if std == 0 {
		return 0
	}
	return std / mean
}

// Median returns the middle sample, or halfway between the middle two; NaN for no
// samples.
func Median(samples []float64) float64 {
	if hasNaN(samples) {
		return math.NaN()
	}
	return medianOf(slices.Clone(samples))
}

// Percentile returns the p-th percentile, p from 0 to 100, interpolated linearly
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

// medianOf is median without sorting, which takes several times longer. It
// reorders the values.
func medianOf(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	upper := nth(values, n/2)
	if n%2 == 1 {
		return upper
	}
	return (slices.Max(values[:n/2]) + upper) / 2
}

// nth puts the k-th smallest value, counted from 0, in its place, nothing larger
// before it and nothing smaller behind: Hoare's selection. Both scans stop at
// values equal to the pivot, so that ties do not make it slow.
func nth(values []float64, k int) float64 {
	low, high := 0, len(values)-1
	for low < high {
		a, b, c := values[low], values[low+(high-low)/2], values[high]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
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
	return interpolate(sorted[below], sorted[below+1], at-math.Floor(at))
}

// interpolate starts from the nearer end, as NumPy does it, so that equal
// neighbours interpolate to themselves and the result is monotone in t.
func interpolate(a, b, t float64) float64 {
	if a == b {
		return a // also when it is infinite
	}
	if t >= 0.5 {
		return b - float64((b-a)*(1-t))
	}
	return a + float64((b-a)*t)
}

// Summary is what a table says about a set of samples.
type Summary struct {
	Count     int
	Median    float64
	Low, High float64 // 95% interval of the median; the range below MinInterval samples
	Mean, Std float64
	Min       float64
	P50       float64 // the median
	P95, P99  float64
	CV        float64
}

// Summarize computes a Summary. It is zero for no samples, and all its numbers
// are NaN when a sample is.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	if hasNaN(samples) {
		nan := math.NaN()
		return Summary{len(samples), nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}
	}
	s := sorted(samples)
	low, high, _ := medianCI(s)
	sum := Summary{
		Count:  len(s),
		Median: median(s),
		Low:    low,
		High:   high,
		Mean:   Mean(s),
		Std:    Std(s),
		Min:    s[0],
		P95:    percentile(s, 95),
		P99:    percentile(s, 99),
	}
	sum.P50 = sum.Median
	sum.CV = ratio(sum.Std, math.Abs(sum.Mean))
	return sum
}

package stat

import "math"

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

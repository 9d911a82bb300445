package stat

import (
	"math"
	"slices"
)

// Estimate is what a duet says: the median of the paired log-ratios and its 95%
// interval. 0.03 is about 3% slower; math.Expm1 makes a change of it.
type Estimate struct {
	Median, Low, High float64
	Cells, Pairs      int
}

// HalfWidth returns half the interval's width.
func (e Estimate) HalfWidth() float64 { return (e.High - e.Low) / 2 }

// CellEstimate estimates from paired log-ratios, cells[i] being those of cell i.
// Cells without pairs are passed over.
//
// The estimate is the median of all pairs. Its interval is that of Student's t
// on the cells' medians, with one degree of freedom less than there are cells:
// pairs of one cell share whatever that process was dealt, so the cells, not the
// pairs, are what was drawn independently. From trimFrom cells on it is Yuen's,
// with a fifth of the cells trimmed at either end: a median of pairs hardly moves
// when a neighbour disturbs a few cells, and so their interval must not double.
// Half its width is at least floor.
//
// One cell cannot show how far cells differ: its interval is infinite, and so is
// that of cells with an infinite median. Everything is NaN without pairs, or with
// a NaN among them.
func CellEstimate(cells [][]float64, floor float64) Estimate {
	e, medians := newEstimate(cells)
	if math.IsNaN(e.Median) || len(medians) < 2 {
		return e
	}
	half := trimmedHalf(medians)
	if math.IsNaN(half) || math.IsInf(e.Median, 0) {
		return e
	}
	if floor > half {
		half = floor
	}
	e.Low, e.High = e.Median-half, e.Median+half
	return e
}

// Below trimFrom cells trimming would leave too few degrees of freedom.
const (
	trimFrom = 8
	trimPart = 5 // one in this many, at either end
)

// trimmedHalf returns half the 95% interval of the cells' trimmed mean: Student's t on
// those that are left, with the winsorized standard deviation of all.
func trimmedHalf(medians []float64) float64 {
	n, kept := len(medians), keptCells(len(medians))
	cut := (n - kept) / 2
	ordered := sorted(medians)
	for i := range cut {
		ordered[i], ordered[n-1-i] = ordered[cut], ordered[n-1-cut]
	}
	return factor95(kept) * Std(ordered) * math.Sqrt(float64(n)) / float64(kept)
}

// keptCells returns how many of this many cells are left untrimmed.
func keptCells(n int) int {
	if n < trimFrom {
		return n
	}
	return n - 2*(n/trimPart)
}

// newEstimate has everything but the interval, which is infinite.
func newEstimate(cells [][]float64) (e Estimate, medians []float64) {
	e = Estimate{Median: math.NaN(), Low: math.NaN(), High: math.NaN()}
	for _, cell := range cells {
		e.Pairs += len(cell)
		if len(cell) > 0 {
			e.Cells++
		}
	}
	all := slices.Concat(cells...)
	if e.Pairs == 0 || hasNaN(all) {
		return e, nil
	}
	at := 0
	for _, cell := range cells {
		if n := len(cell); n > 0 {
			medians = append(medians, medianOf(all[at:at+n]))
			at += n
		}
	}
	e.Median = medianOf(all)
	if !math.IsNaN(e.Median) {
		e.Low, e.High = math.Inf(-1), math.Inf(1)
	}
	return e, medians
}

// PairMeans returns the mean of every two of the values, of a value and itself too: Walsh averages.
// Their median is the Hodges–Lehmann estimate of where the values lie. Where values have two states,
// as times of memory on a GPU do, their own median jumps from one to the other, and this does not.
func PairMeans(values []float64) []float64 {
	out := make([]float64, 0, len(values)*(len(values)+1)/2)
	for i, x := range values {
		for _, y := range values[:i+1] {
			out = append(out, midpoint(x, y))
		}
	}
	return out
}

// SignDelta returns the effect size of a duet: the part of pairs in which the second
// side was slower, less the part in which it was faster. It is NaN for no pairs.
func SignDelta(logRatios []float64) float64 {
	if len(logRatios) == 0 || hasNaN(logRatios) {
		return math.NaN()
	}
	sum := 0
	for _, x := range logRatios {
		switch {
		case x > 0:
			sum++
		case x < 0:
			sum--
		}
	}
	return float64(sum) / float64(len(logRatios))
}

// One sample in slowOf counts as slow.
const slowOf = 10

// TailShare says whose the slow samples of two lists are, which are the slowest
// tenth of both together: the part of a that is slow less the part of b, over their
// sum. 1: all slow samples are a's, -1: all are b's, 0: both have as many. Samples
// that tie for the last places among the slow ones share these.
func TailShare(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	all := sorted(slices.Concat(a, b))
	slow := (len(all) + slowOf - 1) / slowOf
	limit := all[len(all)-slow]
	count := func(samples []float64) (above, ties float64) {
		for _, x := range samples {
			switch {
			case x > limit:
				above++
			case x == limit:
				ties++
			}
		}
		return above, ties
	}
	aAbove, aTies := count(a)
	bAbove, bTies := count(b)
	places := (float64(slow) - aAbove - bAbove) / (aTies + bTies)
	x, y := (aAbove+places*aTies)/float64(len(a)), (bAbove+places*bTies)/float64(len(b))
	return (x - y) / (x + y)
}

// PositiveMean returns the p-value of a one-sided t test that the mean of values is
// above 0. It is 1 where nothing can be shown.
func PositiveMean(values []float64) float64 {
	mean, std := Mean(values), Std(values)
	switch {
	case len(values) < 2 || !(mean > 0) || math.IsNaN(std):
		return 1
	case std == 0:
		return 0
	}
	return tAbove(mean/std*math.Sqrt(float64(len(values))), float64(len(values)-1))
}

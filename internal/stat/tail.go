package stat

import (
	"math"
	"slices"
)

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

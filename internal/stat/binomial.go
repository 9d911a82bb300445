package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// RateBound returns the one-sided 95% upper bound of a probability after this many events
// in this many trials (Clopper and Pearson's, exact): a larger one would have given
// that few events in less than 5% of cases. Trials that are not independent count
// as fewer, and need not be whole. For no trials it is 1.
func RateBound(events, trials float64) float64 {
	switch {
	case events < 0 || math.IsNaN(events) || math.IsNaN(trials):
		return math.NaN()
	case trials <= 0 || events >= trials:
		return 1
	}
	return mathext.InvRegIncBeta(events+1, trials-events, level)
}

// SignTail returns the probability that this many of n values or more lie above their median.
func SignTail(above, n int) float64 {
	if above <= 0 {
		return 1
	}
	return mathext.RegIncBeta(float64(above), float64(n-above+1), 0.5)
}

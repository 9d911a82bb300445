package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// PriorVariance estimates what variances of many alike samples have in common:
// the variance that is typical of them, and how many degrees of freedom of
// evidence that is worth for each. Alike variances make the weight large, even
// infinite; variances that differ by more than chance make it small. A variance
// of few samples is then better estimated as the mean of its own and the typical
// one, weighted by degrees of freedom (Smyth 2004, "limma"). Variances of 0 are
// passed over; with fewer than two others the weight is 0.
func PriorVariance(variances, degrees []float64) (typical, weight float64) {
	var logs []float64
	chance := 0.0 // the variance that chance alone gives the logarithms
	for i, v := range variances {
		if half := degrees[i] / 2; v > 0 && half > 0 {
			logs = append(logs, math.Log(v)-mathext.Digamma(half)+math.Log(half))
			chance += mathext.Zeta(2, half)
		}
	}
	if len(logs) < 2 {
		return 0, 0
	}
	spread := Std(logs)
	excess := spread*spread - chance/float64(len(logs))
	if !(excess > 0) {
		return math.Exp(Mean(logs)), math.Inf(1)
	}
	// Zeta(2, x), the trigamma function, falls from infinity to 0.
	low, high := 1e-8, 1e8
	for range 100 {
		if middle := math.Sqrt(low * high); mathext.Zeta(2, middle) > excess {
			low = middle
		} else {
			high = middle
		}
	}
	half := math.Sqrt(low * high)
	return math.Exp(Mean(logs) + mathext.Digamma(half) - math.Log(half)), 2 * half
}

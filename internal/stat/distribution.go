package stat

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// TQuantile returns the value that a variable of Student's t distribution with df
// degrees of freedom stays below with probability p; with infinitely many, the
// normal distribution's. It is NaN unless 0 ≤ p ≤ 1 and df > 0.
func TQuantile(p, df float64) float64 {
	if !(p >= 0 && p <= 1 && df > 0) {
		return math.NaN()
	}
	if p > 0.5 {
		return -TQuantile(1-p, df)
	}
	switch {
	case p == 0:
		return math.Inf(-1)
	case p == 0.5:
		return 0
	case df > manyDegrees:
		return expandQuantile(math.Sqrt2*math.Erfinv(2*p-1), df)
	case p > 0.25:
		// The same equation from the other end, where its root is not close to 1.
		x := mathext.InvRegIncBeta(0.5, df/2, 1-2*p)
		return -math.Sqrt(df * x / (1 - x))
	}
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*p)
	return -math.Sqrt(df * (1 - x) / x)
}

// factor95 returns what a standard error of this many cells is multiplied with for half
// of a 95% interval.
func factor95(cells int) float64 {
	if table := factors(); cells < len(table) {
		return table[cells]
	}
	return TQuantile(highTail, float64(cells-1))
}

// A calibration asks thousands of times, and a quantile costs ten times as much
// as the rest of an estimate.
var factors = sync.OnceValue(func() (table [64]float64) {
	for cells := 2; cells < len(table); cells++ {
		table[cells] = TQuantile(highTail, float64(cells-1))
	}
	return table
})

// tAbove returns the probability that a variable of Student's t distribution exceeds t.
func tAbove(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || !(df > 0):
		return math.NaN()
	case t < 0:
		return 1 - tAbove(-t, df)
	case math.IsInf(t, 1):
		return 0
	case df > 1e8:
		return normalAbove(t)
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+float64(t*t))) / 2
}

// Beyond this many degrees of freedom the inverse of the incomplete beta function
// loses its digits, and a series in 1/df has enough of them.
const manyDegrees = 1000

// expandQuantile returns the t quantile where the normal one is z (Abramowitz & Stegun
// 26.7.5).
func expandQuantile(z, df float64) float64 {
	s := z * z
	return z * (1 +
		(s+1)/(4*df) +
		((5*s+16)*s+3)/(96*df*df) +
		(((3*s+19)*s+17)*s-15)/(384*df*df*df) +
		((((79*s+776)*s+1482)*s-1920)*s-945)/(92160*df*df*df*df))
}

// normalAbove returns the probability that a standard normal variable exceeds z.
func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

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

// CountTail returns the probability that this many or more of several independent events happen,
// each with its own chance.
func CountTail(count int, chances []float64) float64 {
	exactly := append(make([]float64, 0, len(chances)+1), 1) // that this many of the events so far happen
	for _, p := range chances {
		exactly = append(exactly, 0)
		for k := len(exactly) - 1; k > 0; k-- {
			exactly[k] = exactly[k]*(1-p) + exactly[k-1]*p
		}
		exactly[0] *= 1 - p
	}
	tail := 0.0
	for k := len(exactly) - 1; k >= max(0, count); k-- { // the smallest first
		tail += exactly[k]
	}
	return tail
}

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

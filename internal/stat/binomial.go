package stat

import "math"

// RateBound is the one-sided 95% upper bound of a probability after so many events
// in so many trials (Clopper and Pearson's, exact): a larger one would have given
// that few events in less than 5% of cases. For no trials it is 1.
func RateBound(events, trials int) float64 {
	if trials <= 0 || events >= trials {
		return 1
	}
	if events < 0 {
		return math.NaN()
	}
	low, high := 0.0, 1.0
	for range 100 {
		p := (low + high) / 2
		if atMost(events, trials, p) > 1-level {
			low = p
		} else {
			high = p
		}
	}
	return high
}

// atMost is the probability of at most k events in n trials, each with
// probability p.
func atMost(k, n int, p float64) float64 {
	if p <= 0 {
		return 1
	}
	if p >= 1 {
		return 0
	}
	sum := 0.0
	logs := func(x int) float64 {
		v, _ := math.Lgamma(float64(x) + 1)
		return v
	}
	for i := 0; i <= k; i++ {
		sum += math.Exp(logs(n) - logs(i) - logs(n-i) + float64(float64(i)*math.Log(p)) + float64(float64(n-i)*math.Log1p(-p)))
	}
	return min(1, sum)
}

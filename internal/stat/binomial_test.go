package stat

import (
	"math"
	"testing"
)

// Values of scipy.stats.beta.ppf(0.95, k+1, n-k), SciPy 1.17.1.
func TestRateBound(t *testing.T) {
	for _, tc := range []struct {
		events, trials, want float64
	}{
		{0, 400, 0.0074614}, {0, 100, 0.0295130}, {1, 400, 0.0118043}, {3, 200, 0.0383097}, {0, 1, 0.95}, {5, 10, 0.7775589}, {0, 200.5, 0.0148301}, {0.5, 20, 0.1795554},
	} {
		if got := RateBound(tc.events, tc.trials); math.Abs(got-tc.want) > 1e-6 {
			t.Errorf("%g of %g: %.7f, want %.7f", tc.events, tc.trials, got, tc.want)
		}
	}
	if RateBound(0, 0) != 1 || RateBound(7, 7) != 1 {
		t.Error("nothing known must be bounded by 1")
	}
}

// Values computed with whole numbers: the sum of the binomial coefficients over 2^n.
func TestSignTail(t *testing.T) {
	for _, tc := range []struct {
		above, n int
		want     float64
	}{{0, 0, 1}, {0, 60, 1}, {1, 1, 0.5}, {45, 60, 6.72570404642e-05}, {60, 60, 8.67361737988e-19}, {30, 60, 0.551289086504}, {290, 470, 2.21054469662e-07}} {
		if got := SignTail(tc.above, tc.n); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%d of %d: %g, want %g", tc.above, tc.n, got, tc.want)
		}
	}
}

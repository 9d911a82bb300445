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

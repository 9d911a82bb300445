package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestPriorVariance(t *testing.T) {
	for name, test := range map[string]struct {
		variances, degrees []float64
		typical, weight    float64
	}{
		"nothing":                 {nil, nil, 0, 0},
		"one":                     {[]float64{4}, []float64{3}, 0, 0},
		"zeros are no variances":  {[]float64{0, 0, 4}, []float64{3, 3, 3}, 0, 0},
		"too alike for chance":    {[]float64{4, 4, 4}, []float64{1e9, 1e9, 1e9}, 4, math.Inf(1)},
		"no degrees, no evidence": {[]float64{4, 5}, []float64{0, 0}, 0, 0},
	} {
		typical, weight := PriorVariance(test.variances, test.degrees)
		if math.Abs(typical-test.typical) > 1e-6 || weight != test.weight {
			t.Errorf("%s: %v, %v", name, typical, weight)
		}
	}
}

// Variances drawn around a typical one, as the model says, give it back.
func TestPriorVarianceIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	chiSquared := func(n int) (sum float64) {
		for range n {
			x := random.NormFloat64()
			sum += x * x
		}
		return sum
	}
	const typical, degrees, n = 0.25, 10, 20_000
	for _, weight := range []int{4, 20} {
		variances, df := make([]float64, n), make([]float64, n)
		for i := range variances {
			own := typical * float64(weight) / chiSquared(weight)
			variances[i], df[i] = own*chiSquared(degrees)/degrees, degrees
		}
		gotTypical, gotWeight := PriorVariance(variances, df)
		if math.Abs(gotTypical/typical-1) > 0.03 || math.Abs(gotWeight/float64(weight)-1) > 0.1 {
			t.Errorf("weight %d: %v, %v", weight, gotTypical, gotWeight)
		}
	}
}

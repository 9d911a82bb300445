package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Expected: the largest k with scipy.stats.binom.cdf(k-1, n, 0.5) <= 0.025.
func TestMedianRankAgainstSciPy(t *testing.T) {
	for n, want := range map[int]int{
		1: 0, 5: 0, 6: 1, 7: 1, 8: 1, 9: 2, 11: 2, 12: 3, 20: 6, 25: 8, 30: 10, 50: 18,
		99: 40, 100: 40, 101: 41, 200: 86, 500: 228, 999: 469, 1000: 469, 1023: 480,
		1024: 481, 1025: 481, 1100: 518, 5000: 2431, 10000: 4902, 99999: 49690,
		100000: 49690, 1000000: 499020,
	} {
		if got := medianRank(n); got != want {
			t.Errorf("n=%d: rank %d, want %d", n, got, want)
		}
	}
	// Every n from 6 to 2000, as sum((n * rank(n)) % 1000003).
	sum := 0
	for n := 6; n <= 2000; n++ {
		sum += n * medianRank(n) % 1000003
	}
	if sum != 715174885 {
		t.Errorf("ranks up to 2000 sum to %d, want 715174885", sum)
	}
}

func TestMedianCIOfFewSamples(t *testing.T) {
	low, high, ok := MedianCI(nil)
	if ok || !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("no samples: %v, %v, %v", low, high, ok)
	}
	low, high, ok = MedianCI([]float64{3, 1, 2, 5, 4})
	if ok || low != 1 || high != 5 {
		t.Errorf("five samples: %v, %v, %v; want their range, not an interval", low, high, ok)
	}
	low, high, ok = MedianCI([]float64{3, 1, 2, 5, 4, 6})
	if !ok || low != 1 || high != 6 {
		t.Errorf("six samples: %v, %v, %v; want their range as an interval", low, high, ok)
	}
}

func TestMedianCICoverage(t *testing.T) {
	for _, shape := range []struct {
		name   string
		median float64
		draw   func(*rand.Rand) float64
	}{
		{"normal", 10, func(r *rand.Rand) float64 { return 10 + r.NormFloat64() }},
		{"lognormal", 1, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }},
		// The modes lie so far apart that the median is the 0.5/0.7 quantile of
		// the first: norm.ppf(0.5/0.7) = 0.5659488219328631.
		{"bimodal", 1 + 0.01*0.5659488219328631, func(r *rand.Rand) float64 {
			if r.Float64() < 0.7 {
				return 1 + 0.01*r.NormFloat64()
			}
			return 1.2 + 0.01*r.NormFloat64()
		}},
	} {
		for _, n := range []int{6, 10, 30, 101} {
			t.Run(fmt.Sprintf("%s/%d", shape.name, n), func(t *testing.T) {
				random := rand.New(rand.NewPCG(42, uint64(n)))
				const trials = 4000
				covered := 0
				samples := make([]float64, n)
				for range trials {
					for i := range samples {
						samples[i] = shape.draw(random)
					}
					low, high, ok := MedianCI(samples)
					if !ok {
						t.Fatal("no interval")
					}
					if low <= shape.median && shape.median <= high {
						covered++
					}
				}
				coverage := float64(covered) / trials
				// An interval that always covers says nothing: the widest of these, n = 10,
				// covers in 97.9%.
				if coverage < 0.94 || coverage > 0.985 {
					t.Errorf("covers the median in %.1f%% of trials", 100*coverage)
				}
			})
		}
	}
}

func TestHalfWidth(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples []float64
		want    float64
	}{
		{"nothing", nil, 1},
		{"five equal samples have no interval", []float64{2, 2, 2, 2, 2}, 1},
		{"six equal samples have one", []float64{2, 2, 2, 2, 2, 2}, 0},
		{"six", []float64{9, 10, 10, 10, 10, 11}, 0.1},
		{"negative median", []float64{-9, -10, -10, -10, -10, -11}, 0.1},
		{"median of zero", []float64{0, 0, 0, 0, 0, 1}, 1},
	} {
		if got := HalfWidth(test.samples); !near(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func BenchmarkHalfWidth(b *testing.B) {
	samples := series(10000)
	for b.Loop() {
		HalfWidth(samples)
	}
}

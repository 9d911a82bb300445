package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The bits that every processor must give.
func TestBootstrapMedianBits(t *testing.T) {
	for _, test := range []struct {
		n         int
		low, high uint64
	}{
		{99, 0x3f0e45cc457a5fe9, 0x3f11bdf314772aae},
		{100, 0x3f0eb69d6ae18e74, 0x3f11cdd28577c223},
		{1001, 0x3f100311ceed842c, 0x3f10cacc52360622},
	} {
		low, high := BootstrapMedian(series(test.n), BootstrapResamples, BootstrapSeed)
		if math.Float64bits(low) != test.low || math.Float64bits(high) != test.high {
			t.Errorf("{%d, %#x, %#x}, want %#x, %#x", test.n, math.Float64bits(low), math.Float64bits(high), test.low, test.high)
		}
	}
}

// Ranks drawn directly and ranks of real resamples have the same distribution:
// χ² of each against the computed one.
func TestMiddleRanksAreThoseOfResamples(t *testing.T) {
	const resamples = 50_000
	for _, n := range []int{5, 6, 20, 21} {
		m := newMiddleRanks(n)
		drawn := differences(m.count(resamples, rand.NewPCG(1, uint64(n))))

		real := make([]float64, len(drawn))
		random := rand.NewPCG(2, uint64(n))
		ranks := make([]int, n)
		for range resamples {
			for i := range ranks {
				ranks[i] = int(random.Uint64() % uint64(n))
			}
			slices.Sort(ranks)
			lower, upper := ranks[(n-1)/2], ranks[n/2]
			real[(lower-m.first)*m.width+upper-lower]++
		}

		p := differences(m.upTo)
		for name, counts := range map[string][]float64{"drawn": drawn, "real": real} {
			chi, df, rest, restP := 0.0, -1.0, 0.0, 0.0
			for i, c := range counts {
				if p[i]*resamples < 10 {
					rest, restP = rest+c, restP+p[i]
					continue
				}
				d := c - p[i]*resamples
				chi += d * d / (p[i] * resamples)
				df++
			}
			if restP*resamples > 10 {
				d := rest - restP*resamples
				chi += d * d / (restP * resamples)
				df++
			}
			if z := (chi - df) / math.Sqrt(2*df); z > 4 {
				t.Errorf("n=%d: %s ranks have χ² %.1f with %v degrees of freedom", n, name, chi, df)
			}
		}
	}
}

func differences(upTo []float64) []float64 {
	d := slices.Clone(upTo)
	for i := len(d) - 1; i > 0; i-- {
		d[i] -= d[i-1]
	}
	return d
}

func TestBootstrapMedianCoverage(t *testing.T) {
	for _, n := range []int{30, 100} {
		random := rand.New(rand.NewPCG(42, uint64(n)))
		const trials = 1000
		covered, exact := 0, 0
		samples := make([]float64, n)
		for range trials {
			for i := range samples {
				samples[i] = math.Exp(random.NormFloat64())
			}
			if low, high := BootstrapMedian(samples, 500, random.Uint64()); low <= 1 && 1 <= high {
				covered++
			}
			if low, high := BootstrapMedianExact(samples); low <= 1 && 1 <= high {
				exact++
			}
		}
		t.Logf("lognormal, n=%d: resampled interval covers %.1f%%, closed form %.1f%%", n, percent(covered, trials), percent(exact, trials))
		if rate := percent(covered, trials); rate < 92 || rate > 97 {
			t.Errorf("n=%d: covers %.1f%%", n, rate)
		}
		if rate := percent(exact, trials); rate < 92 || rate > 97 {
			t.Errorf("n=%d: the closed form covers %.1f%%", n, rate)
		}
	}
}

func TestBootstrapMedianProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(1e-9, 1e3), 1, 80).Draw(t, "samples")
		if rapid.Bool().Draw(t, "ties") {
			for i := range samples {
				samples[i] = math.Ceil(samples[i] / 100)
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		before := slices.Clone(samples)
		low, high := BootstrapMedian(samples, 500, seed)
		from, to := BootstrapMedianExact(samples)
		if !slices.Equal(before, samples) {
			t.Fatal("the samples were modified")
		}
		middle := Median(samples)
		if !(slices.Min(samples) <= low && low <= middle && middle <= high && high <= slices.Max(samples)) {
			t.Fatalf("[%v, %v] about %v", low, high, middle)
		}
		if !(slices.Min(samples) <= from && from <= middle && middle <= to && to <= slices.Max(samples)) {
			t.Fatalf("exact [%v, %v] about %v", from, to, middle)
		}

		shuffled := rapid.Permutation(samples).Draw(t, "shuffled")
		for i := range shuffled {
			shuffled[i] *= 4
		}
		if l, h := BootstrapMedian(shuffled, 500, seed); l != 4*low || h != 4*high {
			t.Fatalf("order or scale matters: [%v, %v], then [%v, %v]", low, high, l, h)
		}
		if l, h := BootstrapMedianExact(shuffled); l != 4*from || h != 4*to {
			t.Fatalf("order or scale matters: exact [%v, %v], then [%v, %v]", from, to, l, h)
		}
	})
}

func TestBootstrapMedianOfMany(t *testing.T) {
	samples := sorted(series(1_000_000))
	low, high := BootstrapMedian(samples, BootstrapResamples, BootstrapSeed)
	from, to := BootstrapMedianExact(samples)
	middle := Median(samples)
	if !(low < middle && middle < high) || math.Abs(low-from) > 1e-3*middle || math.Abs(high-to) > 1e-3*middle {
		t.Errorf("[%v, %v], exactly [%v, %v], about %v", low, high, from, to, middle)
	}
	// Two modes of equal size: every midpoint lies in the gap.
	samples = samples[:100_000]
	for i := range samples {
		samples[i] = 1 + float64(i%2)
	}
	if low, high := BootstrapMedianExact(samples); low != 1 || high != 2 {
		t.Errorf("two modes: [%v, %v]", low, high)
	}
}

func TestBootstrapMedianOfFew(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name      string
		samples   []float64
		low, high float64
	}{
		{"nothing", nil, nan, nan},
		{"a NaN", []float64{1, nan, 3}, nan, nan},
		{"one", []float64{7}, 7, 7},
		{"two", []float64{1, 3}, 1, 3},
		{"equal", []float64{2, 2, 2, 2}, 2, 2},
		{"an infinity", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, inf}, 1, 1},
		{"infinities of one sign", []float64{inf, inf}, inf, inf},
		{"infinities of both signs", []float64{-inf, 0, inf}, nan, nan},
	} {
		low, high := BootstrapMedian(test.samples, 1000, 1)
		if !same(low, test.low) || !same(high, test.high) {
			t.Errorf("%s: [%v, %v]", test.name, low, high)
		}
		low, high = BootstrapMedianExact(test.samples)
		if !same(low, test.low) || !same(high, test.high) {
			t.Errorf("%s: exact [%v, %v]", test.name, low, high)
		}
	}
	for _, resamples := range []int{0, -1} {
		if low, high := BootstrapMedian(series(9), resamples, 1); !math.IsNaN(low) || !math.IsNaN(high) {
			t.Errorf("%d resamples: [%v, %v]", resamples, low, high)
		}
	}
	if low, high := BootstrapMedian(series(9), 1, 1); low != high || !slices.Contains(series(9), low) {
		t.Errorf("one resample: [%v, %v]", low, high)
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func BenchmarkBootstrapMedian(b *testing.B) {
	for _, n := range []int{99, 100, 1000, 1_000_000} {
		samples := series(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				BootstrapMedian(samples, BootstrapResamples, BootstrapSeed)
			}
		})
	}
}

func BenchmarkBootstrapMedianExact(b *testing.B) {
	for _, n := range []int{99, 100, 1000, 1_000_000} {
		samples := series(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				BootstrapMedianExact(samples)
			}
		})
	}
}

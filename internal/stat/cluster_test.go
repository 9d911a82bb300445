package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestEffectiveSize(t *testing.T) {
	for _, test := range []struct {
		name   string
		groups [][]float64
		want   float64
	}{
		{"nothing", nil, 0},
		{"one group: nobody knows how alike its members are", [][]float64{{1, 2, 3}}, 1},
		{"groups of one", [][]float64{{1}, {2}, {}, {3}}, 3},
		{"members that are equal", [][]float64{{1, 1, 1}, {2, 2, 2}, {3, 3, 3}}, 3},
		{"everything is equal", [][]float64{{1, 1}, {1, 1}}, 2},
		{"no number", [][]float64{{1, math.NaN()}, {1, 1}}, 2},
	} {
		if got := EffectiveSize(test.groups); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
	// scipy.stats.f.ppf(0.05, 3, 8)
	if got := fQuantile(0.05, 3, 8); math.Abs(got-0.1130552) > 1e-6 {
		t.Errorf("F: %.7f", got)
	}
}

// Independent values count nearly as many, equal ones as many as their groups,
// whether groups differ in where they lie or in how far they scatter.
func TestEffectiveSizeOfDraws(t *testing.T) {
	random := rand.New(rand.NewPCG(42, 1))
	for _, test := range []struct {
		name         string
		count, size  int
		shift, scale float64 // standard deviation of the groups' places, and of the logarithm of their scatter
		least, most  float64
	}{
		{"independent", 80, 4, 0, 0, 210, 320},
		{"independent, few groups", 4, 16, 0, 0, 4, 40},
		{"half is the group's", 80, 4, 1, 0, 100, 140},
		{"nearly all is the group's", 80, 4, 20, 0, 80, 84},
		{"groups that scatter differently", 80, 4, 0, 2, 80, 120},
	} {
		total := 0.0
		const draws = 20
		for range draws {
			var groups [][]float64
			for range test.count {
				place, scale := test.shift*random.NormFloat64(), math.Exp(test.scale*random.NormFloat64())
				var g []float64
				for range test.size {
					g = append(g, place+scale*random.NormFloat64())
				}
				groups = append(groups, g)
			}
			total += EffectiveSize(groups)
		}
		mean := total / draws
		t.Logf("%-32s %d groups of %d count as %.0f", test.name, test.count, test.size, mean)
		if mean < test.least || mean > test.most {
			t.Errorf("%s: counts as %.1f, want %g to %g", test.name, mean, test.least, test.most)
		}
	}
}

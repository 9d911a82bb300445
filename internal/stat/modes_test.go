package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pawl/internal/stat/rounds"

	"pgregory.net/rapid"
)

func normal(n int, at, std float64, random *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = at + std*random.NormFloat64()
	}
	return values
}

func TestClustersOfFew(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name   string
		values []float64
		split  float64
		two    bool
	}{
		{"nothing", nil, nan, false},
		{"one", []float64{1}, nan, false},
		{"one against two", []float64{0, 0.001, 0.02}, nan, false},
		{"a NaN", []float64{0, 0, 1, nan}, nan, false},
		{"an infinity", []float64{0, 0, 1, inf}, nan, false},
		{"equal", []float64{1, 1, 1, 1}, nan, false},
		{"two and two", []float64{0.020, 0.001, -0.001, 0.022}, 0.0105, true},
		{"two and two, without any noise", []float64{0, 0.02, 0, 0.02}, 0.01, true},
		{"too near to matter", []float64{0, 0, 0.009, 0.009}, nan, false},
		{"one cell far off is no group", []float64{0, 0.001, 0.002, 0.05}, nan, false},
		{"a row", []float64{0, 0.01, 0.02, 0.03}, nan, false},
	} {
		split, two := clusters(test.values, ordinaryNoise)
		if two != test.two || !same(split, test.split) && !close2(split, test.split) {
			t.Errorf("%s: %v, %v", test.name, split, two)
		}
		var cells [][]float64
		for _, x := range test.values {
			cells = append(cells, []float64{x}, nil)
		}
		if split, two := ClustersOf(cells); two != test.two || !same(split, test.split) && !close2(split, test.split) {
			t.Errorf("%s, as cells: %v, %v", test.name, split, two)
		}
	}
}

func TestClustersFalseAlarms(t *testing.T) {
	const trials = 4000
	for _, n := range []int{4, 6, 8, 12} {
		for _, noise := range []float64{0.003, 0.004, 0.007, 0.01, 0.02, 0.05} {
			random := rand.New(rand.NewPCG(42, uint64(n)))
			found := 0
			for range trials {
				if _, two := clusters(normal(n, 0, noise, random), ordinaryNoise); two {
					found++
				}
			}
			rate := percent(found, trials)
			t.Logf("%2d normal cells that vary by %.1f%%: called bistable in %.2f%%", n, 100*noise, rate)
			most := 12.0 // see ClustersOf
			if noise <= 0.004 || n >= 12 {
				most = 1
			}
			if rate > most {
				t.Errorf("%d cells, noise %v: %.2f%%", n, noise, rate)
			}
		}
	}
	// With the pairs at hand a noisy machine is known as one.
	for _, n := range []int{4, 6} {
		for _, noise := range []float64{0.003, 0.01} {
			random := rand.New(rand.NewPCG(42, uint64(n)))
			m := machine{between: noise * 0.64, within: noise * 0.77 / 1.2533 * 4} // the proportions of the real rounds
			found, trials := 0, 2000
			for range trials {
				var cells [][]float64
				for range n {
					cells = append(cells, m.cell(16, random))
				}
				if _, two := ClustersOf(cells); two {
					found++
				}
			}
			t.Logf("%d cells that vary by %.1f%%, with their pairs: called bistable in %.2f%%", n, 100*noise, percent(found, trials))
			if percent(found, trials) > 1 {
				t.Errorf("%d cells with pairs, noise %v: %.2f%%", n, noise, percent(found, trials))
			}
		}
	}
}

func TestClustersAreFound(t *testing.T) {
	for _, groups := range [][2]int{{2, 2}, {2, 3}, {3, 3}, {2, 6}, {4, 4}, {2, 10}, {6, 6}, {10, 20}} {
		random := rand.New(rand.NewPCG(42, uint64(groups[1])))
		const trials = 2000
		found := 0
		for range trials {
			values := slices.Concat(normal(groups[0], 0.02, 0.002, random), normal(groups[1], 0, 0.002, random))
			if split, two := clusters(values, ordinaryNoise); two && split > 0.004 && split < 0.016 {
				found++
			}
		}
		t.Logf("%d and %d cells 2%% apart, noise 0.2%%: found in %.1f%%", groups[0], groups[1], percent(found, trials))
		if percent(found, trials) < 98.5 {
			t.Errorf("%v: found in %.1f%%", groups, percent(found, trials))
		}
	}
}

func TestClustersOfCellsAreFound(t *testing.T) {
	random := rand.New(rand.NewPCG(42, 8))
	m := machine{between: 0.0013, within: 0.0015 / 1.2533 * 4} // 0.2% together
	const trials = 1000
	found := 0
	for range trials {
		var cells [][]float64
		for i := range 4 {
			cell := m.cell(16, random)
			for j := range cell {
				cell[j] += 0.02 * float64(i%2)
			}
			cells = append(cells, cell)
		}
		if _, two := ClustersOf(cells); two {
			found++
		}
	}
	t.Logf("2 and 2 cells 2%% apart, noise 0.2%%, with their pairs: found in %.1f%%", percent(found, trials))
	if percent(found, trials) < 98 {
		t.Errorf("found in %.1f%%", percent(found, trials))
	}
}

func TestClustersOnRealRounds(t *testing.T) {
	r := rounds.Read(t)
	for name, cells := range map[string][][]float64{"copy": rounds.LogRatios(r.Copy), "attention": rounds.LogRatios(r.SameBig)} {
		random := rand.New(rand.NewPCG(42, 6))
		const trials = 500
		found, withPairs := 0, 0
		for range trials {
			some := someOf(cells, 4, random)
			_, medians := newEstimate(some)
			if _, two := clusters(medians, ordinaryNoise); two {
				found++
			}
			if _, two := ClustersOf(some); two {
				withPairs++
			}
		}
		t.Logf("%s: 4 real rounds are called bistable in %.2f%%, with their pairs in %.2f%%", name, percent(found, trials), percent(withPairs, trials))
		if percent(found, trials) > 1 || percent(withPairs, trials) > 1 {
			t.Errorf("%s: %.2f%% and %.2f%%", name, percent(found, trials), percent(withPairs, trials))
		}
	}
}

func TestModesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 1), 4, 60).Draw(t, "values")
		if rapid.Bool().Draw(t, "ties") {
			for i := range values {
				values[i] = math.Round(8*values[i]) / 8
			}
		}
		before := slices.Clone(values)
		split, two := clusters(values, ordinaryNoise)
		if !slices.Equal(values, before) {
			t.Fatal("the values were modified")
		}
		if two && (countBelow(values, split) < 2 || countBelow(values, split) > len(values)-2) {
			t.Fatalf("%v parts %v", split, values)
		}
	})
}

func countBelow(values []float64, x float64) (n int) {
	for _, v := range values {
		if v < x {
			n++
		}
	}
	return n
}

func BenchmarkModes(b *testing.B) {
	samples := series(1000)
	b.Run("Clusters", func(b *testing.B) {
		for b.Loop() {
			clusters(samples[:16], ordinaryNoise)
		}
	})
}

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pawl/internal/stat/rounds"
)

// someOf draws n cells with replacement: the rounds are the whole population, and
// its median the truth.
func someOf(cells [][]float64, n int, random *rand.Rand) [][]float64 {
	drawn := make([][]float64, n)
	for i := range drawn {
		drawn[i] = cells[random.IntN(len(cells))]
	}
	return drawn
}

func percent(count, of int) float64 { return 100 * float64(count) / float64(of) }

// A nominal 95% interval that covers the truth in 71% is a defect.
func TestCoverageOnRealRounds(t *testing.T) {
	r := rounds.Read(t)
	for _, set := range []struct {
		name  string
		cells [][]float64
		inner float64 // coverage to be expected of an interval from inside one round
	}{
		{"copy, +5%", rounds.LogRatios(r.Copy), 80},
		{"attention, A/A", rounds.LogRatios(r.SameBig), 93},
	} {
		truth := newTruth(set.cells)
		covered := 0
		for _, cell := range set.cells {
			if low, high, _ := MedianCI(cell); low <= truth && truth <= high {
				covered++
			}
		}
		inner := percent(covered, len(set.cells))
		_, medians := newEstimate(set.cells)
		t.Logf("%-15s medians of the rounds' ratios: standard deviation %.2f%%, from %+.2f%% to %+.2f%%", set.name, 100*Std(medians), 100*slices.Min(medians), 100*slices.Max(medians))
		t.Logf("%-15s from inside one round: covers %.1f%%", set.name, inner)
		if inner > set.inner {
			t.Errorf("%s: an interval from inside one round covers %.1f%%: cells are not needed then", set.name, inner)
		}
		random := rand.New(rand.NewPCG(42, 1))
		cover := func(trials int, estimate func() Estimate) float64 {
			covered := 0
			for range trials {
				if e := estimate(); e.Low <= truth && truth <= e.High {
					covered++
				}
			}
			return percent(covered, trials)
		}
		for _, n := range []int{4, 8} {
			rate := cover(2000, func() Estimate { return CellEstimate(someOf(set.cells, n, random), 0) })
			t.Logf("%-15s %d rounds as cells: t on their medians covers %.1f%%", set.name, n, rate)
			most := 97.0
			if n > 4 {
				// Rounds are unequally noisy, which the pooled median makes good use of and
				// the spread of the cells' medians does not know: wider than need be.
				most = 98.5
			}
			if rate < 93 || rate > most {
				t.Errorf("%s, %d cells: covers %.1f%%", set.name, n, rate)
			}
		}
		used := 0
		rate := cover(2000, func() Estimate {
			p, _ := untilNarrow(func() []float64 { return set.cells[random.IntN(len(set.cells))] })
			used += len(p.cells)
			return p.estimate
		})
		t.Logf("%-15s as many rounds as ±0.5%% needs, %.1f on average: covers %.1f%%", set.name, float64(used)/2000, rate)
		if rate < 93 || rate > 97 {
			t.Errorf("%s, stopped on width: covers %.1f%%", set.name, rate)
		}
	}
}

func newTruth(cells [][]float64) float64 {
	e, _ := newEstimate(cells)
	return e.Median
}

// The pooled median is the estimate because it varies least, on the real rounds
// as in simulation (TestCellEstimateCoverage).
func TestEstimatorsOnRealRounds(t *testing.T) {
	r := rounds.Read(t)
	for name, cells := range map[string][][]float64{"copy": rounds.LogRatios(r.Copy), "attention": rounds.LogRatios(r.SameBig)} {
		random := rand.New(rand.NewPCG(42, 2))
		var pooled, means, middles []float64
		for range 1000 {
			e, medians := newEstimate(someOf(cells, 4, random))
			pooled, means, middles = append(pooled, e.Median), append(means, Mean(medians)), append(middles, Median(medians))
		}
		t.Logf("%-9s standard deviation of the estimate from 4 rounds: median of all pairs %.3f%%, mean of medians %.3f%%, median of medians %.3f%%",
			name, 100*Std(pooled), 100*Std(means), 100*Std(middles))
		if Std(pooled) > Std(means) || Std(pooled) > Std(middles) {
			t.Errorf("%s: the pooled median is not the best estimate", name)
		}
	}
}

type played struct {
	cells    [][]float64
	estimate Estimate
}

func untilNarrow(next func() []float64) (p played, ok bool) {
	for len(p.cells) < 16 {
		p.cells = append(p.cells, next())
		if len(p.cells) < 4 {
			continue
		}
		if p.estimate = CellEstimate(p.cells, 0); p.estimate.HalfWidth() <= 0.005 {
			return p, true
		}
	}
	return p, false
}

// A test of significance answers another question: neighbouring rounds of the same
// code do differ, significantly and by large effects. So U and δ are shown and
// decide nothing in a duet.
func TestSignificanceOnRealRounds(t *testing.T) {
	r := rounds.Read(t)
	for name, list := range map[string][]rounds.Series{"attention, small": r.Small, "attention, big": r.Big, "copy": r.CopyA} {
		var ps []float64
		significant, held, large := 0, 0, 0
		for i := 1; i < len(list); i++ {
			a, b := list[i-1].MS, list[i].MS
			_, p, _ := MannWhitney(a, b)
			ps = append(ps, p)
			if p < 0.05 {
				significant++
			}
			if p < 0.05/float64(len(list)-1) {
				held++
			}
			if math.Abs(CliffDelta(a, b)) >= 0.474 { // "large", by Romano et al. (2006)
				large++
			}
		}
		t.Logf("%-16s neighbouring rounds of the same code differ with p < 0.05 in %.0f%%, after Bonferroni's correction in %.0f%%, by a large effect in %.0f%%",
			name, percent(significant, len(ps)), percent(held, len(ps)), percent(large, len(ps)))
		if percent(held, len(ps)) < 25 {
			t.Errorf("%s: significance would do as a rule", name)
		}
	}
}

package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// normalCells returns the pairs of n cells: cells scatter by sigma around a change, and
// pairs by as much around their cell.
func normalCells(random *rand.Rand, n int, change, sigma float64) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		middle := math.Log1p(change) + sigma*random.NormFloat64()
		for range 15 {
			out[i] = append(out[i], middle+sigma*random.NormFloat64())
		}
	}
	return out
}

func changesOf(cells [][]float64) []result.CellChange {
	out := make([]result.CellChange, len(cells))
	for i, c := range cells {
		out[i].Median = math.Expm1(stat.Median(c))
	}
	return out
}

// The number of cells that is said to be needed sees the effect in about 95 of 100 cases (trimming
// the interval costs two or three of them), and fewer cells do not.
func TestDuetNeedsAgainstSimulation(t *testing.T) {
	const rounds = 1000
	random := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct{ effect, sigma float64 }{{0.03, 0.01}, {0.03, 0.02}, {0.015, 0.015}, {0.05, 0.03}} {
		sample := changesOf(normalCells(random, 500, 0, test.sigma))
		if got, want := CellNoise(sample), test.sigma*math.Sqrt(1+math.Pi/2/15); math.Abs(got/want-1) > 0.1 {
			t.Errorf("noise between cells %g, want %g", got, want)
		}
		need := DuetNeeds(sample, test.effect)
		seenBy := func(n int) float64 {
			found := 0
			for range rounds {
				if stat.CellEstimate(normalCells(random, n, test.effect, test.sigma), 0).Low > 0 {
					found++
				}
			}
			return float64(found) / rounds
		}
		if got := seenBy(need); got < 0.9 {
			t.Errorf("effect %g, noise %g: %d cells see it in %.1f%%", test.effect, test.sigma, need, 100*got)
		}
		if fewer := need * 3 / 4; fewer >= cellsLeast {
			if got := seenBy(fewer); got > 0.92 {
				t.Errorf("effect %g, noise %g: %d cells see it in %.1f%% already, %d are asked for", test.effect, test.sigma, fewer, 100*got, need)
			}
		}
	}
}

// The numbers that tables of the paired t-test have, for effects in standard deviations.
func TestDuetNeedsAgainstTables(t *testing.T) {
	for deviations, want := range map[float64]int{2: 6, 1: 16, 0.5: 54, 0.2: 327} {
		var cells []result.CellChange
		for _, log := range []float64{-0.02, 0.02, -0.02, 0.02} {
			cells = append(cells, result.CellChange{Median: math.Expm1(log)})
		}
		if got := DuetNeeds(cells, math.Expm1(deviations*CellNoise(cells))); got < want-1 || got > want+1 {
			t.Errorf("%g standard deviations: %d cells, want %d", deviations, got, want)
		}
	}
}

func TestDuetNeedsOfExtremes(t *testing.T) {
	quiet := []result.CellChange{{Median: 0.01}, {Median: 0.01}, {Median: 0.01}, {Median: 0.01}}
	if got := DuetNeeds(quiet, 0.001); got != cellsLeast {
		t.Errorf("cells that agree: %d needed", got)
	}
	if got := DuetNeeds([]result.CellChange{{Median: 0}, {Median: 0.5}}, 0); got != most {
		t.Errorf("no effect is seen with %d cells", got)
	}
	last := 0
	for _, effect := range []float64{0.5, 0.1, 0.03, 0.01} {
		noisy := changesOf(normalCells(rand.New(rand.NewPCG(3, 4)), 50, 0, 0.03))
		need := DuetNeeds(noisy, effect)
		if need < last {
			t.Errorf("a smaller effect needs fewer cells: %d, then %d", last, need)
		}
		last = need
	}
}

// Noether's formula, against the test that compare makes.
func TestSamplesNeededAgainstSimulation(t *testing.T) {
	const rounds = 1000
	random := rand.New(rand.NewPCG(5, 6))
	draw := func(n int, change float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = 1e-4 * (1 + change) * math.Exp(0.08*random.NormFloat64())
		}
		return out
	}
	for _, effect := range []float64{0.03, 0.05, 0.1} {
		need := SamplesNeeded(draw(4000, 0), effect)
		found := 0
		for range rounds {
			if _, p, _ := stat.MannWhitney(draw(need, 0), draw(need, effect)); p < 0.05 {
				found++
			}
		}
		if got := float64(found) / rounds; got < 0.92 || got > 0.98 {
			t.Errorf("%g: %d samples see it in %.1f%%", effect, need, 100*got)
		}
	}
	if got := SamplesNeeded([]float64{1, 1, 1, 1}, 0.01); got > 10 {
		t.Errorf("samples that do not scatter: %d needed", got)
	}
	if got := SamplesNeeded(draw(100, 0), 0); got != most {
		t.Errorf("no effect is seen with %d", got)
	}
}

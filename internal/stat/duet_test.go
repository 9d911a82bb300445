package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/stat/rounds"
)

func TestCellEstimateOfFew(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name  string
		cells [][]float64
		floor float64
		want  Estimate
	}{
		{"nothing", nil, 0, Estimate{nan, nan, nan, 0, 0}},
		{"empty cells", [][]float64{{}, nil}, 0, Estimate{nan, nan, nan, 0, 0}},
		{"a NaN", [][]float64{{1, 2}, {nan}}, 0, Estimate{nan, nan, nan, 2, 3}},
		{"one pair", [][]float64{{3}}, 0, Estimate{3, -inf, inf, 1, 1}},
		{"one cell knows nothing of others", [][]float64{{1, 2, 3}, {}}, 0.1, Estimate{2, -inf, inf, 1, 3}},
		{"equal cells", [][]float64{{2, 2}, {2}}, 0, Estimate{2, 2, 2, 2, 3}},
		{"floor", [][]float64{{2, 2}, {2}}, 0.5, Estimate{2, 1.5, 2.5, 2, 3}},
		{"no floor", [][]float64{{2, 2}, {2}}, nan, Estimate{2, 2, 2, 2, 3}},
		{"an infinite cell", [][]float64{{1, 1, 1}, {inf}, {1}}, 0, Estimate{1, -inf, inf, 3, 5}},
		{"an infinite pair", [][]float64{{1, 1, inf}, {1}}, 0, Estimate{1, 1, 1, 2, 4}},
		{"both infinities", [][]float64{{-inf}, {inf}}, 0, Estimate{nan, nan, nan, 2, 2}},
	} {
		got := CellEstimate(test.cells, test.floor)
		if !sameEstimate(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func sameEstimate(a, b Estimate) bool {
	return same(a.Median, b.Median) && same(a.Low, b.Low) && same(a.High, b.High) && a.Cells == b.Cells && a.Pairs == b.Pairs
}

func TestSignDelta(t *testing.T) {
	for _, test := range []struct {
		ratios []float64
		want   float64
	}{
		{nil, math.NaN()},
		{[]float64{1, math.NaN()}, math.NaN()},
		{[]float64{0.5}, 1},
		{[]float64{0}, 0},
		{[]float64{math.Inf(-1), -1, 1, 0}, -0.25},
	} {
		if got := SignDelta(test.ratios); !same(got, test.want) {
			t.Errorf("%v: %v, want %v", test.ratios, got, test.want)
		}
	}
}

func TestTQuantileOutOfRange(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct{ p, df, want float64 }{
		{0.5, 3, 0},
		{0, 3, -inf},
		{1, 3, inf},
		{0.975, inf, 1.959963984540054},
		{-0.1, 3, nan},
		{1.1, 3, nan},
		{nan, 3, nan},
		{0.5, 0, nan},
		{0.5, nan, nan},
	} {
		if got := TQuantile(test.p, test.df); !same(got, test.want) && !near(got, test.want) {
			t.Errorf("p=%v df=%v: %v, want %v", test.p, test.df, got, test.want)
		}
	}
}

var cellsOf = rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(-0.5, 0.5), 0, 20), 0, 8)

func TestCellEstimateProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := cellsOf.Draw(t, "cells")
		floor := rapid.Float64Range(0, 0.1).Draw(t, "floor")
		e := CellEstimate(cells, floor)
		if e.Pairs == 0 {
			return
		}
		if !(e.Low <= e.Median && e.Median <= e.High) {
			t.Fatalf("%+v", e)
		}
		if e.HalfWidth() < floor*(1-1e-12)-1e-15 {
			t.Fatalf("narrower than %v: %+v", floor, e)
		}
		if (e.Cells < 2) != math.IsInf(e.HalfWidth(), 1) {
			t.Fatalf("%d cells: %+v", e.Cells, e)
		}
		if again := CellEstimate(rapid.Permutation(cells).Draw(t, "shuffled"), floor); !close2(again.Low, e.Low) || again.Median != e.Median {
			t.Fatalf("the order of cells matters: %+v, %+v", e, again)
		}

		// The other side's view: all signs turned.
		turned := make([][]float64, len(cells))
		for i, cell := range cells {
			for _, x := range cell {
				turned[i] = append(turned[i], -x)
			}
		}
		mirrored := CellEstimate(turned, floor)
		if mirrored.Median != -e.Median || !close2(mirrored.Low, -e.High) || !close2(mirrored.High, -e.Low) {
			t.Fatalf("not symmetric: %+v, %+v", e, mirrored)
		}
	})
}

func close2(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-12 }

// machine makes cells: their own deviation, then pairs about it.
type machine struct {
	between float64 // standard deviation of the cells
	within  float64 // of the pairs
	uneven  float64 // of the logarithm of a cell's within
	heavy   bool    // pairs have tails of Student's t with 3 degrees of freedom
	lost    float64 // part of cells that are off by much more
}

func (m machine) cell(pairs int, random *rand.Rand) []float64 {
	at := m.between * random.NormFloat64()
	if random.Float64() < m.lost {
		at += 8 * m.between * random.NormFloat64()
	}
	scale := m.within * math.Exp(m.uneven*random.NormFloat64())
	cell := make([]float64, pairs)
	for i := range cell {
		x := random.NormFloat64()
		if m.heavy {
			var chi float64
			for range 3 {
				z := random.NormFloat64()
				chi += z * z
			}
			x /= math.Sqrt(chi / 3)
		}
		cell[i] = at + scale*x
	}
	return cell
}

func TestCellEstimateCoverage(t *testing.T) {
	for _, test := range []struct {
		name string
		machine
	}{
		{"cells alike", machine{within: 0.011}},
		{"cells and pairs alike", machine{between: 0.003, within: 0.011}},
		{"cells differ most", machine{between: 0.01, within: 0.003}},
		{"uneven, heavy tails", machine{between: 0.001, within: 0.011, uneven: 0.5, heavy: true}},
		{"5% of cells lost", machine{between: 0.003, within: 0.011, uneven: 0.3, heavy: true, lost: 0.05}},
	} {
		for _, n := range []int{4, 8} {
			random := rand.New(rand.NewPCG(42, uint64(n)))
			const trials = 1000
			covered := 0
			var pooled, means []float64
			for range trials {
				cells := make([][]float64, n)
				for i := range cells {
					cells[i] = test.cell(16, random)
				}
				e := CellEstimate(cells, 0)
				if e.Low <= 0 && 0 <= e.High {
					covered++
				}
				_, medians := newEstimate(cells)
				pooled, means = append(pooled, e.Median), append(means, Mean(medians))
			}
			rate := percent(covered, trials)
			t.Logf("%-22s %d cells: covers %.1f%%; standard deviation of the median of all pairs %.3f%%, of the mean of medians %.3f%%",
				test.name, n, rate, 100*Std(pooled), 100*Std(means))
			if rate < 92 || rate > 98.5 {
				t.Errorf("%s, %d cells: covers %.1f%%", test.name, n, rate)
			}
			if Std(pooled) > 1.15*Std(means) {
				t.Errorf("%s, %d cells: the pooled median is a poor estimate", test.name, n)
			}
		}
	}
}

// Stopping as soon as the interval is narrow favours cells that agree by chance.
// What that costs is stated in docs/statistics.md and bounded here.
func TestStoppingOnWidth(t *testing.T) {
	for _, noise := range []float64{0.002, 0.003, 0.004, 0.006, 0.008, 0.012, 0.02} {
		// In proportion as on the H200: half of a cell's variance is from its pairs.
		m := machine{between: noise / math.Sqrt2, within: noise / math.Sqrt2 / 1.2533 * 4}
		random := rand.New(rand.NewPCG(42, 5))
		const trials = 1000
		reached, covered, far, cells := 0, 0, 0, 0
		for range trials {
			p, ok := untilNarrow(func() []float64 { return m.cell(16, random) })
			cells += len(p.cells)
			if !ok {
				continue
			}
			reached++
			if p.estimate.Low <= 0 && 0 <= p.estimate.High {
				covered++
			}
			if math.Abs(p.estimate.Median) > 0.01 {
				far++
			}
		}
		t.Logf("cells vary by %.1f%%: ±0.5%% reached in %.1f%% with %.1f cells; then it covers %.1f%%; off by more than 1%% in %.2f%% of all",
			100*noise, percent(reached, trials), float64(cells)/trials, percent(covered, reached), percent(far, trials))
		if noise <= 0.004 && percent(covered, reached) < 93 {
			t.Errorf("covers %.1f%% with cells that vary by %v", percent(covered, reached), noise)
		}
		if percent(far, trials) > 0.7 {
			t.Errorf("off by more than 1%% in %.2f%% with cells that vary by %v", percent(far, trials), noise)
		}
	}
}

func BenchmarkCellEstimate(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var cells [][]float64
	for range 4 {
		cells = append(cells, machine{within: 0.01}.cell(30, random))
	}
	for b.Loop() {
		CellEstimate(cells, 0)
	}
}

// The median of the means of any two is the middle of values with two states, too.
func TestPairMeans(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, math.NaN()},
		{[]float64{3}, 3},
		{[]float64{1, 2, 6}, 2.75}, // of 1, 1.5, 2, 3.5, 4, 6
		{[]float64{0, 0, 0, 1, 1, 1, 1}, 0.5},
		{[]float64{-1, 1, 1, 1, math.Inf(1)}, 1},
	} {
		means := PairMeans(test.values)
		if n := len(test.values); len(means) != n*(n+1)/2 {
			t.Errorf("%v: %d means", test.values, len(means))
		}
		if got := Median(means); !same(got, test.want) {
			t.Errorf("%v: %v, want %v", test.values, got, test.want)
		}
	}
}

// On real blocks of kernels bound by memory, the cells' estimates scatter far less than their
// medians, elsewhere hardly more; and intervals of drawn cells contain what all cells say.
func TestPairMeansOnRecordedBlocks(t *testing.T) {
	draws := 2000
	if testing.Short() {
		draws = 300
	}
	random := rand.New(rand.NewPCG(1, 2))
	most := map[string]float64{"scale": 0.5, "saxpy": 0.5, "add": 0.6, "silu": 0.5, "gemm_strips": 1.2}
	for kernel, cells := range rounds.Blocks(t) {
		var medians, middles []float64
		var means [][]float64
		for _, cell := range cells {
			means = append(means, PairMeans(cell))
			medians, middles = append(medians, Median(cell)), append(middles, Median(means[len(means)-1]))
		}
		if was, is := Std(medians), Std(middles); is > most[kernel]*was {
			t.Errorf("%s: cells scatter by %.2f%%, their medians by %.2f%%", kernel, 100*is, 100*was)
		}
		truth := CellEstimate(means, 0).Median
		for _, n := range []int{4, 8} {
			covered := 0
			for range draws {
				some := make([][]float64, n)
				for i := range some {
					some[i] = means[random.IntN(len(means))]
				}
				if e := CellEstimate(some, 0); e.Low <= truth && truth <= e.High {
					covered++
				}
			}
			t.Logf("%s: %d of %d intervals of %d cells contain %+.2f%%", kernel, covered, draws, n, 100*truth)
			if covered < draws*90/100 {
				t.Errorf("%s: %d of %d intervals of %d cells contain %+.2f%%", kernel, covered, draws, n, 100*truth)
			}
		}
	}
}

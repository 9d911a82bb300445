package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/stat/rounds"
)

// blocksOf makes cells of rounds as a duet on a GPU does.
func blocksOf(duets []rounds.Duet) [][]float64 {
	cells := rounds.LogRatios(duets)
	for i, cell := range cells {
		cells[i] = stat.PairMeans(cell)
	}
	return cells
}

func percent(count, of int) float64 { return 100 * float64(count) / float64(of) }

// changeOf returns the change that a duet of these cells shows.
func changeOf(cells [][]float64) *result.Change {
	e := stat.CellEstimate(cells, 0)
	return &result.Change{
		Median: math.Expm1(e.Median), Low: math.Expm1(e.Low), High: math.Expm1(e.High), Paired: true, Exact: e.HalfWidth() <= narrow,
	}
}

// Rounds are handed out one by one. A set has at least fewest of them, and more
// until it is narrow or has most.
const (
	fewest = 4
	most   = 16
)

// decide plays the whole rule: a first set of cells, twice as many where that is
// undecided, and a second set for what must be confirmed. The rounds lasted long
// enough for any difference to count.
func decide(next func() []float64) (verdict result.Verdict, used int) {
	var cells [][]float64
	judge := func() result.Verdict {
		verdict, _ := Provisional(Case{Gate: spec.DefaultGate, Base: &Opponent{Change: changeOf(cells), Median: 1}})
		return verdict
	}
	play := func(first, most int) {
		for n := 1; n <= most; n++ {
			cells = append(cells, next())
			if n >= fewest && changeOf(cells[first:]).Exact {
				return
			}
		}
	}
	play(0, most)
	if verdict = judge(); verdict == result.Inconclusive {
		play(0, 2*most)
		verdict = judge()
	}
	if Confirm(verdict) {
		play(len(cells), most)
		change := changeOf(cells)
		change.Confirmed = true
		verdict, _ = Verdict(Case{Gate: spec.DefaultGate, Base: &Opponent{Change: change, Median: 1}})
	}
	return verdict, len(cells)
}

// Compares a stored baseline with a duet on this data.
func TestRulesOnRealRounds(t *testing.T) {
	r := rounds.Read(t)

	for name, list := range map[string][]rounds.Series{"attention, small": r.Small, "attention, big": r.Big, "copy": r.CopyA} {
		if testing.Short() && name != "copy" {
			continue
		}
		var medians []float64
		for _, s := range list {
			medians = append(medians, stat.Median(s.MS))
		}
		t.Logf("%-16s medians of separate rounds: %.4f to %.4f ms, %.0f%% apart", name, slices.Min(medians), slices.Max(medians), 100*(slices.Max(medians)/slices.Min(medians)-1))
		alarms, of := storedBaseline(list, list)
		t.Logf("stored baseline, %-16s called slower than itself in %.1f%% of %d", name, percent(alarms, of), of)
		if percent(alarms, of) < 5 {
			t.Errorf("%s: the stored baseline's rule is sound here", name)
		}
	}
	found, of := storedBaseline(r.CopyA, r.CopyB)
	t.Logf("stored baseline, +5%% copy found in %.1f%% of %d", percent(found, of), of)

	same, slower := blocksOf(r.SameBig), blocksOf(r.Copy)
	above := func(cells [][]float64) (count int) {
		for _, cell := range cells {
			if math.Expm1(stat.Median(cell)) > 0.03 {
				count++
			}
		}
		return count
	}
	t.Logf("duet, every round by itself: A/A called slower in %d of %d, +5%% copies found in %d of %d", above(same), len(same), above(slower), len(slower))
	if above(same) != 0 || percent(above(slower), len(slower)) < 99 {
		t.Error("a single round decides wrongly")
	}

	inOrder := func(cells [][]float64) (regressions, duets, undecided, used int) {
		next := 0
		for next+4 <= len(cells) {
			begun := next
			verdict, n := decide(func() []float64 {
				next++
				return cells[(next-1)%len(cells)]
			})
			if next > len(cells) && begun > 0 {
				break // the last one began again at the first round
			}
			duets++
			used += n
			switch verdict {
			case result.Regression:
				regressions++
			case result.Inconclusive:
				undecided++
			}
		}
		return regressions, duets, undecided, used
	}
	regressions, duets, undecided, used := inOrder(same)
	t.Logf("duet, rounds in order as cells: A/A called slower in %d of %d (undecided %d; %.1f cells each)", regressions, duets, undecided, float64(used)/float64(duets))
	if regressions != 0 || undecided != 0 {
		t.Error("false alarm, or no decision")
	}
	regressions, duets, undecided, used = inOrder(slower)
	t.Logf("duet, rounds in order as cells: +5%% copies found in %d of %d (undecided %d; %.1f cells each, confirmation included)", regressions, duets, undecided, float64(used)/float64(duets))
	if regressions != duets || undecided != 0 {
		t.Error("a copy was missed")
	}

	const trials = 500
	random := rand.New(rand.NewPCG(42, 3))
	draw := func(cells [][]float64) (count int) {
		for range trials {
			if verdict, _ := decide(func() []float64 { return cells[random.IntN(len(cells))] }); verdict == result.Regression {
				count++
			}
		}
		return count
	}
	alarms, hits := draw(same), draw(slower)
	t.Logf("duet, rounds drawn at random as cells: A/A called slower in %d of %d, +5%% copies found in %d of %d", alarms, trials, hits, trials)
	if alarms != 0 || percent(hits, trials) < 99 {
		t.Error("false alarm, or copies missed")
	}
}

// storedBaseline compares every round with every other one: median more than 3%
// slower, and 95% intervals apart.
func storedBaseline(before, after []rounds.Series) (slower, of int) {
	type summary struct{ median, low, high float64 }
	summarize := func(list []rounds.Series) (all []summary) {
		for _, s := range list {
			low, high := stat.BootstrapMedianExact(s.MS)
			all = append(all, summary{stat.Median(s.MS), low, high})
		}
		return all
	}
	old, current := summarize(before), summarize(after)
	for i, a := range old {
		for j, b := range current {
			if i == j {
				continue
			}
			of++
			if b.median > 1.03*a.median && b.low > a.high {
				slower++
			}
		}
	}
	return slower, of
}

// The operating curve of the rule under the real noise between and inside rounds: the A/A rounds,
// slowed by a known factor.
func TestOperatingCurveOnRealRounds(t *testing.T) {
	same := blocksOf(rounds.Read(t).SameBig)
	truth := stat.CellEstimate(same, 0).Median
	random := rand.New(rand.NewPCG(42, 4))
	for _, change := range []float64{0, 0.01, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05} {
		const trials = 400
		failed, undecided, cells := 0, 0, 0
		for range trials {
			verdict, used := decide(func() []float64 {
				cell := same[random.IntN(len(same))]
				moved := make([]float64, len(cell))
				for i, x := range cell {
					moved[i] = x - truth + math.Log1p(change)
				}
				return moved
			})
			cells += used
			switch verdict {
			case result.Regression:
				failed++
			case result.Inconclusive:
				undecided++
			}
		}
		t.Logf("true %+.1f%%: fails in %.2f%% of %d; undecided %.1f%%; %.1f cells", 100*change, percent(failed, trials), trials, percent(undecided, trials), float64(cells)/trials)
		switch rate := percent(failed, trials); {
		case change == 0 && rate > 0, change <= 0.02 && rate > 2:
			t.Errorf("true %v fails in %.2f%%", change, rate)
		case change >= 0.05 && rate < 99.5, change >= 0.04 && rate < 98:
			t.Errorf("true %v is found in %.2f%%", change, rate)
		}
	}
}

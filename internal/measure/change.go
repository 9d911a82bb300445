package measure

import (
	"math"
	"slices"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// Change returns the change of the candidate against one of the other sides, over all sets. roles
// names the sides; the candidate's is empty.
func (m *Match) Change(side int, roles []result.Role, opts DuetOptions) *result.Change {
	cells := m.logs(side, -1)
	if len(cells) == 0 {
		return nil
	}
	e := stat.CellEstimate(cells, opts.Floor)
	c := &result.Change{
		Median: math.Expm1(e.Median), Low: finite(math.Expm1(e.Low), -1), High: finite(math.Expm1(e.High), 1e3),
		Paired: true, Stopped: m.Stopped,
	}
	if c.Stopped == "" || cancelled(m.err) { // the set did not end in a normal way
		c.Stopped = "interrupted"
	}
	c.Exact = (e.High-e.Low)/2 <= opts.HalfWidth
	var all, cycles, fastest, tails []float64
	var pairs [][]float64
	for _, cell := range m.Cells {
		all, cycles = append(all, cell.Logs[side]...), append(cycles, cell.Cycles[side]...)
		fastest, tails = append(fastest, cell.Fastest[side]...), append(tails, cell.Tails[side]...)
		pairs = append(pairs, cell.Pairs[side])
		c.Pairs += len(cell.Pairs[side])
		c.Cells = append(c.Cells, result.CellChange{
			Median: math.Expm1(stat.Median(cell.Logs[side])), Pairs: len(cell.Pairs[side]), Set: cell.Set, First: roles[cell.First],
		})
	}
	again, _ := m.played(1)
	c.Confirmed = again >= cellsLeast
	_, c.Bistable = stat.ClustersOf(pairs)
	c.Delta = stat.SignDelta(slices.Concat(pairs...))
	if len(cycles) == len(all) && m.series[0].cuda() {
		c.Cycles = change(cycles)
	}
	if len(fastest) > 0 {
		c.Fastest = change(fastest)
	}
	is, was := m.series[0].samples.Kept(), m.series[side].samples.Kept()
	c.Shift = stat.HodgesLehmann(was, is)
	c.Tail = tail(is, was, tails)
	return c
}

// change returns the median of log-ratios as a relative change.
func change(logs []float64) *float64 {
	v := math.Expm1(stat.Median(logs))
	return &v
}

// tailed is the percentile above which samples count as slow.
const tailed = 90

// tail compares the slow samples of two sides.
func tail(is, was, shares []float64) *result.Tail {
	if len(is) == 0 || len(was) == 0 {
		return nil
	}
	t := &result.Tail{BeforeS: stat.Percentile(was, tailed), AfterS: stat.Percentile(is, tailed), P: stat.PositiveMean(shares)}
	t.Change = t.AfterS/t.BeforeS - 1
	return t
}

// finite replaces values that JSON cannot hold: the interval of a single cell is unbounded.
func finite(v, otherwise float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return otherwise
	}
	return v
}

// Remeasured returns the timing of a side in the last set alone: with two sets, the first is why
// there was a second, and may have been lucky.
func (m *Match) Remeasured(side int) *result.Timing {
	s := *m.series[side]
	first := 0
	if n := len(m.starts); n > 0 {
		first = m.starts[n-1][side]
	}
	dropped := []result.Drop{}
	if first > 0 {
		dropped = append(dropped, result.Drop{From: 0, To: first, Cause: "first set"})
	}
	for _, d := range s.samples.Dropped {
		if d.From >= first {
			dropped = append(dropped, d)
		}
	}
	s.samples.Dropped = dropped
	return s.finish(nil)
}

// The power and level of a test: an effect is seen in 95 of 100 cases where it exists, and in at
// most 5 of 100 where it does not.
const (
	seen   = 0.95
	unseen = 0.05
	most   = 1_000_000
)

// CellNoise returns the scatter of the cells of a duet.
func CellNoise(cells []result.CellChange) float64 {
	values := make([]float64, len(cells))
	for i, c := range cells {
		values[i] = math.Log1p(c.Median)
	}
	return stat.Std(values)
}

// DuetNeeds returns how many cells a duet needs to see an effect, given the scatter of its cells so
// far.
func DuetNeeds(cells []result.CellChange, effect float64) int {
	noise := CellNoise(cells)
	for n := cellsLeast; n < most; n++ {
		df := float64(n - 1)
		reach := (stat.TQuantile(1-unseen/2, df) + stat.TQuantile(seen, df)) * noise / math.Sqrt(float64(n))
		if reach <= math.Log1p(effect) {
			return n
		}
	}
	return most
}

// SamplesNeeded returns how many independent samples each of two lists needs for a rank test to see
// its median move, given the distribution of such samples. It uses Noether's formula, with the
// chance that a sample of one list exceeds one of the other counted on the samples themselves.
func SamplesNeeded(samples []float64, effect float64) int {
	shifted := make([]float64, len(samples))
	for i, v := range samples {
		shifted[i] = v * (1 + effect)
	}
	exceeds := (stat.CliffDelta(samples, shifted) + 1) / 2
	if exceeds <= 0.5 {
		return most
	}
	z := stat.TQuantile(1-unseen/2, 1e6) + stat.TQuantile(seen, 1e6)
	n := z * z / (6 * (exceeds - 0.5) * (exceeds - 0.5))
	return int(min(most, math.Ceil(n)))
}

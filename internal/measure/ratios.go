package measure

import (
	"math"
	"slices"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// MatchCell holds the results of one cell. Its lists are by side, the candidate's empty; ratios are
// logarithms of the candidate's time over the side's.
type MatchCell struct {
	Set    int
	First  int         // the side that was loaded first
	Blocks int         // blocks of turns that read the same backwards
	Logs   [][]float64 // the ratios, or means of two of them, whose median is the estimate
	Cycles [][]float64 // the same in clock cycles; empty where the clock is not known

	// Pairs has one ratio for each two turns that were compared: of a block where sides share a
	// cell, else of neighbouring turns.
	Pairs [][]float64

	// Fastest has the ratios of the fastest samples of turns, block by block. It is a diagnostic: a
	// kernel's best time is not what its users get.
	Fastest [][]float64

	// Tails says, for one stretch of turns after the other, whether the slow samples are the
	// candidate's: stat.TailShare.
	Tails [][]float64

	last    []turn // by side: the last turn of that side or of the candidate
	stretch []turn // not yet in Tails
}

// turn holds the samples of one side in one turn: a part of the side's samples, not a copy.
type turn struct {
	side int
	result.Samples
	data []int // batch of each sample; empty: the same for all
}

// on returns the batch of a sample's data.
func (t turn) on(i int) int {
	if len(t.data) == 0 {
		return 0
	}
	return t.data[i]
}

// logs returns the logarithms of a turn's times, in seconds or in cycles.
func (t turn) logs(cycles bool) []float64 {
	out := make([]float64, len(t.Seconds))
	for i, s := range t.Seconds {
		if out[i] = math.Log(s); cycles {
			out[i] += math.Log(t.GHz[i])
		}
	}
	return out
}

// clocked reports whether the clock of every sample is known.
func (t turn) clocked() bool {
	return len(t.GHz) == len(t.Seconds) && !slices.ContainsFunc(t.GHz, func(v float64) bool { return !(v > 0) })
}

func newMatchCell(set, first, sides int) *MatchCell {
	lists := func() [][]float64 { return make([][]float64, sides) }
	return &MatchCell{Set: set, First: first, Logs: lists(), Cycles: lists(), Pairs: lists(), Fastest: lists(), Tails: lists(), last: make([]turn, sides)}
}

func (c *MatchCell) sides() int { return len(c.Logs) }

// add adds one order of turns.
func (c *MatchCell) add(turns []turn, shared bool) {
	if shared {
		c.addBlocks(turns)
	} else {
		c.addNeighbours(turns)
	}
	c.addTails(turns)
}

// addBlocks adds one order of turns of sides that share a cell. A turn is one sample there, and a
// block gives one ratio: the mean of the candidate's two logarithms less that of the side's. The
// estimate is made of them at the end.
func (c *MatchCell) addBlocks(turns []turn) {
	seconds := func(t turn) float64 { return t.Seconds[0] }
	cycles := func(t turn) float64 { return t.Seconds[0] * t.GHz[0] }
	for block := range slices.Chunk(turns, 2*c.sides()) {
		c.eachSide(block, seconds, func(side int, ratio float64) {
			c.Pairs[side] = append(c.Pairs[side], ratio)
		})
		if !slices.ContainsFunc(block, func(t turn) bool { return !t.clocked() }) {
			c.eachSide(block, cycles, func(side int, ratio float64) { c.Cycles[side] = append(c.Cycles[side], ratio) })
		}
		c.Blocks++
	}
}

// addNeighbours adds one order of turns of sides in their own cells: all ratios between a sample of
// the candidate and one of the side, for turns that follow each other when the turns of third sides
// are left out.
func (c *MatchCell) addNeighbours(turns []turn) {
	for _, t := range turns {
		for side := 1; side < c.sides(); side++ {
			if t.side != 0 && t.side != side {
				continue
			}
			last := c.last[side]
			c.last[side] = t
			switch {
			case last.Seconds == nil || last.side == t.side:
			case t.side == 0:
				c.compare(side, t, last)
			default:
				c.compare(side, last, t)
			}
		}
	}
	fastest := func(t turn) float64 { return slices.Min(t.Seconds) }
	for block := range slices.Chunk(turns, 2*c.sides()) {
		c.eachSide(block, fastest, func(side int, ratio float64) { c.Fastest[side] = append(c.Fastest[side], ratio) })
		c.Blocks++
	}
}

// compare adds the ratios of two neighbouring turns.
func (c *MatchCell) compare(side int, candidate, other turn) {
	ratios := across(candidate, other, false)
	if len(ratios) == 0 {
		return
	}
	c.Logs[side] = append(c.Logs[side], ratios...)
	c.Pairs[side] = append(c.Pairs[side], stat.Median(ratios))
	if candidate.clocked() && other.clocked() {
		c.Cycles[side] = append(c.Cycles[side], across(candidate, other, true)...)
	}
}

// across returns all ratios between samples of two turns on the same data, up to a few elements: a
// kernel's time may depend on its data.
func across(a, b turn, cycles bool) []float64 {
	mine, theirs := a.logs(cycles), b.logs(cycles)
	out := make([]float64, 0, len(mine)*len(theirs))
	for i, x := range mine {
		for j, y := range theirs {
			if a.on(i) == b.on(j) {
				out = append(out, x-y)
			}
		}
	}
	return out
}

// eachSide computes every side's ratio in one block, from the value that of gives each turn.
func (c *MatchCell) eachSide(block []turn, of func(turn) float64, give func(side int, ratio float64)) {
	logs := make([]float64, c.sides())
	for _, t := range block {
		logs[t.side] += math.Log(of(t)) / 2
	}
	for side := 1; side < c.sides(); side++ {
		give(side, logs[0]-logs[side])
	}
}

// tailLeast is the smallest number of a side's samples in a stretch: with fewer, the slowest tenth
// is one or two samples.
const tailLeast = 24

// addTails adds one order of turns to the statistics of slow samples.
func (c *MatchCell) addTails(turns []turn) {
	c.stretch = append(c.stretch, turns...)
	count := 0
	for _, t := range c.stretch {
		if t.side == 0 {
			count += len(t.Seconds)
		}
	}
	if count >= tailLeast {
		c.closeStretch()
	}
}

func (c *MatchCell) closeStretch() {
	all := make([][]float64, c.sides())
	for _, t := range c.stretch {
		all[t.side] = append(all[t.side], t.Seconds...)
	}
	for side := 1; side < c.sides(); side++ {
		c.Tails[side] = append(c.Tails[side], stat.TailShare(all[0], all[side]))
	}
	c.stretch = nil
}

// finish makes the estimate of blocks, and drops what only later turns would need. A cell with few
// samples is one stretch.
func (c *MatchCell) finish() {
	for side := 1; side < c.sides(); side++ {
		if c.Logs[side] == nil {
			c.Logs[side], c.Cycles[side] = stat.PairMeans(c.Pairs[side]), stat.PairMeans(c.Cycles[side])
		}
	}
	if len(c.stretch) > 0 && len(c.Tails[1]) == 0 {
		c.closeStretch()
	}
	c.last, c.stretch = nil, nil
}

// Change returns the change of the candidate against one of the other sides, over all sets. roles
// names the sides; the candidate's is empty.
func (m *Match) Change(side int, roles []result.Role, opts DuetOptions) *result.Change {
	if len(m.Cells) == 0 {
		return nil
	}
	c := m.duel(side, opts.HalfWidth).change(m.Cells, roles, opts.Floor)
	if c.Stopped = m.Stopped; c.Stopped == "" || cancelled(m.err) { // the set did not end in a normal way
		c.Stopped = "interrupted"
	}
	return c
}

func (m *Match) duel(side int, exact float64) duel {
	return duel{side, m.series[0].samples, m.series[side].samples, m.series[0].cuda(), exact}
}

// duel is the candidate against one other side.
type duel struct {
	side    int
	is, was result.Samples
	cuda    bool
	exact   float64 // half-width, in log-ratio
}

// change computes the change from the ratios of all cells, at least one.
func (d duel) change(played []MatchCell, roles []result.Role, floor float64) *result.Change {
	side := d.side
	var cells [][]float64
	for _, cell := range played {
		cells = append(cells, cell.Logs[side])
	}
	e := stat.CellEstimate(cells, floor)
	c := &result.Change{
		Median: math.Expm1(e.Median), Low: finite(math.Expm1(e.Low), -1), High: finite(math.Expm1(e.High), 1e3),
		Paired: true, Exact: (e.High-e.Low)/2 <= d.exact,
	}
	var all, cycles, fastest, tails []float64
	var pairs [][]float64
	again := 0
	for _, cell := range played {
		all, cycles = append(all, cell.Logs[side]...), append(cycles, cell.Cycles[side]...)
		fastest, tails = append(fastest, cell.Fastest[side]...), append(tails, cell.Tails[side]...)
		pairs = append(pairs, cell.Pairs[side])
		c.Pairs += len(cell.Pairs[side])
		c.Cells = append(c.Cells, result.CellChange{
			Median: math.Expm1(stat.Median(cell.Logs[side])), Pairs: len(cell.Pairs[side]), Set: cell.Set, First: roles[cell.First],
		})
		if cell.Set == 1 {
			again++
		}
	}
	c.Confirmed = again >= cellsLeast
	_, c.Bistable = stat.ClustersOf(pairs)
	c.Delta = stat.SignDelta(slices.Concat(pairs...))
	if len(cycles) == len(all) && d.cuda {
		c.Cycles = change(cycles)
	}
	if len(fastest) > 0 {
		c.Fastest = change(fastest)
	}
	is, was := d.is.Kept(), d.was.Kept()
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
	s.samples.Dropped = slices.DeleteFunc(slices.Clone(s.samples.Dropped), func(d result.Drop) bool { return d.From < first })
	if first > 0 {
		s.samples.Dropped = slices.Insert(s.samples.Dropped, 0, result.Drop{From: 0, To: first, Cause: "first set"})
	}
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

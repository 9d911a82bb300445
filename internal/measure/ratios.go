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
	Logs   [][]float64 // the ratios whose median is the estimate
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

// addBlocks adds one order of turns of sides that share a cell. A turn is one sample there, and a
// block gives one ratio: the mean of the candidate's two logarithms less that of the side's.
func (c *MatchCell) addBlocks(turns []turn) {
	seconds := func(t turn) float64 { return t.Seconds[0] }
	cycles := func(t turn) float64 { return t.Seconds[0] * t.GHz[0] }
	for block := range slices.Chunk(turns, 2*c.sides()) {
		c.eachSide(block, seconds, func(side int, ratio float64) {
			c.Logs[side] = append(c.Logs[side], ratio)
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

// finish drops what only later turns would need. A cell with few samples is one stretch.
func (c *MatchCell) finish() {
	if len(c.stretch) > 0 && len(c.Tails[1]) == 0 {
		c.closeStretch()
	}
	c.last, c.stretch = nil, nil
}

package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker/puppet"
)

// orderOf makes one order of turns, given the times of a side in its nth turn.
func orderOf(sides int, took func(side, nth int) (seconds, ghz []float64)) []turn {
	var turns []turn
	nth := make([]int, sides)
	for _, side := range turnsOf(sides) {
		seconds, ghz := took(side, nth[side])
		nth[side]++
		turns = append(turns, turn{side: side, Samples: result.Samples{Seconds: seconds, GHz: ghz}})
	}
	return turns
}

func allAre(values []float64, want float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.Abs(v-want) > 1e-12 })
}

// A block is the geometric mean of a side's two turns over the other's.
func TestBlocksAreLogRatios(t *testing.T) {
	c := newMatchCell(0, 0, 3)
	turns := orderOf(3, func(side, nth int) ([]float64, []float64) {
		seconds, ghz := float64(int(1)<<side), 1.0 // 1, 2, 4
		if nth >= 2 {
			seconds *= 3 // the machine slows down for whole blocks
		}
		if nth >= 4 {
			ghz = 0 // and its clock is lost
		}
		return []float64{seconds}, []float64{ghz}
	})
	c.addBlocks(turns)
	c.finish()
	for side := 1; side < 3; side++ {
		want := -float64(side) * math.Ln2
		if len(c.Pairs[side]) != 3 || !allAre(c.Pairs[side], want) || len(c.Logs[side]) != 6 || !allAre(c.Logs[side], want) {
			t.Errorf("side %d: %v, pairs %v, want three times %g and six means", side, c.Logs[side], c.Pairs[side], want)
		}
		if len(c.Cycles[side]) != 3 {
			t.Errorf("side %d: cycles of %d means, the clock is known in 2 blocks", side, len(c.Cycles[side]))
		}
	}
	if c.Logs[0] != nil || c.Blocks != 3 {
		t.Errorf("the candidate against itself: %v; %d blocks", c.Logs[0], c.Blocks)
	}
}

// Sides in cells of their own are compared sample by sample between neighbouring
// turns, over the border between two orders too, and past the turns of a third side.
func TestNeighboursAreComparedSampleBySample(t *testing.T) {
	for _, sides := range []int{2, 3} {
		c := newMatchCell(0, 0, sides)
		// The candidate's samples are 1 and 4 times as long as the second side's, which
		// are all alike, and 2 and 8 times as long as the third's.
		order := orderOf(sides, func(side, _ int) ([]float64, []float64) {
			if side == 0 {
				return []float64{8, 32}, []float64{1, 0.5}
			}
			each := math.Exp2(float64(4 - side)) // 8, 4
			return []float64{each, each, each}, []float64{1, 1, 1}
		})
		c.addNeighbours(order)
		c.addNeighbours(order)
		for side := 1; side < sides; side++ {
			want := 0 // turns of the two that change hands
			last := -1
			for range 2 {
				for _, turn := range turnsOf(sides) {
					if turn == 0 || turn == side {
						if last >= 0 && turn != last {
							want++
						}
						last = turn
					}
				}
			}
			if len(c.Pairs[side]) != want || len(c.Logs[side]) != 6*want || len(c.Cycles[side]) != 6*want {
				t.Errorf("%d sides, side %d: %d pairs, %d ratios, %d in cycles; want %d pairs of 2 by 3 samples", sides, side, len(c.Pairs[side]), len(c.Logs[side]), len(c.Cycles[side]), want)
			}
			low, high := float64(side-1)*math.Ln2, float64(side+1)*math.Ln2
			if !allAre([]float64{stat.Percentile(c.Logs[side], 25)}, low) || !allAre([]float64{stat.Percentile(c.Logs[side], 75)}, high) || !allAre(c.Pairs[side], (low+high)/2) {
				t.Errorf("%d sides, side %d: %v", sides, side, c.Logs[side])
			}
			if !allAre(c.Fastest[side], low) || len(c.Fastest[side]) != 2*sides {
				t.Errorf("%d sides, side %d: fastest %v, want %g in every block", sides, side, c.Fastest[side], low)
			}
		}
		if c.Blocks != 2*sides {
			t.Errorf("%d sides: %d blocks", sides, c.Blocks)
		}
	}
}

// Samples are compared with those on the same data, but for a few elements.
func TestNeighboursOnTheSameData(t *testing.T) {
	c := newMatchCell(0, 0, 2)
	// Data 2 takes both a hundred times as long, and the candidate is twice as slow.
	c.addNeighbours([]turn{
		{side: 0, Samples: result.Samples{Seconds: []float64{2, 200, 200}, GHz: []float64{1, 1, 1}}, data: []int{1, 2, 2}},
		{side: 1, Samples: result.Samples{Seconds: []float64{1, 1, 100}, GHz: []float64{1, 1, 1}}, data: []int{1, 1, 2}},
		{side: 0, Samples: result.Samples{Seconds: []float64{200}, GHz: []float64{1}}, data: []int{2}},
		{side: 1, Samples: result.Samples{Seconds: []float64{7}, GHz: []float64{1}}, data: []int{3}},
	})
	if !allAre(c.Logs[1], math.Ln2) || len(c.Logs[1]) != 5 || !allAre(c.Pairs[1], math.Ln2) || len(c.Pairs[1]) != 2 || len(c.Cycles[1]) != 5 {
		t.Errorf("%v, %v, %v", c.Logs[1], c.Pairs[1], c.Cycles[1])
	}
}

// A sample without a clock leaves that pair of turns out of the cycles.
func TestNeighboursWithoutAClock(t *testing.T) {
	c := newMatchCell(0, 0, 2)
	c.addNeighbours(orderOf(2, func(side, nth int) ([]float64, []float64) {
		if side == 1 && nth == 3 { // the last turn
			return []float64{1, 1}, []float64{1, 0}
		}
		return []float64{1, 1}, []float64{2, 2}
	}))
	if got, want := len(c.Logs[1])-len(c.Cycles[1]), 4; got != want {
		t.Errorf("%d ratios have no cycles, want %d", got, want)
	}
}

// The estimate is what most launches take: neither the best launches of a side nor a few slow ones
// decide.
func TestTheEstimateIsOfMostLaunches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shared   bool // one cell for both sides, as device code has it
		part     int
		by       float64
		low, up  float64 // the change
		slowTail bool
	}{
		"all alike":                        {false, 0, 0, 0, 0, false},
		"half again in three of four":      {false, 75, 1.5, 0.49, 0.51, true},
		"half again in one of four":        {false, 25, 1.5, 0, 0.01, true},
		"half again in one of eight":       {false, 13, 1.5, 0, 0.01, true},
		"half as long in one of four":      {false, 25, 0.5, -0.01, 0, false},
		"half as long in three of four":    {false, 75, 0.5, -0.51, -0.49, false},
		"ten times in one of a hundred":    {false, 1, 10, 0, 0.01, false},
		"device code, all alike":           {true, 0, 0, 0, 0, false},
		"device code, slower in nine":      {true, 90, 1.5, 0.49, 0.51, true},
		"device code, slower in two":       {true, 20, 1.5, 0, 0.18, true}, // on average +10%; in a few blocks on a busy machine as little as nothing
		"device code, faster in one":       {true, 10, 0.5, -0.01, 0, false},
		"device code, one of a hundred":    {true, 1, 10, 0, 0.01, false},
		"device code, faster in all of it": {true, 100, 0.5, -0.51, -0.49, false},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (test.part < 10 || test.part == 25 || test.by == 0.5) {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			host := newStage(t, func(_, side int) puppet.Script {
				if side == 0 {
					return puppet.Script{Part: test.part, By: test.by}
				}
				return puppet.Script{}
			})
			kind := spec.CellHost
			if host.shared = test.shared; test.shared {
				kind = spec.CellCUDA
			}
			opts := brief()
			opts.Budget = time.Second
			m := newMatch(kind, "m", 100_000, 100_000)
			Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
			if err := m.Err(); err != nil {
				t.Fatal(err)
			}
			c := m.Change(1, make([]result.Role, 2), opts)
			if c.Median < test.low-1e-9 || c.Median > test.up+1e-9 {
				t.Errorf("%+.3f [%+.3f, %+.3f], want %+.3f to %+.3f", c.Median, c.Low, c.High, test.low, test.up)
			}
			if slow := c.Tail.Change > 0.03 && c.Tail.P < 0.01; slow != test.slowTail {
				t.Errorf("tail %+v, want it slow: %t", c.Tail, test.slowTail)
			}
			switch {
			case test.shared && c.Fastest != nil:
				t.Errorf("turns of one sample have no fastest one: %g", *c.Fastest)
			case !test.shared && test.by > 1 && *c.Fastest > 0.2:
				t.Errorf("fastest samples %+.3f", *c.Fastest)
			}
		})
	}
}

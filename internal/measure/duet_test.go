package measure

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker/puppet"
)

func TestTurnsOf(t *testing.T) {
	for sides, want := range map[int][]int{
		2: {0, 1, 1, 0, 1, 0, 0, 1}, // ABBA BAAB
		3: {0, 1, 2, 2, 1, 0, 1, 2, 0, 0, 2, 1, 2, 0, 1, 1, 0, 2},
	} {
		if diff := gocmp.Diff(want, turnsOf(sides)); diff != "" {
			t.Errorf("%d sides (-want +got):\n%s", sides, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		sides := rapid.IntRange(2, 6).Draw(t, "sides")
		order := turnsOf(sides)
		begins := map[int]int{}
		for block := range slices.Chunk(order, 2*sides) {
			begins[block[0]]++
			backwards := slices.Clone(block)
			slices.Reverse(backwards)
			if !slices.Equal(block, backwards) {
				t.Fatalf("block %v favours somebody when the machine drifts", block)
			}
		}
		for side := range sides {
			if begins[side] != 1 {
				t.Fatalf("side %d begins %d of %d blocks", side, begins[side], sides)
			}
		}
	})
}

// Scattered cells, and matches that differ only in the position of their estimate: all stop after
// the same cells, when the interval is narrow enough.
func TestSamplingStopsOnWidthAlone(t *testing.T) {
	t.Parallel()
	scatter := []float64{0, 0.006, -0.005, 0.004, 0.002, -0.001, 0.001, 0.003, -0.002, 0.001, 0, 0.001, 0.002, 0, -0.001, 0.001}
	want := 0
	for n := cellsLeast; n <= len(scatter) && want == 0; n++ {
		var cells [][]float64
		for _, v := range scatter[:n] {
			cells = append(cells, []float64{v})
		}
		if e := stat.CellEstimate(cells, DefaultFloor); (e.High-e.Low)/2 <= 0.005 {
			want = n
		}
	}
	if want <= cellsLeast {
		t.Fatalf("the scatter is too small to test anything: %d cells", want)
	}
	host := newStage(t, func(cell, side int) puppet.Script {
		if side == 0 {
			return puppet.Script{Factor: math.Exp(scatter[cell%len(scatter)])}
		}
		return puppet.Script{}
	})
	var matches []*Match
	list := []float64{200, 205, 207, 140, 300} // equal, at both sides of the gate, far
	for _, micros := range list[:drawn(5, 3)] {
		matches = append(matches, newMatch(spec.CellCUDA, "m", int64(1000*micros), 200_000))
	}
	opts := brief()
	opts.Budget = time.Minute
	Play(t.Context(), matches, host, 0, opts, quiet)
	for _, m := range matches {
		if err := m.Err(); err != nil {
			t.Fatal(err)
		}
		c := m.Change(1, []result.Role{"", result.Base}, opts)
		if len(m.Cells) != want || m.Stopped != "width" || !c.Exact {
			t.Errorf("at %+.3f: %d cells, stopped by %s, exact %t; want %d by width", c.Median, len(m.Cells), m.Stopped, c.Exact, want)
		}
	}
	for i := range matches {
		c, micros := matches[i].Change(1, []result.Role{"", result.Base}, opts), list[i]
		if math.Abs(math.Log1p(c.Median)-math.Log(micros/200)) > 0.003 || !(c.Low <= c.Median && c.Median <= c.High) {
			t.Errorf("%g µs against 200: %+v", micros, c)
		}
	}
	// One round of cells serves all configs.
	if len(host.orders) != want {
		t.Errorf("%d rounds of cells for %d matches, want %d", len(host.orders), len(matches), want)
	}
}

// A budget that is over ends a match, though not before it has its cells and blocks.
func TestBudgetEndsAMatch(t *testing.T) {
	t.Parallel()
	host := newStage(t, func(int, int) puppet.Script { return puppet.Script{} })
	m := newMatch(spec.CellCUDA, "m", 200_000, 200_000)
	opts := brief()
	opts.Budget, opts.Floor = time.Nanosecond, 2*opts.HalfWidth // never narrow enough
	Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
	cells, blocks := m.played(0)
	if m.Stopped != "budget" || cells != cellsLeast || blocks < blocksLeast {
		t.Errorf("stopped by %s after %d cells and %d blocks", m.Stopped, cells, blocks)
	}
	if c := m.Change(1, make([]result.Role, 2), opts); c.Exact || c.Stopped != "budget" || c.HalfWidth() < opts.HalfWidth {
		t.Errorf("%+v", c)
	}
	if got := m.Timings()[0].Stopped; got != "budget" {
		t.Errorf("the timing was stopped by %q", got)
	}

	// The reason that ended the last set is recorded for the duet and for its timings.
	opts = brief()
	Play(t.Context(), []*Match{m}, host, 1, opts, quiet)
	if change, timing := m.Change(1, make([]result.Role, 2), opts).Stopped, m.Timings()[0].Stopped; change != "width" || timing != "width" {
		t.Errorf("stopped by %q, its times by %q", change, timing)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Play(ctx, []*Match{m}, host, 2, opts, quiet)
	if change, timing := m.Change(1, make([]result.Role, 2), opts).Stopped, m.Timings()[0].Stopped; change != "interrupted" || timing != "interrupted" {
		t.Errorf("interrupted: stopped by %q, its times by %q", change, timing)
	}
}

// turnsSeen returns the turns that the cells of one round saw, warm-up included.
func turnsSeen(host *stage, cell int) []int {
	calls := slices.DeleteFunc(slices.Clone(host.calls), func(c call) bool { return c.cell != cell })
	slices.SortFunc(calls, func(a, b call) int { return cmp.Compare(a.at, b.at) })
	var out []int
	for _, c := range calls {
		out = append(out, c.side)
	}
	return out
}

func TestSidesInCellsOfTheirOwnTakeTurns(t *testing.T) {
	t.Parallel()
	for kind, nanos := range map[string][]int64{spec.CellHost: {200_000, 240_000}, spec.CellCUDA: {200_000, 240_000, 300_000}} {
		t.Run(kind, func(t *testing.T) {
			if testing.Short() && kind == spec.CellHost {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			host := newStage(t, func(int, int) puppet.Script { return puppet.Script{Slow: 7} })
			m := newMatch(kind, "m", nanos...)
			opts := brief()
			opts.Budget = time.Minute // of which a warm-up may take a quarter
			Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
			if err := m.Err(); err != nil {
				t.Fatal(err)
			}
			// Loading order is counterbalanced: every side is first, and last, equally often.
			sides := len(nanos)
			for cell, order := range host.orders {
				want := []int{cell % sides, (cell + sides - 1) % sides}
				if cell/sides%2 == 1 {
					slices.Reverse(want)
				}
				if order[0] != want[0] || order[sides-1] != want[1] {
					t.Errorf("cell %d loads in order %v", cell, order)
				}
				if m.Cells[cell].First != order[0] {
					t.Errorf("cell %d loads side %d first, its record says %d", cell, order[0], m.Cells[cell].First)
				}
				// After the warm-up, turns come in the order that turnsOf says.
				seen := turnsSeen(host, cell)
				round := len(turnsOf(sides))
				at := 0
				for ; at+round <= len(seen) && !slices.Equal(seen[at:at+round], turnsOf(sides)); at++ {
					continue
				}
				rounds := 0
				for ; at+round <= len(seen) && slices.Equal(seen[at:at+round], turnsOf(sides)); at += round {
					rounds++
				}
				if blocks := m.Cells[cell].Blocks; rounds*sides < blocks || rounds == 0 {
					t.Errorf("cell %d: %d whole rounds of turns for %d blocks; saw %v…", cell, rounds, blocks, seen[:min(60, len(seen))])
				}
			}
			// Everything that was measured is recorded, for all sides, with the reason for what is
			// left out.
			for side, timing := range m.Timings() {
				s := timing.Samples
				warm := 0
				for _, d := range s.Dropped {
					if d.Cause == "warm-up" {
						warm++
					} else if d.Cause != "clock check" {
						t.Errorf("side %d: dropped for %q", side, d.Cause)
					}
				}
				if warm != len(m.Cells) {
					t.Errorf("side %d: warm-up dropped in %d of %d cells", side, warm, len(m.Cells))
				}
				if got, want := timing.Stats.Median, float64(nanos[side])*1e-9; math.Abs(got-want) > 1e-12 {
					t.Errorf("side %d: median %g, want %g", side, got, want)
				}
				if slowest := slices.Max(s.Kept()); slowest > 1.01e-9*float64(nanos[side]) {
					t.Errorf("side %d: %g s of a cold start is counted", side, slowest)
				}
				if slices.Max(s.Seconds) < 2.9e-9*float64(nanos[side]) {
					t.Errorf("side %d: the cold start is not in the record", side)
				}
				if timing.Stopped != "width" {
					t.Errorf("side %d: stopped by %q", side, timing.Stopped)
				}
			}
			for side := 1; side < sides; side++ {
				c := m.Change(side, make([]result.Role, sides), opts)
				if want := float64(nanos[0])/float64(nanos[side]) - 1; math.Abs(c.Median-want) > 1e-9 {
					t.Errorf("against side %d: %g, want %g", side, c.Median, want)
				}
			}
		})
	}
}

// Device code shares a cell, and is asked for its turns in one request.
func TestSidesInOneCellTakeTurns(t *testing.T) {
	t.Parallel()
	host := newStage(t, func(int, int) puppet.Script { return puppet.Script{} })
	host.shared = true
	m := newMatch(spec.CellCUDA, "m", 300_000, 200_000, 100_000)
	opts := brief()
	Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	for cell, order := range host.orders {
		index := make([]string, 3) // in the cell, by side
		for i, side := range order {
			index[side] = string(rune('0' + i))
		}
		var want []string
		for _, side := range turnsOf(3) {
			want = append(want, index[side])
		}
		asked := 0
		for _, c := range host.calls {
			if c.cell == cell && len(c.said) > 1 {
				if asked++; c.said != strings.Join(want, " ") {
					t.Fatalf("cell %d, loaded %v: turns %s, want %v", cell, order, c.said, want)
				}
			}
		}
		if asked == 0 {
			t.Errorf("cell %d was never asked for turns", cell)
		}
	}
	timings := m.Timings()
	for side, timing := range timings {
		if want := float64(3-side) * 1e-4; math.Abs(timing.Stats.Median-want) > 1e-12 {
			t.Errorf("side %d: median %g, want %g", side, timing.Stats.Median, want)
		}
		if len(timing.Samples.GHz) != len(timing.Samples.Seconds) {
			t.Errorf("side %d: %d samples, %d clocks", side, len(timing.Samples.Seconds), len(timing.Samples.GHz))
		}
	}
	// All sides have had equally many turns.
	if a, b := len(timings[0].Samples.Kept()), len(timings[2].Samples.Kept()); a != b {
		t.Errorf("%d samples of one side, %d of another", a, b)
	}
	// A puppet's clock is that of its place in the cell, and places change from cell to cell.
	c := m.Change(2, make([]result.Role, 3), opts)
	if c.Cycles == nil || math.Abs(c.Median-2) > 1e-9 {
		t.Errorf("%+v", c)
	}
}

// The second set's measurements are stored: the first was why there was a second, and may have been
// lucky.
func TestRemeasuredLeavesOutTheFirstSet(t *testing.T) {
	t.Parallel()
	host := newStage(t, func(cell, side int) puppet.Script {
		if cell < cellsLeast && side == 0 {
			return puppet.Script{Factor: 0.5}
		}
		return puppet.Script{}
	})
	m := newMatch(spec.CellCUDA, "m", 200_000, 200_000)
	opts := brief()
	Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
	if c := m.Change(1, make([]result.Role, 2), opts); c.Confirmed || len(c.Cells) != cellsLeast {
		t.Errorf("after one set: confirmed %t, %d cells", c.Confirmed, len(c.Cells))
	}
	if got := m.Remeasured(0).Stats.Median; math.Abs(got-100e-6) > 1e-12 {
		t.Errorf("one set alone: %g", got)
	}
	first := len(m.Timings()[0].Samples.Seconds)
	Play(t.Context(), []*Match{m}, host, 1, opts, quiet)
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	c := m.Change(1, make([]result.Role, 2), opts)
	if !c.Confirmed || len(c.Cells) != 2*cellsLeast || c.Cells[cellsLeast].Set != 1 || c.Cells[0].Set != 0 {
		t.Errorf("after two sets: %+v", c)
	}
	again := m.Remeasured(0)
	if math.Abs(again.Stats.Median-200e-6) > 1e-12 || again.Stats.Min < 199e-6 {
		t.Errorf("median %g, least %g: the first set is still in it", again.Stats.Median, again.Stats.Min)
	}
	if d := again.Samples.Dropped[0]; d.From != 0 || d.To != first || d.Cause != "first set" {
		t.Errorf("dropped %+v; the first set had %d samples", d, first)
	}
	// The match's own record keeps both.
	if all := m.Timings()[0]; all.Stats.Min > 101e-6 || len(all.Samples.Seconds) != len(again.Samples.Seconds) {
		t.Errorf("least of all %g, %d samples of %d", all.Stats.Min, len(all.Samples.Seconds), len(again.Samples.Seconds))
	}
}

func TestTheSideThatFailsIsBlamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shared bool
		script puppet.Script
		side   int
		stage  string
	}{
		"candidate, own cell, prepare":    {false, puppet.Script{Crash: "prepare", Only: 300_000}, 0, "prepare"},
		"opponent, own cell, measure":     {false, puppet.Script{Crash: "sample", After: 30, Only: 300_000}, 1, "measure"},
		"opponent, own cell, clock check": {false, puppet.Script{Crash: "run", Only: 300_000}, 1, "measure"},
		"candidate, shared cell, warm-up": {true, puppet.Script{Crash: "sample", Only: 300_000}, 0, "measure"},
		// The cell ends in the middle of everybody's turns; alone, only one of them ends it.
		"candidate, shared cell, turns": {true, puppet.Script{Crash: "sample", After: 14, Only: 3_000_000}, 0, "measure"},
		"opponent, shared cell, turns":  {true, puppet.Script{Crash: "sample", After: 14, Only: 3_000_000}, 1, "measure"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "opponent, own cell, measure" || name == "candidate, shared cell, warm-up" || name == "opponent, shared cell, turns") {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			host := newStage(t, func(_, side int) puppet.Script {
				if side == test.side {
					return test.script
				}
				return puppet.Script{}
			})
			host.shared = test.shared
			nanos := int64(test.script.Only)
			before, faulty, after := newMatch(spec.CellCUDA, "before", 100_000, 200_000), newMatch(spec.CellCUDA, "faulty", nanos, nanos), newMatch(spec.CellCUDA, "after", 200_000, 100_000)
			opts := brief()
			opts.Budget = time.Minute
			Play(t.Context(), []*Match{before, faulty, after}, host, 0, opts, quiet)
			err := faulty.Err()
			side := SideOf(err)
			var fault *result.Fault
			if !errors.As(err, &fault) || side != test.side || fault.Cause != result.CauseExit || fault.Stage != test.stage {
				t.Errorf("side %d: %v, %+v; want side %d, while %s", side, err, fault, test.side, test.stage)
			}
			for _, m := range []*Match{before, after} {
				if err := m.Err(); err != nil || len(m.Cells) < cellsLeast || m.Stopped != "width" {
					t.Errorf("%s: %v after %d cells, stopped by %q", m.Name, err, len(m.Cells), m.Stopped)
				}
			}
			if len(faulty.Cells) > 0 {
				t.Errorf("the match that failed has %d cells", len(faulty.Cells))
			}
			for _, errs := range host.errs { // a cell of its own that has not failed is ended as any
				for side, err := range errs {
					if err != nil && side != test.side && !test.shared {
						t.Errorf("side %d was ended for %v", side, err)
					}
				}
			}
			// It is not played again.
			opened := len(host.orders)
			Play(t.Context(), []*Match{faulty}, host, 1, opts, quiet)
			if len(host.orders) != opened {
				t.Error("a match that failed is given another set of cells")
			}
		})
	}
}

// A side that cannot be loaded concerns every match; so does an error that only closing a cell
// reveals.
func TestFaultsOfAllMatches(t *testing.T) {
	t.Parallel()
	for _, crash := range []string{"load", "ping"} {
		t.Run(crash, func(t *testing.T) {
			t.Parallel()
			host := newStage(t, func(_, side int) puppet.Script {
				if side == 1 {
					return puppet.Script{Crash: crash}
				}
				return puppet.Script{}
			})
			matches := []*Match{newMatch(spec.CellCUDA, "a", 200_000, 200_000), newMatch(spec.CellCUDA, "b", 200_000, 200_000)}
			Play(t.Context(), matches, host, 0, brief(), quiet)
			for _, m := range matches {
				var fault *result.Fault
				if err := m.Err(); SideOf(err) != 1 || !errors.As(err, &fault) || fault.Cause != result.CauseExit {
					t.Errorf("%s: side %d: %v", m.Name, SideOf(err), err)
				}
			}
			if len(host.orders) != 1 {
				t.Errorf("%d rounds of cells after a fault of all matches", len(host.orders))
			}
		})
	}
}

func TestPlayIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, shared := range map[string]bool{"own cells": false, "shared cell": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newStage(t, func(int, int) puppet.Script { return puppet.Script{} })
			host.shared = shared
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			opts := brief()
			opts.HalfWidth, opts.Budget = 0, time.Hour // it would go on
			m, waiting := newMatch(spec.CellCUDA, "m", 200_000, 200_000), newMatch(spec.CellCUDA, "waiting", 200_000, 200_000)
			Play(ctx, []*Match{m, waiting}, host, 0, opts, func(m *Match, _ Progress) {
				if len(m.Cells) == 2 {
					cancel()
				}
			})
			err := m.Err()
			if !cancelled(err) {
				t.Errorf("ended by %v", err)
			}
			if len(m.Cells) != 2 || len(host.orders) > 4 { // the third and, for the match that waited, one more try
				t.Errorf("%d cells of %d were played", len(m.Cells), len(host.orders))
			}
			timing := m.Timings()[0]
			if timing.Stopped != "interrupted" || timing.Stats.Count == 0 {
				t.Errorf("stopped by %q with %d samples: what was measured is not kept", timing.Stopped, timing.Stats.Count)
			}
			if err := waiting.Err(); err == nil || len(waiting.Cells) != 2 {
				t.Errorf("the match that waited: %v, %d cells", err, len(waiting.Cells))
			}
		})
	}
}

// Versions run on the same cores, as many as the one with the most threads needs: what runs on cores
// of its own is disturbed by less.
func TestCoresOfBothSides(t *testing.T) {
	if len(machine.Usable()) < 2 {
		t.Skip("there is one core")
	}
	cases := [][2]int{{1, 2}, {2, 1}, {2, 2}, {1, 1}}
	if testing.Short() {
		cases = cases[:2]
	}
	for _, threads := range cases {
		host := newStage(t, func(int, int) puppet.Script { return puppet.Script{} })
		m := newMatch(spec.CellHost, "m", 200_000, 200_000)
		for side := range threads {
			m.Sides[side].Instance.Launches[0].Threads = threads[side]
		}
		opts := brief()
		Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
		if err := m.Err(); err != nil {
			t.Fatal(err)
		}
		for side, timing := range m.Timings() {
			if !slices.Equal(timing.Pinned, machine.QuietCores(max(threads[0], threads[1]))) {
				t.Errorf("threads %v: side %d is on %v", threads, side, timing.Pinned)
			}
		}
	}
}

// Matches of several kernels share every cell, in another order each time. One that cannot be loaded
// is in nobody's way.
func TestTeamsShareCells(t *testing.T) {
	t.Parallel()
	host := newStage(t, func(int, int) puppet.Script { return puppet.Script{} })
	host.shared, host.refuse = true, "refused"
	var matches []*Match
	for _, team := range []string{"a", "b", "refused", "c", "d", "e"} {
		m := newMatch(spec.CellCUDA, team, 200_000, 200_000)
		m.Team = team
		matches = append(matches, m)
	}
	twin := newMatch(spec.CellCUDA, "twin", 200_000, 200_000)
	twin.Team = "refused"
	opts := brief()
	opts.Floor = 2 * opts.HalfWidth // so that all play as many cells
	opts.Budget = time.Nanosecond
	Play(t.Context(), append(matches, twin), host, 0, opts, quiet)
	orders := map[string]bool{}
	for _, m := range append(matches, twin) {
		if refused := m.Team == "refused"; refused != (m.Err() != nil) || refused != (len(m.Cells) == 0) {
			t.Errorf("%s: %d cells, %v", m.Name, len(m.Cells), m.Err())
		} else if !refused && len(m.Cells) != cellsLeast {
			t.Errorf("%s: %d cells", m.Name, len(m.Cells))
		}
	}
	// The refused team ends the first cell; the others play there or in the next.
	if n := len(host.orders); n < cellsLeast || n > cellsLeast+1 {
		t.Errorf("%d cells were opened for %d visits", n, cellsLeast)
	}
	for round := range slices.Chunk(host.loads, 5) {
		orders[strings.Join(round, "")] = true
	}
	if len(orders) < 2 {
		t.Errorf("always in the order %v", orders)
	}
}

package measure

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// matched returns a match that has been played, with the log-ratios of its cells.
func matched(kind string, cells ...MatchCell) *Match {
	m := newMatch(kind, "m", 1000, 1000)
	m.Cells, m.Stopped = cells, "width"
	m.begin(brief())
	for i, s := range m.series {
		for range 50 {
			s.samples.Seconds = append(s.samples.Seconds, float64(2-i)*1e-3)
		}
	}
	return m
}

// logCell returns a cell whose blocks have these log-ratios against side 1, and in
// cycles half of them.
func logCell(set, first int, logs ...float64) MatchCell {
	halves := make([]float64, len(logs))
	for i := range logs {
		halves[i] = logs[i] / 2
	}
	c := newMatchCell(set, first, 2)
	c.Logs[1], c.Pairs[1], c.Cycles[1] = logs, logs, halves
	return *c
}

var roles = []result.Role{"", result.Base}

func TestChange(t *testing.T) {
	cells := []MatchCell{logCell(0, 0, 0.05, 0.06), logCell(0, 1, 0.04, 0.05), logCell(0, 0, 0.055, 0.045), logCell(1, 1, 0.05, -0.01)}
	m := matched(spec.CellCUDA, cells...)
	opts := brief()
	got := m.Change(1, roles, opts)
	e := stat.CellEstimate([][]float64{{0.05, 0.06}, {0.04, 0.05}, {0.055, 0.045}, {0.05, -0.01}}, opts.Floor)
	cycles := math.Expm1(0.025)
	want := &result.Change{
		Median: math.Expm1(e.Median), Low: math.Expm1(e.Low), High: math.Expm1(e.High), Paired: true, Pairs: 8, Delta: 0.75, Shift: 1e-3,
		Cycles: &cycles, Tail: &result.Tail{BeforeS: 1e-3, AfterS: 2e-3, Change: 1, P: 1}, Stopped: "width", Exact: (e.High-e.Low)/2 <= opts.HalfWidth,
		Cells: []result.CellChange{
			{Median: math.Expm1(0.055), Pairs: 2},
			{Median: math.Expm1(0.045), Pairs: 2, First: result.Base},
			{Median: math.Expm1(0.05), Pairs: 2},
			{Median: math.Expm1(0.02), Pairs: 2, Set: 1, First: result.Base},
		},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Exact {
		t.Error("cells that lie 3% apart are called exact")
	}
	// On a CPU the clock of a core is not that of the samples.
	if c := matched(spec.CellHost, cells...).Change(1, roles, opts); c.Cycles != nil {
		t.Errorf("cycles of a host kernel: %v", *c.Cycles)
	}
	// A clock that was not known all the time is unknown.
	cells[2].Cycles[1] = nil
	if c := matched(spec.CellCUDA, cells...).Change(1, roles, opts); c.Cycles != nil {
		t.Errorf("cycles from a part of the pairs: %v", *c.Cycles)
	}
	if c := matched(spec.CellCUDA).Change(1, roles, opts); c != nil {
		t.Errorf("no cell has finished, and it changed by %+v", c)
	}
}

// A tail is the slowest tenth of each side's samples.
func TestTailIsTheSlowestTenth(t *testing.T) {
	var was, is []float64
	for i := range 101 {
		was, is = append(was, float64(100+i)), append(is, float64(200+2*i))
	}
	if got := tail(is, was, []float64{0, 0}); got.BeforeS != 190 || got.AfterS != 380 || got.Change != 1 {
		t.Errorf("%+v", got)
	}
	if tail(nil, was, nil) != nil || tail(is, nil, nil) != nil {
		t.Error("a side without samples has a tail")
	}
}

// A second set confirms when it has as many cells as any set must have.
func TestChangeIsConfirmed(t *testing.T) {
	for again := range cellsLeast + 2 {
		var cells []MatchCell
		for range cellsLeast {
			cells = append(cells, logCell(0, 0, 0.05))
		}
		for range again {
			cells = append(cells, logCell(1, 0, 0.05))
		}
		if c := matched(spec.CellHost, cells...).Change(1, roles, brief()); c.Confirmed != (again >= cellsLeast) {
			t.Errorf("%d cells of a second set: confirmed %t", again, c.Confirmed)
		}
	}
}

// No interval is narrower than the machine can resolve.
func TestChangeHasAFloor(t *testing.T) {
	m := matched(spec.CellHost, logCell(0, 0, 0.01), logCell(0, 1, 0.01), logCell(0, 0, 0.01), logCell(0, 1, 0.01))
	for _, floor := range []float64{DefaultFloor, 0.004, 0.02} {
		opts := brief()
		opts.Floor = floor
		c := m.Change(1, roles, opts)
		if want := math.Expm1(0.01 - floor); math.Abs(c.Low-want) > 1e-9 {
			t.Errorf("floor %g: from %g, want %g", floor, c.Low, want)
		}
		if c.Exact != (floor <= opts.HalfWidth) {
			t.Errorf("floor %g: exact %t", floor, c.Exact)
		}
	}
}

// One cell bounds nothing, and a report cannot hold infinite values.
func TestChangeOfOneCell(t *testing.T) {
	c := matched(spec.CellHost, logCell(0, 0, 0.5, 0.5, 0.5)).Change(1, roles, brief())
	if c.Low != -1 || c.High != 1e3 || c.Exact {
		t.Errorf("%+v", c)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

func TestChangeOfTwoGroupsOfCells(t *testing.T) {
	var cells []MatchCell
	for i := range 10 {
		at := 0.08 * float64(i%2)
		cells = append(cells, logCell(0, i%2, at-0.001, at, at+0.001, at+0.0005*float64(i%3)))
	}
	if !matched(spec.CellHost, cells...).Change(1, roles, brief()).Bistable {
		t.Error("cells that fall into two groups are not called bistable")
	}
	if matched(spec.CellHost, cells[0], cells[2], cells[4], cells[6]).Change(1, roles, brief()).Bistable {
		t.Error("cells that agree are called bistable")
	}
}

// The widest of the sides' intervals counts, and NaN counts as wide.
func TestHalfWidthOfAMatch(t *testing.T) {
	m := newMatch(spec.CellHost, "m", 1000, 1000, 1000)
	m.begin(brief())
	if got := m.HalfWidth(0, 0); got != 1 {
		t.Errorf("nothing is known: %g", got)
	}
	for _, v := range []float64{0.01, -0.01, 0.012, -0.012} {
		m.Cells = append(m.Cells, MatchCell{Logs: [][]float64{nil, {v / 10}, {v}}})
	}
	e := stat.CellEstimate([][]float64{{0.01}, {-0.01}, {0.012}, {-0.012}}, 0)
	if got, want := m.HalfWidth(0, 0), (e.High-e.Low)/2; math.Abs(got-want) > 1e-12 {
		t.Errorf("%g, want %g", got, want)
	}
	if got := m.HalfWidth(1, 0); got != 1 {
		t.Errorf("a set that was not played: %g", got)
	}
}

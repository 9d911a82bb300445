package measure

import (
	"math"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// Change is the candidate against one of the other sides, over all sets. roles
// names the sides; the candidate's is empty.
func (m *Match) Change(side int, roles []result.Role, opts DuetOptions) *result.Change {
	cells := m.logs(side, -1)
	if len(cells) == 0 {
		return nil
	}
	e := stat.CellEstimate(cells, opts.Floor)
	c := &result.Change{
		Median: math.Expm1(e.Median), Low: finite(math.Expm1(e.Low), -1), High: finite(math.Expm1(e.High), 1e3),
		Paired: true, Pairs: e.Pairs, Stopped: m.Stopped,
	}
	if c.Stopped == "" || cancelled(m.err) { // neither of the ways a set ends
		c.Stopped = "interrupted"
	}
	c.Exact = (e.High-e.Low)/2 <= opts.HalfWidth
	_, c.Bistable = stat.ClustersOf(cells)
	var pairs, cycles []float64
	for _, cell := range m.Cells {
		pairs = append(pairs, cell.Logs[side]...)
		cycles = append(cycles, cell.Cycles[side]...)
		c.Confirmed = c.Confirmed || cell.Set > 0
		c.Cells = append(c.Cells, result.CellChange{
			Median: math.Expm1(stat.Median(cell.Logs[side])), Pairs: len(cell.Logs[side]), Set: cell.Set, First: roles[cell.First],
		})
	}
	c.Delta = stat.SignDelta(pairs)
	if len(cycles) == len(pairs) && m.series[0].cuda() {
		v := math.Expm1(stat.Median(cycles))
		c.Cycles = &v
	}
	c.Shift = stat.HodgesLehmann(m.series[side].timing.Samples.Kept(), m.series[0].timing.Samples.Kept())
	return c
}

// finite replaces what JSON cannot hold: an interval that one cell alone cannot
// bound.
func finite(v, otherwise float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return otherwise
	}
	return v
}

// Remeasured is what a side measured in the last set alone: when there were two,
// the first is why there was a second, and so the lucky one.
func (m *Match) Remeasured(side int) *result.Timing {
	s := *m.series[side]
	timing := *s.timing
	s.timing = &timing
	first := 0
	if n := len(m.starts); n > 0 {
		first = m.starts[n-1][side]
	}
	dropped := []result.Drop{}
	if first > 0 {
		dropped = append(dropped, result.Drop{From: 0, To: first, Cause: "first set"})
	}
	for _, d := range timing.Samples.Dropped {
		if d.From >= first {
			dropped = append(dropped, d)
		}
	}
	timing.Samples.Dropped = dropped
	s.finish(nil)
	return &timing
}

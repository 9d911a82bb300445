package report

import (
	"math"
	"strings"

	"pawl/internal/result"
)

// chartScale draws intervals of changes, all on one scale, as a line of characters that every monospaced
// font has in one width:
//
//	····║····│··║·├●┤···
//
// │ is no change, ║ are the gate's two limits, ├─●─┤ is the interval with the median in it. What lies
// beyond an end is an arrow there.
type chartScale struct {
	gate result.Gate
	end  float64 // change at the right end, and negated at the left
}

// chartCells are the characters of a chart; an odd number has a middle.
const chartCells = 21

func chartOf(gate result.Gate) chartScale {
	limit := math.Max(math.Abs(gate.Regression), math.Abs(gate.Improvement))
	if !(limit > 0 && limit < 1) {
		limit = 0.05
	}
	return chartScale{gate, 2 * limit}
}

// axis names both ends.
func (s chartScale) axis() string { return share(-s.end) + " … " + share(s.end) }

// cell returns where a change is drawn; out of the chart where it is beyond an end.
func (s chartScale) cell(v float64) int {
	at := math.Round((v/s.end + 1) / 2 * (chartCells - 1))
	return int(math.Max(-1, math.Min(chartCells, at)))
}

func (s chartScale) draw(c *result.Change) string {
	if math.IsNaN(c.Low) || math.IsNaN(c.Median) || math.IsNaN(c.High) {
		return ""
	}
	cells := []rune(strings.Repeat("·", chartCells))
	put := func(at int, r rune) {
		if at >= 0 && at < chartCells {
			cells[at] = r
		}
	}
	put(s.cell(-s.gate.Improvement), '║')
	put(s.cell(s.gate.Regression), '║')
	put(s.cell(0), '│')
	low, high := s.cell(c.Low), s.cell(c.High)
	for at := max(0, low); at <= min(chartCells-1, high); at++ {
		switch cells[at] {
		case '│':
			cells[at] = '┼'
		case '║':
			cells[at] = '╫'
		default:
			cells[at] = '─'
		}
	}
	if low < high {
		put(low, '├')
		put(high, '┤')
	}
	switch middle := s.cell(c.Median); {
	case middle < 0:
		put(0, '◄')
	case middle >= chartCells:
		put(chartCells-1, '►')
	default:
		put(middle, '●')
	}
	return string(cells)
}

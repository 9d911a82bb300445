package check

import (
	"math"

	"pawl/internal/measure"
	"pawl/internal/result"
)

// mostBudget is the longest --budget that is worth suggesting for a config, in seconds.
const mostBudget = 1800

// needs returns what would decide an inconclusive row on a machine that stays as noisy as it was;
// nil for other rows, and where no budget that is worth suggesting would. The interval must lie on
// one side of the nearest limit of the gate, or be as narrow as required.
func (c *check) needs(j *judged) *result.Needs {
	if j.verdict != result.Inconclusive || j.match == nil {
		return nil
	}
	first := j.base
	if first == nil || first.change == nil {
		first = j.best
	}
	if first == nil || first.change == nil || len(first.change.Cells) == 0 || j.match.Spent <= 0 {
		return nil
	}
	opts, change := c.duet(j.planned), first.change
	cells := math.Inf(1)
	if edge := min(math.Abs(change.Median-c.gate.Regression), math.Abs(change.Median+c.gate.Improvement)); edge > opts.Floor {
		cells = float64(measure.DuetNeeds(change.Cells, edge))
	}
	had := float64(len(change.Cells))
	if narrow := change.HalfWidth() / opts.HalfWidth; opts.HalfWidth > opts.Floor {
		cells = min(cells, math.Ceil(had*narrow*narrow))
	}
	cells = max(cells, had+1)
	// A match is played once more with a double budget where it is undecided (lab.PlayOut).
	budget := cells * j.match.Spent.Seconds() / had / 3
	if budget > mostBudget {
		return nil
	}
	return &result.Needs{Cells: int(cells - had), BudgetS: max(rounded(budget), math.Ceil(opts.Budget.Seconds())+1)}
}

// rounded returns a number of seconds to type: rounded up, to fives or tens where it is large.
func rounded(seconds float64) float64 {
	step := 1.0
	switch {
	case seconds > 100:
		step = 10
	case seconds > 20:
		step = 5
	}
	return step * math.Ceil(seconds/step)
}

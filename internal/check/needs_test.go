package check

import (
	"testing"
	"time"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// undecided is a row whose cells scatter by about 2% around a change.
func undecided(median float64, spent time.Duration) *judged {
	change := &result.Change{Median: median, Low: median - 0.02, High: median + 0.02}
	for i := range 8 {
		change.Cells = append(change.Cells, result.CellChange{Median: median + []float64{-0.02, 0.02}[i%2]})
	}
	p := &played{match: &measure.Match{Spent: spent}, verified: &verified{built: &built{planned: &planned{}}}}
	j := &judged{played: p, verdict: result.Inconclusive}
	j.base = &side{change: change}
	return j
}

func TestNeeds(t *testing.T) {
	c := &check{Options: Default(), gate: spec.DefaultGate, report: &result.Report{}}
	near, far := c.needs(undecided(0.029, 30*time.Second)), c.needs(undecided(0.01, 30*time.Second))
	if near == nil || far == nil {
		t.Fatalf("needs %v and %v", near, far)
	}
	// At the very limit only the width decides: (2% / 0.5%)² times the 8 cells. Farther away the
	// effect is seen before that.
	if near.Cells != 15*8 {
		t.Errorf("%d more cells at the limit, want 120", near.Cells)
	}
	if far.Cells < 2 || far.Cells >= near.Cells/2 {
		t.Errorf("%d more cells 2%% below the limit", far.Cells)
	}
	// 128 cells of 3.75 s, in a budget and twice that.
	if near.BudgetS != 160 {
		t.Errorf("a budget of %g s", near.BudgetS)
	}
	if far.BudgetS <= 10 {
		t.Errorf("a budget of %g s, where 10 s were not enough", far.BudgetS)
	}
	if slow := c.needs(undecided(0.029, 10*time.Hour)); slow != nil {
		t.Errorf("suggests %+v", slow)
	}
	decided := undecided(0.01, time.Second)
	decided.verdict = result.Maintained
	if got := c.needs(decided); got != nil {
		t.Errorf("a decided row needs %+v", got)
	}
	c.Duet.Floor = 0.021 // as a calibration may say
	if got := c.needs(undecided(0.029, time.Second)); got != nil {
		t.Errorf("no number of cells makes the interval narrow enough, and it suggests %+v", got)
	}
}

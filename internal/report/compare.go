package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// compared is a row of a comparison in the words of a table.
type compared struct {
	row    *result.Row
	change *result.Change // nil when nothing was judged
	before *result.Row    // nil when it is new
	after  *result.Row    // nil when it was removed

	verdict, notes string
}

// verdictOrder puts first what somebody must look at.
var verdictOrder = []result.Verdict{result.Regression, result.Improvement, result.Inconclusive, result.Incomparable, result.Maintained, result.New, ""}

// comparedRows are the rows, the gravest first, else in their order.
func comparedRows(r *result.Report) []compared {
	out := make([]compared, 0, len(r.Rows))
	for _, row := range r.Rows {
		c := compared{row: row, after: row, verdict: string(row.Verdict)}
		if len(row.Sides) > 0 {
			c.before, c.change = row.Sides[0].Row, row.Sides[0].Change
		}
		if slices.Contains(row.Reasons, result.Removed) {
			c.after, c.verdict = nil, string(result.Removed)
		}
		c.notes = c.remarks()
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b compared) int {
		return cmp.Compare(slices.Index(verdictOrder, a.row.Verdict), slices.Index(verdictOrder, b.row.Verdict))
	})
	return out
}

// remarks say what the numbers do not.
func (c compared) remarks() string {
	var out []string
	for _, reason := range c.row.Reasons {
		switch {
		case reason == result.Removed:
		case reason == result.AmongMany && c.change != nil:
			out = append(out, "not significant among "+unit.Count(c.change.Family)+" comparisons")
		case reason == result.ClockEffect && c.change != nil && c.change.Cycles != nil:
			out = append(out, "clock effect: "+unit.Percent(*c.change.Cycles)+" in cycles")
		default:
			out = append(out, string(reason))
		}
	}
	if len(c.row.Sides) > 0 {
		out = append(out, c.row.Sides[0].Reason...)
	}
	return strings.Join(out, "; ")
}

// name is what both files call it, or both names.
func (c compared) name() string {
	name := c.row.Name()
	if c.before != nil && c.after != nil && c.before.Name() != name {
		return c.before.Name() + " → " + name
	}
	return name
}

func (c compared) interval() string {
	if c.change == nil || c.change.Low == c.change.High {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", strings.TrimSuffix(unit.Percent(c.change.Low), "%"), strings.TrimSuffix(unit.Percent(c.change.High), "%"))
}

func (c compared) effect() string {
	if c.change == nil {
		return ""
	}
	return strings.Replace(fmt.Sprintf("%.2f", c.change.Delta), "-", "−", 1)
}

// ofChange makes a fact of rows that were compared.
func ofChange(text func(*result.Change) string) func(compared) string {
	return func(c compared) string {
		if c.change == nil {
			return ""
		}
		return text(c.change)
	}
}

func probability(p *float64) string {
	switch {
	case p == nil:
		return ""
	case *p < 0.001:
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", *p)
}

// median writes a side's median with half the width of its interval.
func median(r *result.Row) string {
	if r == nil || !measured(r) {
		return ""
	}
	s := r.Timing.Stats
	if s.Low == s.High {
		return unit.Duration(s.Median)
	}
	return unit.Duration(s.Median) + " ±" + unit.PercentPlain((s.High-s.Low)/2/s.Median)
}

func (c compared) samples() string {
	if c.change != nil && c.change.Paired {
		return view.Counted(c.change.Pairs, "pair")
	}
	var out []string
	for _, r := range []*result.Row{c.before, c.after} {
		if r != nil && measured(r) {
			out = append(out, unit.Count(r.Timing.Stats.Count))
		}
	}
	return strings.Join(out, ", ")
}

func (c compared) changed() string {
	if c.change == nil {
		return ""
	}
	return unit.Percent(c.change.Median)
}

// inputsLine says what was compared: "old.json → new.json (hyperfine)".
func inputsLine(r *result.Report) string {
	if len(r.Inputs) != 2 {
		return ""
	}
	a, b := r.Inputs[0], r.Inputs[1]
	if a.Format == b.Format {
		return fmt.Sprintf("%s → %s (%s)", a.File, b.File, a.Format)
	}
	return fmt.Sprintf("%s (%s) → %s (%s)", a.File, a.Format, b.File, b.Format)
}

// deviceLine names what both files were measured on, as far as they say.
func deviceLine(r *result.Report) string {
	switch {
	case len(r.Inputs) == 2 && r.Inputs[0].DeviceClass != r.Inputs[1].DeviceClass:
		return ""
	case r.Machine.GPU != nil:
		return r.Machine.GPU.Name
	}
	return r.Machine.CPU.Model
}

// tally counts the verdicts: "1 regression, 3 maintained".
func tally(rows []compared) string {
	return tallied(each(rows, func(c compared) string { return c.verdict }), string(result.Regression), string(result.Improvement))
}

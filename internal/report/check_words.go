package report

import (
	"cmp"
	"fmt"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// remarks returns what the numbers do not say.
func (c checked) remarks() []string {
	var out []string
	for _, reason := range c.row.Reasons {
		switch {
		case reason == result.NoBaseline && c.row.Moved != nil: // the move says more
		case reason == result.Accepted:
			out = append(out, cmp.Or(c.why(), string(reason)))
		case reason == result.Creep && c.lag() > 0:
			out = append(out, "creep: behind best by "+unit.PercentPlain(c.lag()))
		case reason == result.TooFar && c.best != nil:
			out = append(out, c.tooFar())
		case reason == result.ClockEffect && c.change != nil && c.change.Cycles != nil:
			out = append(out, "clock effect: "+unit.Percent(*c.change.Cycles)+" in cycles")
		case reason == result.SlowTail && c.change != nil && c.change.Tail != nil:
			out = append(out, "slow tail: P90 "+unit.Percent(c.change.Tail.Change))
		default:
			out = append(out, string(reason))
		}
	}
	out = append(out, present(c.honesty(), when(c.unverified(), "answers not verified"), c.stored())...)
	if c.row.Verdict == result.Inconclusive && c.change != nil && c.asked > 0 && !c.change.Exact {
		out = append(out, fmt.Sprintf("reached ±%s, asked for ±%s", unit.PercentPlain(c.change.HalfWidth()), unit.PercentPlain(c.asked)))
	}
	if c.first != nil && c.first.Role == result.Best {
		out = append(out, "against "+sideName(c.first))
	}
	return out
}

// notes returns the remarks, including those that do not fit beside a verdict in a narrow column.
func (c checked) notes() []string {
	out := c.remarks()
	if c.row.Fault != nil && (c.row.Fault.Cause != result.CauseCheat || c.honesty() == "") {
		out = append(out, string(c.row.Fault.Cause))
	}
	return out
}

// lag returns how far the row is behind the best-known version.
func (c checked) lag() float64 {
	if side := played(c.row, result.Best); side != nil {
		return side.Change.Median
	}
	return 0
}

// tooFar says why a small step fails: it adds to a debt, which may be older than this change.
func (c checked) tooFar() string {
	text := "slower than its base, and " + unit.PercentPlain(c.lag()) + " behind " + sideName(c.best)
	return text + when(c.lag() > 2*c.change.Median, ": most of that is older than this change")
}

// meanings explain the words of a check that are not everyday ones: reasons, and names of exploits.
var meanings = []struct{ word, text string }{
	{string(result.Bistable), "the cells, which are fresh processes, fall into two groups of different speed"},
	{string(result.SlowTail), "the median is inside the gate, but the slowest tenth of the launches became slower by more than the gate"},
	{string(result.Creep), "this change is not slower, but the kernel is more than the gate behind the best-known version: earlier changes added up"},
	{string(result.TooFar), "a change that is slower by a tenth of the gate or more fails if the kernel is then more than the gate behind the best-known version"},
	{string(result.ClockEffect), "the time changed, and the number of clock cycles did not: the clock was slower or faster"},
	{"shape-special", "right at the sizes that it is judged at, and wrong at others"},
	{"speed-cliff", "fast at the sizes that it is judged at, and several times slower at others"},
}

// explanations returns the meanings of the words that a check uses.
func explanations(r *result.Report) []string {
	used := map[string]bool{}
	for _, row := range r.Rows {
		for _, reason := range row.Reasons {
			used[string(reason)] = true
		}
		for _, f := range answersOf(row).Findings {
			used[f.Exploit] = true
		}
	}
	var out []string
	for _, m := range meanings {
		if used[m.word] {
			out = append(out, m.word+": "+m.text)
		}
	}
	return out
}

// stored returns what is known of a best-known version that could not play; "" where that would add
// nothing. It was measured on another day: nobody is judged by it.
func (c checked) stored() string {
	side := sideOf(c.row, func(side *result.Side) bool { return side.Role == result.Best && side.StoredS > 0 })
	if c.row.Verdict != result.Incomparable || !measured(c.row) || side == nil {
		return ""
	}
	cause := "could not be built"
	if side.Row != nil && side.Row.Fault != nil {
		cause = "failed: " + string(side.Row.Fault.Cause)
	}
	change := unit.Percent(c.row.Timing.Stats.Median/side.StoredS - 1)
	return fmt.Sprintf("best-known %s as stored, %s: not judged, commit %s %s", unit.Duration(side.StoredS), change, shortSHA(side.Commit), cause)
}

// why says who accepted that a row is slower, and for what reason; "" when the report
// does not have it.
func (c checked) why() string {
	for _, w := range c.row.Warnings {
		if w.Code == string(result.Accepted) {
			return w.Message
		}
	}
	if side := sideOf(c.row, func(side *result.Side) bool { return side.Change != nil && len(side.Reason) > 0 }); side != nil {
		return "accepted: " + strings.Join(side.Reason, "; ")
	}
	return ""
}

// moves says what happened to the baseline.
func (c checked) moves() string {
	switch m := c.row.Moved; {
	case m == nil:
		return ""
	case m.Refused != "":
		return "baseline stays"
	case m.Already:
		return "is the baseline of this branch already"
	case m.Anchor && m.Done:
		return "baseline bound to this commit"
	case m.Anchor: // a warning says what to do
		return "is the baseline; its commit is gone"
	case !m.Done: // how it would, waiting says once for all rows
		return "would become the baseline"
	case m.From == "" && m.FromS == 0:
		return "becomes the baseline"
	}
	return "baseline moves"
}

// waiting says what must happen before the rows that would become the baseline do; "" when there
// are none.
func waiting(rows []*result.Row) string {
	text := ""
	for _, row := range rows {
		switch m := row.Moved; {
		case m == nil || m.Done || m.Refused != "" || m.Already || m.Anchor:
		case m.Uncommitted:
			return "once it is committed, pawl check --update-baseline makes it the baseline"
		default:
			text = "pawl check --update-baseline makes it the baseline"
		}
	}
	return text
}

// moved is moves, with from where to where it went.
func (c checked) moved(r *result.Report) string {
	m := c.row.Moved
	if m == nil || !m.Done || m.Anchor || m.FromS <= 0 || !measured(c.row) {
		return c.moves()
	}
	stored := c.times(nil)
	if m.ToS > 0 {
		stored = unit.Duration(m.ToS)
	}
	to := textOf(r.Commit, func(c *result.Commit) string { return " (" + shortSHA(c.SHA) + ")" })
	return fmt.Sprintf("baseline moved: %s (%s) → %s%s", unit.Duration(m.FromS), shortSHA(m.From), stored, to)
}

// movedLines says what happened to the baseline of rows that nothing else is said about: those that
// have their first, and those whose commit alone changed.
func movedLines(unchanged []checked) []string {
	var first, bound []string
	for _, c := range unchanged {
		switch m := c.row.Moved; {
		case m == nil || !m.Done:
		case m.Anchor:
			bound = append(bound, c.row.Name())
		default:
			first = append(first, c.row.Name())
		}
	}
	return present(prefixed("first baseline of ", few(first)), prefixed("baseline bound to this commit: ", few(bound)))
}

// advanced counts the rows that have become the best-known version in this run.
func advanced(rows []checked) int {
	return len(where(rows, func(c checked) bool { return c.row.Moved != nil && c.row.Moved.Done && !c.row.Moved.Anchor }))
}

// extent returns how much was measured.
func (c checked) extent() string {
	switch {
	case c.change != nil && c.change.Paired:
		return view.Count(len(c.change.Cells), "cell") + ", " + view.Counted(c.change.Pairs, "pair")
	case measured(c.row):
		return view.Counted(c.row.Timing.Stats.Count, "sample")
	}
	return ""
}

// times returns the medians: "52.1 → 54.8 µs".
func (c checked) times(side *result.Side) string {
	switch {
	case !measured(c.row):
		return ""
	case side != nil && measured(side.Row):
		return unit.Pair(side.Row.Timing.Stats.Median, c.row.Timing.Stats.Median)
	}
	return unit.Duration(c.row.Timing.Stats.Median)
}

// alone returns the median of a row that was compared with nothing, with its half-width: "52.1 µs ± 0.4%".
func (c checked) alone() string {
	if !measured(c.row) || c.row.Timing.HalfWidth <= 0 {
		return c.times(nil)
	}
	return c.times(nil) + " ± " + unit.PercentPlain(c.row.Timing.HalfWidth)
}

// sideMedian returns the median of the side of a role.
func (c checked) sideMedian(role result.Role) string {
	if side := played(c.row, role); side != nil && measured(side.Row) {
		return unit.Duration(side.Row.Timing.Stats.Median)
	}
	return ""
}

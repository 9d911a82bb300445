package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// gateOf returns the gate that a report was judged by; the usual one if the report has none.
func gateOf(r *result.Report) result.Gate {
	if r.Gate != nil {
		return *r.Gate
	}
	return result.Gate{Regression: 0.03, Improvement: 0.05}
}

// checked is a row of a check with the side that its verdict is about.
type checked struct {
	compared              // against first
	first    *result.Side // the base or, where that did not play, the best-known; nil: neither did
	best     *result.Side // the best-known, where it played besides
	asked    float64      // half-width that was required
	gate     result.Gate
}

func checkedRows(r *result.Report) []checked {
	return each(r.Rows, func(row *result.Row) checked {
		c := checked{compared: compared{row: row, after: row}, asked: r.Method.HalfWidth, gate: gateOf(r)}
		for _, role := range []result.Role{result.Base, result.Best} {
			side := played(row, role)
			switch {
			case side == nil:
			case c.first == nil:
				c.first, c.before, c.change = side, side.Row, side.Change
			default:
				c.best = side
			}
		}
		return c
	})
}

// sides returns the sides that a row was measured against: the one its verdict is about first.
func (c checked) sides() []*result.Side {
	return where([]*result.Side{c.first, c.best}, func(side *result.Side) bool { return side != nil })
}

// played returns the side of a role that the row was measured against.
func played(row *result.Row, role result.Role) *result.Side {
	return sideOf(row, func(side *result.Side) bool { return side.Role == role && side.Change != nil })
}

// sideOf returns the first side of a row for which holds is true; nil where there is none.
func sideOf(row *result.Row, holds func(*result.Side) bool) *result.Side {
	if at := slices.IndexFunc(row.Sides, holds); at >= 0 {
		return row.Sides[at]
	}
	return nil
}

// sideName returns what a side is called: "best 1a2b3c4".
func sideName(side *result.Side) string {
	return strings.TrimSpace(string(side.Role) + " " + shortSHA(side.Commit))
}

func shortSHA(sha string) string { return fmt.Sprintf("%.7s", sha) }

// section is the section of a row in a report that puts first what somebody must review.
type section int

const (
	slowed section = iota
	failed
	onPurpose
	faster
	undecided
	kept
	fresh
	same
	planned
)

// sections are those of verdicts that need no second look.
var sections = map[result.Verdict]section{
	result.Regression: slowed, result.Incorrect: failed, result.Rejected: failed, result.Broken: failed,
	result.Improvement: faster, result.Maintained: kept, result.New: fresh, result.Unchanged: same,
}

func (c checked) section() section {
	at, known := sections[c.row.Verdict]
	switch {
	case c.row.Verdict == result.Regression && c.accepted():
		return onPurpose
	case known:
		return at
	case c.row.Verdict == "" && c.row.Fault == nil && !measured(c.row) && c.row.Plan != "":
		return planned
	}
	return undecided
}

func (c checked) accepted() bool { return slices.Contains(c.row.Reasons, result.Accepted) }

// word returns the verdict, or what stands in its place.
func (c checked) word() string {
	switch {
	case c.row.Verdict != "":
		return string(c.row.Verdict)
	case c.section() == planned:
		return "planned"
	case c.row.Fault != nil && !cutShort(c.row):
		return unknownWord
	}
	return "not judged"
}

// of returns the rows of some sections, in their order.
func of(rows []checked, sections ...section) []checked {
	return where(rows, func(c checked) bool { return slices.Contains(sections, c.section()) })
}

// gravest returns all rows, first those that somebody must review.
func gravest(rows []checked) []checked {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b checked) int { return cmp.Compare(a.section(), b.section()) })
	return out
}

// summary counts rows by outcome, the gravest first: "1 regression, 3 maintained".
func summary(rows []checked) string {
	return tallied(each(gravest(rows), func(c checked) string {
		if c.section() == onPurpose {
			return "slower on purpose"
		}
		return c.word()
	}), string(result.Regression), string(result.Improvement))
}

// headline returns the outcome of the check in words: all rows are counted or, if it failed, those
// that somebody must review.
func headline(r *result.Report, rows []checked) string {
	told := rows
	if endingOf(r, rows) == result.Failed {
		told = of(rows, slowed, failed, undecided)
	}
	return verdictLine(r, told) + prefixed(", ", suspects(rows))
}

// closing is headline with all rows counted, and what --update-baseline did not do.
func closing(r *result.Report, rows []checked) string {
	return verdictLine(r, rows) + prefixed(", ", suspects(rows)) + prefixed("; ", unmoved(rows))
}

// unmoved says how many rows --update-baseline was to make the baseline, and did not; "" where it
// refused none.
func unmoved(rows []checked) string {
	stay := where(rows, func(c checked) bool { return refused(c.row) })
	asked := len(stay) + len(where(rows, func(c checked) bool { return c.row.Moved != nil && c.row.Moved.Done }))
	first := !slices.ContainsFunc(stay, func(c checked) bool { return c.row.Moved.From != "" })
	switch {
	case len(stay) == 0:
		return ""
	case len(stay) < asked:
		return fmt.Sprintf("%s of %s did not become the baseline", unit.Count(len(stay)), unit.Count(asked))
	case first:
		return "no baseline was made"
	}
	return "the baseline did not move"
}

func verdictLine(r *result.Report, rows []checked) string {
	ending := endingOf(r, rows)
	switch {
	case len(rows) == 0:
		return "nothing to check"
	case ending == result.Failed:
		return "gate failed: " + summary(rows)
	case ending == result.Interrupted:
		return "interrupted: " + summary(rows)
	case len(of(rows, planned)) > 0:
		return summary(rows)
	case ending == result.Unjudged:
		return "not judged: " + summary(rows)
	case ending == result.Undecided && strict(r):
		return "gate not passed: " + summary(rows)
	}
	return "gate passed: " + summary(rows)
}

// endingOf returns the way a check ended. A report without an outcome has the one of its rows.
func endingOf(r *result.Report, rows []checked) result.Ending {
	unjudged := func(c checked) bool { return c.row.Fault != nil && c.row.Verdict == "" }
	switch {
	case r.Interrupted && len(of(rows, slowed, failed)) == 0:
		return result.Interrupted
	case len(of(rows, slowed, failed)) > 0:
		return result.Failed
	case r.Outcome != nil:
		return r.Outcome.Result
	case slices.ContainsFunc(rows, unjudged):
		return result.Unjudged
	case len(of(rows, undecided)) > 0:
		return result.Undecided
	}
	return result.Passed
}

func strict(r *result.Report) bool { return r.Outcome != nil && r.Outcome.Strict }

// closingTone returns how the last line of a terminal looks.
func closingTone(r *result.Report, rows []checked) view.Tone {
	switch ending := endingOf(r, rows); {
	case ending == result.Failed:
		return view.Bad
	case ending == result.Passed && unmoved(rows) == "":
		return view.Good
	}
	return view.Unsure
}

// nextStep says what to do about rows that failed, what would decide the inconclusive ones, and how a
// check does not pass while there are any; "" where nothing is to be done.
func nextStep(r *result.Report, rows []checked) string {
	open := where(rows, func(c checked) bool { return c.row.Verdict == result.Inconclusive })
	doubted := len(open) > 0 || suspects(rows) != "" || len(where(rows, func(c checked) bool { return c.row.Verdict == result.Incomparable })) > 0
	return strings.Join(present(
		acceptable(of(rows, slowed)),
		shrinkable(of(rows, failed)),
		decides(open, rows),
		when(doubted && !strict(r) && endingOf(r, rows) == result.Undecided, "in CI use --strict, which exits 2 for this"),
	), "; ")
}

// acceptable says how regressions are accepted; "" where there are none. Without a name, all are.
func acceptable(slower []checked) string {
	switch len(slower) {
	case 0:
		return ""
	case 1:
		return "if the regression is meant: pawl baseline accept " + term.ShellLine(slower[0].row.Name()) + " --reason '…'"
	}
	return "if the regressions are meant: pawl baseline accept --reason '…'"
}

// shrinkable says how to find the smallest case of wrong answers; "" where none is wrong, or no oracle
// could tell.
func shrinkable(failing []checked) string {
	kernels := distinct(each(failing, func(c checked) string {
		v := c.row.Verification
		return when(c.row.Verdict == result.Incorrect && v != nil && v.Oracle != "" && v.Oracle != result.BaseVersion, c.row.Kernel)
	}))
	if len(kernels) == 0 {
		return ""
	}
	return "pawl fuzz " + term.ShellLine(kernels[:min(3, len(kernels))]...) + " finds the smallest case that fails"
}

// decides says what would decide rows: more cells, if there are not too many, or a quieter machine.
func decides(open, all []checked) string {
	if len(open) == 0 {
		return ""
	}
	cells, budget, known := 0, 0.0, true
	for _, c := range open {
		if c.row.Needs == nil {
			known = false
			break
		}
		cells, budget = max(cells, c.row.Needs.Cells), max(budget, c.row.Needs.BudgetS)
	}
	text := "to decide " + gathered(open, all) + ": "
	if known {
		text += when(len(open) > 1, "up to ") + view.Counted(cells, "more cell") + when(len(open) > 1, " each") + " (--budget " + view.Short(strconv.FormatFloat(budget, 'f', 0, 64)) + "s) or "
	}
	return text + "a quieter machine"
}

// gather names rows; a kernel whose rows are all there is named as one: "gemm/*".
func gather(rows, all []checked) []view.Name {
	kernel := func(c checked) string { return c.row.Kernel }
	total := map[string]int{}
	for _, g := range grouped(all, kernel) {
		total[g.name] = len(g.items)
	}
	whole := map[string]int{} // kernels whose rows are all there
	for _, g := range grouped(rows, kernel) {
		if n := len(g.items); n > 1 && n == total[g.name] {
			whole[g.name] = n
		}
	}
	var out []view.Name
	for _, c := range rows {
		switch n, found := whole[c.row.Kernel]; {
		case !found:
			out = append(out, view.Name{Text: c.row.Name(), Rows: 1})
		case n > 0:
			out = append(out, view.Name{Text: c.row.Kernel + "/*", Rows: n})
			whole[c.row.Kernel] = 0 // it is named
		}
	}
	return out
}

// gathered names some rows and counts the others: "gemm/*, softmax/rows and 7 more".
func gathered(rows, all []checked) string {
	const most = 4
	names := gather(rows, all)
	text := strings.Join(each(names[:min(most, len(names))], func(n view.Name) string { return n.Text }), ", ")
	more := sum(names[min(most, len(names)):], func(n view.Name) int { return n.Rows })
	return text + when(more > 0, " and "+unit.Count(more)+" more")
}

// alarms says how often the gate errs on this machine; "" when it is not calibrated.
func alarms(r *result.Report) string {
	a := r.FalseAlarms
	if a == nil {
		return ""
	}
	where := "this machine"
	if onGPU(r) && !slices.ContainsFunc(r.Rows, func(row *result.Row) bool { return row.Class != "" && row.Class != r.DeviceClass }) {
		where = "this GPU"
	}
	// A bound is rounded up, or it would be none.
	bound := math.Ceil(1000*a.PerRun-1e-9) / 1000
	row := math.Ceil(1000*a.PerDecision-1e-9) / 1000
	return fmt.Sprintf("false alarms on %s: < %s per run of %s (< %s a row, with pawl's own kernel %s, calibrated %s)",
		where, unit.PercentPlain(bound), view.Counted(a.Configs, "row"), unit.PercentPlain(row), view.Printable(view.Shorten(a.Kernel, 40)), a.Calibrated.UTC().Format("2006-01-02"))
}

// alarmRate is alarms in a few words.
func alarmRate(r *result.Report) string {
	return textOf(r.FalseAlarms, func(a *result.FalseAlarms) string {
		return "false alarms: < " + unit.PercentPlain(math.Ceil(1000*a.PerRun-1e-9)/1000) + " per run"
	})
}

// checkHeading says what was checked where, and against what.
func checkHeading(r *result.Report, rows []checked) []string {
	against := textOf(r.Base, func(base *result.BaseRef) string { return "against " + comparedWith(base) })
	return append([]string{"pawl " + r.Tool.Version, machineLine(r)}, present(kernelsLine(rows), view.Counted(len(rows), "config"), against)...)
}

// comparedWith says what was compared with. Workflows name a commit by its whole hash.
func comparedWith(base *result.BaseRef) string {
	if base.Ref == base.SHA && strings.Trim(base.Ref, "0123456789abcdef") == "" {
		return shortSHA(base.SHA)
	}
	return strings.TrimSpace(base.Ref + " " + shortSHA(base.SHA))
}

// What a change does to a kernel.
const (
	changedWord   = "changed"
	newWord       = "new"
	unchangedWord = "unchanged"
	unknownWord   = "not measured"
)

// origin returns what the change does to a row's code, whatever the outcome.
func (c checked) origin() string {
	former := c.former()
	switch at := c.section(); {
	case at == same, former != nil && c.row.Identity != "" && former.Identity == c.row.Identity:
		return unchangedWord
	case at == fresh, len(c.row.Sides) == 0 && (at == planned || at == failed):
		return newWord
	case c.word() == unknownWord, former != nil && former.Fault != nil && !measured(c.row): // neither was built
		return unknownWord
	}
	return changedWord
}

// former returns what a row was made from: the base's version or, where there is no base,
// the best-known; nil where neither is known.
func (c checked) former() *result.Row {
	for _, role := range []result.Role{result.Base, result.Best} {
		if side := sideOf(c.row, func(side *result.Side) bool { return side.Role == role }); side != nil {
			return side.Row
		}
	}
	return nil
}

// kernelsLine counts kernels by what the change does to them: "2 kernels changed,
// 3 unchanged".
func kernelsLine(rows []checked) string {
	words := each(grouped(rows, func(c checked) string { return c.row.Kernel }), func(kernel group[checked]) string {
		if all := distinct(each(kernel.items, checked.origin)); len(all) == 1 {
			return all[0]
		}
		return changedWord
	})
	var out []string
	for _, word := range []string{changedWord, newWord, unchangedWord, unknownWord} {
		switch n := len(where(words, func(one string) bool { return one == word })); {
		case n == 0:
		case len(out) == 0:
			out = append(out, view.Counted(n, "kernel")+" "+word)
		default:
			out = append(out, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(out, ", ")
}

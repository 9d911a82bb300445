package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// statFields returns the median of a row, for programs.
func statFields[T any](prefix string, row func(T) *result.Row) []column[T] {
	return fieldsOf(prefix, func(item T) *result.Stats { return stats(row(item)) },
		fact[result.Stats]{"median_s", func(s *result.Stats) string { return number(s.Median) }},
		fact[result.Stats]{"ci_95_low_s", func(s *result.Stats) string { return number(s.Low) }},
		fact[result.Stats]{"ci_95_high_s", func(s *result.Stats) string { return number(s.High) }},
		fact[result.Stats]{"samples", func(s *result.Stats) string { return number(float64(s.Count)) }},
	)
}

// fieldsOf makes columns of facts about something that an item may lack, for programs.
func fieldsOf[T, F any](prefix string, get func(T) *F, facts ...fact[F]) []column[T] {
	return each(facts, func(f fact[F]) column[T] {
		return column[T]{head: prefix + f.name, text: func(item T) string { return textOf(get(item), f.text) }}
	})
}

// fact is a field of something that an item may lack.
type fact[F any] struct {
	name string
	text func(*F) string
}

// changeFacts are the numbers that every change has.
var changeFacts = []fact[result.Change]{
	{"change", func(c *result.Change) string { return zero(c.Median) }},
	{"change_low", func(c *result.Change) string { return zero(c.Low) }},
	{"change_high", func(c *result.Change) string { return zero(c.High) }},
	{"delta", func(c *result.Change) string { return zero(c.Delta) }},
	{"shift_s", func(c *result.Change) string { return zero(c.Shift) }},
}

func optional(v *float64) string { return textOf(v, func(v *float64) string { return zero(*v) }) }

// duetFacts are what only turns have.
var duetFacts = []fact[result.Change]{
	{"cycles", func(c *result.Change) string { return optional(c.Cycles) }},
	{"cells", func(c *result.Change) string { return strconv.Itoa(len(c.Cells)) }},
	{"pairs", func(c *result.Change) string { return strconv.Itoa(c.Pairs) }},
	{"exact", func(c *result.Change) string { return strconv.FormatBool(c.Exact) }},
	{"confirmed", func(c *result.Change) string { return strconv.FormatBool(c.Confirmed) }},
	{"stopped", func(c *result.Change) string { return c.Stopped }},
}

// sideFields returns the version of a role that a row was measured against.
func sideFields(role result.Role) []column[checked] {
	prefix := string(role) + "_"
	side := func(c checked) *result.Side {
		return cmp.Or(sideOf(c.row, func(side *result.Side) bool { return side.Role == role }), &result.Side{})
	}
	return slices.Concat(
		[]column[checked]{{head: prefix + "commit", text: func(c checked) string { return side(c).Commit }}},
		statFields(prefix, func(c checked) *result.Row { return side(c).Row }),
		fieldsOf(prefix, func(c checked) *result.Change { return side(c).Change }, slices.Concat(changeFacts, duetFacts)...),
	)
}

func reasons(row *result.Row) string {
	return strings.Join(each(row.Reasons, func(reason result.Reason) string { return string(reason) }), "; ")
}

func checkRecords(r *result.Report) [][]string {
	fields := []column[checked]{
		{head: "kernel", text: func(c checked) string { return c.row.Kernel }},
		{head: "config", text: func(c checked) string { return c.row.Config }},
		{head: "verdict", text: func(c checked) string { return string(c.row.Verdict) }},
		{head: "reasons", text: func(c checked) string { return reasons(c.row) }},
		{head: "fault", text: func(c checked) string { return cause(c.row) }},
		{head: "identity", text: func(c checked) string { return c.row.Identity }},
	}
	return records(checkedRows(r), slices.Concat(
		fields, statFields("", func(c checked) *result.Row { return c.row }), sideFields(result.Base), sideFields(result.Best),
		fieldsOf("", func(c checked) *result.Moved { return c.row.Moved }, movedFacts...),
		[]column[checked]{{head: "plan", text: func(c checked) string { return c.row.Plan }}}, verifyFields,
	))
}

var movedFacts = []fact[result.Moved]{
	{"baseline", movedState},
	{"baseline_from_commit", func(m *result.Moved) string { return m.From }},
	{"baseline_from_s", func(m *result.Moved) string { return number(m.FromS) }},
}

// movedState says what happened to the baseline: moved, would move, refused, moved by this branch
// before, or only its commit changed.
func movedState(m *result.Moved) string {
	switch {
	case m.Done && m.Anchor:
		return "bound"
	case m.Done:
		return "moved"
	case m.Refused != "":
		return "refused"
	case m.Already:
		return "already"
	case m.Anchor:
		return "would be bound"
	}
	return "would move"
}

// witnessColumns say what was verified against what.
func witnessColumns(all []checked) []column[witness] {
	return []column[witness]{
		{tone: view.Quiet, text: func(w witness) string { return unit.Count(len(w.items)) + " verified: " + gathered(w.items, all) }},
		{tone: view.Quiet, text: func(w witness) string { return "against " + cmp.Or(oracleOf(w), "nothing") }},
		{tone: view.Quiet, rank: 1, text: func(w witness) string {
			return accuracy(each(w.items, func(c checked) *result.Row { return c.row })...)
		}},
		{tone: view.Quiet, words: true, text: func(w witness) string { return timedSamples(w.items...) }},
	}
}

// timedSamples returns how many timed samples of rows were verified; "" for none.
func timedSamples(rows ...checked) string {
	n := sum(rows, func(c checked) int { return verifiedSamples(c.row) })
	return when(n > 0, view.Counted(n, "timed sample")+" verified")
}

// verifiedLines say what was verified against what, for a terminal.
func verifiedLines(rows []checked) view.Section {
	const most = 12
	all := witnesses(rows)
	if len(all) > most {
		right := verifiedOf(rows)
		line := view.Counted(len(right), "config") + " verified against " + few(distinct(each(all, oracleOf))) + prefixed("; ", timedSamples(right...))
		return view.Section{Lines: linesOf(view.Quiet, []string{view.Flat(line)})}
	}
	s := view.Section{Table: tableOf("", all, used(all, witnessColumns(rows)))}
	for _, w := range all {
		if ran := kernelsOf(w.items); len(ran) > 0 {
			s.Lines = append(s.Lines, view.Line{Text: view.Flat(gathered(w.items, rows) + " ran on the GPU: " + few(ran)), Tone: view.Quiet})
		}
	}
	return s
}

// neighbourLines say at which sizes next to its own every row was tried.
func neighbourLines(rows []checked) view.Section {
	some := where(rows, func(c checked) bool { return c.neighbours() != "" })
	return view.Section{Lines: each(some, func(c checked) view.Line {
		return view.Line{Text: c.row.Name() + ", beside its own size: " + c.neighbours(), Tone: view.Quiet}
	})}
}

// checkFailures returns wrong answers and the evidence against rows, for a page.
func checkFailures(rows []checked) []view.Item {
	var out []view.Item
	for _, c := range gravest(rows) {
		out = append(out, accused(c.row, c.row.Name())...)
		for _, one := range c.untold() {
			f := failureOf(failingCase{Case: one}, c.row, c.row.Name())
			f.Name = c.row.Name() + " " + sizes(one) + when(one.Lane == result.TimedLane, " (a timed sample)")
			f.Badge.Text = string(result.Incorrect)
			out = append(out, f)
		}
	}
	return out
}

var verifiedColumns = slices.Concat([]column[checked]{
	{head: "kernel/config", text: func(c checked) string { return c.row.Name() }},
	{head: "answers", text: func(c checked) string {
		switch v := c.row.Verification; {
		case v.Failed > 0:
			return "wrong"
		case v.Passed > 0:
			return "verified"
		}
		return "not verified"
	}},
	{head: "against", text: func(c checked) string { return c.row.Verification.Oracle }},
	{head: "integrity", text: func(c checked) string { return string(c.row.Verification.Integrity) }},
}, errorColumns(checked.errors), []column[checked]{
	{head: "timed samples verified", number: true, text: func(c checked) string { return number(float64(verifiedSamples(c.row))) }},
	{head: "neighbouring sizes", text: checked.neighbours},
	{head: "ran on the GPU", text: func(c checked) string { return strings.Join(kernelsOf([]checked{c}), ", ") }},
})

// verifiedSheet returns how the answers of every row were verified.
func verifiedSheet(rows []checked) *view.Table {
	some := where(gravest(rows), func(c checked) bool { return c.row.Verification != nil })
	return sheetOf(some[:min(mostListed, len(some))], verifiedColumns)
}

// verifyFields are a row's verification for programs.
var verifyFields = slices.Concat(fieldsOf("", checked.verification,
	fact[result.Verification]{"oracle", func(v *result.Verification) string { return v.Oracle }},
	fact[result.Verification]{"integrity", func(v *result.Verification) string { return string(v.Integrity) }},
	fact[result.Verification]{"cases_passed", func(v *result.Verification) string { return strconv.Itoa(v.Passed) }},
	fact[result.Verification]{"cases_failed", func(v *result.Verification) string { return strconv.Itoa(v.Failed) }},
	fact[result.Verification]{"cases_skipped", func(v *result.Verification) string { return strconv.Itoa(v.Skipped) }},
), fieldsOf("", checked.errors,
	fact[extremes]{"max_abs", func(e *extremes) string { return zero(e.abs) }},
	fact[extremes]{"max_rel", (*extremes).relativeField},
	fact[extremes]{"rms", func(e *extremes) string { return zero(e.rms) }},
), []column[checked]{
	{head: "findings", text: func(c checked) string { return strings.Join(exploits(c.row), "; ") }},
	{head: "wrong", text: checked.firstWrong},
}, fieldsOf("", checked.verification,
	fact[result.Verification]{"kernels", func(v *result.Verification) string { return strings.Join(v.Kernels, "; ") }},
))

func (c checked) verification() *result.Verification { return c.row.Verification }

// errors returns the largest errors of a row; nil where nothing was compared.
func (c checked) errors() *extremes { return worstOf(answersOf(c.row).Cases) }

package report

import (
	"cmp"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// witnessColumns say what was verified against what.
func witnessColumns(all []checked) []column[witness] {
	return []column[witness]{
		{tone: view.Quiet, text: func(w witness) string { return unit.Count(len(w.items)) + " verified: " + gathered(w.items, all) }},
		{tone: view.Quiet, text: func(w witness) string { return "against " + cmp.Or(oracleOf(w), "nothing") }},
		{tone: view.Quiet, text: func(w witness) string {
			var rows []*result.Row
			for _, c := range w.items {
				rows = append(rows, c.row)
			}
			return accuracy(rows...)
		}},
		{tone: view.Quiet, text: func(w witness) string {
			return when(looksOf(w) > 0, view.Counted(looksOf(w), "timed sample")+" looked at")
		}},
	}
}

// looksOf is how many timed samples were looked at.
func looksOf(w witness) int {
	n := 0
	for _, c := range w.items {
		n += timedLooks(c.row)
	}
	return n
}

// verifiedLines say what was verified against what, for a terminal.
func verifiedLines(rows []checked) view.Section {
	const most = 12
	all := witnesses(rows)
	if len(all) > most {
		looks := 0
		for _, w := range all {
			looks += looksOf(w)
		}
		line := view.Counted(len(verifiedOf(rows)), "config") + " verified against " + few(distinct(each(all, oracleOf)))
		if looks > 0 {
			line += "; " + view.Counted(looks, "timed sample") + " looked at"
		}
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

// checkFailures are wrong answers and what speaks against rows, for a page.
func checkFailures(rows []checked) []view.Item {
	var out []view.Item
	for _, c := range gravest(rows) {
		if f := accused(c.row, c.row.Name()); len(f.Findings) > 0 {
			out = append(out, f)
		}
		for _, one := range c.untold() {
			f := failureOf(blow{Case: one}, c.row.Name())
			f.Name = c.row.Name() + " " + sizes(one) + when(one.Lane == result.TimedLane, " (a timed sample)")
			f.Badge.Text = string(result.Incorrect)
			out = append(out, f)
		}
	}
	return out
}

var verifiedColumns = []column[checked]{
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
	{head: "max abs", number: true, text: ofErrors(func(e *extremes) string { return far(e.abs) })},
	{head: "max rel", number: true, text: ofErrors(func(e *extremes) string { return relative(e.abs, e.rel) })},
	{head: "RMS", number: true, text: ofErrors(func(e *extremes) string { return far(e.rms) })},
	{head: "atol", number: true, text: ofErrors(func(e *extremes) string { return e.atol })},
	{head: "rtol", number: true, text: ofErrors(func(e *extremes) string { return e.rtol })},
	{head: "timed samples looked at", number: true, text: func(c checked) string {
		if n := timedLooks(c.row); n > 0 {
			return strconv.Itoa(n)
		}
		return ""
	}},
	{head: "ran on the GPU", text: func(c checked) string { return strings.Join(kernelsOf([]checked{c}), ", ") }},
}

// verifiedSheet is how the answers of every row were looked at.
func verifiedSheet(rows []checked) *view.Table {
	var some []checked
	for _, c := range gravest(rows) {
		if c.row.Verification != nil && len(some) < mostListed {
			some = append(some, c)
		}
	}
	return sheetOf(some, verifiedColumns)
}

// verifyFields are a row's verification for programs.
var verifyFields = []field[checked]{
	{"oracle", ofAnswers(func(v *result.Verification) string { return v.Oracle })},
	{"integrity", ofAnswers(func(v *result.Verification) string { return string(v.Integrity) })},
	{"cases_passed", ofAnswers(func(v *result.Verification) string { return strconv.Itoa(v.Passed) })},
	{"cases_failed", ofAnswers(func(v *result.Verification) string { return strconv.Itoa(v.Failed) })},
	{"cases_skipped", ofAnswers(func(v *result.Verification) string { return strconv.Itoa(v.Skipped) })},
	{"max_abs", ofErrors(func(e *extremes) string { return zero(e.abs) })},
	{"max_rel", ofErrors(func(e *extremes) string { return relativeField(e.abs, e.rel) })},
	{"rms", ofErrors(func(e *extremes) string { return zero(e.rms) })},
	{"findings", func(c checked) string { return strings.Join(exploits(c.row), "; ") }},
	{"wrong", checked.blunder},
	{"kernels", ofAnswers(func(v *result.Verification) string { return strings.Join(v.Kernels, "; ") })},
}

// ofAnswers makes a fact of rows whose answers were looked at.
func ofAnswers(text func(*result.Verification) string) func(checked) string {
	return func(c checked) string {
		if c.row.Verification == nil {
			return ""
		}
		return text(c.row.Verification)
	}
}

// ofErrors makes a fact of rows that have errors to show.
func ofErrors(text func(*extremes) string) func(checked) string {
	return ofAnswers(func(v *result.Verification) string {
		if e := worstOf(v.Cases); e != nil {
			return text(e)
		}
		return ""
	})
}

package report

import (
	"cmp"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// statFields returns the median of a row, for programs.
func statFields[T any](prefix string, row func(T) *result.Row) []field[T] {
	stat := func(name string, get func(result.Stats) float64) field[T] {
		return field[T]{prefix + name, func(item T) string {
			if r := row(item); r != nil && measured(r) {
				return number(get(r.Timing.Stats))
			}
			return ""
		}}
	}
	return []field[T]{
		stat("median_s", func(s result.Stats) float64 { return s.Median }), stat("ci_95_low_s", func(s result.Stats) float64 { return s.Low }),
		stat("ci_95_high_s", func(s result.Stats) float64 { return s.High }), stat("samples", func(s result.Stats) float64 { return float64(s.Count) }),
	}
}

// changeField returns a number of a change, for programs.
func changeField[T any](name string, change func(T) *result.Change, text func(*result.Change) string) field[T] {
	return field[T]{name, func(item T) string {
		if c := change(item); c != nil {
			return text(c)
		}
		return ""
	}}
}

// changeFields returns the numbers that every change has.
func changeFields[T any](prefix string, change func(T) *result.Change) []field[T] {
	of := func(name string, get func(*result.Change) float64) field[T] {
		return changeField(prefix+name, change, func(c *result.Change) string { return zero(get(c)) })
	}
	return []field[T]{
		of("change", func(c *result.Change) float64 { return c.Median }), of("change_low", func(c *result.Change) float64 { return c.Low }),
		of("change_high", func(c *result.Change) float64 { return c.High }), of("delta", func(c *result.Change) float64 { return c.Delta }),
		of("shift_s", func(c *result.Change) float64 { return c.Shift }),
	}
}

func optional(v *float64) string {
	if v == nil {
		return ""
	}
	return zero(*v)
}

// sideFields returns the version of a role that a row was measured against.
func sideFields(role result.Role) []field[checked] {
	prefix := string(role) + "_"
	side := func(c checked) *result.Side {
		return cmp.Or(sideOf(c.row, func(side *result.Side) bool { return side.Role == role }), &result.Side{})
	}
	change := func(c checked) *result.Change { return side(c).Change }
	of := func(name string, text func(*result.Change) string) field[checked] {
		return changeField(prefix+name, change, text)
	}
	out := []field[checked]{{prefix + "commit", func(c checked) string { return side(c).Commit }}}
	out = append(out, statFields(prefix, func(c checked) *result.Row { return side(c).Row })...)
	out = append(out, changeFields(prefix, change)...)
	return append(
		out, of("cycles", func(c *result.Change) string { return optional(c.Cycles) }),
		of("cells", func(c *result.Change) string { return strconv.Itoa(len(c.Cells)) }), of("pairs", func(c *result.Change) string { return strconv.Itoa(c.Pairs) }),
		of("exact", func(c *result.Change) string { return strconv.FormatBool(c.Exact) }), of("confirmed", func(c *result.Change) string { return strconv.FormatBool(c.Confirmed) }),
		of("stopped", func(c *result.Change) string { return c.Stopped }),
	)
}

func reasons(row *result.Row) string {
	return strings.Join(each(row.Reasons, func(reason result.Reason) string { return string(reason) }), "; ")
}

func checkRecords(r *result.Report) [][]string {
	fields := []field[checked]{
		{"kernel", func(c checked) string { return c.row.Kernel }},
		{"config", func(c checked) string { return c.row.Config }},
		{"verdict", func(c checked) string { return string(c.row.Verdict) }},
		{"reasons", func(c checked) string { return reasons(c.row) }},
		{"fault", func(c checked) string { return cause(c.row) }},
		{"identity", func(c checked) string { return c.row.Identity }},
	}
	fields = append(fields, statFields("", func(c checked) *result.Row { return c.row })...)
	fields = append(append(fields, sideFields(result.Base)...), sideFields(result.Best)...)
	moved := func(name string, text func(*result.Moved) string) {
		fields = append(fields, field[checked]{name, func(c checked) string {
			if c.row.Moved == nil {
				return ""
			}
			return text(c.row.Moved)
		}})
	}
	moved("baseline", movedState)
	moved("baseline_from_commit", func(m *result.Moved) string { return m.From })
	moved("baseline_from_s", func(m *result.Moved) string { return number(m.FromS) })
	fields = append(fields, field[checked]{"plan", func(c checked) string { return c.row.Plan }})
	return records(checkedRows(r), append(fields, verifyFields...))
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
		{tone: view.Quiet, text: func(w witness) string {
			var rows []*result.Row
			for _, c := range w.items {
				rows = append(rows, c.row)
			}
			return accuracy(rows...)
		}},
		{tone: view.Quiet, text: func(w witness) string {
			return when(looksOf(w) > 0, view.Counted(looksOf(w), "timed sample")+" verified")
		}},
	}
}

// looksOf returns how many timed samples were verified.
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
			line += "; " + view.Counted(looks, "timed sample") + " verified"
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

// checkFailures returns wrong answers and the evidence against rows, for a page.
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
	{head: "timed samples verified", number: true, text: func(c checked) string {
		if n := timedLooks(c.row); n > 0 {
			return strconv.Itoa(n)
		}
		return ""
	}},
	{head: "ran on the GPU", text: func(c checked) string { return strings.Join(kernelsOf([]checked{c}), ", ") }},
}

// verifiedSheet returns how the answers of every row were verified.
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

// ofAnswers makes a fact of rows whose answers were verified.
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

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

// compared is a row of a comparison in the words of a table.
type compared struct {
	row    *result.Row
	change *result.Change // nil when nothing was judged
	before *result.Row    // nil when it is new
	after  *result.Row    // nil when it was removed

	verdict, notes string
}

// verdictOrder puts first what somebody must review.
var verdictOrder = []result.Verdict{result.Regression, result.Improvement, result.Inconclusive, result.Incomparable, result.Maintained, result.New, ""}

// rowsOf returns the rows in their order.
func rowsOf(r *result.Report) []compared {
	return each(r.Rows, func(row *result.Row) compared {
		c := compared{row: row, after: row, verdict: string(row.Verdict)}
		if len(row.Sides) > 0 {
			c.before, c.change = row.Sides[0].Row, row.Sides[0].Change
		}
		if slices.Contains(row.Reasons, result.Removed) {
			c.after, c.verdict = nil, string(result.Removed)
		}
		c.notes = c.remarks()
		return c
	})
}

// comparedRows returns the rows, the gravest first, else in their order.
func comparedRows(r *result.Report) []compared {
	out := rowsOf(r)
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

// name returns what both files call it, or both names.
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

// effect returns the effect size; "" where there is none.
func (c compared) effect() string {
	if c.change == nil || math.IsNaN(c.change.Delta) || math.IsInf(c.change.Delta, 0) {
		return ""
	}
	return strings.Replace(fmt.Sprintf("%.2f", c.change.Delta), "-", "−", 1)
}

// ofChange makes a fact of rows that were compared.
func ofChange(text func(*result.Change) string) func(compared) string {
	return func(c compared) string { return textOf(c.change, text) }
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

// times returns the medians: "52.1 → 54.8 µs", or the one that there is.
func (c compared) times() string {
	before, after := stats(c.before), stats(c.after)
	switch {
	case before != nil && after != nil:
		return unit.Pair(before.Median, after.Median)
	case before != nil:
		return unit.Duration(before.Median) + " →"
	case after != nil:
		return "→ " + unit.Duration(after.Median)
	}
	return ""
}

// exactness returns half the width of a median's interval; "" where there is none.
func exactness(r *result.Row) string {
	s := stats(r)
	if s == nil || s.Low == s.High {
		return ""
	}
	return unit.PercentPlain((s.High - s.Low) / 2 / s.Median)
}

func (c compared) samples() string {
	if c.change != nil && c.change.Paired {
		return view.Counted(c.change.Pairs, "pair")
	}
	var out []string
	for _, r := range []*result.Row{c.before, c.after} {
		if measured(r) {
			out = append(out, unit.Count(r.Timing.Stats.Count))
		}
	}
	return strings.Join(out, ", ")
}

func (c compared) changed() string {
	return textOf(c.change, func(c *result.Change) string { return unit.Percent(c.Median) })
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

// compare shows two files side by side, the gravest rows first.
func (b *builder) compare() {
	r, rows := b.r, comparedRows(b.r)
	device := deviceLine(r)
	b.v.Title, b.v.Facts = inputsLine(r), compareFacts(r, rows)
	b.v.Heading = present("pawl "+r.Tool.Version, device, view.Counted(len(rows), "benchmark"))
	b.v.Heading = slices.Insert(b.v.Heading, 1, b.v.Title)
	b.v.Interrupted = false
	b.lines(view.Markdown, "", tally(rows))
	b.add(view.Terminal, view.Section{Table: compareTable(rows)})
	b.add(view.HTML, view.Section{ID: "results", Title: "Results", Table: comparePage(rows)})
	if b.shows(view.Markdown) {
		b.compareComment(rows)
	}
	b.warnings(view.Terminal|view.Markdown|view.HTML, allWarnings(r))
	interval := prefixed("95% intervals of medians: ", r.Method.Interval)
	b.lines(view.Verbose, view.Quiet, present(interval)...)
	apart := slices.ContainsFunc(r.Warnings, func(w result.Warning) bool { return w.Code == "apart" })
	b.v.Closing, b.v.Next = view.Line{Text: tally(rows) + when(apart, ", measured at different times"), Tone: compareTone(rows)}, compareNext(r, rows)
	if b.shows(view.HTML) {
		drawn := sidesDrawn(rows)
		b.charts(drawn)
		b.measuredPage(drawn, &result.Report{})
	}
	b.v.Foot = present(device, interval, "δ is positive when slower", "pawl "+r.Tool.Version)
}

// compareTone returns how the last line of a terminal looks: like the gravest row.
func compareTone(rows []compared) view.Tone {
	if len(rows) == 0 {
		return view.Unsure
	}
	return compareTones[rows[0].row.Verdict]
}

// compareNext says why nothing was judged, or how much would decide inconclusive rows; "" where
// everything was decided.
func compareNext(r *result.Report, rows []compared) string {
	if r.Outcome != nil && r.Outcome.Result == result.Unjudged {
		return strings.Join(r.Outcome.Reasons, "; ")
	}
	open := slices.ContainsFunc(rows, func(c compared) bool { // of equal code no number of samples decides anything
		return c.row.Verdict == result.Inconclusive && !slices.Contains(c.row.Reasons, result.SameCode)
	})
	if !open || len(r.Inputs) == 0 {
		return ""
	}
	return "how many samples would decide: " + term.ShellLine("pawl", "calibrate", "--power", view.Short(fmt.Sprintf("%.2f", 100*gateOf(r).Regression))+"%", "--from", noisier(r, rows))
}

// noisier names the file whose undecided rows vary more: it says how many samples decide.
func noisier(r *result.Report, rows []compared) string {
	most, name := 0.0, r.Inputs[0].File
	for _, c := range rows {
		for i, row := range []*result.Row{c.before, c.after} {
			if c.row.Verdict == result.Inconclusive && row != nil && row.Timing != nil && i < len(r.Inputs) && row.Timing.Stats.CV > most {
				most, name = row.Timing.Stats.CV, r.Inputs[i].File
			}
		}
	}
	return name
}

// compareComment adds what needs attention, and the rest folded where it is long.
func (b *builder) compareComment(rows []compared) {
	const short = 20
	quiet := slices.IndexFunc(rows, func(c compared) bool {
		return slices.Index(verdictOrder, c.row.Verdict) >= slices.Index(verdictOrder, result.Maintained)
	})
	if quiet < 0 || len(rows) <= short {
		quiet = len(rows)
	}
	b.add(view.Markdown, view.Section{Table: compareTable(rows[:quiet]), Noun: "row"})
	if quiet < len(rows) {
		b.add(view.Markdown, view.Section{Folded: true, Fold: tally(rows[quiet:]), Table: compareTable(rows[quiet:]), Noun: "row"})
	}
}

// sidesDrawn has the rows whose medians and samples are drawn, each side as a row.
func sidesDrawn(rows []compared) *result.Report {
	drawn := &result.Report{}
	for _, c := range rows[:min(mostDrawn, len(rows))] {
		for i, side := range []*result.Row{c.before, c.after} {
			if measured(side) {
				when := []string{"before", "after"}[i]
				drawn.Rows = append(drawn.Rows, &result.Row{Kernel: c.name(), Config: when, Timing: side.Timing})
			}
		}
	}
	return drawn
}

func compareFacts(r *result.Report, rows []compared) []view.Fact {
	how := view.Fact{Name: "method", Text: "95% intervals of medians: " + r.Method.Interval}
	facts := append([]view.Fact{{Name: "outcome", Text: tally(rows)}}, runFacts(r, how)...)
	if hidden := len(rows) - mostDrawn; hidden > 0 {
		facts = append(facts, view.Fact{Name: "drawn", Text: fmt.Sprintf("the first %d of %s", mostDrawn, view.Counted(len(rows), "benchmark"))})
	}
	return facts
}

var compareColumns = []column[compared]{
	{head: "benchmark", text: compared.name, tone: view.Strong},
	{head: "verdict", badge: true, cell: func(c compared) view.Cell { return view.Cell{Text: c.verdict, Tone: compareTones[c.row.Verdict]} }},
	{head: "change", number: true, text: compared.changed},
	{head: "95% interval", text: compared.interval},
	{head: "δ", rank: 4, number: true, text: compared.effect},
	{head: "U", rank: 7, number: true, text: ofChange(func(c *result.Change) string {
		return textOf(c.U, func(u *float64) string { return strconv.FormatFloat(*u, 'f', -1, 64) })
	})},
	{head: "p", rank: 3, number: true, text: ofChange(func(c *result.Change) string { return probability(c.P) })},
	{head: "p adjusted", rank: 2, number: true, text: ofChange(func(c *result.Change) string { return probability(c.PAdjusted) })},
	{head: "before → after", rank: 1, number: true, text: compared.times},
	{head: "± before", rank: 5, number: true, text: func(c compared) string { return exactness(c.before) }},
	{head: "± after", rank: 5, number: true, text: func(c compared) string { return exactness(c.after) }},
	{head: "samples", rank: 6, number: true, text: compared.samples},
	{tone: view.Quiet, words: true, text: func(c compared) string { return c.notes }},
}

func compareTable(rows []compared) *view.Table {
	t := tableOf("", rows, used(rows, compareColumns))
	for i := range t.Columns {
		t.Columns[i].Bytes = 1000
	}
	return t
}

// comparePage returns the table of a page, where all but verdicts are aligned as numbers.
func comparePage(rows []compared) *view.Table {
	columns := []column[compared]{
		{head: "kernel/config", text: compared.name},
		{head: "verdict", badge: true, cell: func(c compared) view.Cell {
			if verdict := (line{row: c.row}).judged(); verdict.Text != "" && c.after != nil {
				return verdict
			}
			return view.Cell{Text: c.verdict, Tone: view.Plain}
		}},
	}
	for _, c := range used(rows, compareColumns[len(columns):]) {
		c.number = true
		columns = append(columns, c)
	}
	t := tableOf("results", rows, columns)
	t.Empty = "Nothing was measured."
	return t
}

// compareTones are how verdicts look on a terminal.
var compareTones = map[result.Verdict]view.Tone{
	result.Regression: view.Bad, result.Improvement: view.Good, result.Maintained: view.Good, result.Inconclusive: view.Unsure, result.Incomparable: view.Unsure,
}

func compareRecords(r *result.Report) [][]string {
	fields := []column[compared]{
		{head: "kernel", text: func(c compared) string { return c.row.Kernel }},
		{head: "config", text: func(c compared) string { return c.row.Config }},
		{head: "verdict", text: func(c compared) string { return c.verdict }},
		{head: "reasons", text: func(c compared) string { return c.notes }},
	}
	return records(rowsOf(r), slices.Concat(
		fields, statFields("before_", func(c compared) *result.Row { return c.before }), statFields("", func(c compared) *result.Row { return c.after }),
		fieldsOf("", func(c compared) *result.Change { return c.change }, slices.Concat(changeFacts, testFacts)...),
	))
}

// testFacts are what only a comparison of two files has.
var testFacts = []fact[result.Change]{
	{"u", func(c *result.Change) string { return optional(c.U) }},
	{"p", func(c *result.Change) string { return optional(c.P) }},
	{"p_adjusted", func(c *result.Change) string { return optional(c.PAdjusted) }},
	{"cycles", func(c *result.Change) string { return optional(c.Cycles) }},
	{"paired", func(c *result.Change) string { return strconv.FormatBool(c.Paired) }},
}

package report

import (
	"fmt"
	"slices"
	"strconv"

	"pawl/internal/report/view"
	"pawl/internal/result"
)

// compare shows two files side by side, the gravest rows first.
func (b *builder) compare() {
	r, rows := b.r, comparedRows(b.r)
	device := deviceLine(r)
	b.v.Title, b.v.Facts = inputsLine(r), compareFacts(r, rows)
	b.v.Heading = present("pawl "+r.Tool.Version, device, view.Counted(len(rows), "benchmark"))
	b.v.Heading = slices.Insert(b.v.Heading, 1, b.v.Title)
	b.v.Interrupted = false
	b.lines(view.Markdown, "", tally(rows))
	b.add(view.Text, view.Section{Table: compareTable(rows)})
	b.add(view.HTML, view.Section{ID: "results", Title: "Results", Table: comparePage(rows)})
	b.lines(view.Text, "", tally(rows))
	if b.shows(view.Markdown) {
		b.compareComment(rows)
	}
	b.warnings(view.Text|view.Markdown|view.HTML, allWarnings(r))
	interval := prefixed("95% intervals of medians: ", r.Method.Interval)
	b.lines(view.Text, view.Quiet, present(interval)...)
	if b.shows(view.HTML) {
		drawn := sidesDrawn(rows)
		b.charts(drawn)
		b.measuredPage(drawn, &result.Report{})
	}
	b.v.Foot = present(device, interval, "δ is positive when slower", "pawl "+r.Tool.Version)
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
			if side != nil && measured(side) {
				when := []string{"before", "after"}[i]
				drawn.Rows = append(drawn.Rows, &result.Row{Kernel: c.name(), Config: when, Timing: side.Timing})
			}
		}
	}
	return drawn
}

func compareFacts(r *result.Report, rows []compared) []view.Fact {
	facts := append([]view.Fact{{Name: "outcome", Text: tally(rows)}}, runFacts(r)...)
	for i := range facts {
		if facts[i].Name == "method" {
			facts[i].Text = "95% intervals of medians: " + r.Method.Interval
		}
	}
	if hidden := len(rows) - mostDrawn; hidden > 0 {
		facts = append(facts, view.Fact{Name: "drawn", Text: fmt.Sprintf("the first %d of %s", mostDrawn, view.Counted(len(rows), "benchmark"))})
	}
	return facts
}

var compareColumns = []column[compared]{
	{head: "benchmark", text: compared.name, tone: view.Strong},
	{head: "verdict", badge: true, cell: func(c compared) view.Cell { return view.Cell{Text: c.verdict, Tone: c.tone()} }},
	{head: "change", number: true, text: compared.changed},
	{head: "95% interval", text: compared.interval},
	{head: "δ", number: true, text: compared.effect},
	{head: "U", number: true, text: ofChange(func(c *result.Change) string {
		if c.U == nil {
			return ""
		}
		return strconv.FormatFloat(*c.U, 'f', -1, 64)
	})},
	{head: "p", number: true, text: ofChange(func(c *result.Change) string { return probability(c.P) })},
	{head: "p adjusted", number: true, text: ofChange(func(c *result.Change) string { return probability(c.PAdjusted) })},
	{head: "before", number: true, text: func(c compared) string { return median(c.before) }},
	{head: "after", number: true, text: func(c compared) string { return median(c.after) }},
	{head: "samples", number: true, text: compared.samples},
	{tone: view.Quiet, text: func(c compared) string { return c.notes }},
}

func compareTable(rows []compared) *view.Table {
	t := tableOf("", rows, used(rows, compareColumns))
	for i := range t.Columns {
		t.Columns[i].Bytes = 1000
	}
	return t
}

// comparePage is the table of a page, where all but verdicts are aligned as numbers.
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

// tone is how a verdict looks on a terminal.
func (c compared) tone() view.Tone {
	switch c.row.Verdict {
	case result.Regression:
		return view.Bad
	case result.Improvement, result.Maintained:
		return view.Good
	case result.Inconclusive, result.Incomparable:
		return view.Unsure
	}
	return ""
}

func compareRecords(r *result.Report) [][]string {
	var rows []compared
	for _, row := range r.Rows { // in their order
		rows = append(rows, comparedRows(&result.Report{Rows: []*result.Row{row}})...)
	}
	change := func(c compared) *result.Change { return c.change }
	of := func(name string, text func(*result.Change) string) field[compared] {
		return changeField(name, change, text)
	}
	fields := []field[compared]{
		{"kernel", func(c compared) string { return c.row.Kernel }},
		{"config", func(c compared) string { return c.row.Config }},
		{"verdict", func(c compared) string { return c.verdict }},
		{"reasons", func(c compared) string { return c.notes }},
	}
	fields = append(fields, statFields("before_", func(c compared) *result.Row { return c.before })...)
	fields = append(fields, statFields("", func(c compared) *result.Row { return c.after })...)
	fields = append(fields, changeFields("", change)...)
	return records(rows, append(
		fields, of("u", func(c *result.Change) string { return optional(c.U) }), of("p", func(c *result.Change) string { return optional(c.P) }),
		of("p_adjusted", func(c *result.Change) string { return optional(c.PAdjusted) }), of("cycles", func(c *result.Change) string { return optional(c.Cycles) }),
		of("paired", func(c *result.Change) string { return strconv.FormatBool(c.Paired) }),
	))
}

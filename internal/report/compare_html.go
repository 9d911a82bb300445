package report

import (
	"fmt"
	"html/template"

	"pawl/internal/plot"
	"pawl/internal/result"
)

// mostDrawn benchmarks have their medians and samples drawn, the gravest first: a
// page of thousands helps nobody.
const mostDrawn = 100

// compareHTML renders a comparison as the same kind of page as a run.
func compareHTML(r *result.Report) ([]byte, error) {
	rows := comparedRows(r)
	drawn := &result.Report{}
	for _, c := range rows[:min(mostDrawn, len(rows))] {
		for i, side := range []*result.Row{c.before, c.after} {
			if side != nil && measured(side) {
				when := []string{"before", "after"}[i]
				drawn.Rows = append(drawn.Rows, &result.Row{Kernel: c.name(), Config: when, Timing: side.Timing})
			}
		}
	}
	p := page{
		Kind: string(r.Kind), Title: inputsLine(r), PlotStyle: template.CSS(plot.Style), Facts: compareFacts(r, rows),
		Results: compareResults(rows), Warnings: allWarnings(r), Charts: charts(drawn), Samples: allStrips(drawn),
		Machine: machineFacts(r), Tool: r.Tool.Version, Run: r.ID,
	}
	return execute(p)
}

func compareFacts(r *result.Report, rows []compared) []fact {
	facts := append([]fact{{"outcome", tally(rows)}}, runFacts(r)...)
	for i := range facts {
		if facts[i].Name == "method" {
			facts[i].Text = "95% intervals of medians: " + r.Method.Interval
		}
	}
	if hidden := len(rows) - mostDrawn; hidden > 0 {
		facts = append(facts, fact{"drawn", fmt.Sprintf("the first %d of %s", mostDrawn, benchmarks(len(rows)))})
	}
	return facts
}

// compareResults is the table, with the verdict where runs have their outcome.
func compareResults(rows []compared) results {
	t := results{Outcome: "verdict", Judged: true}
	var shown []compareColumn
	for _, column := range filled(rows) {
		if column.head != "benchmark" && column.head != "verdict" { // they have a place of their own
			shown = append(shown, column)
			t.Heads = append(t.Heads, column.head)
		}
	}
	for _, c := range rows {
		l := resultLine{Label: c.name(), Outcome: line{row: c.row}.judged()}
		if l.Outcome.Text == "" || c.after == nil {
			l.Outcome = outcome{Class: "plain", Text: c.verdict}
		}
		for _, column := range shown {
			l.Cells = append(l.Cells, column.text(c))
		}
		t.Lines = append(t.Lines, l)
	}
	return t
}

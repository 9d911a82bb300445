package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// How much of a long list a terminal is shown.
const (
	mostPassed   = 40 // of a lane, before they become one line
	mostWrong    = 40
	mostSkips    = 8
	mostExpanded = 5  // failures of a kernel that are told in full
	mostNote     = 90 // characters at the end of a line
)

// fuzzText writes a fuzz report for a terminal: a line for every case, failures in
// full below, and at the end what every kernel came to.
func fuzzText(w io.Writer, r *result.Report, opts TextOptions) error {
	style := opts.Style
	rows := triedRows(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", printable(fuzzHeading(r, rows)))
	for _, t := range rows {
		if len(t.v.Cases) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n  %s\n", style.Bold(printable(t.row.Kernel+variant(t.row))))
		caseTable(t, opts).writeTo(&b)
		expand(&b, t, opts)
	}
	sanitizerText(&b, rows, opts)
	accusations(&b, r.Rows, kernelName, opts)
	faults(&b, r, opts)
	if len(rows) > 0 {
		b.WriteString("\n")
		scores(rows, opts).writeTo(&b)
	} else {
		b.WriteString("\n  nothing was tried\n")
	}
	notes := fuzzNotes(r)
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range notes {
		fmt.Fprintf(&b, "  %s\n", style.Dim(printable(strings.ReplaceAll(note, "\n", " "))))
	}
	warnings(&b, r, style)
	ending(&b, opts, prefixed("the same cases again: ", replayed(r)))
	_, err := io.WriteString(w, b.String())
	return err
}

func fuzzHeading(r *result.Report, rows []tried) string {
	cases := 0
	for _, t := range rows {
		cases += len(t.v.Cases)
	}
	parts := []string{"pawl " + r.Tool.Version, machineLine(r), counted(len(rows), "kernel") + ", " + counted(cases, "case")}
	if r.Interrupted {
		parts = append(parts, "interrupted")
	}
	return strings.Join(parts, " · ")
}

// caseTable has a line for every case that was tried; of a lane that has many, the
// ones that need no attention share one. Those that were not tried are below.
func caseTable(t tried, opts TextOptions) *rendered {
	const right = term.Right
	style := opts.Style
	table := &rendered{term.Table{Indent: 2, HeaderStyle: style.Dim, Columns: []term.Column{
		{Header: "lane"},
		{Header: "case"},
		{Header: "max abs", Align: right},
		{Header: "max rel", Align: right},
		{Header: "RMS", Align: right},
		{Header: "atol", Align: right},
		{Header: "rtol", Align: right},
		{},
		{},
	}}}
	for _, l := range lanesOf(t.v.Cases) {
		good, bad := l.of(passed), l.of(wrong)
		summed, listed := false, 0
		for _, c := range l.cases {
			switch f := fateOf(c); {
			case f == skipped:
			case f == passed && len(good) <= mostPassed, f == wrong && listed < mostWrong:
				table.AddCells(caseLine(c, f, opts)...)
			case f == passed && !summed:
				table.AddCells(sumLine(l.name, good, style)...)
				summed = true
			case f == wrong && listed == mostWrong:
				table.AddCells(restLine(l.name, len(bad)-mostWrong, style)...)
			}
			if fateOf(c) == wrong {
				listed++
			}
		}
	}
	for _, l := range lanesOf(t.v.Cases) {
		cases := l.of(skipped)
		if len(cases) > mostSkips {
			table.AddCells(skipLine(l.name, cases, opts)...)
			continue
		}
		for _, c := range cases {
			table.AddCells(caseLine(c, skipped, opts)...)
		}
	}
	table.dropEmpty()
	return table
}

func caseLine(c *result.Case, f fate, opts TextOptions) []term.Cell {
	style := opts.Style
	cells := []term.Cell{{Text: c.Lane, Style: style.Dim}, {Text: opts.shorten(sizes(c), mostNote)}, {}, {}, {}, {}, {}}
	if o := closest(c); o != nil {
		cells[2].Text, cells[3].Text, cells[4].Text = farOff(o)
		cells[5].Text, cells[6].Text = bounds(o)
		cells[5].Style, cells[6].Style = style.Dim, style.Dim
	}
	return append(cells, term.Cell{Text: string(f), Style: f.paint(style)}, term.Cell{Text: opts.shorten(strings.Join(caseNotes(c), "; "), mostNote), Style: style.Dim})
}

// sumLine is one line for many cases that pass: their largest errors.
func sumLine(lane string, cases []*result.Case, style term.Style) []term.Cell {
	cells := []term.Cell{{Text: lane, Style: style.Dim}, {Text: counted(len(cases), "case")}, {}, {}, {}, {}, {}}
	if e := worstOf(cases); e != nil {
		cells[2].Text, cells[3].Text, cells[4].Text = far(e.abs), relative(e.abs, e.rel), far(e.rms)
		cells[5], cells[6] = term.Cell{Text: e.atol, Style: style.Dim}, term.Cell{Text: e.rtol, Style: style.Dim}
	}
	return append(cells, term.Cell{Text: string(passed), Style: passed.paint(style)}, term.Cell{Text: "the largest errors of all", Style: style.Dim})
}

// restLine is one line for failing cases that are too many to list.
func restLine(lane string, n int, style term.Style) []term.Cell {
	cells := make([]term.Cell, 9)
	cells[0], cells[1] = term.Cell{Text: lane, Style: style.Dim}, term.Cell{Text: counted(n, "more case")}
	cells[7] = term.Cell{Text: string(wrong), Style: wrong.paint(style)}
	return cells
}

// skipLine is one line for cases that were not tried and are too many to list.
func skipLine(lane string, cases []*result.Case, opts TextOptions) []term.Cell {
	style := opts.Style
	cells := make([]term.Cell, 9)
	cells[0], cells[1] = term.Cell{Text: lane, Style: style.Dim}, term.Cell{Text: counted(len(cases), "case")}
	cells[7] = term.Cell{Text: string(skipped), Style: skipped.paint(style)}
	cells[8] = term.Cell{Text: opts.shorten(reasonsOf(cases, opts), mostNote), Style: style.Dim}
	return cells
}

// reasonsOf says why cases were skipped: the first reason, and how many others there are.
func reasonsOf(cases []*result.Case, opts TextOptions) string {
	var reasons []string
	for _, c := range cases {
		if !slices.Contains(reasons, c.Skipped) {
			reasons = append(reasons, c.Skipped)
		}
	}
	if len(reasons) == 1 {
		return reasons[0]
	}
	return fmt.Sprintf("%s; and %s", opts.shorten(reasons[0], mostNote/2), counted(len(reasons)-1, "other reason"))
}

func (f fate) paint(style term.Style) func(string) string {
	switch f {
	case passed:
		return style.Green
	case wrong:
		return style.Red
	}
	return style.Yellow
}

// shorten cuts a text to so many characters.
func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return strings.TrimRight(string(runes[:most-1]), " ") + "…"
	}
	return text
}

// expand tells the failures of a kernel in full.
func expand(b *strings.Builder, t tried, opts TextOptions) {
	style := opts.Style
	blows := t.blows()
	for _, f := range blows[:min(mostExpanded, len(blows))] {
		fmt.Fprintf(b, "\n  %s %s\n", style.Red(string(wrong)), style.Bold(printable(strings.TrimSpace(t.row.Kernel+" "+sizes(f.Case)+" "+f.Fill))))
		fmt.Fprintf(b, "    %s\n", printable(opts.shorten(flat(why(f.Case)), 4*mostNote)))
		if f.Fault != nil && f.Fault.Hint != "" {
			fmt.Fprintf(b, "    hint: %s\n", printable(flat(f.Fault.Hint)))
		}
		for i := range f.Outputs {
			if text := worstLine(&f.Outputs[i], f.Reason); text != "" {
				fmt.Fprintf(b, "    worst: %s\n", printable(flat(text)))
			}
		}
		for _, line := range f.smallest() {
			fmt.Fprintf(b, "    %s\n", printable(opts.shorten(flat(line), 3*mostNote)))
		}
		drawTiles(b, f.Case, style)
	}
	if left := len(blows) - mostExpanded; left > 0 {
		fmt.Fprintf(b, "\n  %s\n", style.Dim("… and "+counted(left, "more failure")+" in the report"))
	}
}

func drawTiles(b *strings.Builder, c *result.Case, style term.Style) {
	drawn := false
	for _, o := range c.Outputs {
		if !drawable(o.Tiles) {
			continue
		}
		m := tileMap{o.Tiles}
		fmt.Fprintf(b, "    %s\n", printable(flat(m.caption(o.Name, dimensions(&o)))))
		for _, line := range m.lines() {
			fmt.Fprintf(b, "      %s\n", line)
		}
		drawn = true
	}
	if drawn {
		fmt.Fprintf(b, "      %s\n", style.Dim(shadeKey))
	}
}

// flat is a text in one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// accusations tell what speaks against rows, unless their fault says it.
func accusations(b *strings.Builder, rows []*result.Row, name func(*result.Row) string, opts TextOptions) {
	style := opts.Style
	for _, row := range rows {
		for _, f := range findings(row.Verification) {
			if f.told(row) {
				continue
			}
			label := style.Yellow("SUSPICIOUS")
			if f.Severity == result.Cheated {
				label = style.Red("REJECTED")
			}
			fmt.Fprintf(b, "\n  %s %s: %s: %s\n", label, style.Bold(printable(name(row))), printable(f.Exploit), printable(opts.shorten(flat(f.String()), 4*mostNote)))
		}
	}
}

// scores has a line for every kernel: "[27/27] attention  PASS".
func scores(rows []tried, opts TextOptions) *rendered {
	style := opts.Style
	t := &rendered{term.Table{Indent: 2, Columns: make([]term.Column, 3)}}
	paints := map[string]func(string) string{"good": style.Green, "bad": style.Red, "unsure": style.Yellow}
	wide := 0
	for _, row := range rows {
		wide = max(wide, len(row.score()))
	}
	for _, row := range rows {
		extent := row.extent(true)
		if took := row.took(); took > 0 {
			extent = append(extent, unit.Duration(took))
		}
		name := row.row.Kernel
		if wide > 0 {
			name = fmt.Sprintf("%*s %s", wide, row.score(), name)
		}
		t.AddCells(
			term.Cell{Text: name, Style: style.Bold}, term.Cell{Text: row.word(), Style: paints[row.class()]},
			term.Cell{Text: opts.shorten(strings.Join(extent, "; "), mostNote), Style: style.Dim},
		)
	}
	return t
}

package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/term"
)

// TextOptions say how a view looks on a terminal.
type TextOptions struct {
	Style term.Style
	Path  string // where the report was saved; may be empty
	Whole bool   // it goes to a file or another program, which has room for what a terminal has not
}

const (
	mostNote  = 90 // characters of a remark
	mostFound = 8  // findings of a tool about one kernel, in a text or a comment
)

// text is a view on its way to a terminal.
type text struct {
	strings.Builder
	TextOptions
}

// Text writes a view for a terminal.
func Text(w io.Writer, v view.View, opts TextOptions) error {
	t := &text{TextOptions: opts}
	t.line("", strings.Join(v.Heading, " · "))
	for _, s := range v.Sections {
		t.section(s)
	}
	parts := v.Ending
	if opts.Path != "" {
		parts = append(slices.Clone(parts), "report: "+opts.Path)
	}
	if len(parts) > 0 {
		t.line("\n  ", strings.Join(parts, "   "))
	}
	_, err := io.WriteString(w, t.String())
	return err
}

// line writes one line, whatever the text has in it.
func (t *text) line(before, text string) { fmt.Fprintf(t, "%s%s\n", before, view.Printable(text)) }

// dim writes one line that stands back.
func (t *text) dim(before, text string) {
	fmt.Fprintf(t, "%s%s\n", before, t.Style.Dim(view.Printable(text)))
}

// short cuts a text to the characters that a terminal has room for.
func (t *text) short(text string, most int) string {
	const whole = 400 // a report may claim anything
	if t.Whole {
		most = max(most, whole)
	}
	return view.Shorten(text, most)
}

// paint returns how a tone looks; nil where it does not matter.
func (t *text) paint(tone view.Tone) func(string) string {
	switch tone {
	case view.Good, view.Faster:
		return t.Style.Green
	case view.Bad:
		return t.Style.Red
	case view.Unsure, view.Slower:
		return t.Style.Yellow
	case view.Strong:
		return t.Style.Bold
	case view.Quiet, view.Even:
		return t.Style.Dim
	}
	return func(text string) string { return text }
}

func (t *text) section(s view.Section) {
	if !s.Shown(view.Text) {
		return
	}
	if s.Name != "" || s.Table != nil || len(s.Lines) > 0 {
		t.WriteString("\n")
	}
	if s.Name != "" && s.Tools == nil {
		fmt.Fprintf(t, "  %s\n", t.Style.Bold(view.Printable(s.Name)))
	}
	if s.Table != nil {
		t.table(s.Table)
	}
	for _, line := range s.Lines {
		words := line.Text
		if s.List {
			words = strings.ReplaceAll(words, "\n", " ")
		}
		words = view.Printable(words)
		if line.Most > 0 {
			words = t.short(words, line.Most)
		}
		if line.Mark != "" {
			fmt.Fprintf(t, "  %s %s\n", t.paint(line.Tone)(view.Printable(line.Mark)), words)
		} else {
			fmt.Fprintf(t, "  %s\n", t.paint(line.Tone)(words))
		}
	}
	for _, item := range s.Items {
		t.item(item)
	}
	t.tools(s)
	for _, part := range s.Parts {
		t.section(part)
	}
	if s.Left > 0 {
		t.dim("\n  ", "… and "+view.Counted(s.Left, "more "+s.Noun)+" in the report")
	}
}

// table writes a table that has rows.
func (t *text) table(from *view.Table) {
	if len(from.Rows) == 0 {
		return
	}
	made := term.Table{Indent: 2, HeaderStyle: t.Style.Dim}
	for _, column := range from.Columns {
		made.Columns = append(made.Columns, term.Column{Header: column.Head, Align: align(column)})
	}
	for _, row := range from.Rows {
		cells := make([]term.Cell, len(row.Cells))
		for i, cell := range row.Cells {
			text := t.cell(cell, from.Columns[i].Chars)
			if i == 0 && row.Sub {
				text = "  against " + text
			}
			cells[i] = term.Cell{Text: text, Style: t.paint(cell.Tone)}
		}
		made.AddCells(cells...)
	}
	t.WriteString(made.String())
}

// cell returns the text of a cell, in a column that has room for this many characters.
func (t *text) cell(c view.Cell, most int) string {
	if c.Most > 0 {
		most = c.Most
	}
	if most == 0 {
		return c.Text + c.Rest
	}
	if c.Parts == nil {
		return t.short(c.Text, most)
	}
	parts := make([]string, len(c.Parts))
	for i, part := range c.Parts {
		parts[i] = t.short(part, most)
	}
	return strings.Join(parts, "; ")
}

func align(c view.Column) term.Align {
	if c.Number {
		return term.Right
	}
	return term.Left
}

func (t *text) item(item view.Item) {
	for _, f := range item.Findings {
		fmt.Fprintf(t, "\n  %s %s: %s: %s\n", t.paint(f.Badge.Tone)(strings.ToUpper(f.Badge.Text)), t.Style.Bold(view.Printable(item.Name)), view.Printable(f.Exploit), view.Printable(t.short(view.Flat(f.Message), 4*mostNote)))
	}
	switch {
	case item.Findings != nil:
		return
	case item.Mark != "":
		fmt.Fprintf(t, "\n  %s %s\n", t.Style.Red(item.Mark), t.Style.Bold(view.Printable(item.Name)))
		t.line("    ", t.short(view.Flat(item.Message), 4*mostNote))
	default:
		fmt.Fprintf(t, "\n  %s: %s\n", t.Style.Red(view.Printable(item.Name)), strings.ReplaceAll(strings.Map(visible, item.Message), "\n", "\n    "))
	}
	if item.Hint != "" {
		t.line("    hint: ", view.Flat(item.Hint))
	}
	for _, line := range item.Lines {
		if !shows(line.In, view.Text) {
			continue
		}
		t.line("    ", t.short(view.Flat(line.Text), 3*mostNote))
	}
	t.maps(item.Maps)
	if item.Built && item.Output != "" {
		t.WriteString(strings.TrimRight(strings.Map(visible, item.Output), "\n") + "\n")
	}
	t.log(item.Log)
}

func (t *text) maps(maps []view.Map) {
	for _, m := range maps {
		t.line("    ", view.Flat(tileMap{m}.caption()))
		for _, line := range (tileMap{m}).lines() {
			fmt.Fprintf(t, "      %s\n", line)
		}
	}
	if len(maps) > 0 {
		t.dim("      ", shadeKey)
	}
}

// log writes the end of what a kernel printed.
func (t *text) log(log string) {
	const most, widest = 5, 200
	log = strings.TrimRight(log, "\n")
	if log == "" {
		return
	}
	lines := strings.Split(log, "\n")
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	t.WriteString("    it printed:\n")
	for _, line := range lines {
		fmt.Fprintf(t, "      %s\n", view.Printable(t.short(strings.ToValidUTF8(line, ""), widest)))
	}
}

// tools writes what tools said of a kernel.
func (t *text) tools(s view.Section) {
	if len(s.Tools) == 0 {
		return
	}
	var words []string
	for _, tool := range s.Tools {
		words = append(words, view.Printable(view.Flat(tool.Name))+" "+t.paint(tool.Badge.Tone)(view.Printable(t.short(tool.Badge.Text, mostNote))))
	}
	fmt.Fprintf(t, "  %s: %s\n", t.Style.Bold(view.Printable(view.Flat(s.Name))), strings.Join(words, " · "))
	if s.Aside != "" {
		t.dim("    ", t.short(view.Flat(s.Aside), 2*mostNote))
	}
	told, raw := 0, false
	for _, tool := range s.Tools {
		raw = raw || tool.Raw != ""
		for _, f := range tool.Findings {
			if told++; told <= mostFound {
				t.found(f)
			}
		}
	}
	if told > mostFound {
		t.dim("    ", "… and "+view.Counted(told-mostFound, "more finding")+" in the report")
	}
	if raw {
		t.dim("    ", "what the tools wrote is in the report")
	}
}

func (t *text) found(f view.Found) {
	parts := []string{t.paint(f.Badge.Tone)(view.Printable(view.Flat(f.Badge.Text))) + " " + view.Printable(t.short(view.Flat(f.Kind), 2*mostNote))}
	if f.Source != "" {
		parts = append(parts, t.Style.Bold(view.Printable(view.Flat(f.Source))))
	}
	if f.Device != "" {
		parts = append(parts, view.Printable(t.short(view.Flat(f.Device), 2*mostNote)))
	}
	fmt.Fprintf(t, "    %s\n", strings.Join(parts, "  "))
	for _, line := range f.Lines {
		t.dim("      ", t.short(view.Flat(line), 2*mostNote))
	}
}

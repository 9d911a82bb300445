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
	Style   term.Style
	Path    string // where the report was saved; may be empty
	Width   int    // columns of the terminal; 0: a file or another program, for which nothing is wrapped or left out
	Verbose bool   // show all that there is to say
	Brief   bool   // show the rows alone
}

const (
	mostWords = 400 // characters of one text: a report may claim anything
	mostFound = 8   // findings of a tool about one kernel, in a text or a comment
)

// text is a view on its way to a terminal.
type text struct {
	strings.Builder // lines that may be wrapped
	TextOptions
	form  view.Form
	whole strings.Builder // what stands before them
}

// raw writes lines that are not wrapped: they fit, or are to be seen as somebody wrote them.
func (t *text) raw(lines string) {
	t.whole.WriteString(term.Wrap(t.String(), t.Width) + lines)
	t.Reset()
}

// Text writes a view for a terminal.
func Text(w io.Writer, v view.View, opts TextOptions) error {
	t := &text{TextOptions: opts, form: view.Text}
	if opts.Verbose {
		t.form = view.Verbose
	}
	if opts.Brief {
		for _, s := range v.Sections {
			t.rows(s)
		}
		t.raw("")
		_, err := io.WriteString(w, t.whole.String())
		return err
	}
	t.line("", strings.Join(v.Heading, " · "))
	for _, s := range v.Sections {
		t.section(s)
	}
	var parts []string
	for _, part := range v.Ending {
		if shows(part.In, t.form) {
			parts = append(parts, part.Text)
		}
	}
	if opts.Path != "" {
		parts = append(parts, "report: "+opts.Path)
	}
	if len(parts) > 0 {
		t.WriteString("\n")
		t.parts(parts)
	}
	if v.Closing.Text != "" {
		words := t.paint(v.Closing.Tone)(view.Printable(v.Closing.Text))
		if v.Next != "" {
			words += "; " + view.Printable(v.Next)
		}
		fmt.Fprintf(t, "\n%s\n", words)
	}
	t.raw("")
	_, err := io.WriteString(w, t.whole.String())
	return err
}

// parts writes short texts beside each other, as many as a line has room for.
func (t *text) parts(parts []string) {
	const space = "   "
	line := ""
	for _, part := range parts {
		part = view.Printable(part)
		if line != "" && t.Width > 0 && term.DisplayWidth(line+space+part) > t.Width {
			t.WriteString(line + "\n")
			line = ""
		}
		if line == "" {
			line = "  " + part
		} else {
			line += space + part
		}
	}
	if line != "" {
		t.WriteString(line + "\n")
	}
}

// line writes one line, whatever the text has in it.
func (t *text) line(before, text string) { fmt.Fprintf(t, "%s%s\n", before, view.Printable(text)) }

// dim writes one line that stands back.
func (t *text) dim(before, text string) {
	fmt.Fprintf(t, "%s%s\n", before, t.Style.Dim(view.Printable(text)))
}

// short cuts a text that is longer than anybody reads.
func short(text string) string { return view.Shorten(text, mostWords) }

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

// rows writes the table of a section, without what rows were measured against besides, and without sentences.
func (t *text) rows(s view.Section) {
	if !s.Shown(t.form) || s.Table == nil {
		return
	}
	made := *s.Table
	made.Rows = slices.DeleteFunc(slices.Clone(made.Rows), func(row view.Row) bool { return row.Sub })
	if at := slices.IndexFunc(made.Columns, func(c view.Column) bool { return c.Words }); at >= 0 {
		made.Columns = slices.Delete(slices.Clone(made.Columns), at, at+1)
		for i, row := range made.Rows {
			made.Rows[i].Cells = slices.Delete(slices.Clone(row.Cells), at, at+1)
		}
	}
	t.table(&made)
}

func (t *text) section(s view.Section) {
	if !s.Shown(t.form) {
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
	made := term.Table{Indent: 2, HeaderStyle: t.Style.Dim, Width: t.Width}
	for _, column := range from.Columns {
		made.Columns = append(made.Columns, term.Column{Header: column.Head, Align: align(column), Rank: column.Rank, Words: column.Words})
	}
	for _, row := range from.Rows {
		cells := make([]term.Cell, len(row.Cells))
		for i, cell := range row.Cells {
			text := cell.Text + cell.Rest
			if from.Columns[i].Words {
				text = short(text)
			}
			if i == 0 && row.Sub {
				text = "  against " + text
			}
			cells[i] = term.Cell{Text: text, Style: t.paint(cell.Tone)}
		}
		made.AddCells(cells...)
	}
	t.raw(made.String())
}

func align(c view.Column) term.Align {
	if c.Number {
		return term.Right
	}
	return term.Left
}

func (t *text) item(item view.Item) {
	for _, f := range item.Findings {
		fmt.Fprintf(t, "\n  %s %s: %s: %s\n", t.paint(f.Badge.Tone)(strings.ToUpper(f.Badge.Text)), t.Style.Bold(view.Printable(item.Name)), view.Printable(f.Exploit), view.Printable(short(view.Flat(f.Message))))
	}
	switch {
	case item.Findings != nil:
		return
	case item.Mark != "":
		fmt.Fprintf(t, "\n  %s %s\n", t.Style.Red(item.Mark), t.Style.Bold(view.Printable(item.Name)))
		t.line("    ", short(view.Flat(item.Message)))
	default:
		fmt.Fprintf(t, "\n  %s: %s\n", t.Style.Red(view.Printable(item.Name)), strings.ReplaceAll(strings.Map(visible, item.Message), "\n", "\n    "))
	}
	if item.Hint != "" {
		t.line("    hint: ", view.Flat(item.Hint))
	}
	for _, line := range item.Lines {
		if !shows(line.In, t.form) {
			continue
		}
		t.line("    ", short(view.Flat(line.Text)))
	}
	t.maps(item.Maps)
	if item.Built && item.Output != "" {
		t.raw("    " + strings.ReplaceAll(strings.TrimRight(strings.Map(visible, item.Output), "\n"), "\n", "\n    ") + "\n") // as wide as it is: carets point at columns
	}
	t.log(item.Log)
}

func (t *text) maps(maps []view.Map) {
	for _, m := range maps {
		t.line("    ", view.Flat(tileMap{m}.caption()))
		for _, line := range (tileMap{m}).lines(t.Width - len("      ")) {
			t.raw("      " + line + "\n")
		}
	}
	if len(maps) > 0 {
		t.dim("      ", shadeKey)
	}
}

// log writes the end of what a kernel printed.
func (t *text) log(log string) {
	const most = 5
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
		t.raw("      " + view.Printable(short(strings.ToValidUTF8(line, ""))) + "\n")
	}
}

// tools writes what tools said of a kernel.
func (t *text) tools(s view.Section) {
	if len(s.Tools) == 0 {
		return
	}
	var words []string
	for _, tool := range s.Tools {
		words = append(words, view.Printable(view.Flat(tool.Name))+" "+t.paint(tool.Badge.Tone)(view.Printable(short(tool.Badge.Text))))
	}
	fmt.Fprintf(t, "  %s: %s\n", t.Style.Bold(view.Printable(view.Flat(s.Name))), strings.Join(words, " · "))
	if s.Aside != "" {
		t.dim("    ", short(view.Flat(s.Aside)))
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
	parts := []string{t.paint(f.Badge.Tone)(view.Printable(view.Flat(f.Badge.Text))) + " " + view.Printable(short(view.Flat(f.Kind)))}
	if f.Source != "" {
		parts = append(parts, t.Style.Bold(view.Printable(view.Flat(f.Source))))
	}
	if f.Device != "" {
		parts = append(parts, view.Printable(short(view.Flat(f.Device))))
	}
	fmt.Fprintf(t, "    %s\n", strings.Join(parts, "  "))
	for _, line := range f.Lines {
		t.dim("      ", short(view.Flat(line)))
	}
}

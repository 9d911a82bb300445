package report

import (
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// builder makes the view of a report, a section at a time.
type builder struct {
	r     *result.Report
	forms view.Form
	v     view.View
}

// shows reports whether one of the forms is requested. Slow parts are made only then.
func (b *builder) shows(in view.Form) bool { return b.forms&in != 0 }

// add adds a section to those of the given forms that are requested.
func (b *builder) add(in view.Form, s view.Section) {
	if b.shows(in) {
		s.In = in
		b.v.Sections = append(b.v.Sections, s)
	}
}

// table adds a table to a page as a section, if it has rows.
func (b *builder) table(id, title string, t *view.Table) {
	if len(t.Rows) > 0 {
		b.add(view.HTML, view.Section{ID: id, Title: title, Table: t})
	}
}

// lines adds a section of sentences, if there are any.
func (b *builder) lines(in view.Form, tone view.Tone, texts ...string) {
	if len(texts) > 0 {
		b.add(in, view.Section{Lines: linesOf(tone, texts)})
	}
}

// items adds a section of failures, if there are any.
func (b *builder) items(in view.Form, s view.Section) {
	if len(s.Items) > 0 || s.Left > 0 {
		b.add(in, s)
	}
}

// warnings adds a list of doubts, if there are any.
func (b *builder) warnings(in view.Form, texts []string) {
	b.list(in, view.Section{ID: "warnings", Title: "Warnings", Lines: linesOf(view.Unsure, texts)}, "!")
}

// notes adds a list of remarks, if there are any.
func (b *builder) notes(in view.Form, texts []string) {
	b.list(in, view.Section{ID: "notes", Title: "Notes", Lines: linesOf(view.Quiet, texts)}, "")
}

func (b *builder) list(in view.Form, s view.Section, mark string) {
	s.List, s.End = true, true
	for i := range s.Lines {
		s.Lines[i].Mark = mark
	}
	if len(s.Lines) > 0 {
		b.add(in, s)
	}
}

func linesOf(tone view.Tone, texts []string) []view.Line {
	out := make([]view.Line, len(texts))
	for i, text := range texts {
		out[i] = view.Line{Text: text, Tone: tone}
	}
	return out
}

// leftOut says how many items a page has no room for; nothing where it has room for all.
func leftOut(n int, noun string) []view.Line {
	if n <= 0 {
		return nil
	}
	return []view.Line{{Text: view.Counted(n, "more "+noun) + " in the JSON report"}}
}

// badges are the summary in numbers; zero counts are left out, unless zero is the news.
type badges []view.Badge

func (b *badges) add(tone view.Tone, n int, name, note string, always bool) {
	if n == 0 {
		tone = "none"
	}
	if always || n > 0 {
		*b = append(*b, view.Badge{Tone: tone, Count: unit.Count(n), Name: name, Note: note})
	}
}

// column is one fact of whatever a table has rows for.
type column[T any] struct {
	head          string
	number, badge bool
	chars, bytes  int
	text          func(T) string // "" when there is none
	tone          view.Tone
	cell          func(T) view.Cell // in place of text and tone
}

func (c column[T]) of(item T) view.Cell {
	if c.cell != nil {
		return c.cell(item)
	}
	return view.Cell{Text: c.text(item), Tone: c.tone}
}

// used returns the columns that are not empty for all items.
func used[T any](items []T, columns []column[T]) []column[T] {
	var out []column[T]
	for _, c := range columns {
		for _, item := range items {
			if c.of(item).Text != "" {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// tableOf has a row for each item.
func tableOf[T any](look string, items []T, columns []column[T]) *view.Table {
	t := &view.Table{Look: look}
	for _, c := range columns {
		t.Columns = append(t.Columns, view.Column{Head: c.head, Number: c.number, Badge: c.badge, Chars: c.chars, Bytes: c.bytes})
	}
	for _, item := range items {
		row := view.Row{Cells: make([]view.Cell, len(columns))}
		for i, c := range columns {
			row.Cells[i] = c.of(item)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// dropColumn removes a column.
func dropColumn(t *view.Table, at int) {
	t.Columns = slices.Delete(t.Columns, at, at+1)
	for i := range t.Rows {
		t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, at, at+1)
	}
}

// dropEmpty removes the columns that are empty in all rows.
func dropEmpty(t *view.Table) *view.Table {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if !slices.ContainsFunc(t.Rows, func(row view.Row) bool { return row.Cells[i].Text != "" }) {
			dropColumn(t, i)
		}
	}
	return t
}

// sheetOf has a row for each item, and the columns that are not empty for all.
func sheetOf[T any](items []T, columns []column[T]) *view.Table {
	return tableOf("sheet", items, used(items, columns))
}

// field is one fact for programs.
type field[T any] struct {
	name string
	text func(T) string
}

// records has a record for each item, below the names.
func records[T any](items []T, fields []field[T]) [][]string {
	head := make([]string, len(fields))
	for i, f := range fields {
		head[i] = f.name
	}
	out := [][]string{head}
	for _, item := range items {
		record := make([]string, len(fields))
		for i, f := range fields {
			record[i] = f.text(item)
		}
		out = append(out, record)
	}
	return out
}

// where returns the items for which holds is true.
func where[T any](items []T, holds func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool { return !holds(item) })
}

// distinct returns the texts without empty and repeated ones.
func distinct(texts []string) []string {
	var out []string
	for _, text := range texts {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// each makes a text of every item.
func each[T any](items []T, text func(T) string) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = text(item)
	}
	return out
}

// group is items that have something in common.
type group[T any] struct {
	name  string
	items []T
}

// grouped puts items of one name together, in the order they first appear in.
func grouped[T any](items []T, name func(T) string) []group[T] {
	var out []group[T]
	at := map[string]int{}
	for _, item := range items {
		i, seen := at[name(item)]
		if !seen {
			i = len(out)
			at[name(item)] = i
			out = append(out, group[T]{name: name(item)})
		}
		out[i].items = append(out[i].items, item)
	}
	return out
}

// tallied counts words: "1 regression, 3 maintained". Some have a plural.
func tallied(words []string, plural ...string) string {
	return strings.Join(each(grouped(words, func(word string) string { return word }), func(g group[string]) string {
		noun := g.name
		if len(g.items) > 1 && slices.Contains(plural, noun) {
			noun += "s"
		}
		return unit.Count(len(g.items)) + " " + noun
	}), ", ")
}

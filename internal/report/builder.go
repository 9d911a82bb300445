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
	parts []view.Section // about one kernel each, that a page has not got yet
}

// shows reports whether one of the forms is requested. Slow parts are made only then.
func (b *builder) shows(in view.Form) bool { return b.forms&in != 0 }

// add adds a section to those of the given forms that are requested, if there is anything in it.
func (b *builder) add(in view.Form, s view.Section) {
	if b.shows(in) && !s.Empty() {
		s.In = in
		b.v.Sections = append(b.v.Sections, s)
	}
}

// sheet adds a table to a page as a section, if it has rows.
func (b *builder) sheet(id, title string, t *view.Table) {
	if len(t.Rows) > 0 {
		b.add(view.HTML, view.Section{ID: id, Title: title, Table: t})
	}
}

// lines adds a section of sentences, if there are any.
func (b *builder) lines(in view.Form, tone view.Tone, texts ...string) {
	b.add(in, view.Section{Lines: linesOf(tone, texts)})
}

// warnings adds a list of doubts, if there are any, the gravest first. A terminal that is not verbose
// has one line: their number, and the first.
func (b *builder) warnings(in view.Form, texts []string) {
	b.add(in&^view.Text, view.Section{ID: "warnings", Title: "Warnings", Lines: each(texts, doubt), List: true, End: true})
	switch n := len(texts); {
	case n == 1:
		b.add(in&view.Text, view.Section{Lines: each(texts, doubt), List: true})
	case n > 1:
		b.add(in&view.Text, view.Section{Lines: []view.Line{doubt(unit.Count(n) + " doubts (-v shows all): " + view.Flat(texts[0]))}})
	}
}

// doubt returns the line of a doubt.
func doubt(text string) view.Line { return view.Line{Text: text, Tone: view.Unsure, Mark: "!"} }

// end adds parts to the line near the end of a terminal's text.
func (b *builder) end(in view.Form, parts ...string) {
	for _, part := range present(parts...) {
		b.v.Ending = append(b.v.Ending, view.Line{Text: part, In: in})
	}
}

// notes adds a list of remarks, if there are any.
func (b *builder) notes(in view.Form, texts []string) {
	b.add(in, view.Section{ID: "notes", Title: "Notes", Lines: linesOf(view.Quiet, texts), List: true, End: true})
}

func linesOf(tone view.Tone, texts []string) []view.Line {
	return each(texts, func(text string) view.Line { return view.Line{Text: text, Tone: tone} })
}

// leftOut says how many items a page has no room for; "" where it has room for all.
func leftOut(n int, noun string) string {
	return when(n > 0, view.Counted(n, "more "+noun)+" in the JSON report")
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
	words         bool // sentences
	rank, bytes   int
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
	return where(columns, func(c column[T]) bool {
		return slices.ContainsFunc(items, func(item T) bool { return c.of(item).Text != "" })
	})
}

// tableOf has a row for each item.
func tableOf[T any](look string, items []T, columns []column[T]) *view.Table {
	return &view.Table{
		Look: look,
		Columns: each(columns, func(c column[T]) view.Column {
			return view.Column{Head: c.head, Number: c.number, Badge: c.badge, Words: c.words, Rank: c.rank, Bytes: c.bytes}
		}),
		Rows: each(items, func(item T) view.Row {
			return view.Row{Cells: each(columns, func(c column[T]) view.Cell { return c.of(item) })}
		}),
	}
}

// sheetOf has a row for each item, and the columns that are not empty for all.
func sheetOf[T any](items []T, columns []column[T]) *view.Table {
	return tableOf("sheet", items, used(items, columns))
}

// records has a record for each item, below the names of the columns.
func records[T any](items []T, columns []column[T]) [][]string {
	heads := each(columns, func(c column[T]) string { return c.head })
	return append([][]string{heads}, each(items, func(item T) []string {
		return each(columns, func(c column[T]) string { return c.text(item) })
	})...)
}

// textOf returns a text about what p points to, and nothing where p is nil.
func textOf[T any](p *T, text func(*T) string) string {
	if p == nil {
		return ""
	}
	return text(p)
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

// each makes something of every item.
func each[T, R any](items []T, made func(T) R) []R {
	out := make([]R, len(items))
	for i, item := range items {
		out[i] = made(item)
	}
	return out
}

// sum adds up a number of every item.
func sum[T any, N int | float64](items []T, number func(T) N) N {
	var total N
	for _, item := range items {
		total += number(item)
	}
	return total
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

package report

import (
	"fmt"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// How many causes a comment has before it is unfolded, after, and how many numbers of each.
const (
	mostCauses       = 2
	mostFoldedCauses = 6
	mostCauseLines   = 10
	mostWhy          = 20 // that a page shows with their pictures
)

// why shows why rows changed: a sentence each; where there is room, the numbers that moved.
func (b *builder) why(in view.Form) {
	all := where(explained(b.r.Rows), func(w *reason) bool { return !w.single() })
	if len(all) == 0 {
		return
	}
	told, unknown := apart(all)
	b.add(in&view.Text, view.Section{Lines: append(each(told, func(w *reason) view.Line { return view.Line{Text: w.told()} }), linesOf("", unknown)...)})
	shown := told[:min(mostWhy, len(told))]
	for _, w := range shown {
		b.differ(w, in&(view.Verbose|view.HTML))
	}
	b.page("why", "Why")
	b.add(in&view.Markdown, view.Section{Title: "Why", List: true, Noun: "cause", Left: len(told) - len(shown), Lines: append(each(shown, func(w *reason) view.Line {
		return view.Line{Text: w.told() + prefixed("; ", w.moved())}
	}), linesOf("", unknown)...)})
	b.lines(in&(view.Verbose|view.HTML), "", unknown...)
	b.lines(in&(view.Verbose|view.HTML), view.Quiet, present(leftOut(len(told)-len(shown), "cause"))...)
	b.limits(all, in)
}

// apart leaves out the rows of which nothing shows why they changed, where there are several, and says so
// of all of them in one sentence: a machine without counters has no more to say of any.
func apart(all []*reason) (told []*reason, unknown []string) {
	rest := where(all, func(w *reason) bool { return !w.known() })
	if len(rest) < 2 {
		return all, nil
	}
	names := distinct(each(rest, (*reason).called))
	return where(all, (*reason).known), []string{"no counter shows why these changed: " + few(names)}
}

// Causes returns sentences about why rows changed, where that is known, each with the numbers that moved
// most as an aligned table: of so many rows, and so many numbers.
func Causes(r *result.Report, rows, numbers int) (lines []string) {
	all := where(explained(r.Rows), func(w *reason) bool { return !w.single() && w.known() })
	for _, w := range all[:min(rows, len(all))] {
		lines = append(lines, w.told())
		t := w.table(numbers)
		for i := range t.Columns {
			t.Columns[i].Header = "" // before, after and the change are known as such
		}
		if len(t.Rows) > 0 {
			lines = append(lines, strings.Split(strings.TrimRight(t.String(), "\n"), "\n")...)
		}
	}
	return lines
}

// known reports whether something shows why the versions differ.
func (w *reason) known() bool {
	return w.Cause != nil || len(w.Moves)+len(w.Static)+len(w.Code)+len(w.Build) > 0
}

// told is the sentence with the name of its row: "why saxpy/large is slower: …".
func (w *reason) told() string {
	if rest, found := strings.CutPrefix(w.Sentence, "it "); found {
		return "why " + w.called() + " " + rest
	}
	return "why " + w.called() + ": " + w.Sentence
}

// called names the row, and the kernel where the row has several.
func (w *reason) called() string {
	if w.own {
		return w.row.Name() + " (" + w.Kernel + ")"
	}
	return w.row.Name()
}

// moved names the numbers that moved most.
func (w *reason) moved() string {
	const most = 3
	t := w.moves(false)
	return strings.Join(each(t.Rows[:min(most, len(t.Rows))], func(row view.Row) string {
		return row.Cells[0].Text + " " + row.Cells[1].Text + " → " + row.Cells[2].Text
	}), ", ")
}

// causes are what a comment says of why the rows of its table changed, and a fold with their numbers.
func causes(rows []checked) (told []view.Phrase, fold view.Fold) {
	fold.Noun = "cause"
	all := where(explained(each(rows, func(c checked) *result.Row { return c.row })), func(w *reason) bool { return !w.single() })
	if len(all) == 0 {
		return nil, fold
	}
	shown, unknown := apart(all)
	for _, w := range shown {
		text := w.told()
		if len(told) < mostCauses && w.known() {
			told = append(told, view.Phrase{Quoted: text})
		}
		if len(fold.Items) == mostFoldedCauses {
			fold.Left++
			continue
		}
		fold.Items = append(fold.Items, view.FoldItem{Phrase: view.Phrase{Quoted: text}, Code: w.numbersThatMoved()})
	}
	for _, text := range unknown {
		fold.Items = append(fold.Items, view.FoldItem{Phrase: view.Phrase{Quoted: text}})
	}
	fold.Title = "Root cause: " + unit.Plural(len(all), "kernel", "kernels")
	return told, fold
}

// table is the numbers that moved, as many as are wanted, for a text.
func (w *reason) table(most int) *term.Table {
	from := w.moves(false)
	t := &term.Table{}
	for _, c := range from.Columns[:min(4, len(from.Columns))] {
		align := term.Left
		if c.Number {
			align = term.Right
		}
		t.Columns = append(t.Columns, term.Column{Header: c.Head, Align: align})
	}
	for _, row := range from.Rows[:min(most, len(from.Rows))] {
		t.Add(each(row.Cells[:len(t.Columns)], func(c view.Cell) string { return view.Harmless(view.Flat(c.Text)) })...)
	}
	return t
}

// numbersThatMoved is what a comment says of a cause.
func (w *reason) numbersThatMoved() string {
	var lines []string
	if t := w.table(mostCauseLines); len(t.Rows) > 0 {
		lines = append(lines, strings.TrimRight(t.String(), "\n"))
	}
	lines = append(lines, w.Code...)
	lines = append(lines, w.Build...)
	if w.Cause != nil && !w.faster() {
		lines = append(lines, fmt.Sprintf("do: %s", w.Cause.First))
	}
	return strings.Join(lines, "\n")
}

package render

import (
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/unit"
)

// mostComment is how long a comment may be, in bytes. Forges count characters and take 65,535: there
// is room for what is put around it.
const mostComment = 60_000

// Comment renders a comment as Markdown. Whatever is not pawl's own is shown as code: in code, no forge
// sees a mention, a reference, a link, a formula or HTML.
func Comment(c view.Comment) string {
	d := &comment{}
	d.line(c.Mark + " **" + c.Bold + "**" + c.Verdict)
	d.line(code(c.Reason, 300))
	d.table(c.Axis, c.Rows)
	for _, cause := range c.Causes {
		d.line(phrase(cause, 300))
	}
	end := &comment{}
	end.line(phrases(c.Trust))
	end.commands(c.Next)
	for i, f := range c.Folds {
		// Each fold has an equal part of what is left, so that one cannot crowd out the others.
		d.fold(f, (mostComment-d.Len()-end.Len())/(len(c.Folds)-i))
	}
	return strings.TrimRight(d.String()+end.String(), "\n") + "\n"
}

type comment struct{ strings.Builder }

// line adds a paragraph.
func (d *comment) line(text string) {
	if text != "" {
		d.WriteString(text + "\n\n")
	}
}

func (d *comment) table(axis string, rows []view.CommentRow) {
	if len(rows) == 0 {
		return
	}
	t := newTable(axis, rows)
	d.WriteString(t.head())
	for _, row := range rows {
		d.WriteString(t.row(row))
	}
	d.WriteString("\n")
}

// commentTable is a table with the columns that its rows need.
type commentTable struct {
	axis   string
	charts bool // some row has one
}

func newTable(axis string, rows []view.CommentRow) commentTable {
	return commentTable{axis, slices.ContainsFunc(rows, func(row view.CommentRow) bool { return row.Chart != "" })}
}

func (t commentTable) head() string {
	if !t.charts {
		return "| | config | |\n| --- | --- | --- |\n"
	}
	return "| | config | effect | " + together("95% interval") + " | " + together(t.axis) + " |\n| --- | --- | ---: | ---: | --- |\n"
}

func (t commentTable) row(row view.CommentRow) string {
	word := row.Word
	if row.Loud {
		word = "**" + word + "**"
	}
	cells := []string{word, code(row.Name, 120)}
	if t.charts {
		effect, times, found := strings.Cut(row.Effect, " (")
		if found {
			effect += " (" + together(times)
		}
		cells = append(cells, effect, together(row.Interval))
	}
	cells = append(cells, code(row.Chart+row.Note, 200))
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// together keeps a narrow screen from wrapping a text.
func together(text string) string { return strings.ReplaceAll(text, " ", "\u00a0") }

// fold adds a fold of at most so many bytes. What finds no room is counted.
func (d *comment) fold(f view.Fold, most int) {
	begin, end := d.Len(), "</details>\n\n"
	const rest = 120 // bytes that the last line may take
	d.WriteString("<details><summary>" + f.Title + "</summary>\n\n")
	left := f.Left
	add := func(text string, stands int) {
		if d.Len()-begin+len(text)+len(end)+rest > most {
			left += stands
			return
		}
		d.WriteString(text)
	}
	if len(f.Rows) > 0 {
		t := newTable(f.Axis, f.Rows)
		d.WriteString(t.head())
		for _, row := range f.Rows {
			add(t.row(row), 1)
		}
		d.WriteString("\n")
	}
	for _, item := range f.Items {
		text := "- " + phrase(item.Phrase, 600) + "\n"
		if item.Code != "" {
			text += "\n" + fenced(clip(view.Harmless(excerpt(item.Code)), 3000))
		}
		add(text, 1)
	}
	if len(f.Items) > 0 {
		d.WriteString("\n")
	}
	for i, name := range f.Names {
		switch {
		case i > 0:
			add(", ", 0)
		case len(f.Rows) > 0:
			d.WriteString("Also: ")
		}
		add(code(name, 120), 1)
	}
	if len(f.Names) > 0 {
		d.WriteString("\n\n")
	}
	if left > 0 {
		d.line("… and " + unit.Plural(left, f.Noun, f.Noun+"s") + " more in the report")
	}
	d.WriteString(end)
}

func (d *comment) commands(all []view.Command) {
	if len(all) == 0 {
		return
	}
	widest := 0
	for _, one := range all {
		widest = max(widest, len(one.Text))
	}
	d.WriteString("```sh\n")
	for _, one := range all {
		d.WriteString(one.Text + strings.Repeat(" ", widest-len(one.Text)) + "  # " + one.Why + "\n")
	}
	d.WriteString("```\n")
}

func phrases(all []view.Phrase) string {
	var out []string
	for _, p := range all {
		out = append(out, phrase(p, 120))
	}
	return strings.Join(out, " · ")
}

func phrase(p view.Phrase, most int) string {
	if p.URL != "" {
		return "[" + p.Own + "](" + p.URL + ")"
	}
	return p.Own + code(p.Quoted, most)
}

// code shows somebody else's words as code, in one line. They cannot end it: a backtick becomes a
// letter that looks like one. A bar would end a cell of a table.
func code(text string, most int) string {
	text = strings.Join(strings.Fields(view.Harmless(text)), " ")
	text = strings.NewReplacer("`", "ˋ", "|", "¦").Replace(clip(text, most))
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

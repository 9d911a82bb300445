package render

import (
	"cmp"
	"fmt"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/unit"
)

// mostMarkdown keeps a document below what a forge takes as one comment (65,536
// characters), with room for what stands around it.
const mostMarkdown = 60_000

// markdown is a document on its way. What is the same whatever the view says is
// printed; what depends on it is added, if it fits.
type markdown struct {
	strings.Builder
	room    int  // bytes of a comment
	rows    int  // bytes after which no row is added
	comment bool // for a forge
	left    int  // rows that found no room, where the end says so
}

// Markdown renders a view for people who read it in a browser.
func Markdown(v view.View) string {
	end := &markdown{comment: v.Comment, room: mostMarkdown / 8}
	for _, s := range v.Sections {
		if s.End {
			end.section(s)
		}
	}
	foot := make([]string, len(v.Foot))
	for i, part := range v.Foot {
		foot[i] = end.safe(part, 200)
	}
	end.printf("%s\n", strings.Join(foot, " · "))
	d := &markdown{comment: v.Comment, room: mostMarkdown - end.Len(), rows: mostMarkdown + len("|\n")}
	if v.Comment {
		d.rows = d.room
	}
	d.printf("# pawl %s: %s\n\n", v.Kind, d.safe(cmp.Or(v.Brief, v.Title), 1000))
	if v.Next != "" {
		d.printf("Next: %s\n\n", d.safe(v.Next, 600))
	}
	for _, s := range v.Sections {
		if !s.End {
			d.section(s)
		}
	}
	if d.left > 0 {
		d.printf("%s more rows are left out: `-o x.csv` has all of them.\n\n", unit.Count(d.left))
	}
	return d.String() + end.String()
}

func (d *markdown) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// full reports whether a comment has no room for this many bytes more.
func (d *markdown) full(bytes int) bool { return d.comment && d.Len()+bytes > d.room }

// add adds a text that there is room for.
func (d *markdown) add(text string) bool {
	if d.full(len(text)) {
		return false
	}
	d.WriteString(text)
	return true
}

// more says what found no room.
func (d *markdown) more(n int, of, noun string) {
	if n > 0 {
		d.printf("… and %s%s\n\n", of, view.Counted(n, "more "+noun))
	}
}

func (d *markdown) section(s view.Section) {
	if !s.Shown(view.Markdown) || s.Folded && d.left > 0 {
		return
	}
	if s.Title != "" {
		d.printf("## %s\n\n", d.safe(s.Title, 250))
	}
	if s.Folded {
		d.printf("<details><summary>%s</summary>\n\n", d.safe(s.Fold, 250))
	}
	if s.Table != nil {
		d.table(s.Table, s.Noun)
	}
	d.names(s)
	left := s.Left + d.lines(s)
	if s.Code.Text != "" {
		d.add(fencedAs(s.Code.Language, strings.TrimSpace(strings.Map(visible, s.Code.Text))))
	}
	left += d.items(s.Items)
	untold := 0
	for _, part := range s.Parts {
		const head = 1000 // bytes around a table
		switch {
		case part.Tools != nil:
			untold += d.tools(part, &left)
		case left > 0 || d.full(head):
			left += part.Count
		default:
			d.section(part)
		}
	}
	d.rest(s, left+untold)
	if s.Folded {
		d.printf("</details>\n\n")
	}
}

// rest ends a section, and says how much of it found no room.
func (d *markdown) rest(s view.Section, left int) {
	if s.List && s.Noun == "" && left > 0 {
		d.printf("- … and %s more\n", unit.Count(left))
	}
	if s.List {
		d.printf("\n")
	}
	switch {
	case s.Noun != "":
		d.more(left, s.Of, s.Noun)
	case !s.List && left > 0:
		d.printf("… and %s more in the report\n\n", unit.Count(left))
	}
}

// lines writes sentences, and returns how many of a list found no room.
func (d *markdown) lines(s view.Section) (left int) {
	for i, line := range s.Lines {
		text := d.safe(line.Text, 600)
		switch {
		case s.List && !d.add("- "+text+"\n"), s.Noun != "" && !s.List && d.full(len(text)):
			return len(s.Lines) - i
		case !s.List:
			d.printf("%s\n\n", text)
		}
	}
	return 0
}

// table writes a table, and what explains the rows that found room.
func (d *markdown) table(t *view.Table, noun string) {
	if len(t.Rows) == 0 {
		return
	}
	for _, c := range t.Columns {
		d.printf("| %s ", c.Head)
	}
	d.printf("|\n")
	for _, c := range t.Columns {
		if c.Number {
			d.printf("| ---: ")
		} else {
			d.printf("| --- ")
		}
	}
	d.printf("|\n")
	shown := 0
	for ; shown < len(t.Rows); shown++ {
		line := d.row(t.Columns, t.Rows[shown])
		if noun != "" && d.Len()+len(line) > d.rows {
			break
		}
		d.WriteString(line)
	}
	d.printf("\n")
	if d.comment {
		d.more(len(t.Rows)-shown, "", noun)
	} else {
		d.left += len(t.Rows) - shown
	}
	left := 0
	for _, row := range t.Rows[:shown] {
		left += d.items(row.Items)
	}
	d.more(left, "", "explanation")
}

func (d *markdown) row(columns []view.Column, row view.Row) string {
	var line strings.Builder
	for i, c := range row.Cells {
		text := c.Text
		if most := columns[i].Bytes; most > 0 && d.comment {
			text = inline(text, most)
		} else if most > 0 {
			text = escape(view.Printable(text))
		}
		switch {
		case i == 0 && row.Sub:
			text = "against " + text
		case columns[i].Badge && c.Tone == view.Bad && d.comment:
			text = "**" + text + "**"
		}
		line.WriteString("| " + text + c.Rest + " ")
	}
	return line.String() + "|\n"
}

// names lists rows in one line.
func (d *markdown) names(s view.Section) {
	if len(s.Names) == 0 {
		return
	}
	all, left := 0, 0
	for _, name := range s.Names {
		all += name.Rows
	}
	d.printf("%s: ", view.Counted(all, "config")) // so that no name begins a line, and means something there
	separator := ""
	for _, name := range s.Names {
		if left > 0 || !d.add(separator+inline(name.Text, 120)) {
			left += name.Rows
		}
		separator = ", "
	}
	d.printf("\n\n")
	d.more(left, "", s.Noun)
}

// items explains what went wrong, and returns how many pieces of that found no room.
func (d *markdown) items(items []view.Item) (left int) {
	for _, item := range items {
		for _, text := range d.item(item) {
			if !d.add(text) {
				left++
			}
		}
	}
	return left
}

// item explains what went wrong, in pieces that may each find no room.
func (d *markdown) item(item view.Item) []string {
	switch {
	case !d.comment:
		text := fmt.Sprintf("## %s: %s\n\n%s\n\n", escape(item.Name), item.Badge.Text, escape(item.Message))
		if item.Hint != "" {
			text += "Hint: " + escape(item.Hint) + "\n\n"
		}
		if item.Output != "" {
			text += fenced(strings.TrimSpace(item.Output))
		}
		return []string{text}
	case item.Findings != nil:
		var out []string
		for _, f := range item.Findings {
			out = append(out, fmt.Sprintf("- **%s: %s**: %s: %s\n", f.Badge.Text, inline(item.Name, 120), inline(f.Exploit, 80), inline(f.Message, 600)))
		}
		return out
	case item.Mark != "":
		return []string{failure(item)}
	case item.Message == "" && item.Hint == "":
		return []string{"**" + inline(item.Name, 1150) + "**\n\n"}
	}
	message := item.Message
	if item.Hint != "" {
		message += " (" + item.Hint + ")"
	}
	text := fmt.Sprintf("**%s**: %s\n\n", inline(item.Name, 200), inline(message, 1000))
	if item.Built && item.Output != "" {
		text += fenced(clip(strings.Map(visible, excerpt(item.Output)), 3000))
	}
	return []string{text}
}

// failure returns a wrong answer in full.
func failure(item view.Item) string {
	text := fmt.Sprintf("**%s %s**: %s\n\n", item.Mark, inline(item.Name, 300), inline(item.Message, 1000))
	if item.Hint != "" {
		text += "- " + inline("hint: "+item.Hint, 600) + "\n"
	}
	for _, line := range item.Lines {
		if !shows(line.In, view.Markdown) {
			continue
		}
		text += "- " + inline(line.Text, 600) + "\n"
	}
	text = strings.TrimRight(text, "\n") + "\n\n"
	for _, m := range item.Maps {
		text += inline("- "+tileMap{m}.caption(), 300) + "\n\n" + fenced(strings.Join(append(tileMap{m}.lines(0), shadeKey), "\n"))
	}
	return text
}

// tools tells what tools said of a kernel. It adds to left what finds no room, and
// returns how many findings are too many to tell.
func (d *markdown) tools(s view.Section, left *int) (untold int) {
	add := func(text string) {
		if *left > 0 || !d.add(text) {
			*left++
		}
	}
	var words []string
	for _, tool := range s.Tools {
		words = append(words, inline(tool.Name, 40)+" "+inline(tool.Badge.Text, 400))
	}
	text := fmt.Sprintf("**%s**: %s\n\n", inline(s.Name, 120), strings.Join(words, " · "))
	if s.Aside != "" {
		text += "- " + inline(s.Aside, 400) + "\n\n"
	}
	add(text)
	told := 0
	for _, tool := range s.Tools {
		for _, f := range tool.Findings {
			if told++; told <= mostFound {
				add(found(f))
			}
		}
	}
	return max(0, told-mostFound)
}

func found(f view.Found) string {
	text := fmt.Sprintf("**%s: %s**", inline(f.Badge.Text, 40), inline(f.Kind, 400))
	if f.Source != "" {
		text += " at " + inline(f.Source, 400)
	}
	if f.Device != "" {
		text += " " + inline(f.Device, 400)
	}
	text += "\n\n"
	for _, line := range f.Lines {
		text += "- " + inline(line, 400) + "\n"
	}
	return strings.TrimRight(text, "\n") + "\n\n"
}

package report

import (
	"fmt"
	"strings"
	"unicode"

	"pawl/internal/result"
	"pawl/internal/term"
)

// bounded is a document that has room for so much and no more. What is the same
// whatever the report says is printed; what depends on it is added, if it fits.
type bounded struct {
	strings.Builder
	room int
}

func (d *bounded) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

func (d *bounded) add(text string) bool {
	if d.Len()+len(text) > d.room {
		return false
	}
	d.WriteString(text)
	return true
}

// fold hides something until it is asked for.
func (d *bounded) fold(hidden bool, summary string, write func()) {
	if !hidden {
		write()
		return
	}
	d.printf("<details><summary>%s</summary>\n\n", summary)
	write()
	d.printf("</details>\n\n")
}

// more says what found no room.
func (d *bounded) more(n int) {
	if n > 0 {
		d.printf("… and %s\n\n", counted(n, "more row"))
	}
}

func (d *bounded) table(r *result.Report, rows []checked) {
	shown := used(rows)
	d.printf("| config ")
	for _, column := range shown {
		d.printf("| %s ", column.head)
	}
	d.printf("| verdict |  |\n| --- ")
	for _, column := range shown {
		if column.align == term.Right {
			d.printf("| ---: ")
		} else {
			d.printf("| --- ")
		}
	}
	d.printf("| --- | --- |\n")
	left := 0
	for i, c := range rows {
		var line strings.Builder
		line.WriteString("| " + inline(c.row.Name(), 120) + " ")
		for _, column := range shown {
			line.WriteString("| " + column.text(c) + " ")
		}
		fmt.Fprintf(&line, "| %s | %s |\n", c.loud(), inline(strings.Join(c.markdownNotes(r), "; "), 600))
		if !d.add(line.String()) {
			left = len(rows) - i
			break
		}
	}
	d.printf("\n")
	d.more(left)
	d.explain(rows[:len(rows)-left])
}

// loud is the verdict, in bold when it fails or would have failed the gate.
func (c checked) loud() string {
	switch c.section() {
	case slowed, failed:
		return "**" + c.word() + "**"
	case onPurpose:
		return "**regression**, slower on purpose"
	}
	return c.word()
}

// markdownNotes say what the numbers do not, the baseline's way included.
func (c checked) markdownNotes(r *result.Report) []string {
	out := c.notes()
	if text := c.moved(r); text != "" {
		out = append(out, text)
	}
	if c.section() == planned {
		out = append(out, c.row.Plan)
	}
	if c.best != nil {
		best := compared{change: c.best.Change}
		out = append(out, fmt.Sprintf("against %s: %s %s", sideName(c.best), best.changed(), best.interval()))
	}
	return out
}

// explain writes what a table has no room for: reasons for being slower, and why
// rows failed. Rows of one kernel whose build failed alike are explained once.
func (d *bounded) explain(rows []checked) {
	seen := map[string]bool{}
	left := 0
	for _, c := range rows {
		text := ""
		switch f := c.row.Fault; {
		case c.section() == onPurpose && c.why() != "":
			text = fmt.Sprintf("**%s is slower on purpose, %s**\n\n", inline(c.row.Name(), 120), inline(c.why(), 1000))
		case f != nil && f.Cause != result.CauseInterrupted:
			name := c.row.Name()
			if f.Stage == "build" {
				name = c.row.Kernel + variant(c.row)
				id := c.row.Kernel + "\x00" + f.Message
				if seen[id] {
					continue
				}
				seen[id] = true
			}
			text = fmt.Sprintf("**%s**: %s\n\n", inline(name, 200), inline(hinted(f.Message, f.Hint), 1000))
			if c.row.Build != nil && f.Stage == "build" && c.row.Build.Output != "" {
				text += fenced(clip(strings.Map(visible, excerpt(c.row.Build.Output)), 3000))
			}
		}
		if !d.add(text) {
			left++
		}
		if text := c.blunders(); !d.add(text) {
			left++
		}
	}
	if left > 0 {
		d.printf("… and %s\n\n", counted(left, "more explanation"))
	}
}

// names lists rows in one line.
func (d *bounded) names(rows, all []checked) {
	names, sizes := gather(rows, all)
	d.printf("%s: ", counted(len(rows), "config")) // so that no name begins a line, and means something there
	left := 0
	for i, name := range names {
		separator := ""
		if i > 0 {
			separator = ", "
		}
		if left > 0 || !d.add(separator+inline(name, 120)) {
			left += sizes[i]
		}
	}
	d.printf("\n\n")
	d.more(left)
}

// clip shortens a text to so many bytes, with an ellipsis where it was cut.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// markup are the characters that Markdown would not show as they are. A table's bar
// must not be seen even behind a backslash, and nobody is to be called by a name.
var markup = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "~", "\\~", "$", "\\$", "@", "@\u200b",
)

// inline makes any text safe within a line of Markdown, and no longer than so many
// bytes of its own.
func inline(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	return markup.Replace(clip(strings.TrimSpace(text), most))
}

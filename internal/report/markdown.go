package report

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/result"
)

// Markdown renders the report for people who read it in a browser.
func Markdown(r *result.Report) string {
	switch r.Kind {
	case result.KindCompare:
		return compareMarkdown(r)
	case result.KindCheck:
		return checkMarkdown(r)
	case result.KindFuzz:
		return fuzzMarkdown(r)
	case result.KindSelftest:
		return selftestMarkdown(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# pawl %s: %s\n\n", r.Kind, machineLine(r))
	var shown []line
	for _, l := range lines(r) {
		if measured(l.row) {
			shown = append(shown, l)
		}
	}
	if len(shown) > 0 {
		markdownTable(&b, shown)
	}
	for _, l := range lines(r) {
		row := l.row
		if row.Fault == nil {
			continue
		}
		fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", escape(row.Name()), status(row), escape(row.Fault.Message))
		if row.Fault.Hint != "" {
			fmt.Fprintf(&b, "Hint: %s\n\n", escape(row.Fault.Hint))
		}
		if row.Build != nil && row.Build.Output != "" {
			b.WriteString(fenced(strings.TrimSpace(row.Build.Output)))
		}
	}
	if warnings := allWarnings(r); len(warnings) > 0 {
		b.WriteString("## Warnings\n\n")
		for _, w := range warnings {
			fmt.Fprintf(&b, "- %s\n", escape(w))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s · %s", r.Started.Format(time.RFC3339), methodLine(r))
	if r.Commit != nil {
		fmt.Fprintf(&b, " · commit %.12s", r.Commit.SHA)
		if r.Commit.Dirty {
			b.WriteString(" with local changes")
		}
	}
	if uuids := devices(lines(r)); uuids != nil {
		f := deviceFact(uuids)
		fmt.Fprintf(&b, " · %s: %s", f.Name, escape(f.Text))
	}
	if r.Interrupted {
		b.WriteString(" · interrupted")
	}
	fmt.Fprintf(&b, " · pawl %s · run %s\n", r.Tool.Version, r.ID)
	return b.String()
}

// fenced is a code block whose fence the text cannot close.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence + "\n\n"
}

func markdownTable(b *strings.Builder, all []line) {
	shown := present(all)
	last := lastHeading(all)
	b.WriteString("| kernel/config |")
	for _, c := range shown {
		b.WriteString(" " + c.head + " |")
	}
	b.WriteString(" " + last + " |\n| --- |" + strings.Repeat(" ---: |", len(shown)) + " --- |\n")
	for _, l := range all {
		name := escape(l.label)
		if l.rival != nil {
			name = "against " + name
		}
		fmt.Fprintf(b, "| %s |", name)
		for _, c := range shown {
			b.WriteString(" " + c.text(l.row) + " |")
		}
		b.WriteString(" " + l.outcome() + " |\n")
	}
	b.WriteString("\n")
}

// escape keeps names and messages from being read as Markdown or HTML.
func escape(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`").Replace(text)
}

// allWarnings lists the warnings of the run and of its rows; one that several rows
// share stands once, with the evidence of the first. Of one row all stand: two files
// may both be noisy.
func allWarnings(r *result.Report) []string {
	var out []string
	for _, w := range r.Warnings {
		out = append(out, hinted(w.Message, w.Hint))
	}
	type kind struct {
		code string
		nth  int // of a row's
	}
	rows := map[kind][]string{}
	first := map[kind]result.Warning{}
	var kinds []kind
	for _, row := range r.Rows {
		seen := map[string]int{}
		for _, w := range row.Warnings {
			k := kind{w.Code, seen[w.Code]}
			seen[w.Code]++
			if rows[k] == nil {
				kinds = append(kinds, k)
				first[k] = w
			}
			rows[k] = append(rows[k], row.Name())
		}
	}
	for _, k := range kinds {
		text := rows[k][0] + ": " + first[k].Message
		if more := len(rows[k]) - 1; more > 0 {
			text += fmt.Sprintf("; likewise %s", few(rows[k][1:]))
		}
		out = append(out, hinted(text, first[k].Hint))
	}
	return out
}

func hinted(text, hint string) string {
	if hint == "" {
		return text
	}
	return text + " (" + hint + ")"
}

// few names some and counts the rest.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

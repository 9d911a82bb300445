package report

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/result"
)

// Markdown renders the report for people who read it in a browser.
func Markdown(r *result.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# pawl %s: %s\n\n", r.Kind, machineLine(r))
	var rows []*result.Row
	for _, row := range r.Rows {
		if measured(row) {
			rows = append(rows, row)
		}
	}
	if len(rows) > 0 {
		markdownTable(&b, rows)
	}
	for _, row := range r.Rows {
		if row.Fault == nil {
			continue
		}
		fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n", escape(row.Name()), status(row), escape(row.Fault.Message))
		if row.Fault.Hint != "" {
			fmt.Fprintf(&b, "Hint: %s\n\n", escape(row.Fault.Hint))
		}
		if row.Build != nil && row.Build.Output != "" {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", strings.TrimSpace(row.Build.Output))
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
	if r.Interrupted {
		b.WriteString(" · interrupted")
	}
	fmt.Fprintf(&b, " · pawl %s · run %s\n", r.Tool.Version, r.ID)
	return b.String()
}

func markdownTable(b *strings.Builder, rows []*result.Row) {
	shown := present(rows)
	b.WriteString("| kernel/config |")
	for _, c := range shown {
		b.WriteString(" " + c.head + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(shown)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |", escape(row.Name()))
		for _, c := range shown {
			b.WriteString(" " + c.text(row) + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// escape keeps names and messages from being read as Markdown or HTML.
func escape(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`").Replace(text)
}

// allWarnings lists the warnings of the rows and of the whole run.
func allWarnings(r *result.Report) []string {
	var out []string
	for _, w := range r.Warnings {
		out = append(out, w.Message)
	}
	for _, row := range r.Rows {
		for _, w := range row.Warnings {
			text := row.Name() + ": " + w.Message
			if w.Hint != "" {
				text += " (" + w.Hint + ")"
			}
			out = append(out, text)
		}
	}
	return out
}

package report

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// mostMarkdown keeps a comparison below what a forge takes as one comment (65,536
// characters), with room for what stands around it.
const mostMarkdown = 60_000

// compareMarkdown renders a comparison: what needs attention open, the rest folded.
func compareMarkdown(r *result.Report) string {
	var b strings.Builder
	rows := comparedRows(r)
	fmt.Fprintf(&b, "# pawl compare: %s\n\n%s\n\n", escape(inputsLine(r)), tally(rows))
	quiet := slices.IndexFunc(rows, func(c compared) bool {
		return slices.Index(verdictOrder, c.row.Verdict) >= slices.Index(verdictOrder, result.Maintained)
	})
	const short = 20
	if quiet < 0 || len(rows) <= short {
		quiet = len(rows)
	}
	left := compareMarkdownTable(&b, rows[:quiet])
	if quiet < len(rows) && left == 0 {
		fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n", tally(rows[quiet:]))
		left = compareMarkdownTable(&b, rows[quiet:])
		b.WriteString("</details>\n\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "%s more rows are left out: `-o x.csv` has all of them.\n\n", unit.Count(left))
	}
	var end strings.Builder
	for i, w := range allWarnings(r) {
		if i == 0 {
			end.WriteString("## Warnings\n\n")
		}
		fmt.Fprintf(&end, "- %s\n", escape(w))
	}
	if end.Len() > 0 {
		end.WriteString("\n")
	}
	var parts []string
	if device := deviceLine(r); device != "" {
		parts = append(parts, escape(device))
	}
	if r.Method.Interval != "" {
		parts = append(parts, "95% intervals of medians: "+r.Method.Interval)
	}
	fmt.Fprintf(&end, "%s\n", strings.Join(append(parts, "δ is positive when slower", "pawl "+r.Tool.Version), " · "))
	return b.String() + end.String()
}

// compareMarkdownTable returns how many rows found no room.
func compareMarkdownTable(b *strings.Builder, rows []compared) (left int) {
	if len(rows) == 0 {
		return 0
	}
	shown := filled(rows)
	for _, column := range shown {
		b.WriteString("| " + column.head + " ")
	}
	b.WriteString("|\n")
	for _, column := range shown {
		if column.align == term.Right {
			b.WriteString("| ---: ")
		} else {
			b.WriteString("| --- ")
		}
	}
	b.WriteString("|\n")
	for i, c := range rows {
		var line strings.Builder
		for _, column := range shown {
			line.WriteString("| " + escape(printable(column.text(c))) + " ")
		}
		if b.Len()+line.Len() > mostMarkdown {
			left = len(rows) - i
			break
		}
		b.WriteString(line.String() + "|\n")
	}
	b.WriteString("\n")
	return left
}

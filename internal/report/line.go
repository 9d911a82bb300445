package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
)

// line is a row of the table: a kernel on a config, or below it one of its rivals.
type line struct {
	label string
	row   *result.Row
	rival *result.Rival // nil for the row itself
}

// lines are all rows with their rivals below them.
func lines(r *result.Report) []line {
	var out []line
	for _, row := range r.Rows {
		out = append(out, line{label: row.Name(), row: row})
		for _, rival := range row.Rivals {
			out = append(out, line{label: rival.Label, row: rival.Row, rival: rival})
		}
	}
	return out
}

// judged is what a line came to: how much faster the kernel is than a rival, or the
// row's verdict or fault; nothing when there is nothing to say.
func (l line) judged() view.Cell {
	if l.rival != nil && l.rival.Ratio != nil {
		ratio := l.rival.Ratio
		return view.Cell{Text: fmt.Sprintf("%.2f×", ratio.Median), Rest: fmt.Sprintf(" [%.2f, %.2f]", ratio.Low, ratio.High), Tone: standing(ratio)}
	}
	text := status(l.row)
	switch {
	case text == "":
		return view.Cell{}
	case l.row.Verdict == result.Improvement:
		return view.Cell{Text: text, Tone: view.Good}
	case l.row.Verdict == result.Regression || l.row.Verdict == result.Incorrect || l.row.Verdict == result.Broken || l.row.Verdict == result.Rejected:
		return view.Cell{Text: text, Tone: view.Bad}
	case l.row.Fault != nil || l.row.Verdict == result.Inconclusive || l.row.Verdict == result.Incomparable:
		return view.Cell{Text: text, Tone: view.Unsure}
	}
	return view.Cell{Text: text, Tone: view.Plain}
}

// standing is whether the row's kernel was shown to be faster than a rival.
func standing(ratio *result.Ratio) view.Tone {
	switch {
	case ratio.Low > 1:
		return view.Faster
	case ratio.High < 1:
		return view.Slower
	}
	return view.Even
}

// measured tells whether a row has a number to show.
func measured(r *result.Row) bool { return r.Timing != nil && r.Timing.Stats.Count > 0 }

// cutShort tells whether a row was interrupted while it was measured: it has numbers,
// and nothing was made of them.
func cutShort(r *result.Row) bool {
	return measured(r) && r.Fault != nil && r.Fault.Cause == result.CauseInterrupted
}

// status is a row's outcome in a few words; "" when there is nothing to say.
func status(r *result.Row) string {
	switch {
	case r.Fault != nil && r.Verdict != "":
		return string(r.Verdict) + ": " + string(r.Fault.Cause)
	case cutShort(r):
		return string(r.Fault.Cause)
	case r.Fault != nil:
		return "not measured: " + string(r.Fault.Cause)
	}
	return string(r.Verdict)
}

// byKernel groups the rows, kernels in the order they first appear in.
func byKernel(r *result.Report) []group[*result.Row] {
	return grouped(r.Rows, func(row *result.Row) string { return row.Kernel })
}

func variant(row *result.Row) string {
	if len(row.Params) == 0 {
		return ""
	}
	return " " + pairs(row.Params)
}

// pairs writes what names stand for: "B=32 H=8".
func pairs(m map[string]string) string {
	return strings.Join(each(sortedKeys(m), func(name string) string { return name + "=" + m[name] }), " ")
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// few names some and counts the rest.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

package report

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// checkColumn is a column of a check, as pages show it.
type checkColumn struct {
	head  string
	align term.Align
	text  func(checked) string
	time  bool // of one side
}

var checkColumns = []checkColumn{
	{"best", term.Right, func(c checked) string { return c.sideMedian(result.Best) }, true},
	{"base", term.Right, func(c checked) string { return c.sideMedian(result.Base) }, true},
	{"current", term.Right, func(c checked) string { return c.times(nil) }, true},
	{"change", term.Right, checked.changed, false},
	{"95% interval", term.Left, checked.interval, false},
	{"δ", term.Right, checked.effect, false},
}

// used are the columns that one of the rows has something in.
func used(rows []checked) []checkColumn {
	var out []checkColumn
	for _, column := range checkColumns {
		for _, c := range rows {
			if column.text(c) != "" {
				out = append(out, column)
				break
			}
		}
	}
	return out
}

// longTable is where rows that need no attention are folded away.
const longTable = 12

// checkParts are the parts of the comment, the gravest first.
var checkParts = []struct {
	title    string
	sections []section
	quiet    bool // folded when long
}{
	{"Regressions", []section{slowed}, false},
	{"Failures", []section{failed}, false},
	{"Slower on purpose", []section{onPurpose}, false},
	{"Improvements", []section{faster}, false},
	{"Undecided", []section{undecided}, false},
	{"Maintained", []section{kept}, true},
	{"New", []section{fresh}, true},
	{"Plan", []section{planned}, false},
}

// checkMarkdown renders a check as a comment on a change. However many rows there
// are and whatever they say, it is short enough for a forge.
func checkMarkdown(r *result.Report) string {
	rows := checkedRows(r)
	end := checkEnd(r)
	var d bounded
	d.printf("# pawl check: %s\n\n", headline(r, rows))
	d.printf("%s", totals(rows))
	d.printf("%s\n\n", checkOrigin(r))
	d.room = mostMarkdown - len(end)
	d.accusations(r.Rows, rowName)
	for _, part := range checkParts {
		if some := of(rows, part.sections...); len(some) > 0 {
			d.printf("## %s\n\n", part.title)
			d.fold(part.quiet && len(some) > longTable, counted(len(some), "config"), func() { d.table(r, some) })
		}
	}
	if unchanged := of(rows, same); len(unchanged) > 0 {
		d.printf("## Unchanged\n\n")
		d.fold(len(unchanged) > longTable, counted(len(unchanged), "config"), func() { d.names(unchanged, rows) })
		for _, line := range movedLines(unchanged) {
			d.add(inline(line, 600) + "\n\n")
		}
	}
	d.verification(rows)
	return d.String() + end
}

// totals is the summary: how many rows came to what.
func totals(rows []checked) string {
	amount := func(sections ...section) string { return unit.Count(len(of(rows, sections...))) }
	slower := unit.Count(len(of(rows, slowed, onPurpose)))
	if accepted := of(rows, onPurpose); len(accepted) > 0 {
		slower += " (" + amount(onPurpose) + " on purpose)"
	}
	other := of(rows, failed, undecided, planned)
	rest := unit.Count(len(other))
	if len(other) > 0 {
		rest = summary(other)
	}
	heads := []string{"total", "regressions", "improvements", "maintained", "unchanged", "new", "other", "baseline moved"}
	cells := []string{unit.Count(len(rows)), slower, amount(faster), amount(kept), amount(same), amount(fresh), rest, unit.Count(advanced(rows))}
	if examined(rows) {
		heads, cells = append(heads, "verified"), append(cells, unit.Count(len(verifiedOf(rows))))
	}
	return fmt.Sprintf("| %s |\n%s|\n| %s |\n\n", strings.Join(heads, " | "), strings.Repeat("| ---: ", len(heads)), strings.Join(cells, " | "))
}

// checkOrigin says what was measured on what.
func checkOrigin(r *result.Report) string {
	parts := []string{"on " + inline(machineLine(r), 100)}
	if r.Commit != nil {
		commit := "commit " + inline(fmt.Sprintf("%.12s", r.Commit.SHA), 12)
		if r.Commit.Dirty {
			commit += " with local changes"
		}
		parts = append(parts, commit)
	}
	if r.Base != nil {
		parts = append(parts, "base "+inline(strings.TrimSpace(r.Base.Ref+" "+fmt.Sprintf("%.12s", r.Base.SHA)), 100))
	}
	return strings.Join(parts, " · ")
}

// checkEnd is what stands below the rows: doubts, and where it all comes from.
func checkEnd(r *result.Report) string {
	d := bounded{room: mostMarkdown / 8}
	if all := allWarnings(calm(attentive(r))); len(all) > 0 {
		d.printf("## Warnings\n\n")
		for i, w := range all {
			if !d.add("- " + inline(w, 600) + "\n") {
				d.printf("- … and %s more\n", unit.Count(len(all)-i))
				break
			}
		}
		d.printf("\n")
	}
	for _, note := range checkNotes(r) {
		d.printf("%s\n\n", inline(note, 600))
	}
	parts := []string{inline(methodLine(r), 100), "δ is positive when slower"}
	if text := alarms(r); text != "" {
		parts = append(parts, inline(text, 200))
	}
	parts = append(parts, r.Started.UTC().Format(time.RFC3339), "pawl "+inline(r.Tool.Version, 40))
	if r.ID != "" {
		parts = append(parts, "run "+inline(r.ID, 60))
	}
	d.printf("%s\n", strings.Join(parts, " · "))
	return d.String()
}

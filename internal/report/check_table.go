package report

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
)

// checkLine is a line of a check's table: a row or, below it, the best-known version
// that played too.
type checkLine struct {
	checked
	against *result.Side // the side that the line compares with
	sub     bool
}

func checkLines(rows []checked) []checkLine {
	var out []checkLine
	for _, c := range rows {
		out = append(out, checkLine{c, c.first, false})
		if c.best != nil {
			below := checkLine{c, c.best, true}
			below.change = c.best.Change
			out = append(out, below)
		}
	}
	return out
}

// ofRow makes a fact of rows; the lines below them do not have it.
func ofRow[F any](made func(checked) F) func(checkLine) F {
	return func(l checkLine) (fact F) {
		if !l.sub {
			fact = made(l.checked)
		}
		return fact
	}
}

func (l checkLine) name() string {
	if l.sub {
		return sideName(l.against)
	}
	return l.row.Name()
}

// styled makes a cell of a text that is dimmed in the line below a row.
func styled(tone view.Tone, text func(checkLine) string) func(checkLine) view.Cell {
	return func(l checkLine) view.Cell {
		if l.sub {
			return view.Cell{Text: text(l), Tone: view.Quiet}
		}
		return view.Cell{Text: text(l), Tone: tone}
	}
}

var planColumns = []column[checked]{
	{text: func(c checked) string { return c.row.Name() }, tone: view.Strong},
	{words: true, text: func(c checked) string { return c.row.Plan }},
}

// textColumns are those of a terminal.
var textColumns = []column[checkLine]{
	{cell: styled(view.Strong, checkLine.name)},
	{cell: ofRow(func(c checked) view.Cell { return view.Cell{Text: c.word(), Tone: c.tone()} })},
	{number: true, cell: styled("", func(l checkLine) string { return l.changed() })},
	{cell: styled(view.Quiet, func(l checkLine) string { return l.interval() })},
	{number: true, rank: 2, text: ofRow(func(c checked) string {
		if c.row.Verdict != result.Regression && c.row.Verdict != result.Improvement {
			return ""
		}
		return prefixed("δ ", c.effect())
	})},
	{number: true, rank: 1, cell: styled("", func(l checkLine) string {
		if l.against == nil {
			return l.alone()
		}
		return l.times(l.against)
	})},
	{number: true, rank: 3, cell: styled(view.Quiet, ofRow(checked.extent))},
	{words: true, cell: ofRow(checked.note)},
}

// timeColumns are the times of all sides, and changeColumns how they compare, in
// comments and on pages.
var (
	timeColumns = []column[checkLine]{
		{head: "best", number: true, text: ofRow(func(c checked) string { return c.sideMedian(result.Best) })},
		{head: "base", number: true, text: ofRow(func(c checked) string { return c.sideMedian(result.Base) })},
		{head: "current", number: true, text: ofRow(func(c checked) string { return c.times(nil) })},
	}
	changeColumns = []column[checkLine]{
		{head: "change", number: true, text: func(l checkLine) string { return l.changed() }},
		{head: "95% interval", text: func(l checkLine) string { return l.interval() }},
		{head: "δ", number: true, text: func(l checkLine) string { return l.effect() }},
	}
	nameColumn = column[checkLine]{head: "config", bytes: 120, text: checkLine.name}
)

// checkTable has a line for every row and, where the best-known version played too,
// one for that.
func checkTable(look string, rows []checked, columns []column[checkLine]) *view.Table {
	all := checkLines(rows)
	t := tableOf(look, all, columns)
	for i, l := range all {
		t.Rows[i].Sub = l.sub
	}
	return t
}

// single returns lines without those of best-known versions.
func single(rows []checked) []checkLine {
	return slices.DeleteFunc(checkLines(rows), func(l checkLine) bool { return l.sub })
}

// commentTable returns a part of a comment, with the explanations of its rows.
func (b *builder) commentTable(rows []checked) *view.Table {
	all := single(rows)
	columns := append([]column[checkLine]{nameColumn}, used(all, slices.Concat(timeColumns, changeColumns))...)
	columns = append(
		columns,
		column[checkLine]{head: "verdict", badge: true, cell: func(l checkLine) view.Cell { return l.loud() }},
		column[checkLine]{bytes: 600, text: func(l checkLine) string { return strings.Join(l.commentNotes(b.r), "; ") }},
	)
	t := tableOf("", all, columns)
	seen := map[string]bool{}
	for i, c := range rows {
		t.Rows[i].Items = c.explained(seen)
	}
	return t
}

// pageTable lists the measured rows, the gravest first.
func pageTable(r *result.Report, rows []checked) *view.Table {
	all := single(rows)
	columns := []column[checkLine]{
		{head: "kernel/config", text: checkLine.name},
		{head: "verdict", badge: true, cell: ofRow(checked.badge)},
	}
	// The change first: on a narrow screen the rest is out of sight.
	for _, c := range used(all, slices.Concat(changeColumns, timeColumns, []column[checkLine]{{head: "measured", text: ofRow(checked.extent)}})) {
		c.number = true
		columns = append(columns, c)
	}
	listed := slices.DeleteFunc(gravest(rows), func(c checked) bool { return c.section() == same })
	listed = listed[:min(mostListed, len(listed))]
	t := checkTable("results", listed, columns)
	t.Empty = "Nothing was measured."
	if slices.ContainsFunc(rows, func(c checked) bool { return measured(c.row) }) {
		t.Empty = "Nothing was compared."
	}
	for i, l := range checkLines(listed) {
		if !l.sub {
			t.Rows[i].Note = strings.Join(l.pageNotes(r), "; ")
		}
	}
	return t
}

// sectionTones are how verdicts look on a terminal.
var sectionTones = map[section]view.Tone{
	slowed: view.Bad, failed: view.Bad, faster: view.Good, kept: view.Good, onPurpose: view.Unsure, undecided: view.Unsure,
}

func (c checked) tone() view.Tone { return sectionTones[c.section()] }

// loud returns the verdict, in bold when it fails or would have failed the gate.
func (c checked) loud() view.Cell {
	if c.section() == onPurpose {
		return view.Cell{Text: string(result.Regression), Rest: ", slower on purpose", Tone: view.Bad}
	}
	return view.Cell{Text: c.word(), Tone: c.tone()}
}

// badge returns the verdict on a page.
func (c checked) badge() view.Cell {
	if c.section() == onPurpose {
		return view.Cell{Tone: view.Unsure, Text: "slower on purpose"}
	}
	if made := (line{row: c.row}).judged(); made.Text != "" {
		return made
	}
	return view.Cell{Tone: view.Plain, Text: c.word()}
}

// doubtful reports whether a reason should be investigated, though nothing fails.
func doubtful(r result.Reason) bool {
	return r == result.Creep || r == result.Bistable || r == result.SlowTail
}

// note returns the end of a terminal's line.
func (c checked) note() view.Cell {
	parts := append(c.notes(), present(c.moves())...)
	cell := view.Cell{Text: strings.Join(parts, "; "), Tone: view.Quiet}
	switch {
	case c.section() == failed && c.honesty() != "":
		cell.Tone = view.Bad
	case c.accepted() || suspicious(c.row):
		cell.Tone = view.Unsure
	case c.row.Moved != nil && c.row.Moved.Done:
		cell.Tone = view.Good
	case slices.ContainsFunc(c.row.Reasons, doubtful):
		cell.Tone = view.Unsure
	}
	return cell
}

// commentNotes says what the numbers do not, including the move of the baseline.
func (c checked) commentNotes(r *result.Report) []string {
	out := append(c.notes(), present(c.moved(r), c.planned())...)
	if c.best != nil {
		best := compared{change: c.best.Change}
		out = append(out, fmt.Sprintf("against %s: %s %s", sideName(c.best), best.changed(), best.interval()))
	}
	return out
}

// pageNotes returns those of a page, where a fault has a place of its own.
func (c checked) pageNotes(r *result.Report) []string {
	out := c.remarks()
	if !(c.section() == fresh && c.row.Moved != nil && c.row.Moved.Done) { // of new rows the summary says it
		out = append(out, present(c.moved(r))...)
	}
	return append(out, present(c.planned())...)
}

// planned returns what a row waits for.
func (c checked) planned() string { return when(c.section() == planned, c.row.Plan) }

// explained returns what a table has no room for: reasons for being slower, and why the row failed.
// Rows of one kernel whose build failed in the same way are explained once.
func (c checked) explained(seen map[string]bool) []view.Item {
	var out []view.Item
	switch f := c.row.Fault; {
	case c.section() == onPurpose && c.why() != "":
		out = append(out, view.Item{Name: c.row.Name() + " is slower on purpose, " + c.why()})
	case faulty(c.row):
		id := c.row.Kernel + "\x00" + f.Message
		if f.Stage == "build" && seen[id] {
			return nil
		}
		seen[id] = f.Stage == "build"
		out = append(out, faultOf(c.row))
	}
	const most = 3
	wrong := c.untold()
	for _, one := range wrong[:min(most, len(wrong))] {
		out = append(out, failureOf(failingCase{Case: one}, c.row, c.row.Name()))
	}
	return out
}

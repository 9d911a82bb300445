package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/unit"
)

//go:embed check.tmpl
var checkTemplate string

// checkView is what a page of a check has besides that of other runs.
type checkView struct {
	Cut       string   // rows that were left out of the table
	Same      string   // how many are unchanged
	Unchanged string   // their names
	Moved     []string // what became of their baseline
	Gate      string
	Axis      template.HTML // of the changes
	Changes   []changeLine
	Duets     []duet
	More      string // duets that were left out
	History   histories
}

// How much of a very large check a page holds.
const (
	mostProblems = 50
	mostListed   = 1000 // rows of the table
)

// tile is a number of the summary.
type tile struct {
	Class, Count, Name, Note string
}

// checkHTML renders a check as the same kind of page as any run.
func checkHTML(r *result.Report) ([]byte, error) {
	rows := checkedRows(r)
	told := sided(r, rows)
	failures, doubts := problems(told), allWarnings(attentive(r))
	if left := len(failures) - mostProblems; left > 0 {
		failures = failures[:mostProblems]
		doubts = append(doubts, counted(left, "more problem")+" in the JSON report")
	}
	wrong := checkFailures(rows)
	if wrong.left > 0 {
		doubts = append(doubts, counted(wrong.left, "more failure")+" in the JSON report")
	}
	p := page{
		Kind: string(r.Kind), Title: headline(r, rows), PlotStyle: template.CSS(plot.Style), Interrupted: r.Interrupted, Facts: checkFacts(r),
		Results: checkResults(r, rows), Problems: failures, Warnings: doubts, Samples: allStrips(unpaired(r, rows)),
		Resources: resourceSheet(told), Details: detailSheet(told), Machine: machineFacts(r), Tool: r.Tool.Version, Run: r.ID,
		Check: checkViewOf(rows, gateOf(r)), Tiles: tiles(rows), Failures: wrong.list, Verified: verifiedSheet(rows), Notes: checkNotes(r),
	}
	return execute(p)
}

func checkViewOf(rows []checked, gate result.Gate) *checkView {
	p := &checkView{Gate: gateLine(gate), History: allHistories(rows)}
	if unchanged := of(rows, same); len(unchanged) > 0 {
		const most = 400
		names, _ := gather(unchanged, rows)
		p.Same, p.Moved = unit.Count(len(unchanged))+" unchanged", movedLines(unchanged)
		p.Unchanged = strings.Join(names[:min(most, len(names))], ", ")
		if left := len(names) - most; left > 0 {
			p.Unchanged += fmt.Sprintf(" and %s more", unit.Count(left))
		}
	}
	if left := len(rows) - len(of(rows, same)) - mostListed; left > 0 {
		p.Cut = counted(left, "more row") + " in the JSON report"
	}
	drawn := slices.DeleteFunc(gravest(rows), func(c checked) bool { return c.change == nil })
	if left := len(drawn) - mostDrawn; left > 0 {
		p.More = counted(left, "more config") + " in the JSON report"
		drawn = drawn[:mostDrawn]
	}
	p.Axis, p.Changes = changes(drawn, gate)
	for i, c := range drawn {
		const open = 6 // more would bury each other
		p.Duets = append(p.Duets, drawDuet(c, i < open))
	}
	return p
}

// tiles are the summary in numbers; what did not happen is left out, unless that is
// the news.
func tiles(rows []checked) []tile {
	out := []tile{{"", unit.Count(len(rows)), noun(len(rows), "config"), ""}}
	add := func(class, name, note string, always bool, some []checked) {
		if len(some) == 0 {
			class = "none"
		}
		if always || len(some) > 0 {
			out = append(out, tile{class, unit.Count(len(some)), name, note})
		}
	}
	slower := of(rows, slowed)
	add("bad", noun(len(slower), "regression"), "", len(of(rows, planned)) == 0, slower)
	bad := of(rows, failed)
	add("bad", noun(len(bad), "failure"), alike(bad), false, bad)
	add("unsure", "slower on purpose", "", false, of(rows, onPurpose))
	better := of(rows, faster)
	add("good", noun(len(better), "improvement"), movedNote(better), false, better)
	unsure := of(rows, undecided)
	add("unsure", "undecided", alike(unsure), false, unsure)
	add("", "maintained", "", false, of(rows, kept))
	first := of(rows, fresh)
	add("", "new", movedNote(first), false, first)
	add("", "planned", "", false, of(rows, planned))
	if examined(rows) {
		add("good", "verified", "", true, verifiedOf(rows))
	}
	var doubted []checked
	for _, c := range rows {
		if suspicious(c.row) {
			doubted = append(doubted, c)
		}
	}
	add("unsure", "suspicious", "", false, doubted)
	add("quiet", "unchanged", "", false, of(rows, same))
	return out
}

func noun(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// alike is the word for rows that all came to the same; "" for others.
func alike(rows []checked) string {
	for _, c := range rows {
		if c.word() != rows[0].word() {
			return ""
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return rows[0].word()
}

func movedNote(rows []checked) string {
	switch n := advanced(rows); n {
	case 0:
		return ""
	case len(rows):
		return "baseline moved"
	default:
		return fmt.Sprintf("baseline moved by %s", unit.Count(n))
	}
}

func gateLine(gate result.Gate) string {
	return fmt.Sprintf("fails above %s, improves below %s", percentTick(gate.Regression), percentTick(-gate.Improvement))
}

func checkFacts(r *result.Report) []fact {
	facts := []fact{{"on", machineLine(r)}}
	for _, f := range runFacts(r) {
		facts = append(facts, f)
		if f.Name == "commit" && r.Base != nil {
			facts = append(facts, fact{"base", strings.TrimSpace(r.Base.Ref + " " + fmt.Sprintf("%.12s", r.Base.SHA))})
		}
	}
	gate := gateLine(gateOf(r))
	if text := alarms(r); text != "" {
		gate += " · " + text
	}
	return append(facts, fact{"gate", gate})
}

// checkResults is the table: what was measured, the gravest first.
func checkResults(r *result.Report, rows []checked) results {
	t := results{Outcome: "verdict", Judged: true}
	if slices.ContainsFunc(rows, func(c checked) bool { return measured(c.row) }) {
		t.Nothing = "Nothing was compared."
	}
	shown := used(rows)
	// The change first: on a narrow screen the rest is out of sight.
	shown = append(slices.DeleteFunc(slices.Clone(shown), func(c checkColumn) bool { return c.time }), slices.DeleteFunc(shown, func(c checkColumn) bool { return !c.time })...)
	for _, column := range shown {
		t.Heads = append(t.Heads, column.head)
	}
	extent := slices.ContainsFunc(rows, func(c checked) bool { return c.extent() != "" })
	if extent {
		t.Heads = append(t.Heads, "measured")
	}
	listed := slices.DeleteFunc(gravest(rows), func(c checked) bool { return c.section() == same })
	for _, c := range listed[:min(mostListed, len(listed))] {
		l := resultLine{Label: c.row.Name(), Outcome: c.badge(), Note: strings.Join(c.pageNotes(r), "; ")}
		for _, column := range shown {
			l.Cells = append(l.Cells, column.text(c))
		}
		if extent {
			l.Cells = append(l.Cells, c.extent())
		}
		t.Lines = append(t.Lines, l)
		if c.best != nil {
			t.Lines = append(t.Lines, c.againstBest(shown))
		}
	}
	return t
}

func (c checked) againstBest(shown []checkColumn) resultLine {
	best := checked{compared: compared{row: &result.Row{}, change: c.best.Change}}
	l := resultLine{Label: sideName(c.best), Rival: true}
	for _, column := range shown {
		l.Cells = append(l.Cells, column.text(best))
	}
	l.Cells = append(l.Cells, "")
	return l
}

func (c checked) badge() outcome {
	if c.section() == onPurpose {
		return outcome{Class: "unsure", Text: "slower on purpose"}
	}
	if made := (line{row: c.row}).judged(); made.Text != "" {
		return made
	}
	return outcome{Class: "plain", Text: c.word()}
}

func (c checked) pageNotes(r *result.Report) []string {
	out := c.remarks()
	if text := c.moved(r); text != "" && !(c.section() == fresh && c.row.Moved.Done) { // of new rows the summary says it
		out = append(out, text)
	}
	if c.section() == planned {
		out = append(out, c.row.Plan)
	}
	return out
}

// sided is the report with the other sides of its rows as lines of their own, the
// gravest first, as many as a page holds.
func sided(r *result.Report, rows []checked) *result.Report {
	out := *r
	out.Rows = nil
	for _, c := range gravest(rows) {
		if len(out.Rows) == mostListed {
			break
		}
		with := *c.row
		with.Rivals = nil
		for _, side := range c.row.Sides {
			if side.Row == nil {
				continue
			}
			other := *side.Row
			other.Kernel += " (" + sideName(side) + ")"
			with.Rivals = append(with.Rivals, &result.Rival{Label: sideName(side), Row: &other})
		}
		out.Rows = append(out.Rows, &with)
	}
	return &out
}

// unpaired are the rows that were measured alone.
func unpaired(r *result.Report, rows []checked) *result.Report {
	out := *r
	out.Rows = nil
	for _, c := range rows {
		if c.change == nil {
			row := *c.row
			row.Rivals = nil
			out.Rows = append(out.Rows, &row)
		}
	}
	return &out
}

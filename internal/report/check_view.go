package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// How much of a very large check a page shows.
const (
	mostProblems = 50
	mostListed   = 1000 // rows of the table
	mostDrawn    = 100  // rows, the gravest first: a page of thousands of plots helps nobody
)

// longTable is where rows that need no attention are folded away in a comment.
const longTable = 12

// check shows a check: what was measured, the rest in one line, and then only what needs attention;
// a page has everything that is known.
func (b *builder) check() {
	r, rows := b.r, checkedRows(b.r)
	b.v.Comment, b.v.Title, b.v.Heading = true, headline(r, rows), checkHeading(r, rows)
	b.v.Badges, b.v.Facts = tiles(rows), checkFacts(r)
	b.checkText(rows)
	b.why(view.Terminal)
	b.add(view.Markdown, view.Section{Table: totals(rows)})
	b.lines(view.Markdown, "", present(origin(r))...)
	b.why(view.Markdown)
	b.add(view.Terminal|view.Markdown, accusations(r.Rows, (*result.Row).Name))
	b.checkComment(rows)
	b.add(view.Terminal, view.Section{Items: faults(r, true)})
	told := b.checkPage(rows)
	b.why(view.HTML)
	doubts := calm(attentive(r))
	stays, others := refusals(doubts)
	b.warnings(view.Verbose|view.Markdown, allWarnings(doubts))
	b.warnings(view.Text, allWarnings(others))
	b.add(view.Text, view.Section{Lines: each(stays, doubt), List: true})
	steps, trust := checkNotes(r), authorTrust(r.Rows, (*result.Row).Name)
	for _, note := range steps {
		b.add(view.Terminal|view.Markdown, view.Section{Lines: linesOf(view.Quiet, []string{view.Flat(note)}), End: true})
	}
	for _, note := range present(trust) {
		b.add(view.Verbose|view.Markdown, view.Section{Lines: linesOf(view.Quiet, []string{view.Flat(note)}), End: true})
	}
	b.lines(view.Verbose, view.Quiet, explanations(r)...)
	b.notes(view.HTML, slices.Concat(steps, present(trust), explanations(r)))
	b.lines(view.Verbose, view.Quiet, present(prefixed("compiled with ", flagsLine(r)))...)
	if b.shows(view.HTML) {
		b.checkPlots(rows)
		b.sheet("verified", "Verification", verifiedSheet(rows))
		b.measuredPage(unpaired(r, rows), told)
	}
	alarm := alarms(r)
	b.v.Closing, b.v.Next = view.Line{Text: closing(r, rows), Tone: closingTone(r, rows)}, nextStep(r, rows)
	b.end(view.Text, trustWord(r.Rows), alarmRate(r))
	b.lines(view.Verbose, view.Quiet, present(r.Uncited)...)
	b.end(view.Verbose, alarm, when(examined(rows), prefixed("data: ", replayed(r))))
	b.v.Foot = present(methodLine(r), "δ is positive when slower", alarm, r.Started.UTC().Format(time.RFC3339), "pawl "+r.Tool.Version, prefixed("run ", r.ID))
}

// present returns the texts that are not empty.
func present(texts ...string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// checkText adds a line for everything that was measured, and one for the rest.
func (b *builder) checkText(rows []checked) {
	unchanged := of(rows, same)
	shown := of(rows, slowed, failed, onPurpose, faster, undecided, kept, fresh, planned)
	switch {
	case len(of(rows, planned)) > 0:
		b.add(view.Terminal, view.Section{Table: tableOf("", shown, planColumns)})
	case len(shown) > 0:
		b.add(view.Terminal, view.Section{Table: checkTable("", shown, used(checkLines(shown), textColumns))})
	}
	if len(unchanged) > 0 {
		first := view.Line{Text: unit.Count(len(unchanged)) + " unchanged: " + gathered(unchanged, rows), Tone: view.Quiet}
		b.add(view.Terminal, view.Section{Lines: append([]view.Line{first}, linesOf("", movedLines(unchanged))...)})
	}
	if right := verifiedOf(rows); len(right) > 0 {
		b.add(view.Verbose, verifiedLines(rows))
		b.add(view.Verbose, neighbourLines(rows))
		b.lines(view.Text, view.Quiet, view.Flat(unit.Count(len(right))+" verified against "+few(distinct(each(witnesses(rows), oracleOf)))))
	}
}

// checkParts are the parts of a comment, the gravest first.
var checkParts = []struct {
	title   string
	section section
	quiet   bool // needs no attention
}{
	{"Regressions", slowed, false},
	{"Failures", failed, false},
	{"Slower on purpose", onPurpose, false},
	{"Improvements", faster, false},
	{"Undecided", undecided, false},
	{"Maintained", kept, true},
	{"New", fresh, true},
	{"Plan", planned, false},
}

// checkComment adds the parts of a comment.
func (b *builder) checkComment(rows []checked) {
	fold := func(some []checked, quiet bool, s view.Section) {
		s.Folded, s.Fold, s.Noun = quiet && len(some) > longTable, view.Counted(len(some), "config"), "row"
		b.add(view.Markdown, s)
	}
	if !b.shows(view.Markdown) {
		return
	}
	for _, part := range checkParts {
		if some := of(rows, part.section); len(some) > 0 {
			fold(some, part.quiet, view.Section{Title: part.title, Table: b.commentTable(some)})
		}
	}
	if unchanged := of(rows, same); len(unchanged) > 0 {
		fold(unchanged, true, view.Section{Title: "Unchanged", Names: gather(unchanged, rows)})
		b.lines(view.Markdown, "", movedLines(unchanged)...)
	}
	some := where(rows, func(c checked) bool { return c.row.Verification != nil })
	b.add(view.Markdown, view.Section{
		Folded: true, Fold: view.Counted(len(verifiedOf(rows)), "config") + " verified", List: true, Noun: "row",
		Lines: each(some, func(c checked) view.Line { return view.Line{Text: c.row.Name() + ": " + c.inShort()} }),
	})
}

// totals returns the summary: how many rows have which outcome.
func totals(rows []checked) *view.Table {
	amount := func(sections ...section) string { return unit.Count(len(of(rows, sections...))) }
	slower := amount(slowed, onPurpose) + when(len(of(rows, onPurpose)) > 0, " ("+amount(onPurpose)+" on purpose)")
	rest := amount(failed, undecided, planned)
	if other := of(rows, failed, undecided, planned); len(other) > 0 {
		rest = summary(other)
	}
	t := &view.Table{Rows: make([]view.Row, 1)}
	add := func(head, text string) {
		t.Columns = append(t.Columns, view.Column{Head: head, Number: true})
		t.Rows[0].Cells = append(t.Rows[0].Cells, view.Cell{Text: text})
	}
	add("total", unit.Count(len(rows)))
	add("regressions", slower)
	add("improvements", amount(faster))
	add("maintained", amount(kept))
	add("unchanged", amount(same))
	add("new", amount(fresh))
	add("other", rest)
	add("baseline moved", unit.Count(advanced(rows)))
	if examined(rows) {
		add("verified", unit.Count(len(verifiedOf(rows))))
	}
	return t
}

// origin says what was measured on what.
func origin(r *result.Report) string {
	return strings.Join(present(prefixed("on ", machineLine(r)), prefixed("commit ", commit(r)), prefixed("base ", baseName(r))), " · ")
}

// baseName names what a change is judged against; "" where there is nothing.
func baseName(r *result.Report) string {
	return textOf(r.Base, func(base *result.BaseRef) string {
		return strings.TrimSpace(base.Ref + " " + fmt.Sprintf("%.12s", base.SHA))
	})
}

// checkPage adds what a page says before its plots, and returns the report with the
// other sides of its rows as lines of their own.
func (b *builder) checkPage(rows []checked) (told *result.Report) {
	if !b.shows(view.HTML) {
		return nil
	}
	b.add(view.HTML, checkResults(b.r, rows))
	doubts := allWarnings(attentive(b.r))
	told = sided(b.r, rows)
	problems := faults(told, false)
	cut := func(items []view.Item, noun string) []view.Item {
		doubts = append(doubts, present(leftOut(len(items)-mostProblems, noun))...)
		return items[:min(mostProblems, len(items))]
	}
	problems = cut(problems, "problem")
	b.add(view.HTML, view.Section{ID: "failures", Title: "Failures", Items: cut(checkFailures(rows), "failure")})
	b.add(view.HTML, view.Section{ID: "problems", Title: "Problems", Items: problems})
	b.warnings(view.HTML, doubts)
	return told
}

// checkResults returns the table of a page, and below it what has not changed.
func checkResults(r *result.Report, rows []checked) view.Section {
	unchanged := of(rows, same)
	s := view.Section{ID: "results", Title: "Results", Table: pageTable(r, rows), Lines: linesOf("", present(leftOut(len(rows)-len(unchanged)-mostListed, "row")))}
	if len(unchanged) == 0 {
		return s
	}
	const most = 400
	names := each(gather(unchanged, rows), func(n view.Name) string { return n.Text })
	text := strings.Join(names[:min(most, len(names))], ", ") + when(len(names) > most, fmt.Sprintf(" and %s more", unit.Count(len(names)-most)))
	fold := view.Section{ID: "unchanged", Folded: true, Fold: unit.Count(len(unchanged)) + " unchanged", Lines: linesOf("", []string{text})}
	s.Parts = []view.Section{fold, {Lines: linesOf("", movedLines(unchanged))}}
	return s
}

// tiles counts the rows by outcome.
func tiles(rows []checked) []view.Badge {
	out := badges{{Count: unit.Count(len(rows)), Name: noun(len(rows), "config")}}
	slower, bad, better, unsure, first := of(rows, slowed), of(rows, failed), of(rows, faster), of(rows, undecided), of(rows, fresh)
	out.add(view.Bad, len(slower), noun(len(slower), "regression"), "", len(of(rows, planned)) == 0)
	out.add(view.Bad, len(bad), noun(len(bad), "failure"), alike(bad), false)
	out.add(view.Unsure, len(of(rows, onPurpose)), "slower on purpose", "", false)
	out.add(view.Good, len(better), noun(len(better), "improvement"), movedNote(better), false)
	out.add(view.Unsure, len(unsure), "undecided", alike(unsure), false)
	out.add("", len(of(rows, kept)), "maintained", "", false)
	out.add("", len(first), "new", movedNote(first), false)
	out.add("", len(of(rows, planned)), "planned", "", false)
	out.add(view.Good, len(verifiedOf(rows)), "verified", "", examined(rows))
	out.add(view.Unsure, len(where(rows, func(c checked) bool { return suspicious(c.row) })), "suspicious", "", false)
	out.add(view.Quiet, len(of(rows, same)), "unchanged", "", false)
	return out
}

func noun(n int, what string) string { return verb(n, what+"s", what) }

// alike returns the word for rows that all have the same outcome; "" for others.
func alike(rows []checked) string {
	if words := distinct(each(rows, checked.word)); len(words) == 1 {
		return words[0]
	}
	return ""
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
	return fmt.Sprintf("fails above %s, improves below %s", view.Percent(gate.Regression), view.Percent(-gate.Improvement))
}

func checkFacts(r *result.Report) []view.Fact {
	facts := append([]view.Fact{{Name: "on", Text: machineLine(r)}}, runFacts(r, view.Fact{Name: "method", Text: method(r)})...)
	return append(facts, view.Fact{Name: "gate", Text: gateLine(gateOf(r)) + prefixed(" · ", alarms(r))})
}

// sided returns the report with the other sides of its rows as separate lines, the gravest first,
// as many as a page holds.
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

// unpaired returns the rows that were measured alone.
func unpaired(r *result.Report, rows []checked) *result.Report {
	alone := where(rows, func(c checked) bool { return c.change == nil })
	out := *r
	out.Rows = each(alone, func(c checked) *result.Row { return c.row })
	return &out
}

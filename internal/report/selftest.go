package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// subjects are the kernels of one kind that the checks were tried on.
type subjects = group[result.SelftestSubject]

var (
	selftestKinds = []string{"host", "python", "cuda", "launcher"}
	selftestRoles = []string{"cheat", "mutant", "control"}
)

// selftestOf returns what a selftest found; a report that does not sum it up has its rows
// for subjects.
func selftestOf(r *result.Report) *result.Selftest {
	if r.Selftest != nil {
		return r.Selftest
	}
	made := &result.Selftest{}
	for _, row := range r.Rows {
		s := result.SelftestSubject{Name: row.Kernel, Kind: row.Cell, Role: row.Plan, Exploit: strings.Join(exploits(row), ", "), Outcome: status(row)}
		s.Why = textOf(row.Fault, func(f *result.Fault) string { return f.Message })
		made.Subjects = append(made.Subjects, s)
	}
	return made
}

// byKind groups subjects: kinds and roles in the order people think of them, others
// after those.
func byKind(s *result.Selftest) []subjects {
	out := grouped(s.Subjects, func(s result.SelftestSubject) string { return s.Kind })
	slices.SortStableFunc(out, func(a, b subjects) int { return rank(selftestKinds, a.name) - rank(selftestKinds, b.name) })
	for _, group := range out {
		slices.SortStableFunc(group.items, func(a, b result.SelftestSubject) int {
			return rank(selftestRoles, a.Role) - rank(selftestRoles, b.Role)
		})
	}
	return out
}

func rank(order []string, word string) int {
	if at := slices.Index(order, word); at >= 0 {
		return at
	}
	return len(order)
}

var outcomeTones = map[string]view.Tone{
	"caught": view.Good, "passed": view.Good, "killed": view.Good, "missed": view.Bad, "failed": view.Bad, "survived": view.Bad,
}

// outcomeTone returns how an outcome looks.
func outcomeTone(word string) view.Tone { return cmp.Or(outcomeTones[word], view.Unsure) }

// selftestTotals returns the whole selftest in one line.
func selftestTotals(s *result.Selftest) string {
	controls := s.ControlsPassed + s.ControlsFailed
	parts := []string{
		fmt.Sprintf("%s caught, %s suspicious, %s defused, %s missed", unit.Count(s.Caught), unit.Count(s.Suspicious), unit.Count(s.Defused), unit.Count(s.Missed)),
		fmt.Sprintf("%s of %s pass", unit.Count(s.ControlsPassed), view.Counted(controls, "control")),
	}
	if s.Mutants > 0 {
		// 99.9% is not all of them.
		parts = append(parts, fmt.Sprintf("mutants %d/%d killed (%.0f%%)", s.MutantsKilled, s.Mutants, math.Floor(100*float64(s.MutantsKilled)/float64(s.Mutants))))
	}
	parts = append(parts, present(when(s.Open > 0, unit.Count(s.Open)+" open"), when(s.Skipped > 0, unit.Count(s.Skipped)+" skipped"))...)
	return strings.Join(parts, " · ")
}

// healthy reports whether the checks do what they are for.
func healthy(s *result.Selftest) bool {
	return s.Missed == 0 && s.ControlsFailed == 0 && s.MutantsKilled == s.Mutants && s.Caught+s.Suspicious+s.Defused+s.Open+s.ControlsPassed+s.Mutants > 0
}

// outcomesOf counts the outcomes of a kind: "14 caught, 1 suspicious".
func outcomesOf(g subjects) string {
	return tallied(each(g.items, func(s result.SelftestSubject) string { return s.Outcome }))
}

// folded returns the subjects to list, and in how many words the others were skipped:
// where a kind cannot run at all, one line says it.
func folded(g subjects) (list []result.SelftestSubject, more []string) {
	const few = 3
	isSkipped := func(s result.SelftestSubject) bool { return s.Outcome == "skipped" }
	told := map[string]bool{}
	for _, reason := range grouped(where(g.items, isSkipped), func(s result.SelftestSubject) string { return s.Why }) {
		if n := len(reason.items); n > few {
			told[reason.name] = true
			more = append(more, strings.TrimSuffix(unit.Count(n)+" skipped: "+reason.name, ": "))
		}
	}
	return where(g.items, func(s result.SelftestSubject) bool { return !isSkipped(s) || !told[s.Why] }), more
}

// remark returns what stands beside an outcome: what caught it, or why it was not.
func remark(s result.SelftestSubject) string {
	switch {
	case s.By == "":
		return s.Why
	case s.Why == "" || outcomeTone(s.Outcome) == view.Good:
		return s.By
	}
	return s.By + ": " + s.Why
}

// selftest shows what the checks caught, a table for every kind of kernel.
func (b *builder) selftest() {
	r, s := b.r, selftestOf(b.r)
	total := selftestTotals(s)
	b.v.Comment, b.v.Title, b.v.Badges, b.v.Facts = true, total, selftestTiles(s), verifyFacts(r)
	if r.Interrupted {
		b.v.Brief = "interrupted: " + total
	}
	b.v.Heading = present("pawl "+r.Tool.Version, machineLine(r), view.Counted(len(s.Subjects), "subject"), when(r.Interrupted, "interrupted"))
	b.lines(view.Markdown, "", present(origin(r))...)
	groups := byKind(s)
	b.add(view.Terminal|view.Markdown, view.Section{Parts: subjectParts(groups), Noun: "row"})
	if len(groups) > 0 {
		b.add(view.Text, view.Section{Table: tableOf("", groups, kindColumns)})
	}
	b.add(view.HTML, subjectPage(groups))
	for _, subject := range s.Subjects {
		if outcomeTone(subject.Outcome) == view.Bad { // told in full
			text := strings.Join(present(subject.Kind+" "+subject.Name, subject.Exploit, subject.By, subject.Why), ": ")
			line := view.Line{Mark: strings.ToUpper(subject.Outcome), Text: view.Flat(text), Tone: view.Bad}
			b.add(view.Terminal, view.Section{Lines: []view.Line{line}})
		}
	}
	b.warnings(view.Terminal|view.HTML, allWarnings(r))
	tone := view.Good
	if !healthy(s) {
		tone = view.Bad
	}
	b.v.Closing = view.Line{Text: when(r.Interrupted, "interrupted: ") + total, Tone: tone}
	again := prefixed("the same again: ", replayed(r))
	b.end(view.Terminal, again)
	b.v.Foot = present("pawl "+r.Tool.Version, r.Started.UTC().Format(time.RFC3339), prefixed("run ", r.ID), again)
}

func outcomeOf(s result.SelftestSubject) view.Cell {
	return view.Cell{Text: s.Outcome, Tone: outcomeTone(s.Outcome)}
}

var subjectColumns = []column[result.SelftestSubject]{
	{head: "subject", bytes: 120, text: func(s result.SelftestSubject) string { return s.Name }},
	{head: "role", rank: 2, bytes: 40, tone: view.Quiet, text: func(s result.SelftestSubject) string { return s.Role }},
	{head: "exploit", bytes: 80, rank: 1, text: func(s result.SelftestSubject) string { return s.Exploit }},
	{head: "outcome", bytes: 40, badge: true, cell: outcomeOf},
	{head: "caught by", bytes: 400, words: true, tone: view.Quiet, text: func(s result.SelftestSubject) string { return view.Flat(remark(s)) }},
}

// kindColumns have a line for every kind.
var kindColumns = []column[subjects]{
	{tone: view.Strong, text: func(g subjects) string { return g.name }},
	{words: true, text: func(g subjects) string {
		list, more := folded(g)
		return strings.Join(append(present(outcomesOf(subjects{items: list})), more...), "; ")
	}},
}

// subjectParts has a table for every kind.
func subjectParts(groups []subjects) []view.Section {
	var out []view.Section
	for _, group := range groups {
		list, more := folded(group)
		out = append(out, view.Section{
			In: view.Verbose, Name: group.name, Table: tableOf("", list, used(list, subjectColumns)), Lines: linesOf(view.Unsure, more),
		}, view.Section{
			In: view.Markdown, Title: "Cell " + group.name + ": " + outcomesOf(group), Table: tableOf("", list, subjectColumns), Lines: linesOf("", more), Noun: "row", Count: len(group.items),
		})
	}
	return out
}

// subjectPage has as many subjects as a page holds.
func subjectPage(groups []subjects) view.Section {
	page := view.Section{ID: "results", Title: "Results"}
	columns := slices.Clone(subjectColumns)
	columns[4] = column[result.SelftestSubject]{head: "caught by", text: func(s result.SelftestSubject) string { return s.By }}
	columns = append(columns, column[result.SelftestSubject]{head: "time", number: true, text: func(s result.SelftestSubject) string {
		return when(s.Seconds > 0, unit.Duration(s.Seconds))
	}})
	room := mostListed
	for _, group := range groups {
		list, more := folded(group)
		if left := len(list) - room; left > 0 {
			list = list[:room]
			more = append(more, view.Counted(left, "more subject")+" in the JSON report")
		}
		room -= len(list)
		part := view.Section{Name: group.name, Aside: outcomesOf(group), Lines: linesOf("", present(strings.Join(more, "; ")))}
		if len(list) > 0 {
			part.Table = tableOf("results", list, columns)
		}
		for i, s := range list {
			if outcomeTone(s.Outcome) != view.Good {
				part.Table.Rows[i].Note = s.Why
			}
		}
		page.Parts = append(page.Parts, part)
	}
	if len(groups) == 0 {
		page.Lines = linesOf("", []string{"Nothing was tried."})
	}
	return page
}

func selftestTiles(s *result.Selftest) []view.Badge {
	var out badges
	out.add(view.Good, s.Caught, "caught", "", true)
	out.add(view.Unsure, s.Suspicious, "suspicious", "", true)
	out.add(view.Unsure, s.Defused, "defused", "", true)
	out.add(view.Bad, s.Missed, "missed", "", true)
	out.add(view.Unsure, s.Open, "open", "", true)
	out.add(view.Good, s.ControlsPassed, "controls pass", "", true)
	out.add(view.Bad, s.ControlsFailed, "controls fail", "", true)
	out.add(view.Good, s.MutantsKilled, "mutants killed", "of "+unit.Count(s.Mutants), true)
	if killed := &out[len(out)-1]; s.MutantsKilled < s.Mutants {
		killed.Tone = view.Bad
	}
	out.add(view.Unsure, s.Skipped, "skipped", "", true)
	return out
}

func selftestRecords(r *result.Report) [][]string {
	var all []result.SelftestSubject
	for _, group := range byKind(selftestOf(r)) {
		all = append(all, group.items...)
	}
	return records(all, []column[result.SelftestSubject]{
		{head: "kind", text: func(s result.SelftestSubject) string { return s.Kind }},
		{head: "name", text: func(s result.SelftestSubject) string { return s.Name }},
		{head: "role", text: func(s result.SelftestSubject) string { return s.Role }},
		{head: "exploit", text: func(s result.SelftestSubject) string { return s.Exploit }},
		{head: "outcome", text: func(s result.SelftestSubject) string { return s.Outcome }},
		{head: "by", text: func(s result.SelftestSubject) string { return s.By }},
		{head: "why", text: func(s result.SelftestSubject) string { return s.Why }},
		{head: "seconds", text: func(s result.SelftestSubject) string { return number(s.Seconds) }},
	})
}

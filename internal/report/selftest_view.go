package report

import (
	"slices"
	"strings"
	"time"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

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
	b.add(view.Text|view.Markdown, func() view.Section { return view.Section{Parts: subjectParts(groups), Noun: "row"} })
	b.add(view.HTML, func() view.Section { return subjectPage(groups) })
	for _, subject := range s.Subjects {
		if outcomeTone(subject.Outcome) == view.Bad { // told in full
			text := strings.Join(present(subject.Kind+" "+subject.Name, subject.Exploit, subject.By, subject.Why), ": ")
			line := view.Line{Mark: strings.ToUpper(subject.Outcome), Text: view.Flat(text), Tone: view.Bad, Most: 4 * mostNote}
			b.add(view.Text, func() view.Section { return view.Section{Lines: []view.Line{line}} })
		}
	}
	b.warnings(view.Text|view.HTML, allWarnings(r))
	tone := view.Good
	if !healthy(s) {
		tone = view.Bad
	}
	b.lines(view.Text, tone, total)
	again := prefixed("the same again: ", replayed(r))
	b.v.Ending = present(again)
	b.v.Foot = present("pawl "+r.Tool.Version, r.Started.UTC().Format(time.RFC3339), prefixed("run ", r.ID), again)
}

func outcomeOf(s result.SelftestSubject) view.Cell {
	return view.Cell{Text: s.Outcome, Tone: outcomeTone(s.Outcome)}
}

var subjectColumns = []column[result.SelftestSubject]{
	{head: "subject", bytes: 120, chars: mostNote, text: func(s result.SelftestSubject) string { return s.Name }},
	{head: "role", bytes: 40, tone: view.Quiet, text: func(s result.SelftestSubject) string { return s.Role }},
	{head: "exploit", bytes: 80, chars: mostNote / 2, text: func(s result.SelftestSubject) string { return s.Exploit }},
	{head: "outcome", bytes: 40, badge: true, cell: outcomeOf},
	{head: "caught by", bytes: 400, chars: mostNote, tone: view.Quiet, text: func(s result.SelftestSubject) string { return view.Flat(remark(s)) }},
}

// subjectParts has a table for every kind.
func subjectParts(groups []*subjects) []view.Section {
	var out []view.Section
	for _, group := range groups {
		list, more := group.folded()
		out = append(out, view.Section{
			In: view.Text, Name: group.kind, Table: dropEmpty(tableOf("", list, subjectColumns)), Lines: linesOf(view.Unsure, more),
		}, view.Section{
			In: view.Markdown, Title: "Cell " + group.kind + ": " + group.summary(), Table: tableOf("", list, subjectColumns), Lines: linesOf("", more), Noun: "row", Count: len(group.list),
		})
	}
	return out
}

// subjectPage has as many subjects as a page holds.
func subjectPage(groups []*subjects) view.Section {
	page := view.Section{ID: "results", Title: "Results"}
	columns := slices.Clone(subjectColumns)
	columns[4] = column[result.SelftestSubject]{head: "caught by", text: func(s result.SelftestSubject) string { return s.By }}
	columns = append(columns, column[result.SelftestSubject]{head: "time", number: true, text: func(s result.SelftestSubject) string {
		if s.Seconds <= 0 {
			return ""
		}
		return unit.Duration(s.Seconds)
	}})
	room := mostListed
	for _, group := range groups {
		list, more := group.folded()
		if left := len(list) - room; left > 0 {
			list = list[:room]
			more = append(more, view.Counted(left, "more subject")+" in the JSON report")
		}
		room -= len(list)
		part := view.Section{Name: group.kind, Aside: group.summary(), Lines: linesOf("", present(strings.Join(more, "; ")))}
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
	out := []view.Badge{
		{Tone: view.Good, Count: unit.Count(s.Caught), Name: "caught"},
		{Tone: view.Unsure, Count: unit.Count(s.Suspicious), Name: "suspicious"},
		{Tone: view.Unsure, Count: unit.Count(s.Defused), Name: "defused"},
		{Tone: view.Bad, Count: unit.Count(s.Missed), Name: "missed"},
		{Tone: view.Unsure, Count: unit.Count(s.Open), Name: "open"},
		{Tone: view.Good, Count: unit.Count(s.ControlsPassed), Name: "controls pass"},
		{Tone: view.Bad, Count: unit.Count(s.ControlsFailed), Name: "controls fail"},
		{Tone: view.Good, Count: unit.Count(s.MutantsKilled), Name: "mutants killed", Note: "of " + unit.Count(s.Mutants)},
		{Tone: view.Unsure, Count: unit.Count(s.Skipped), Name: "skipped"},
	}
	for i := range out {
		switch {
		case out[i].Name == "mutants killed" && s.MutantsKilled < s.Mutants:
			out[i].Tone = view.Bad
		case out[i].Count == "0":
			out[i].Tone = "none"
		}
	}
	return out
}

func selftestRecords(r *result.Report) [][]string {
	var all []result.SelftestSubject
	for _, group := range byKind(selftestOf(r)) {
		all = append(all, group.list...)
	}
	return records(all, []field[result.SelftestSubject]{
		{"kind", func(s result.SelftestSubject) string { return s.Kind }},
		{"name", func(s result.SelftestSubject) string { return s.Name }},
		{"role", func(s result.SelftestSubject) string { return s.Role }},
		{"exploit", func(s result.SelftestSubject) string { return s.Exploit }},
		{"outcome", func(s result.SelftestSubject) string { return s.Outcome }},
		{"by", func(s result.SelftestSubject) string { return s.By }},
		{"why", func(s result.SelftestSubject) string { return s.Why }},
		{"seconds", func(s result.SelftestSubject) string { return number(s.Seconds) }},
	})
}

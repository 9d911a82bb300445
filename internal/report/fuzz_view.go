package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// How much of a fuzz report is told in full.
const (
	mostExpanded = 5    // failures of a kernel, on a terminal
	mostFailures = 10   // failures of a kernel, in a comment
	mostCases    = 5000 // lines of cases, on a page
)

// fuzz shows what every kernel came to, failures in full, and all cases.
func (b *builder) fuzz() {
	r, rows := b.r, triedRows(b.r)
	withCases := where(rows, tried.hasCases)
	b.v.Comment, b.v.Title, b.v.Heading = true, fuzzHeadline(r, rows), fuzzHeading(r, rows)
	b.v.Badges, b.v.Facts = fuzzTiles(rows), verifyFacts(r)
	if len(rows) > 0 {
		b.add(view.Markdown, view.Section{Table: tableOf("", rows, scoreComment), Noun: "row"})
	}
	b.lines(view.Markdown, "", present(origin(r))...)
	b.add(view.HTML, fuzzResults(rows))
	if len(rows) > 0 {
		b.add(view.Terminal, view.Section{Table: tableOf("", rows, scoreText(rows))})
	}
	b.add(view.Terminal, view.Section{Parts: caseTexts(withCases)})
	tools := view.Section{ID: "sanitizer", Title: "Sanitizer", Parts: sanitized(rows)}
	b.add(view.Terminal, tools)
	b.add(view.Terminal|view.Markdown, accusations(r.Rows, kernelName))
	b.add(view.Terminal, view.Section{Items: faults(r, true)})
	b.add(view.Markdown, fuzzComment(rows))
	doubts := b.fuzzPage(rows)
	b.add(view.Markdown|view.HTML, tools)
	b.add(view.Markdown, view.Section{Parts: caseComments(withCases), Of: "the cases of ", Noun: "kernel"})
	notes := fuzzNotes(r)
	b.notes(view.Verbose, notes)
	b.lines(view.Verbose, view.Quiet, present(prefixed("compiled with ", flagsLine(r)))...)
	b.warnings(view.Terminal|view.Markdown, allWarnings(r))
	b.warnings(view.HTML, doubts)
	b.notes(view.Markdown|view.HTML, notes)
	if b.shows(view.HTML) {
		b.add(view.HTML, view.Section{ID: "cases", Title: "Cases", Parts: casePages(withCases)})
	}
	again := prefixed("the same cases again: ", replayed(r))
	b.end(view.Terminal, again)
	b.end(view.Text, trustWord(r.Rows))
	b.v.Closing = view.Line{Text: b.v.Title, Tone: fuzzTone(rows)}
	b.v.Foot = present("pawl "+r.Tool.Version, r.Started.UTC().Format(time.RFC3339), again, prefixed("run ", r.ID))
}

func fuzzHeading(r *result.Report, rows []tried) []string {
	cases := sum(rows, func(t tried) int { return len(t.v.Cases) })
	return present("pawl "+r.Tool.Version, machineLine(r), view.Counted(len(rows), "kernel")+", "+view.Counted(cases, "case"), when(r.Interrupted, "interrupted"))
}

// fuzzTone returns how the last line of a terminal looks: like the gravest kernel.
func fuzzTone(rows []tried) view.Tone {
	tones := each(rows, tried.tone)
	for _, tone := range []view.Tone{view.Bad, view.Unsure, view.Good} {
		if slices.Contains(tones, tone) {
			return tone
		}
	}
	return view.Unsure
}

// verifyFacts returns the facts of a run that measured nothing.
func verifyFacts(r *result.Report) []view.Fact {
	return append([]view.Fact{{Name: "on", Text: machineLine(r)}}, runFacts(r, view.Fact{Name: "replay", Text: replayed(r)})...)
}

func fuzzTiles(rows []tried) []view.Badge {
	pass, fail, skip, words := outcomes(rows)
	out := badges{{Count: unit.Count(len(rows)), Name: noun(len(rows), "kernel")}}
	out.add(view.Good, pass, noun(pass, "case")+" pass", "", true)
	out.add(view.Bad, fail, noun(fail, "case")+" fail", "", true)
	out.add(view.Unsure, skip, "skipped", "", false)
	kernels := func(tone view.Tone, n int, what string) { out.add(tone, n, noun(n, "kernel")+" "+what, "", false) }
	kernels(view.Bad, words["REJECTED"], "rejected")
	kernels(view.Bad, words["BROKEN"], "broken")
	kernels(view.Unsure, words["SUSPICIOUS"], "suspicious")
	kernels(view.Unsure, words["NOT TRIED"]+words["ENDED EARLY"], "not tried")
	return out
}

// worstColumns are the largest errors of a kernel.
var worstColumns = errorColumns(func(t tried) *extremes { return worstOf(t.v.Cases) })[:3]

func (t tried) badge() view.Cell { return view.Cell{Text: t.word(), Tone: t.tone()} }

// scoreComment has a line for every kernel of a comment.
var scoreComment = slices.Concat([]column[tried]{
	{head: "kernel", bytes: 120, text: func(t tried) string { return t.row.Kernel }},
	{badge: true, cell: tried.badge},
	{head: "passed", number: true, text: func(t tried) string { return unit.Count(t.v.Passed) }},
	{head: "failed", number: true, text: func(t tried) string { return unit.Count(t.v.Failed) }},
	{head: "skipped", number: true, text: func(t tried) string { return unit.Count(t.v.Skipped) }},
}, worstColumns, []column[tried]{{bytes: 400, text: func(t tried) string { return strings.Join(t.extent(false), "; ") }}})

// scoreText has a line for every kernel of a terminal: "[27/27] attention  PASS".
func scoreText(rows []tried) []column[tried] {
	wide := 0
	for _, t := range rows {
		wide = max(wide, len(t.score()))
	}
	return []column[tried]{
		{tone: view.Strong, text: func(t tried) string {
			if wide == 0 {
				return t.row.Kernel
			}
			return fmt.Sprintf("%*s %s", wide, t.score(), t.row.Kernel)
		}},
		{cell: tried.badge},
		{tone: view.Quiet, words: true, text: func(t tried) string {
			return strings.Join(append(t.extent(true), present(t.duration())...), "; ")
		}},
	}
}

func (t tried) duration() string { return when(t.took() > 0, unit.Duration(t.took())) }

// fuzzResults returns the table of a page.
func fuzzResults(rows []tried) view.Section {
	amount := func(head string, n func(tried) int) column[tried] {
		return column[tried]{head: head, number: true, text: func(t tried) string { return when(len(t.v.Cases) > 0, unit.Count(n(t))) }}
	}
	t := tableOf("results", rows, slices.Concat([]column[tried]{
		{head: "kernel", text: func(t tried) string { return t.row.Kernel }},
		{head: "result", badge: true, cell: tried.badge},
		amount("passed", func(t tried) int { return t.v.Passed }), amount("failed", func(t tried) int { return t.v.Failed }), amount("skipped", func(t tried) int { return t.v.Skipped }),
	}, worstColumns, []column[tried]{{head: "took", number: true, text: tried.duration}}))
	t.Empty = "Nothing was tried."
	for i, row := range rows {
		t.Rows[i].Note = strings.Join(row.extent(false), "; ")
	}
	return view.Section{ID: "results", Title: "Results", Table: t}
}

// fuzzComment tells kernels that could not be tried and the cases that fail.
func fuzzComment(rows []tried) view.Section {
	s := view.Section{Title: "Failures", Noun: "failure"}
	all := each(rows, func(t tried) *result.Row { return t.row })
	told := map[string]bool{} // faults of several kernels
	for _, t := range rows {
		if faulty(t.row) && !told[t.row.Fault.Message] {
			item := faultOf(t.row)
			item.Name = t.row.Kernel + variant(t.row)
			if common(t.row.Fault) {
				told[item.Message], item.Name = true, few(kernelsWith(all, item.Message))
			}
			s.Items = append(s.Items, item)
		}
		failures := t.failures()
		s.Items = append(s.Items, failures[:min(mostFailures, len(failures))]...)
		s.Left += max(0, len(failures)-mostFailures)
	}
	return s
}

// failures returns the failures of a kernel in full.
func (t tried) failures() []view.Item {
	return each(t.failingCases(), func(one failingCase) view.Item { return failureOf(one, t.row, t.row.Kernel) })
}

// fuzzPage adds wrong answers, what speaks against kernels, and their faults. It
// returns the warnings of a page.
func (b *builder) fuzzPage(rows []tried) (doubts []string) {
	if !b.shows(view.HTML) {
		return nil
	}
	var failures []view.Item
	for _, t := range rows {
		failures = slices.Concat(failures, accused(t.row, t.row.Kernel), t.failures())
	}
	b.add(view.HTML, view.Section{ID: "failures", Title: "Failures", Items: failures[:min(mostProblems, len(failures))]})
	problems := faults(b.r, true)
	for i := range problems { // none was to be measured
		problems[i].Badge.Text = strings.Replace(problems[i].Badge.Text, "not measured", "not tried", 1)
	}
	b.add(view.HTML, view.Section{ID: "problems", Title: "Problems", Items: problems})
	left := len(failures) - mostProblems
	return append(allWarnings(b.r), present(leftOut(left, "failure"))...)
}

// failureOf returns a wrong answer in full.
func failureOf(b failingCase, row *result.Row, name string) view.Item {
	f := view.Item{Mark: string(wrong), Name: strings.TrimSpace(name + " " + sizes(b.Case) + " " + b.Fill), Message: why(b.Case), Badge: view.Cell{Text: string(wrong), Tone: view.Bad}}
	if b.Fault != nil {
		f.Hint = b.Fault.Hint
	}
	for i := range b.Outputs {
		o := &b.Outputs[i]
		f.Hint = cmp.Or(f.Hint, untouched(o, row))
		if text := worstLine(o, b.Reason); text != "" {
			f.Lines = append(f.Lines, view.Line{Text: "worst: " + text})
		}
		if o.Wrong > 0 {
			abs, rel, rms := farOff(o)
			f.Lines = append(f.Lines, view.Line{In: view.HTML, Text: fmt.Sprintf("%s: max abs %s, max rel %s, RMS %s; allowed: %s", o.Name, abs, rel, rms, extremesOf(o).allowed())})
		}
		if m := mapOf(o); m.Drawable() {
			f.Maps = append(f.Maps, m)
		}
	}
	f.Lines = append(f.Lines, linesOf("", b.smallest())...)
	return f
}

// untouched says what to look at where a kernel has written nothing at all to an output; "" where it has.
func untouched(o *result.OutputError, row *result.Row) string {
	switch {
	case o.Blank == 0 || o.Blank < o.Count:
		return ""
	case row.Cell == "python":
		return "a parameter of an output's name is to be written to; without one the returned value is taken"
	}
	return fmt.Sprintf("the kernel writes nothing to %s: check its role in pawl.yaml, and the order of the arguments", o.Name)
}

// mapOf returns where an output is wrong.
func mapOf(o *result.OutputError) view.Map {
	if o.Tiles == nil {
		return view.Map{}
	}
	m := view.Map{Output: o.Name, Rows: o.Tiles.Rows, Columns: o.Tiles.Columns, TileRows: o.Tiles.TileRows, TileCols: o.Tiles.TileCols, Wrong: o.Tiles.Wrong}
	if o.Worst != nil {
		m.Dimensions = len(o.Worst.Index)
	}
	return m
}

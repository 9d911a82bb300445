package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// caseRow is a line of a table of cases: a case, one of its outputs, or many cases
// that need no attention.
type caseRow struct {
	lane, name, output string
	errors             *extremes // nil where nothing was compared
	fate               fate
	note               view.Cell
}

func (c caseRow) badge() view.Cell { return view.Cell{Text: string(c.fate), Tone: fateTones[c.fate]} }

// rowOf returns a case with the output that is nearest to failing.
func rowOf(c *result.Case) caseRow {
	return caseRow{lane: c.Lane, name: sizes(c), errors: extremesOf(closest(c)), fate: fateOf(c), note: view.Cell{Text: strings.Join(caseNotes(c), "; ")}}
}

var (
	laneColumn   = column[caseRow]{head: "lane", rank: 4, bytes: 40, tone: view.Quiet, text: func(c caseRow) string { return c.lane }}
	caseColumn   = column[caseRow]{head: "case", bytes: 200, text: func(c caseRow) string { return c.name }}
	fateColumn   = column[caseRow]{badge: true, cell: caseRow.badge}
	remarkColumn = column[caseRow]{bytes: 400, words: true, cell: func(c caseRow) view.Cell {
		c.note.Tone = view.Quiet
		return c.note
	}}
	caseErrors  = errorColumns(func(c caseRow) *extremes { return c.errors })
	caseColumns = slices.Concat([]column[caseRow]{laneColumn, caseColumn}, caseErrors, []column[caseRow]{fateColumn, remarkColumn})
	pageColumns = slices.Concat(
		[]column[caseRow]{caseColumn, laneColumn, fateColumn, {head: "output", text: func(c caseRow) string { return c.output }}}, caseErrors, []column[caseRow]{remarkColumn},
	)
)

func (t tried) hasCases() bool { return len(t.v.Cases) > 0 }

// caseTexts tells failures in full; a verbose text has a line for every case that was tried before
// them.
func caseTexts(rows []tried) []view.Section {
	var out []view.Section
	for _, t := range rows {
		shown, failures := textRows(t), t.failures()
		out = append(out, view.Section{In: view.Verbose, Name: t.row.Kernel + variant(t.row), Table: tableOf("", shown, used(shown, caseColumns))}, view.Section{
			In: view.Terminal, Items: failures[:min(mostExpanded, len(failures))], Left: max(0, len(failures)-mostExpanded), Noun: "failure",
		})
	}
	return out
}

// textRows returns the cases of a kernel. Of a lane that has many, the ones that need no
// attention share a line. Those that were not tried are below.
func textRows(t tried) []caseRow {
	const mostPassed, mostWrong, mostSkips = 40, 40, 8
	var out []caseRow
	lanes := grouped(t.v.Cases, func(c *result.Case) string { return c.Lane })
	for _, l := range lanes {
		good, bad := fated(l.items, passed), fated(l.items, wrong)
		summed, listed := false, 0
		for _, c := range l.items {
			switch f := fateOf(c); {
			case f == skipped:
			case f == passed && len(good) <= mostPassed, f == wrong && listed < mostWrong:
				out = append(out, rowOf(c))
			case f == passed && !summed:
				out = append(out, sumOf(l.name, good))
				summed = true
			case f == wrong && listed == mostWrong:
				out = append(out, caseRow{lane: l.name, name: view.Counted(len(bad)-mostWrong, "more case"), fate: wrong})
			}
			if fateOf(c) == wrong {
				listed++
			}
		}
	}
	for _, l := range lanes {
		cases := fated(l.items, skipped)
		if len(cases) > mostSkips {
			out = append(out, caseRow{lane: l.name, name: view.Counted(len(cases), "case"), fate: skipped, note: reasonsOf(cases)})
			continue
		}
		out = append(out, each(cases, rowOf)...)
	}
	return out
}

// sumOf returns one line for many cases that pass: their largest errors.
func sumOf(lane string, cases []*result.Case) caseRow {
	return caseRow{lane: lane, name: view.Counted(len(cases), "case"), errors: worstOf(cases), fate: passed, note: view.Cell{Text: "the largest errors of all"}}
}

// reasonsOf says why cases were skipped: the first reason, and how many others there are.
func reasonsOf(cases []*result.Case) view.Cell {
	reasons := distinct(each(cases, func(c *result.Case) string { return c.Skipped }))
	if len(reasons) == 1 {
		return view.Cell{Text: reasons[0]}
	}
	return view.Cell{Text: reasons[0] + "; and " + view.Counted(len(reasons)-1, "other reason")}
}

// caseComments returns all cases of every kernel, folded away; failing ones first, so that
// the last to find no room are those that need no attention.
func caseComments(rows []tried) []view.Section {
	return each(rows, func(t tried) view.Section {
		all := each(t.failingFirst(), rowOf)
		return view.Section{
			In: view.Markdown, Folded: true, Fold: t.row.Kernel + ": " + view.Counted(len(t.v.Cases), "case"), Table: tableOf("", all, caseColumns), Noun: "case", Count: 1,
		}
	})
}

// casePages returns all cases, as many as a page holds, the failing ones of a kernel first.
func casePages(rows []tried) []view.Section {
	const open = 60
	var out []view.Section
	room := mostCases
	for _, t := range rows {
		s := view.Section{ID: "strips", Folded: true, Name: t.row.Kernel + variant(t.row), Aside: view.Counted(len(t.v.Cases), "case"), Open: len(t.v.Cases) <= open && len(out) == 0}
		left := 0
		var all []caseRow
		for _, c := range t.failingFirst() {
			if room <= 0 {
				left++
				continue
			}
			lines := outputRows(c)
			room -= len(lines)
			all = append(all, lines...)
		}
		s.Table = tableOf("sheet cases", all, pageColumns)
		s.Lines = linesOf("", present(leftOut(left, "case")))
		out = append(out, s)
	}
	return out
}

// outputRows has a line for every output of a case.
func outputRows(c *result.Case) []caseRow {
	first := rowOf(c)
	if len(c.Outputs) == 0 {
		return []caseRow{first}
	}
	out := make([]caseRow, len(c.Outputs))
	out[0] = first
	for i := range c.Outputs {
		out[i].output, out[i].errors = c.Outputs[i].Name, extremesOf(&c.Outputs[i])
	}
	return out
}

// outcomes counts the cases that pass, fail and were skipped, and the kernels by their
// word.
func outcomes(rows []tried) (pass, fail, skip int, words map[string]int) {
	words = map[string]int{}
	for _, t := range rows {
		pass, fail, skip = pass+t.v.Passed, fail+t.v.Failed, skip+t.v.Skipped
		words[t.word()]++
	}
	return pass, fail, skip, words
}

// whole writes a number that may be larger than an int.
func whole(n int64) string { return unit.Count(int(n)) }

var fuzzFields = []string{
	"kernel", "verdict", "fault", "integrity", "oracle", "lane", "case", "fill", "seed", "batch", "runs", "replay", "result", "reason",
	"output", "count", "wrong", "nans", "never_written", "max_abs", "max_rel", "rms", "atol", "rtol", "exact", "rival_max_abs", "rival_rms",
	"worst_index", "worst_got", "worst_want", "smallest_failing", "stored", "wall_s",
}

// fuzzRecords has one line for every output of every case; a kernel without cases
// has one as well.
func fuzzRecords(r *result.Report) [][]string {
	records := [][]string{fuzzFields}
	for _, t := range triedRows(r) {
		kernel := []string{t.row.Kernel, string(t.row.Verdict), cause(t.row), string(t.v.Integrity), t.v.Oracle}
		if len(t.v.Cases) == 0 {
			records = append(records, append(kernel, make([]string, len(fuzzFields)-len(kernel))...))
		}
		for _, c := range t.v.Cases {
			records = append(records, caseRecords(kernel, c)...)
		}
	}
	return records
}

func caseRecords(kernel []string, c *result.Case) [][]string {
	names := map[fate]string{passed: "pass", wrong: "fail", skipped: "skipped"}
	begin := slices.Concat(kernel, []string{
		c.Lane, sizes(c), c.Fill, strconv.FormatUint(c.Seed, 10), strconv.Itoa(c.Batch), strconv.Itoa(c.Repeats),
		strconv.FormatBool(c.Replay), names[fateOf(c)], cmp.Or(c.Skipped, why(c)),
	})
	end := []string{textOf(c.Shrunk, sizes), c.Stored, number(c.WallS)}
	if len(c.Outputs) == 0 {
		const ofOutput = 16
		return [][]string{slices.Concat(begin, make([]string, ofOutput), end)}
	}
	var out [][]string
	for i := range c.Outputs {
		out = append(out, slices.Concat(begin, outputFields(&c.Outputs[i]), end))
	}
	return out
}

func outputFields(o *result.OutputError) []string {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	e := extremesOf(o)
	fields := []string{
		o.Name, whole(o.Count), whole(o.Wrong), whole(o.NaNs), whole(o.Blank), zero(e.abs), e.relativeField(), zero(e.rms), zero(o.Atol), zero(o.Rtol),
		strconv.FormatBool(o.Exact), number(o.RivalMaxAbs), number(o.RivalRMS),
	}
	if o.Worst == nil {
		return append(fields, "", "", "")
	}
	return append(fields, place("", o.Worst.Index), o.Worst.Got, o.Worst.Want)
}

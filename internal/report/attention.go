package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// faultOf explains why a row failed; a failed build with the compiler's own output.
func faultOf(row *result.Row) view.Item {
	f := row.Fault
	item := view.Item{Name: row.Name(), Badge: line{row: row}.judged(), Message: f.Message, Hint: f.Hint, Log: row.Log}
	if f.Stage == "build" {
		item.Name, item.Built = row.Kernel+variant(row), true
	}
	if row.Build != nil {
		item.Output = row.Build.Output
	}
	return item
}

// faulty reports whether a row failed for a reason that needs an explanation.
func faulty(row *result.Row) bool {
	return row.Fault != nil && row.Fault.Cause != result.CauseInterrupted
}

// faults explains every line that failed. Rows of one kernel whose build failed in the same way are
// explained once. With together, so are all kernels that fail for one reason that is not their own.
func faults(r *result.Report, together bool) []view.Item {
	const open = 3 // more outputs than this would bury each other
	var out []view.Item
	seen := map[string]bool{}
	for _, l := range lines(r) {
		if !faulty(l.row) {
			continue
		}
		f, item := l.row.Fault, faultOf(l.row)
		id := l.row.Kernel + "\x00" + f.Message
		alike := together && common(f)
		if alike {
			id = f.Message
			if names := kernelsWith(r.Rows, f.Message); len(names) > 1 {
				item.Name = few(names)
			}
		}
		if (alike || f.Stage == "build") && seen[id] {
			continue
		}
		seen[id] = true
		item.Open = len(out) < open
		out = append(out, item)
	}
	return out
}

// allFaults lists every line that failed, by its name.
func allFaults(r *result.Report) []view.Item {
	failed := where(lines(r), func(l line) bool { return l.row.Fault != nil })
	return each(failed, func(l line) view.Item {
		item := faultOf(l.row)
		item.Name, item.Badge.Text = l.row.Name(), status(l.row)
		return item
	})
}

// common reports whether several kernels fail by a fault alike: the machine cannot build them, or
// pawl.yaml has no oracle for them.
func common(f *result.Fault) bool {
	return f != nil && (f.Stage == "build" && f.Cause == result.CauseUnsupported || f.Cause == result.CauseNoOracle)
}

// kernelsWith returns the kernels that fail by one common fault.
func kernelsWith(rows []*result.Row, message string) []string {
	alike := where(linesOfRows(rows), func(l line) bool { return common(l.row.Fault) && l.row.Fault.Message == message })
	return distinct(each(alike, func(l line) string { return l.row.Kernel }))
}

// allWarnings lists the warnings of the run and of its rows; a warning that several rows share
// appears once, with the evidence of the first. All warnings of one row appear, and those of two files
// apart.
func allWarnings(r *result.Report) []string {
	out := each(r.Warnings, func(w result.Warning) string { return hinted(w.Message, w.Hint) })
	type doubt struct {
		result.Warning
		row, kind string
	}
	var all []doubt
	for _, row := range r.Rows {
		seen := map[string]int{}
		for _, w := range row.Warnings {
			all = append(all, doubt{w, row.Name(), fmt.Sprint(w.Code, "\x00", w.File, "\x00", seen[w.Code])})
			seen[w.Code]++
		}
	}
	for _, g := range grouped(all, func(d doubt) string { return d.kind }) {
		first, others := g.items[0], each(g.items[1:], func(d doubt) string { return d.row })
		out = append(out, hinted(first.row+": "+first.Message+prefixed("; likewise ", few(others)), first.Hint))
	}
	return out
}

func hinted(text, hint string) string { return text + when(hint != "", " ("+hint+")") }

// attentive returns the report with everything that needs attention among its warnings: also sides
// that are not available, baselines that did not move and unknown answers, each sentence once, first
// those that explain why a row could not be compared; without what its rows say themselves.
func attentive(r *result.Report) *result.Report {
	out := *r
	out.Rows = make([]*result.Row, 0, len(r.Rows))
	type remark struct {
		row, sentence, hint, code string
		ofSeveral                 string // the sentence where it is about several rows; "": the same
	}
	var all, grave, rounded []remark
	add := func(row *result.Row, sentence, hint string) {
		made := remark{row: row.Name(), sentence: sentence, hint: hint}
		if why, ok := strings.CutPrefix(sentence, stays); ok {
			if answers, ok := strings.CutPrefix(why, "its "); ok {
				why = "their " + answers
			}
			made.ofSeveral = "do not become the baseline: " + why
		}
		if m := row.Moved; m != nil && strings.HasSuffix(sentence, m.Refused) && refused(row) {
			made.code = refusedCode
		}
		if row.Verdict == result.Incomparable { // the sentence is why
			grave = append(grave, made)
		} else {
			all = append(all, made)
		}
	}
	for _, c := range checkedRows(r) {
		row := *c.row
		row.Warnings = slices.DeleteFunc(slices.Clone(row.Warnings), func(w result.Warning) bool { return w.Code == string(result.Accepted) })
		if row.Verdict == result.Incorrect {
			row.Warnings = slices.DeleteFunc(row.Warnings, func(w result.Warning) bool {
				if w.Code == roundingCode {
					rounded = append(rounded, remark{row: row.Name(), sentence: w.Message, hint: w.Hint})
				}
				return w.Code == roundingCode
			})
		}
		out.Rows = append(out.Rows, &row)
		for _, side := range row.Sides {
			for _, sentence := range side.Reason {
				if side.Change == nil || !c.accepted() {
					add(&row, sentence, remedyOf(side, sentence))
				}
			}
		}
		m := row.Moved
		switch {
		case m == nil || m.Done:
		case m.Anchor:
			add(&row, lost(m), m.Hint)
		case m.Refused != "":
			add(&row, stays+m.Refused, m.Hint)
		}
		for _, sentence := range answersOf(&row).Limits {
			const missing = "no oracle" // which is also why it does not become the baseline
			if m == nil || !strings.Contains(sentence, missing) || !strings.Contains(m.Refused, missing) {
				add(&row, sentence, "")
			}
		}
	}
	said := func(remarks []remark) []result.Warning {
		return each(grouped(remarks, func(s remark) string { return s.sentence }), func(g group[remark]) result.Warning {
			names, sentence := few(each(g.items, func(s remark) string { return s.row })), g.name
			if len(g.items) > 1 {
				sentence = cmp.Or(g.items[0].ofSeveral, sentence)
			}
			return result.Warning{Code: g.items[0].code, Message: names + ": " + sentence, Hint: g.items[0].hint}
		})
	}
	out.Warnings = slices.Concat(said(grave), r.Warnings, said(all))
	if len(rounded) > 0 { // before all others: it may excuse a row that failed
		first, others := rounded[0], distinct(each(rounded[1:], func(s remark) string { return s.row }))
		message := first.row + ": " + first.sentence + prefixed("; likewise ", few(slices.DeleteFunc(others, func(name string) bool { return name == first.row })))
		out.Warnings = slices.Insert(out.Warnings, 0, result.Warning{Code: roundingCode, Message: message, Hint: first.hint})
	}
	return &out
}

// stays begins the sentence about a result that does not become the baseline, and why.
const stays = "does not become the baseline: "

// roundingCode is the code of warnings about wrong answers that may be rounding.
const roundingCode = "rounding"

// refusedCode is the code of warnings about rows that --update-baseline was to make the baseline.
const refusedCode = "refused"

// refused reports whether --update-baseline was to make a row the baseline, and did not.
func refused(row *result.Row) bool {
	return row.Moved != nil && row.Moved.Asked && row.Moved.Refused != "" && !row.Moved.Done
}

// refusals returns the warnings about rows that --update-baseline was to make the baseline, and the
// report without them.
func refusals(r *result.Report) (texts []string, rest *result.Report) {
	out := *r
	out.Warnings = nil
	for _, w := range r.Warnings {
		if w.Code == refusedCode {
			texts = append(texts, hinted(w.Message, w.Hint))
		} else {
			out.Warnings = append(out.Warnings, w)
		}
	}
	return texts, &out
}

// remedyOf returns what to do about a version that is not available, where the sentence is of
// that.
func remedyOf(side *result.Side, sentence string) string {
	if side.Row == nil || side.Row.Fault == nil || !strings.Contains(sentence, side.Row.Fault.Message) {
		return ""
	}
	return side.Row.Fault.Hint
}

// lost says that the commit of a best-known version is gone, although the version itself is here.
func lost(m *result.Moved) string {
	return "is the best-known version; its commit " + shortSHA(m.From) + " can no longer be built" + prefixed("; the baseline stays bound to that commit: ", m.Refused)
}

// unrest are the doubts that a duet removes: disturbances affect both sides, and the interval
// covers the rest.
var unrest = []string{"cv", "drift", "width", "preempted", "steal", "foreign"}

// unquiet says that samples of some configs vary, by at most so much. A percentage beyond 100% says
// nothing; that other programs ran does.
func unquiet(configs int, most float64) string {
	of := view.Counted(configs, "config")
	if most > 1 {
		return "the machine was busy with other work: some samples of " + of + " took several times as long as the others, which the intervals allow for"
	}
	return fmt.Sprintf("the machine was not quiet: samples of %s vary by up to %s, which the intervals allow for", of, unit.PercentPlain(most))
}

// calm replaces the warnings that all rows decided in turns share by one: they would bury what
// needs attention.
func calm(r *result.Report) *result.Report {
	out := *r
	out.Rows = nil
	out.Warnings = slices.Clone(r.Warnings)
	restless, most := 0, 0.0
	for _, c := range checkedRows(r) {
		row := *c.row
		if decided := c.change != nil && c.change.Paired && c.section() != undecided; decided && measured(&row) {
			row.Warnings = slices.DeleteFunc(slices.Clone(row.Warnings), func(w result.Warning) bool { return slices.Contains(unrest, w.Code) })
			if len(row.Warnings) < len(c.row.Warnings) {
				restless++
				most = math.Max(most, row.Timing.Stats.CV)
			}
		}
		out.Rows = append(out.Rows, &row)
	}
	if restless > 0 {
		out.Warnings = append(out.Warnings, result.Warning{Message: unquiet(restless, most)})
	}
	return &out
}

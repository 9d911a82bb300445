package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// tried is a kernel of a fuzz report.
type tried struct {
	row         *result.Row
	v           *result.Verification // never nil
	interrupted bool
}

func triedRows(r *result.Report) []tried {
	return each(r.Rows, func(row *result.Row) tried {
		return tried{row, answersOf(row), r.Interrupted}
	})
}

func kernelName(row *result.Row) string { return row.Kernel }

// word returns what a kernel came to.
func (t tried) word() string {
	switch {
	case t.row.Verdict == result.Rejected:
		return "REJECTED"
	case t.v.Failed > 0 || t.row.Verdict == result.Incorrect:
		return string(wrong)
	case t.row.Verdict == result.Broken:
		return "BROKEN"
	case t.row.Fault != nil && len(t.v.Cases) > 0 && t.row.Fault.Cause != result.CauseInterrupted:
		return "ENDED EARLY"
	case t.row.Fault != nil && t.row.Fault.Cause != result.CauseInterrupted:
		return "NOT TRIED"
	case t.v.Passed == 0 && t.interrupted:
		return "INTERRUPTED"
	case t.v.Passed == 0 && t.v.Skipped > 0:
		return "ALL SKIPPED"
	case t.v.Passed == 0:
		return "NO CASE"
	case t.row.Verdict == result.Inconclusive: // nothing that the file asks for
		return "NOT TRIED"
	case suspicious(t.row):
		return "SUSPICIOUS"
	}
	return string(passed)
}

var wordTones = map[string]view.Tone{string(passed): view.Good, string(wrong): view.Bad, "REJECTED": view.Bad, "BROKEN": view.Bad}

// tone returns how the word looks.
func (t tried) tone() view.Tone { return cmp.Or(wordTones[t.word()], view.Unsure) }

// score counts the cases that passed among those that were judged: "[27/27]".
func (t tried) score() string {
	if len(t.v.Cases) == 0 && t.v.Passed+t.v.Failed == 0 {
		return ""
	}
	return fmt.Sprintf("[%d/%d]", t.v.Passed, t.v.Passed+t.v.Failed)
}

// extent says what a kernel was judged by and, where no column does, how much was
// left out.
func (t tried) extent(skips bool) []string {
	return present(
		when(t.oneSize(), "one size only"), prefixed("against ", t.v.Oracle), when(skips && t.v.Skipped > 0, unit.Count(t.v.Skipped)+" skipped"), strings.Join(exploits(t.row), ", "),
		t.obstacle(),
	)
}

// obstacle returns why a kernel was not tried, or not to the end, in a few words; "" where the word or the
// exploits say it.
func (t tried) obstacle() string {
	switch why := cause(t.row); result.Cause(why) {
	case result.CauseCheat:
		return ""
	case result.CauseOracle: // "oracle" alone, behind the name of one, says nothing
		return "no answer from the oracle"
	default:
		return why
	}
}

// oneSize reports whether a kernel passed at one size, and nobody knows about others.
func (t tried) oneSize() bool {
	pass := t.of(passed)
	return t.word() == string(passed) && len(pass) > 0 && !slices.ContainsFunc(pass, func(c *result.Case) bool { return !maps.Equal(c.Vars, pass[0].Vars) })
}

// took returns how long all cases of a kernel took.
func (t tried) took() float64 {
	return sum(t.v.Cases, func(c *result.Case) float64 { return c.WallS })
}

// of returns the cases with a fate.
func (t tried) of(f fate) []*result.Case { return fated(t.v.Cases, f) }

// failingFirst returns all cases, first those that fail and last those that need no attention.
func (t tried) failingFirst() []*result.Case {
	return slices.Concat(t.of(wrong), t.of(skipped), t.of(passed))
}

func fated(cases []*result.Case, f fate) []*result.Case {
	return where(cases, func(c *result.Case) bool { return fateOf(c) == f })
}

// caseNotes returns what else there is to say of a case, in a few words.
func caseNotes(c *result.Case) []string {
	out := []string{c.Fill}
	if o := closest(c); o != nil {
		out = append(
			out, when(len(c.Outputs) > 1, "in "+o.Name), when(o.Wrong > 0, whole(o.Wrong)+" wrong"), when(o.NaNs > 0, whole(o.NaNs)+" NaN"),
			when(o.Wrong == 0 && c.Fault == nil, c.Reason), when(o.RivalMaxAbs > 0, "rival's max abs "+scientific(o.RivalMaxAbs)),
		)
	}
	out = append(out, when(c.Repeats > 1 && fateOf(c) == passed, fmt.Sprintf("%d runs alike", c.Repeats)), when(c.Replay, "failed before"))
	if c.Fault != nil {
		out = append(out, string(c.Fault.Cause))
	}
	return present(append(out, c.Skipped)...)
}

// worstOf returns the largest errors of cases, output by output; nil where there are none.
// Tolerances that are not the same for all of them are left out.
func worstOf(cases []*result.Case) *extremes {
	var e *extremes
	for _, c := range cases {
		for i := range c.Outputs {
			one := extremesOf(&c.Outputs[i])
			if e == nil {
				e = one
				continue
			}
			e.beyond = e.beyond || one.beyond
			e.abs, e.rel, e.rms = max(e.abs, one.abs), max(e.rel, one.rel), max(e.rms, one.rms)
			if one.atol != e.atol || one.rtol != e.rtol {
				e.atol, e.rtol = "", ""
			}
		}
	}
	return e
}

// errorColumns show the largest errors of whatever a table has rows for, and what was allowed.
func errorColumns[T any](get func(T) *extremes) []column[T] {
	of := func(head string, rank int, tone view.Tone, text func(*extremes) string) column[T] {
		return column[T]{head: head, rank: rank, number: true, tone: tone, text: func(item T) string { return textOf(get(item), text) }}
	}
	return []column[T]{
		of("max abs", 1, "", func(e *extremes) string { return far(e.abs) }),
		of("max rel", 3, "", (*extremes).relative),
		of("RMS", 6, "", func(e *extremes) string { return far(e.rms) }),
		of("atol", 2, view.Quiet, func(e *extremes) string { return e.atol }),
		of("rtol", 5, view.Quiet, func(e *extremes) string { return e.rtol }),
	}
}

// failingCase is a case that is told in full, and how many others are the same
// failure: those that were shrunk to one file.
type failingCase struct {
	*result.Case
	alike int
}

func (t tried) failingCases() []failingCase {
	var out []failingCase
	at := map[string]int{}
	for _, c := range t.of(wrong) {
		if i, seen := at[c.Stored]; seen && c.Stored != "" {
			out[i].alike++
			continue
		}
		at[c.Stored] = len(out)
		out = append(out, failingCase{Case: c})
	}
	return out
}

// smallest says which smaller case still fails, and where it is kept.
func (f failingCase) smallest() []string {
	text := ""
	if s := f.Shrunk; s != nil {
		text = "smallest case that still fails" + when(f.alike > 0, ", of "+view.Counted(f.alike+1, "case")+" alike") + ": " + sizes(s) + prefixed(" ", s.Fill)
		text += when(why(s) != why(f.Case), prefixed(": ", why(s)))
	}
	return present(text, when(f.Stored != "", "kept in "+f.Stored+", and tried first from now on"))
}

// replayed says how to try the very same cases again.
func replayed(r *result.Report) string {
	seed := r.Method.Seed
	for _, t := range slices.Backward(triedRows(r)) {
		seed = cmp.Or(t.v.Seed, seed)
	}
	return when(seed != 0, fmt.Sprintf("--seed %d", seed))
}

// fuzzNotes returns what stands below the cases: how they are judged, what was left out,
// and what cannot be guaranteed.
func fuzzNotes(r *result.Report) []string {
	compared := slices.ContainsFunc(r.Rows, func(row *result.Row) bool { return worstOf(answersOf(row).Cases) != nil })
	out := present(when(compared, "an element is right when its error is at most atol + rtol × |the right answer|"))
	return append(append(out, limits(r.Rows, kernelName)...), present(authorTrust(r.Rows, kernelName))...)
}

// fuzzHeadline returns what a run came to.
func fuzzHeadline(r *result.Report, rows []tried) string {
	pass, fail, skip, words := outcomes(rows)
	var out []string
	switch {
	case fail > 0:
		out = append(out, fmt.Sprintf("%s of %s %s", unit.Count(fail), view.Counted(pass+fail, "case"), verb(fail, "fail", "fails")))
	case pass > 0:
		out = append(out, fmt.Sprintf("%s of %s %s", unit.Count(pass), view.Counted(pass, "case"), verb(pass, "pass", "passes")))
	default:
		out = append(out, "nothing was tried")
	}
	for _, word := range []string{"REJECTED", "BROKEN", "NOT TRIED", "ENDED EARLY", "SUSPICIOUS"} {
		if n := words[word]; n > 0 {
			out = append(out, view.Counted(n, "kernel")+" "+strings.ToLower(word))
		}
	}
	out = append(out, present(when(skip > 0, unit.Count(skip)+" skipped"))...)
	return when(r.Interrupted, "interrupted: ") + strings.Join(out, ", ")
}

// verb agrees with a number.
func verb(n int, many, one string) string {
	if n == 1 {
		return one
	}
	return many
}

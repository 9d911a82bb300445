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

// fate is the outcome of a case.
type fate string

const (
	passed  fate = "PASS"
	wrong   fate = "FAIL"
	skipped fate = "skipped"
)

func fateOf(c *result.Case) fate {
	switch {
	case c.Skipped != "":
		return skipped
	case c.Reason != "" || c.Fault != nil:
		return wrong
	}
	return passed
}

var fateTones = map[fate]view.Tone{passed: view.Good, wrong: view.Bad, skipped: view.Unsure}

// sizes returns a case's variables in their own order: "S=448 B=16 H=4 D=64".
func sizes(c *result.Case) string {
	known := where(c.Names, func(name string) bool {
		_, known := c.Vars[name]
		return known
	})
	names := append(known, where(sortedKeys(c.Vars), func(name string) bool { return !slices.Contains(known, name) })...)
	if len(names) == 0 {
		return "default"
	}
	return strings.Join(each(names, func(name string) string { return name + "=" + c.Vars[name] }), " ")
}

// scientific formats a number of an error column; NaN and infinities are no errors.
func scientific(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "n/a"
	case v == 0:
		return "0"
	}
	return unit.Scientific(v)
}

// extremes are the largest errors of one output or of several cases; NaN is larger than any.
type extremes struct {
	abs, rel, rms float64
	atol, rtol    string // what was allowed; no rtol where answers must be exact
	beyond        bool   // one is larger than atol: its answer is large too
}

// extremesOf returns those of an output; nil where there is none. Where no two numbers could be
// subtracted the errors are NaN or infinite, like the elements.
func extremesOf(o *result.OutputError) *extremes {
	if o == nil {
		return nil
	}
	e := &extremes{abs: unbounded(o.MaxAbs), rel: unbounded(o.MaxRel), rms: unbounded(o.RMS), atol: "exact", beyond: o.MaxAbs > o.Atol}
	if !o.Exact {
		e.atol, e.rtol = bound(o.Atol), bound(o.Rtol)
	}
	nothing := o.MaxAbs == 0 && o.RMS == 0 && o.Wrong > 0 && (o.Wrong == o.Count || o.NaNs == o.Count)
	switch {
	case nothing && o.NaNs > 0:
		e.abs, e.rel, e.rms = math.NaN(), math.NaN(), math.NaN()
	case nothing && !o.Exact: // bits may differ where numbers do not
		e.abs, e.rel, e.rms = math.Inf(1), math.Inf(1), math.Inf(1)
	}
	return e
}

// unbounded restores infinity: JSON has none, and the largest number stands for it.
func unbounded(v float64) float64 {
	if v == math.MaxFloat64 {
		return math.Inf(1)
	}
	return v
}

// far returns an error in words.
func far(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return "inf"
	}
	return scientific(v)
}

// farOff returns the errors of an output in words.
func farOff(o *result.OutputError) (abs, rel, rms string) {
	e := extremesOf(o)
	return far(e.abs), e.relative(), far(e.rms)
}

// relative returns the relative error in words: none, where every wrong element should be zero.
func (e *extremes) relative() string {
	if e.rel == 0 && e.abs > 0 {
		return "–"
	}
	return far(e.rel)
}

// relativeField is relative for programs.
func (e *extremes) relativeField() string {
	if e.rel == 0 && e.abs > 0 {
		return ""
	}
	return zero(e.rel)
}

// bound formats a tolerance in as few digits as needed.
func bound(v float64) string { return strings.Replace(scientific(v), ".0e", "e", 1) }

// allowed returns the tolerances in words: "atol 2e-03, rtol 1e-03".
func (e *extremes) allowed() string {
	if e.rtol == "" {
		return e.atol
	}
	return "atol " + e.atol + ", rtol " + e.rtol
}

// closest returns the output of a case that is nearest to failing, or that fails worst;
// nil where nothing was compared.
func closest(c *result.Case) *result.OutputError {
	var worst *result.OutputError
	for i := range c.Outputs {
		o := &c.Outputs[i]
		if worst == nil || o.Wrong > worst.Wrong || o.Wrong == worst.Wrong && strain(o) > strain(worst) {
			worst = o
		}
	}
	return worst
}

// strain returns roughly what part of its tolerance an output uses.
func strain(o *result.OutputError) float64 {
	switch {
	case o.Atol > 0:
		return o.MaxAbs / o.Atol
	case o.Rtol > 0:
		return o.MaxRel / o.Rtol
	}
	return o.MaxAbs
}

// place returns an element as source code would write it: "out[3, 0, 447, 12]".
func place(name string, index []int64) string {
	return name + "[" + strings.Join(each(index, func(n int64) string { return fmt.Sprint(n) }), ", ") + "]"
}

// worstLine returns the element of an output that is furthest off; "" when there is none,
// or when the reason says it already.
func worstLine(o *result.OutputError, reason string) string {
	if o.Worst == nil {
		return ""
	}
	at := place(o.Name, o.Worst.Index)
	if strings.Contains(reason, at) {
		return ""
	}
	return fmt.Sprintf("%s is %s and must be %s", at, o.Worst.Got, o.Worst.Want)
}

// why returns the reason of a failure, whoever gave it.
func why(c *result.Case) string {
	return cmp.Or(c.Reason, textOf(c.Fault, func(f *result.Fault) string { return cmp.Or(f.Message, string(f.Cause)) }))
}

// answersOf returns how the answers of a row were verified; never nil.
func answersOf(row *result.Row) *result.Verification {
	return cmp.Or(row.Verification, &result.Verification{})
}

// found is a finding, and how often it was made.
type found struct {
	result.Finding
	times int
}

// findings returns the evidence against a row's honesty, each once, proofs first.
func findings(row *result.Row) []found {
	var proofs, rest []found
	for _, g := range grouped(answersOf(row).Findings, func(f result.Finding) string { return fmt.Sprint(f) }) {
		f := found{g.items[0], len(g.items)}
		if f.Severity == result.Cheated {
			proofs = append(proofs, f)
		} else {
			rest = append(rest, f)
		}
	}
	return append(proofs, rest...)
}

// told reports whether the row's fault is this finding.
func (f found) told(row *result.Row) bool {
	return row.Fault != nil && row.Fault.Message == f.Exploit+": "+f.Message
}

func (f found) String() string {
	return f.Message + when(f.times > 1, " ("+unit.Count(f.times)+" times)")
}

// suspicious reports whether there is evidence against a row, but no proof.
func suspicious(row *result.Row) bool {
	return answersOf(row).Integrity == result.Suspicious
}

// exploits names what a row is accused of.
func exploits(row *result.Row) []string {
	return distinct(each(findings(row), func(f found) string { return f.Exploit }))
}

// limits returns what could not be guaranteed, each sentence once, with the rows it is
// about.
func limits(rows []*result.Row, name func(*result.Row) string) []string {
	var all [][2]string // a sentence, and whom it is about
	for _, row := range rows {
		for _, sentence := range answersOf(row).Limits {
			all = append(all, [2]string{sentence, name(row)})
		}
	}
	return each(grouped(all, func(said [2]string) string { return said[0] }), func(g group[[2]string]) string {
		names := few(distinct(each(g.items, func(said [2]string) string { return said[1] })))
		return when(!strings.HasPrefix(g.name, names+" "), names+": ") + g.name // unless it names them itself
	})
}

// authorTrust says once what cannot be guaranteed for code that runs inside the process that
// measures or asks it; "" where no row has such code, or where it was said already.
func authorTrust(rows []*result.Row, name func(*result.Row) string) string {
	trusted := where(rows, func(row *result.Row) bool { return row.Trust == "author" })
	said := slices.ContainsFunc(rows, func(row *result.Row) bool {
		return strings.Contains(strings.Join(answersOf(row).Limits, "\n"), "address space")
	})
	if len(trusted) == 0 || said {
		return ""
	}
	return "trust: author for " + few(distinct(each(trusted, name))) + ": this code shares its cell's address space; its answers are compared" +
		when(slices.ContainsFunc(trusted, measured), " and its times checked") + " from outside, but nothing proves that it does not tamper with the process it runs in"
}

// trustWord names the trust in the rows, that in the least trusted one; "" where no row has any.
func trustWord(rows []*result.Row) string {
	all := distinct(each(rows, func(row *result.Row) string { return row.Trust }))
	switch {
	case len(all) == 0:
		return ""
	case slices.Contains(all, "author"):
		return "trust: author"
	}
	return "trust: " + all[0]
}

// accused returns the evidence against a row's honesty, unless its fault states it; nothing where
// there is none.
func accused(row *result.Row, name string) []view.Item {
	suspect := view.Cell{Text: string(result.Suspicious), Tone: view.Unsure}
	item := view.Item{Name: name, Badge: suspect}
	for _, f := range findings(row) {
		if f.told(row) {
			continue
		}
		made := view.Finding{Exploit: f.Exploit, Message: f.String(), Badge: suspect}
		if f.Severity == result.Cheated {
			made.Badge = view.Cell{Text: string(result.Rejected), Tone: view.Bad}
			item.Badge = made.Badge
		}
		item.Findings = append(item.Findings, made)
	}
	if item.Findings == nil {
		return nil
	}
	return []view.Item{item}
}

// accusations returns the evidence against rows.
func accusations(rows []*result.Row, name func(*result.Row) string) view.Section {
	items := each(rows, func(row *result.Row) []view.Item { return accused(row, name(row)) })
	return view.Section{Title: "Integrity", List: true, Items: slices.Concat(items...)}
}

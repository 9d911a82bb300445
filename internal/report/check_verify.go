package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

func rowName(row *result.Row) string { return row.Name() }

// sandboxOff is the level of a sandbox that nobody wanted.
const sandboxOff = "off"

// verified tells whether a row's answers were looked at and are right.
func (c checked) verified() bool {
	v := c.row.Verification
	return v != nil && v.Passed > 0 && v.Failed == 0
}

func verifiedOf(rows []checked) []checked {
	var out []checked
	for _, c := range rows {
		if c.verified() {
			out = append(out, c)
		}
	}
	return out
}

// examined tells whether a check looked at answers at all.
func examined(rows []checked) bool {
	for _, c := range rows {
		if c.row.Verification != nil {
			return true
		}
	}
	return false
}

// timedLooks is how many timed samples of a row were looked at.
func timedLooks(row *result.Row) int {
	n := 0
	for _, c := range row.Verification.Cases {
		if c.Lane == result.TimedLane && fateOf(c) != skipped {
			n++
		}
	}
	return n
}

// accuracy is the largest error of some rows, and what was allowed: "max abs 6.1e-07
// (atol 2e-05)", with the relative ones where the absolute do not explain it.
func accuracy(rows ...*result.Row) string {
	var cases []*result.Case
	for _, row := range rows {
		cases = append(cases, row.Verification.Cases...)
	}
	switch e := worstOf(cases); {
	case e == nil:
		return ""
	case e.atol == "":
		return "max abs " + far(e.abs)
	case e.rtol == "":
		return "max abs " + far(e.abs) + " (exact)"
	case e.beyond:
		return fmt.Sprintf("max abs %s, max rel %s (atol %s, rtol %s)", far(e.abs), relative(e.abs, e.rel), e.atol, e.rtol)
	default:
		return "max abs " + far(e.abs) + " (atol " + e.atol + ")"
	}
}

// blunder is the first wrong answer of a row, in one line; "" when there is none.
func (c checked) blunder() string {
	if c.row.Verification == nil {
		return ""
	}
	for _, one := range c.row.Verification.Cases {
		if fateOf(one) == wrong {
			return flat(why(one))
		}
	}
	return ""
}

// honesty says why a row is wrong, rejected or suspicious, as far as its answers show.
func (c checked) honesty() string {
	const most = 400
	accused := strings.Join(exploits(c.row), ", ")
	switch {
	case suspicious(c.row):
		return strings.TrimSuffix("SUSPICIOUS: "+accused, ": ")
	case c.row.Verdict == result.Incorrect && (c.row.Fault == nil || c.blunder() != c.row.Fault.Message):
		return shorten(c.blunder(), most)
	case c.row.Verdict == result.Rejected && accused != "":
		return shorten(strings.TrimSuffix(accused+": "+c.blunder(), ": "), most)
	}
	return ""
}

// witness is the rows of a kernel that were verified in the same way.
type witness struct {
	oracle string
	rows   []checked
}

func witnesses(rows []checked) []*witness {
	var out []*witness
	found := map[[2]string]*witness{}
	for _, c := range verifiedOf(rows) {
		id := [2]string{c.row.Kernel, c.row.Verification.Oracle}
		if found[id] == nil {
			found[id] = &witness{oracle: c.row.Verification.Oracle}
			out = append(out, found[id])
		}
		found[id].rows = append(found[id].rows, c)
	}
	return out
}

// verifiedLines say what was verified against what, for a terminal.
func verifiedLines(rows []checked, style term.Style) string {
	const most = 12
	all := witnesses(rows)
	looks, oracles := 0, []string{}
	for _, w := range all {
		if !slices.Contains(oracles, w.oracle) {
			oracles = append(oracles, w.oracle)
		}
		for _, c := range w.rows {
			looks += timedLooks(c.row)
		}
	}
	if len(all) == 0 {
		return ""
	}
	if len(all) > most {
		line := counted(len(verifiedOf(rows)), "config") + " verified against " + few(oracles)
		if looks > 0 {
			line += "; " + counted(looks, "timed sample") + " looked at"
		}
		return "  " + style.Dim(printable(flat(line))) + "\n"
	}
	t := &rendered{term.Table{Indent: 2, Columns: make([]term.Column, 4)}}
	dim := func(text string) term.Cell { return term.Cell{Text: text, Style: style.Dim} }
	for _, w := range all {
		names, timed := []*result.Row{}, 0
		for _, c := range w.rows {
			names, timed = append(names, c.row), timed+timedLooks(c.row)
		}
		t.AddCells(
			dim(unit.Count(len(w.rows))+" verified: "+gathered(w.rows, rows)), dim("against "+cmp.Or(w.oracle, "nothing")),
			dim(accuracy(names...)), dim(when(timed > 0, counted(timed, "timed sample")+" looked at")),
		)
	}
	t.dropEmpty()
	text := t.String()
	for _, w := range all {
		if ran := kernelsOf(w.rows); len(ran) > 0 {
			text += "  " + style.Dim(printable(flat(gathered(w.rows, rows)+" ran on the GPU: "+few(ran)))) + "\n"
		}
	}
	return text
}

// kernelsOf are the kernels that rows were seen to run, each once, in a short form.
func kernelsOf(rows []checked) []string {
	var out []string
	for _, c := range rows {
		for _, name := range c.row.Verification.Kernels {
			if name = plainName(name); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// plainName is a C++ function's own name, where its mangled one begins with it:
// _Z7softmaxPKfPfi.
func plainName(mangled string) string {
	const longest = 60
	if rest, found := strings.CutPrefix(mangled, "_Z"); found {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if size, err := strconv.Atoi(rest[:digits]); err == nil && size > 0 && size <= len(rest)-digits {
			return rest[digits : digits+size]
		}
	}
	return shorten(mangled, longest)
}

// inShort is a row's verification in a sentence.
func (c checked) inShort() string {
	v := c.row.Verification
	if v == nil {
		return ""
	}
	oracle, text := cmp.Or(v.Oracle, "nothing"), "not verified"
	switch {
	case v.Failed > 0:
		text = "disagrees with " + oracle
	case v.Passed > 0:
		text = "verified against " + oracle
	}
	if error := accuracy(c.row); error != "" {
		text += ": " + error
	}
	if n := timedLooks(c.row); n > 0 {
		text += "; " + counted(n, "timed sample") + " looked at"
	}
	if ran := kernelsOf([]checked{c}); len(ran) > 0 {
		text += "; ran " + few(ran)
	}
	return text
}

// verification lists how the answers of all rows were looked at, folded away.
func (d *bounded) verification(rows []checked) {
	var some []checked
	for _, c := range rows {
		if c.row.Verification != nil {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return
	}
	d.printf("<details><summary>%s verified</summary>\n\n", counted(len(verifiedOf(rows)), "config"))
	left := 0
	for _, c := range some {
		if left > 0 || !d.add("- "+inline(c.row.Name(), 120)+": "+inline(c.inShort(), 400)+"\n") {
			left++
		}
	}
	d.printf("\n")
	d.more(left)
	d.printf("</details>\n\n")
}

// blunders are the wrong answers of a row in full, unless its fault says all of it.
func (c checked) blunders() string {
	if c.row.Verification == nil {
		return ""
	}
	const most = 3
	text := ""
	some := c.untold()
	for _, one := range some[:min(most, len(some))] {
		text += blow{Case: one}.markdown(c.row.Name())
	}
	return text
}

// untold are the wrong answers of a row of which its fault does not say everything.
func (c checked) untold() []*result.Case {
	var out []*result.Case
	for _, one := range c.row.Verification.Cases {
		told := c.row.Fault != nil && strings.Contains(c.row.Fault.Message, why(one))
		mapped := slices.ContainsFunc(one.Outputs, func(o result.OutputError) bool { return drawable(o.Tiles) })
		if fateOf(one) == wrong && (!told || mapped) {
			out = append(out, one)
		}
	}
	return out
}

// checkFailures are wrong answers and what speaks against rows, for a page.
func checkFailures(rows []checked) failureList {
	var out failureList
	for _, c := range gravest(rows) {
		if c.row.Verification == nil {
			continue
		}
		if f := accused(c.row, c.row.Name()); len(f.Findings) > 0 {
			out.add(func() failure { return f })
		}
		for _, one := range c.untold() {
			out.add(func() failure {
				f := failureOf(one, c.row.Name()+" "+sizes(one))
				if one.Lane == result.TimedLane {
					f.Name += " (a timed sample)"
				}
				f.Outcome.Text = string(result.Incorrect)
				return f
			})
		}
	}
	return out
}

var verifiedColumns = []sheetColumn[checked]{
	{"kernel/config", false, func(c checked) string { return c.row.Name() }},
	{"answers", false, func(c checked) string {
		switch v := c.row.Verification; {
		case v.Failed > 0:
			return "wrong"
		case v.Passed > 0:
			return "verified"
		}
		return "not verified"
	}},
	{"against", false, func(c checked) string { return c.row.Verification.Oracle }},
	{"integrity", false, func(c checked) string { return string(c.row.Verification.Integrity) }},
	{"max abs", true, func(c checked) string { return c.extreme(func(e *extremes) string { return far(e.abs) }) }},
	{"max rel", true, func(c checked) string { return c.extreme(func(e *extremes) string { return relative(e.abs, e.rel) }) }},
	{"RMS", true, func(c checked) string { return c.extreme(func(e *extremes) string { return far(e.rms) }) }},
	{"atol", true, func(c checked) string { return c.extreme(func(e *extremes) string { return e.atol }) }},
	{"rtol", true, func(c checked) string { return c.extreme(func(e *extremes) string { return e.rtol }) }},
	{"timed samples looked at", true, func(c checked) string {
		if n := timedLooks(c.row); n > 0 {
			return strconv.Itoa(n)
		}
		return ""
	}},
	{"ran on the GPU", false, func(c checked) string { return strings.Join(kernelsOf([]checked{c}), ", ") }},
}

func (c checked) extreme(text func(*extremes) string) string {
	if e := worstOf(c.row.Verification.Cases); e != nil {
		return text(e)
	}
	return ""
}

// verifiedSheet is how the answers of every row were looked at.
func verifiedSheet(rows []checked) sheet {
	var some []checked
	for _, c := range gravest(rows) {
		if c.row.Verification != nil && len(some) < mostListed {
			some = append(some, c)
		}
	}
	return makeSheet(some, verifiedColumns)
}

// verifyFields are a row's verification for programs.
var verifyFields = []string{"oracle", "integrity", "cases_passed", "cases_failed", "cases_skipped", "max_abs", "max_rel", "rms", "findings", "wrong", "kernels"}

func (c checked) verifyRecord() []string {
	v := c.row.Verification
	if v == nil {
		return make([]string, len(verifyFields))
	}
	out := []string{v.Oracle, string(v.Integrity), strconv.Itoa(v.Passed), strconv.Itoa(v.Failed), strconv.Itoa(v.Skipped), "", "", ""}
	if e := worstOf(v.Cases); e != nil {
		out[5], out[6], out[7] = zero(e.abs), relativeField(e.abs, e.rel), zero(e.rms)
	}
	return append(out, strings.Join(exploits(c.row), "; "), c.blunder(), strings.Join(v.Kernels, "; "))
}

// suspects is how many rows are under suspicion, in words; "" when none is.
func suspects(rows []checked) string {
	n := 0
	for _, c := range rows {
		if suspicious(c.row) {
			n++
		}
	}
	return when(n > 0, fmt.Sprintf("%s suspicious", unit.Count(n)))
}

// checkNotes are what stands below a check without being a doubt of its own.
func checkNotes(r *result.Report) []string {
	var out []string
	if text := waiting(r.Rows); text != "" {
		out = append(out, text)
	}
	if slices.ContainsFunc(r.Rows, func(row *result.Row) bool { return row.Sandbox != nil && row.Sandbox.Level == sandboxOff }) {
		out = append(out, "the sandbox was off: nothing held the kernels and their compilers back from what their user may do")
	}
	if text := authorTrust(r.Rows, rowName); text != "" {
		out = append(out, text)
	}
	return out
}

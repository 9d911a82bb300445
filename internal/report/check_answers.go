package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// sandboxOff is the level of a sandbox that was turned off.
const sandboxOff = "off"

// verified reports whether a row's answers were verified and are right.
func (c checked) verified() bool {
	v := answersOf(c.row)
	return v.Passed > 0 && v.Failed == 0
}

// unverified reports whether answers were compared and nothing is known of them: the verdict is one of
// speed alone.
func (c checked) unverified() bool {
	v := answersOf(c.row)
	return v.Skipped > 0 && v.Passed+v.Failed == 0 && c.row.Fault == nil
}

func verifiedOf(rows []checked) []checked {
	return where(rows, checked.verified)
}

// examined reports whether a check verified answers at all.
func examined(rows []checked) bool {
	return slices.ContainsFunc(rows, func(c checked) bool { return c.row.Verification != nil })
}

// verifiedSamples returns how many timed samples of a row were verified.
func verifiedSamples(row *result.Row) int {
	return len(where(row.Verification.Cases, func(c *result.Case) bool { return c.Lane == result.TimedLane && fateOf(c) != skipped }))
}

// accuracy returns the largest error of some rows, and what was allowed: "max abs 6.1e-07
// (atol 2e-05)", with the relative ones where the absolute do not explain it.
func accuracy(rows ...*result.Row) string {
	cases := slices.Concat(each(rows, func(row *result.Row) []*result.Case { return row.Verification.Cases })...)
	switch e := worstOf(cases); {
	case e == nil:
		return ""
	case e.atol == "":
		return "max abs " + far(e.abs)
	case e.rtol == "":
		return "max abs " + far(e.abs) + " (exact)"
	case e.beyond:
		return fmt.Sprintf("max abs %s, max rel %s (atol %s, rtol %s)", far(e.abs), e.relative(), e.atol, e.rtol)
	default:
		return "max abs " + far(e.abs) + " (atol " + e.atol + ")"
	}
}

// firstWrong returns the first wrong answer of a row, in one line; "" when there is none.
func (c checked) firstWrong() string {
	failing := fated(answersOf(c.row).Cases, wrong)
	if len(failing) == 0 {
		return ""
	}
	return view.Flat(why(failing[0]))
}

// honesty says why a row is wrong, rejected or suspicious, as far as its answers show.
func (c checked) honesty() string {
	const most = 400
	accused := strings.Join(exploits(c.row), ", ")
	switch {
	case suspicious(c.row):
		return strings.TrimSuffix("SUSPICIOUS: "+accused, ": ")
	case c.row.Verdict == result.Incorrect && (c.row.Fault == nil || c.firstWrong() != c.row.Fault.Message):
		return view.Shorten(c.firstWrong(), most)
	case c.row.Verdict == result.Rejected && accused != "":
		return view.Shorten(strings.TrimSuffix(accused+": "+c.firstWrong(), ": "), most)
	}
	return ""
}

// witness is the rows of a kernel that were verified in the same way.
type witness = group[checked]

func witnesses(rows []checked) []witness {
	return grouped(verifiedOf(rows), func(c checked) string { return c.row.Kernel + "\x00" + c.row.Verification.Oracle })
}

func oracleOf(w witness) string { return w.items[0].row.Verification.Oracle }

// kernelsOf returns the kernels that rows ran, each once, in a short form.
func kernelsOf(rows []checked) []string {
	all := slices.Concat(each(rows, func(c checked) []string { return c.row.Verification.Kernels })...)
	return distinct(each(all, plainName))
}

// plainName returns a C++ function's own name, where its mangled one begins with it:
// _Z7softmaxPKfPfi.
func plainName(mangled string) string {
	const longest = 60
	if rest, found := strings.CutPrefix(mangled, "_Z"); found {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if size, err := strconv.Atoi(rest[:digits]); err == nil && size > 0 && size <= len(rest)-digits {
			return rest[digits : digits+size]
		}
	}
	return view.Shorten(mangled, longest)
}

// inShort returns a row's verification in a sentence.
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
	return text + prefixed(": ", accuracy(c.row)) + prefixed("; ", c.neighbours()) + prefixed("; ", timedSamples(c)) + prefixed("; ran ", few(kernelsOf([]checked{c})))
}

// neighbours says which sizes next to its own a row was tried at, and which not; "" where it has none.
func (c checked) neighbours() string {
	var at []string
	left := map[string][]string{}
	var whys []string
	for _, n := range answersOf(c.row).Neighbours {
		switch {
		case n.Slower > 0:
			at = append(at, fmt.Sprintf("%s (%.1f times as long for the same work; not so at %s)", n.Size, n.Slower, n.Aligned))
		case n.Untried == "":
			at = append(at, n.Size)
		default:
			if left[n.Untried] == nil {
				whys = append(whys, n.Untried)
			}
			left[n.Untried] = append(left[n.Untried], n.Size)
		}
	}
	out := present(prefixed("tried at ", strings.Join(at, ", ")))
	for _, why := range whys {
		out = append(out, "not tried at "+strings.Join(left[why], ", ")+" ("+view.Shorten(view.Flat(why), 120)+")")
	}
	return strings.Join(out, ", ")
}

// untold returns the wrong answers of a row that its fault does not fully describe.
func (c checked) untold() []*result.Case {
	return where(fated(answersOf(c.row).Cases, wrong), func(one *result.Case) bool {
		told := c.row.Fault != nil && strings.Contains(c.row.Fault.Message, why(one))
		return !told || slices.ContainsFunc(one.Outputs, func(o result.OutputError) bool { return mapOf(&o).Drawable() })
	})
}

// suspects returns how many rows are under suspicion, in words; "" when none is.
func suspects(rows []checked) string {
	n := len(where(rows, func(c checked) bool { return suspicious(c.row) }))
	return when(n > 0, unit.Count(n)+" suspicious")
}

// checkNotes returns the remarks below a check that are no doubts.
func checkNotes(r *result.Report) []string {
	off := slices.ContainsFunc(r.Rows, func(row *result.Row) bool { return row.Sandbox != nil && row.Sandbox.Level == sandboxOff })
	return present(waiting(r.Rows), when(off, "the sandbox was off: kernels and their compilers had all rights of the user who ran pawl"))
}

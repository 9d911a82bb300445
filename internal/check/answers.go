package check

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/git"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
)

// exam holds everything needed to know a row's right answers.
type exam struct {
	lab.Exam
	varies   bool             // the kernel may return different bits each time
	whose    string           // the oracle's owner, where the oracle is the base's
	byChange bool             // the oracle is the change's own, since the base's cannot be asked
	unasked  error            // why the base's oracle cannot be asked about the candidate's arguments
	err      error            // why there are no answers
	answers  bool             // the kernel has no oracle, and is the oracle or rival of others
	near     []*spec.Instance // neighbours of its size that are examined
	notes    []result.Warning
}

// examOf finds where a row's right answers come from: the oracle of the base's spec, else the
// candidate's own. Without an oracle, the base's version itself gives the answers. The change's own
// oracle is asked where the base's does not take the arguments that the kernel has now.
func (c *check) examOf(b *built) *exam {
	own := b.candidate.Variant.Kernel
	theirs := c.base.kernel(own.Name)
	if theirs == nil {
		return c.examBy(b, c.Spec, own)
	}
	if draft := c.base.drafts.oracle(theirs); draft != "" {
		x := c.examBy(b, c.Spec, own)
		x.notes = append(x.notes, result.Warning{
			Code:    "draft",
			Message: fmt.Sprintf("kernel %s, the source of the base's right answers, is a draft there; this change's own oracle is used", draft),
		})
		return x
	}
	x := c.examBy(b, c.base.spec, theirs)
	if theirs.Oracle != nil {
		x.whose = fmt.Sprintf("the oracle of %s (%s)", c.report.Base.Ref, git.Short(c.base.sha))
	}
	if why := x.why(); why == nil || theirs.Oracle == nil && own.Oracle == nil {
		return x
	}
	return c.examByOwn(b, x, own)
}

// examByOwn uses the change's own oracle, since the base's cannot be asked.
func (c *check) examByOwn(b *built, x *exam, own *spec.Kernel) *exam {
	theirs := fmt.Sprintf("%s cannot be used with this change's arguments: %s", x.whose, c.words(x.why()))
	if x.whose == "" {
		theirs = "the base has no oracle for this kernel, and its version takes different arguments"
	}
	if own.Oracle == nil {
		return &exam{err: &result.Fault{Cause: result.CauseOracle, Message: theirs + "; this change has none", Hint: "give " + own.Name + " an oracle: for its arguments in pawl.yaml"}}
	}
	mine := c.examBy(b, c.Spec, own)
	if why := mine.why(); why != nil {
		return &exam{err: result.Faultf(result.CauseOracle, "this change's oracle cannot be used: %s; %s", why, theirs).
			WithHint("fix the oracle: of " + own.Name + " in pawl.yaml, or name another there")}
	}
	mine.byChange, mine.varies = true, x.varies
	mine.notes = append(mine.notes, result.Warning{Code: "oracle", Message: theirs + "; this change's own oracle is used, so the result cannot become the baseline"})
	return mine
}

// examBy uses the oracle that a spec gives for the kernel. An earlier oracle need not know the
// names of the change's sizes: it then gets the base's values, if they describe the same problem.
func (c *check) examBy(b *built, s *spec.Spec, from *spec.Kernel) *exam {
	answers, known := c.answers[from]
	if !known { // once per kernel, so that its configs share the oracle
		var err error
		if answers, err = lab.FindAnswers(s, from); err != nil {
			return &exam{varies: !from.Deterministic, err: err}
		}
		c.answers[from] = answers
	}
	x := &exam{varies: !from.Deterministic}
	about := b.candidate.Instance
	for _, at := range []*spec.Config{about.Config, b.config} {
		x.Exam = answers.On(at)
		if x.unasked = x.Unasked(about); x.unasked == nil {
			break
		}
	}
	if base := b.versions.base; answers.Oracle == nil && base != nil && base.job != nil && base.job.Instance != nil {
		x.unasked = verify.Answers(base.job.Instance, about)
		if !base.missing() {
			x.Reference = base.job
		}
	}
	return x
}

// why returns the reason that there are no answers; nil: there are answers.
func (x *exam) why() error {
	if x.err != nil {
		return x.err
	}
	return x.unasked
}

// words returns the text of an error about the base. It leaves out the remedy, which is for the
// author of the base, and the path that the base was checked out to.
func (c *check) words(err error) string {
	text, _, _ := strings.Cut(err.Error(), "; ")
	return strings.ReplaceAll(text, c.base.tree.Folder+string(filepath.Separator), "")
}

// before is appended to the remedy for an oracle of the base: this change cannot mend it.
const before = ", in a separate change before this one"

// mended adds to a hint about an oracle of the base, which may be none, that this change cannot mend it.
func mended(hint string) string {
	if hint == "" {
		return "mend the oracle in a separate change before this one"
	}
	return hint + "; an oracle that has to be mended is mended in a separate change before this one"
}

// unanswered returns the fault of a row whose oracle does not answer.
func (x *exam) unanswered(b *built, own *verify.OracleError) *result.Fault {
	if x.Oracle == nil {
		own.Who = fmt.Sprintf("the base version of commit %s, which stands in for the missing oracle,", git.Short(b.base.commit))
		own.Hint = "add an oracle: to the kernel in pawl.yaml" + before
		if x.unasked != nil { // then the change's own oracle is asked
			own.Hint = "add an oracle: to the kernel in pawl.yaml"
		}
		return own.Fault()
	}
	own.Who = x.whose
	fault := own.Fault()
	if x.whose != "" {
		fault.Hint = mended(fault.Hint)
	}
	return fault
}

// unbuilt returns the fault of a row whose oracle cannot be built.
func (x *exam) unbuilt(name string, why *result.Fault) *result.Fault {
	fault := result.Faultf(result.CauseOracle, "%s, %s, is not available: %s", x.whose, name, why.Message).
		WithHint(mended(why.Hint))
	if x.whose == "" {
		fault.Message, fault.Hint = fmt.Sprintf("the oracle %s is not available: %s", name, why.Message), why.Hint
	}
	return fault
}

// noteNewOracle says, of a row whose code is unchanged, that the change gives it another oracle or
// tolerance: nothing is verified by that before the next change of its code.
func (c *check) noteNewOracle(x *planned) []result.Warning {
	own := x.candidate.Variant.Kernel
	theirs := c.base.kernel(own.Name)
	if theirs == nil || own.Oracle == nil {
		return nil
	}
	if _, err := lab.FindAnswers(c.Spec, own); err != nil {
		fault, _ := errors.AsType[*result.Fault](err)
		if fault == nil {
			fault = &result.Fault{Message: err.Error()}
		}
		return []result.Warning{{Code: "oracle", Message: "nothing was verified, and the next change of this kernel cannot be: " + fault.Message, Hint: fault.Hint}}
	}
	what := "oracle"
	switch {
	case theirs.Oracle == nil || c.otherOracle(theirs, own):
	case otherTolerance(theirs.Tolerance, own.Tolerance):
		what = "tolerance"
	default:
		return nil
	}
	return []result.Warning{{
		Code: "oracle", Message: fmt.Sprintf("this change gives %s another %s; the code is unchanged, so nothing was verified by it", own.Name, what),
		Hint: "pawl fuzz " + own.Name + " tries it now",
	}}
}

// noteJudge says, for wrong answers, that the change's own oracle might call them right: an author
// who means to change what a kernel computes must know which oracle judged it.
func (c *check) noteJudge(b *built, x *exam) []result.Warning {
	own := b.candidate.Variant.Kernel
	if x.whose == "" || own.Oracle == nil {
		return nil
	}
	theirs := c.base.kernel(own.Name)
	what := ""
	switch {
	case c.otherOracle(theirs, own):
		what = "oracle"
	case otherTolerance(theirs.Tolerance, own.Tolerance):
		what = "tolerance"
	default:
		return nil
	}
	if what == "tolerance" {
		return c.noteTolerance(b, x)
	}
	return []result.Warning{{
		Code: "oracle", Message: fmt.Sprintf("judged by %s; this change has a different %s", x.whose, what),
		Hint: fmt.Sprintf("if the new %s is intended, merge it in a separate change before the kernel; or rename the kernel, so that it counts as new", what),
	}}
}

// noteTolerance says, of right and of wrong answers, that the tolerance which this change gives the
// kernel was not applied, and which one was.
func (c *check) noteTolerance(b *built, x *exam) []result.Warning {
	own := b.candidate.Variant.Kernel
	theirs := c.base.kernel(own.Name)
	if x.whose == "" || theirs == nil || !otherTolerance(theirs.Tolerance, own.Tolerance) {
		return nil
	}
	return []result.Warning{{
		Code:    "tolerance",
		Message: fmt.Sprintf("judged by %s, with its tolerance, %s; this change's own is different, %s, and does not apply", x.whose, bounds(theirs.Tolerance), bounds(own.Tolerance)),
		Hint:    "if the new tolerance is intended, merge it in a separate change before the kernel; or rename the kernel, so that it counts as new",
	}}
}

func otherTolerance(a, b spec.Tolerance) bool {
	return a.Atol != b.Atol || a.Rtol != b.Rtol || a.Factor != b.Factor
}

// bounds writes a tolerance as pawl.yaml has it.
func bounds(t spec.Tolerance) string {
	text := fmt.Sprintf("atol %g and rtol %g", t.Atol, t.Rtol)
	if t.Factor > 0 {
		text += fmt.Sprintf(" or %g times the rival's error", t.Factor)
	}
	return text
}

// otherOracle reports whether the change's oracle differs from the base's: it is a different
// oracle, or its source differs.
func (c *check) otherOracle(theirs, own *spec.Kernel) bool {
	a, b := *theirs.Oracle, *own.Oracle
	if a.Builtin != b.Builtin || a.Elementwise != b.Elementwise || a.Kernel != b.Kernel || a.Python != b.Python {
		return true
	}
	source := ""
	switch {
	case a.Python != "":
		source = spec.PythonSource(a.Python)
	case a.Kernel != "":
		before, now := c.base.kernel(a.Kernel), c.Spec.Kernel(a.Kernel)
		if before == nil || now == nil || before.Source != now.Source {
			return true
		}
		source = now.Source
	default:
		return false
	}
	source = filepath.FromSlash(source)
	then, _ := os.ReadFile(filepath.Join(c.base.tree.Folder, source))
	now, _ := os.ReadFile(filepath.Join(c.Spec.Dir, source))
	return !bytes.Equal(then, now)
}

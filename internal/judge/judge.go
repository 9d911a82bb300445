// Package judge turns measurements into verdicts. Its functions are pure: the same
// numbers give the same verdict, whoever asks.
package judge

import (
	"cmp"
	"slices"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// LeastSeconds is the absolute difference below which nothing fails: it is less than the variation
// of a launch itself.
const LeastSeconds = 0.5e-6

// Opponent is another version of the kernel, and how the candidate did against it.
type Opponent struct {
	Same    bool           // its identity is the candidate's: there is nothing to measure
	Missing bool           // it could not be built, loaded or measured
	Change  *result.Change // nil: not measured
	Median  float64        // its own, seconds
}

// Case holds everything that a verdict depends on.
type Case struct {
	Gate      spec.Gate
	Fault     *result.Fault // the candidate's
	Incorrect bool          // its outputs are wrong
	Base      *Opponent     // the version that the change was made to; nil: there is none
	Best      *Opponent     // the best-known version; nil: none, or it is the base
	Accepted  bool          // a recorded reason says that it may be slower
	Draft     bool          // the base has the kernel only as a draft, which judges nothing; then Base is nil
}

// Verdict applies the decision table of docs/statistics.md. An unconfirmed result that would fail a
// change or move the baseline is undecided.
func Verdict(c Case) (result.Verdict, []result.Reason) {
	verdict, reasons := Provisional(c)
	if Confirm(verdict) && !answersFor(c).Change.Confirmed {
		return result.Inconclusive, []result.Reason{result.Unconfirmed}
	}
	return verdict, reasons
}

// Provisional returns the verdict before a second set of cells has confirmed it; it decides whether
// a second set is played.
func Provisional(c Case) (result.Verdict, []result.Reason) {
	if verdict, ended := ended(c); ended {
		return verdict, nil
	}
	base, best := c.Base, c.Best
	switch {
	case base == nil && best == nil && c.Draft:
		return result.New, []result.Reason{result.BaseDraft}
	case base == nil && best == nil:
		return result.New, []result.Reason{result.NoBaseline}
	case unchanged(c):
		return result.Unchanged, nil
	case !measured(base) && !measured(best):
		return result.Incomparable, nil
	}
	first := answersFor(c)
	var reasons []result.Reason
	if first.Change.Bistable {
		reasons = append(reasons, result.Bistable)
	}
	slower, decided := region(c.Gate, first)
	verdict := result.Maintained
	switch {
	case first != best && step(c.Gate, first) && behind(c.Gate, best):
		verdict = result.Regression // it goes too far from the best, though the step is not large
		if slower <= 0 || !decided {
			reasons = append(reasons, result.TooFar)
		}
	case !decided:
		verdict = result.Inconclusive
	case slower > 0:
		verdict = result.Regression
	case slower < 0:
		verdict = result.Improvement
	}
	reasons = append(reasons, remarks(c, first, verdict)...)
	return verdict, reasons
}

// answersFor returns the version that a change is judged by: the base, where it was measured.
func answersFor(c Case) *Opponent {
	if measured(c.Base) {
		return c.Base
	}
	return c.Best
}

// ended returns the verdict that no measurement can change, if there is one.
func ended(c Case) (result.Verdict, bool) {
	if c.Incorrect {
		return result.Incorrect, true
	}
	return OfFault(c.Fault), c.Fault != nil
}

// OfFault returns the verdict that a fault gives the kernel: none where the fault is the machine's,
// the user's or pawl's own, or where there is no fault.
func OfFault(f *result.Fault) result.Verdict {
	if f == nil {
		return ""
	}
	switch f.Cause {
	case result.CauseForged, result.CauseOverRoof, result.CauseCheat, result.CauseClaim:
		return result.Rejected
	case result.CauseWrong:
		return result.Incorrect
	case result.CauseUnsupported, result.CauseInterrupted, result.CauseInternal, result.CauseKilled, result.CauseProtocol, result.CauseOracle, result.CauseNoOracle:
		return ""
	}
	return result.Broken
}

func measured(o *Opponent) bool { return o != nil && !o.Missing && o.Change != nil }

// region says where a change lies: above the gate (1), below it (-1) or inside (0), and whether
// that is decided. It is decided if the interval is as narrow as required, or lies completely in
// one region, so that a narrower one would say the same.
func region(gate spec.Gate, o *Opponent) (where int, decided bool) {
	c := o.Change
	at := func(v float64) int {
		switch {
		case v > gate.Regression && v*o.Median >= LeastSeconds: // a smaller difference does not matter, whatever its percentage
			return 1
		case v < -gate.Improvement:
			return -1
		}
		return 0
	}
	where = at(c.Median)
	return where, c.Exact || at(c.Low) == where && at(c.High) == where
}

// small reports whether a slowdown is too small to matter, whatever its percentage.
func small(o *Opponent) bool { return o.Change.Median*o.Median < LeastSeconds }

// minStep is the smallest slowdown, as a fraction of the gate, that counts toward creep: equal
// code rarely appears to be that much slower.
const minStep = 0.1

// step reports whether a change is slower by an amount that matters.
func step(gate spec.Gate, o *Opponent) bool {
	return o.Change.Low > 0 && o.Change.Median >= minStep*gate.Regression && !small(o)
}

// behind reports whether the candidate is decidedly behind the best-known version.
func behind(gate spec.Gate, best *Opponent) bool {
	if !measured(best) {
		return false
	}
	where, decided := region(gate, best)
	return decided && where > 0
}

// tailChance is the significance level of a slow tail: one-sided, tested on stretches of turns.
const tailChance = 0.01

// SlowTail reports whether the slowest tenth of the candidate's launches became slower by more than
// the gate, and not by chance. A median does not show that.
func SlowTail(gate spec.Gate, o *Opponent) bool {
	if !measured(o) || o.Change.Tail == nil {
		return false
	}
	t := o.Change.Tail
	return t.Change > gate.Regression && t.AfterS-t.BeforeS >= LeastSeconds && t.P < tailChance
}

// remarks returns the reasons that a verdict does not express by itself.
func remarks(c Case, first *Opponent, verdict result.Verdict) []result.Reason {
	var out []result.Reason
	change := first.Change
	if verdict == result.Maintained {
		switch {
		case change.Median > c.Gate.Regression && small(first):
			out = append(out, result.TooSmall)
		case change.Low > 0:
			out = append(out, result.Slower)
		case change.High < 0:
			out = append(out, result.Faster)
		}
		if change.Confirmed {
			out = append(out, result.NotConfirmed)
		}
	}
	if verdict != result.Regression && SlowTail(c.Gate, first) {
		out = append(out, result.SlowTail)
	}
	if verdict != result.Regression && behind(c.Gate, c.Best) {
		out = append(out, result.Creep)
	}
	if verdict == result.Regression && c.Accepted {
		out = append(out, result.Accepted)
	}
	if (verdict == result.Regression || verdict == result.Improvement) && clockEffect(change) {
		out = append(out, result.ClockEffect)
	}
	return out
}

// clockEffect reports whether a change in time does not show in cycles: less than half of it does,
// or the opposite.
func clockEffect(c *result.Change) bool { return c.Cycles != nil && *c.Cycles/c.Median < 0.5 }

// Confirm reports whether a verdict needs a second, independent set of cells: it
// would fail somebody's change, or move the baseline.
func Confirm(v result.Verdict) bool { return v == result.Regression || v == result.Improvement }

// Moves reports whether a result becomes the baseline: it is the first of its name, or faster than
// the best-known version by more than the gate, decided and confirmed.
func Moves(c Case, verdict result.Verdict, first bool) bool {
	switch verdict {
	case result.New:
		return true
	case result.Maintained, result.Improvement, result.Unchanged:
	default:
		return false
	}
	best := cmp.Or(c.Best, c.Base)
	if first || !measured(best) {
		return first
	}
	where, decided := region(c.Gate, best)
	return decided && where < 0 && best.Change.Confirmed
}

// OfCases returns the verdict on a kernel that was tried at many cases, without a fault of its own;
// "": none. unasked means that every case that the user asked for was skipped.
func OfCases(v *result.Verification, unasked bool) result.Verdict {
	switch {
	case slices.ContainsFunc(v.Cases, func(c *result.Case) bool { return c.Reason != "" && c.Fault == nil }) && v.Failed > 0:
		return result.Incorrect
	case v.Failed > 0:
		return result.Broken
	case unasked:
		return result.Inconclusive
	}
	return ""
}

// Unmeasured returns the verdict that a row has without being measured; "": it depends on its
// times.
func Unmeasured(c Case) result.Verdict {
	if verdict, ended := ended(c); ended {
		return verdict
	}
	if unchanged(c) {
		return result.Unchanged
	}
	return ""
}

// unchanged reports whether the candidate is the base or, without a base, the best-known version.
func unchanged(c Case) bool {
	first := cmp.Or(c.Base, c.Best)
	return first != nil && first.Same
}

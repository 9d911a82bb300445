package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pawl/internal/git"
	"pawl/internal/judge"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// StaysError is a baseline that could not be written.
type StaysError struct{ Err error }

// Error says why.
func (e *StaysError) Error() string { return "baseline stays: " + e.Err.Error() }

// Unwrap returns why.
func (e *StaysError) Unwrap() error { return e.Err }

// move makes the baseline what is provably faster, or first of its name. Without
// --update-baseline it only says so. The error is a StaysError.
func (c *check) move(ctx context.Context) error {
	who := ratchet.Who(ctx, c.Spec.Dir)
	byClass := map[string][]*contest{}
	for _, k := range c.contests {
		if ctx.Err() == nil && c.offer(k) {
			byClass[k.class] = append(byClass[k.class], k)
		}
	}
	var stays error
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		moving := byClass[class]
		err := c.store.Update(ctx, class, func(file *ratchet.File) error {
			for _, k := range moving {
				c.moveOne(file, k, who)
			}
			return nil
		})
		if err == nil {
			continue
		}
		stays = errors.Join(stays, err)
		for _, k := range moving {
			if k.row.Moved.Refused == "" {
				k.row.Moved.Done, k.row.Moved.ToS, k.row.Moved.Refused, k.row.Moved.Hint = false, 0, err.Error(), ""
			}
		}
		c.warn("baseline", "", "baseline stays: %v", err)
	}
	if stays != nil {
		return &StaysError{stays}
	}
	return nil
}

// offer says what is to become of a row and the baseline, and tells whether to write
// it down.
func (c *check) offer(k *contest) bool {
	if k.row.Fault != nil || k.row.Verdict == result.Incorrect || k.row.Dropped {
		return false
	}
	if k.already() {
		if k.row.Timing != nil && !k.accepted { // else it says so itself
			k.row.Moved = k.movedFrom(k.former)
			k.row.Moved.Already = true
		}
		return false
	}
	if !k.gone && (k.row.Timing == nil || !c.stuck(k) && !judge.Moves(k.evidence(c.gate), k.row.Verdict, k.entry == nil)) {
		return false
	}
	m := k.movedFrom(k.entry)
	m.Anchor = k.gone
	k.row.Moved = m
	hint := "--update-baseline makes it the best-known version"
	if k.gone {
		hint = "--update-baseline binds the baseline to this commit"
	}
	why, remedy := c.unfit(k)
	switch commit := c.report.Commit; {
	case why != "":
		m.Refused, m.Hint = why, remedy
	case c.Update:
		return true
	case commit == nil:
		k.row.Moved = nil // the report says that there is no repository
	case commit.Dirty:
		m.Uncommitted, m.Hint = true, "commit it; then "+hint
	default:
		m.Hint = hint
	}
	return false
}

// movedFrom is a move away from an entry, or from nothing.
func (k *contest) movedFrom(e *ratchet.Entry) *result.Moved {
	if e == nil {
		return &result.Moved{}
	}
	m := &result.Moved{From: e.Commit}
	if k.solves(e) {
		m.FromS = e.MedianMS / 1e3
	}
	return m
}

// already tells whether a row is what this branch has made the baseline before, in
// another commit than the base's.
func (k *contest) already() bool {
	return k.isMine() && (k.former == nil || k.former.Commit != k.mine.Commit) && !(k.gone && k.entry.Commit == k.mine.Commit)
}

// stuck tells whether a row that is to move the baseline cannot show that it is faster
// than the best-known version, because that could not be built, or has other sizes.
func (c *check) stuck(k *contest) bool {
	wanted := k.row.Verdict == result.Improvement || k.row.Verdict == result.Incomparable && c.Update
	return wanted && k.entry != nil && k.best != nil && k.best.missing() && !k.same
}

// unfit says why a row does not become the baseline whatever it took, and what to do;
// "" when nothing is against it.
func (c *check) unfit(k *contest) (why, hint string) {
	switch {
	case c.stuck(k):
		name := k.row.Name()
		why, hint = "cannot be built any more", fmt.Sprintf("pawl baseline accept %s --reason … makes this one the best-known; pawl baseline reset %s --reason … begins anew", name, name)
		switch {
		case k.best.odd:
			why = "solved another problem"
		case !k.best.lost():
			why, hint = "could not be had this time", "pawl check again where it can be; "+hint
		}
		return fmt.Sprintf("the best-known version, of commit %s, %s", git.Short(k.entry.Commit), why), hint
	case k.draftBest:
		name := k.row.Name()
		return fmt.Sprintf("the baseline names commit %s, whose pawl.yaml is a draft of the kernel", git.Short(k.entry.Commit)),
			fmt.Sprintf("pawl baseline accept %s --reason … makes this one the best-known; pawl baseline reset %s --reason … begins anew", name, name)
	case len(c.loose) > 0:
		return strings.Join(c.loose[:min(len(c.loose), 3)], ", ") + " not in git: its commit alone cannot be built", "git add, commit and measure again"
	case !k.gone && k.slowTail(c.gate) != "":
		return k.slowTail(c.gate), "look at the distribution in report.html; pawl baseline accept --reason makes it the best-known version all the same"
	case k.gone && c.Fork:
		return "it is a stranger's change: such a check moves nothing", "pawl check --update-baseline where the change was merged"
	case k.gone: // its answers were looked at when it became the baseline
		return "", ""
	}
	if why = c.unproven(k); why != "" {
		hint = "pawl baseline accept --reason makes it the best-known version all the same"
	}
	return why, hint
}

// slowTail says of whom the slowest tenth of a row's launches is slower than the gate
// allows; "" where it is not.
func (k *contest) slowTail(gate spec.Gate) string {
	for _, o := range k.playing {
		if judge.SlowTail(gate, o.evidence(k.candidate)) {
			t := o.side.Change.Tail
			return fmt.Sprintf("one launch in ten is slower than with the %s version: P90 %s → %s", o.side.Role, unit.Duration(t.BeforeS), unit.Duration(t.AfterS))
		}
	}
	return ""
}

// unproven says why a row's answers are not known well enough for it to become the
// baseline; "" when they are.
func (c *check) unproven(k *contest) string {
	v := k.row.Verification
	switch {
	case v == nil || v.Passed == 0:
		return "nobody has looked at its answers: the kernel has no oracle and there is no earlier version"
	case k.entry == nil && k.exam.answers.Oracle == nil:
		return "the kernel has no oracle: its answers are only those of the version before"
	case k.exam.own:
		return "its answers are right by its own oracle, and the base's could not be asked"
	case v.Integrity != result.Clean:
		return "its result is " + string(v.Integrity)
	case c.inspects(k) && timedLooksOf(v) < inspectLooks:
		return fmt.Sprintf("%d timed samples of it could be looked at, and %d must be", timedLooksOf(v), inspectLooks)
	case c.tooFewAnew(k) != "":
		return c.tooFewAnew(k)
	case c.Fork && k.row.Trust != trustHarness:
		return "it is a stranger's code that shares its cell's address space: such a result moves nothing"
	}
	return ""
}

// trustHarness is of cells whose candidate cannot reach the code that measures it.
const trustHarness = "harness"

// moveOne moves a row's entry, and notes what came of it.
func (c *check) moveOne(file *ratchet.File, k *contest, who string) {
	candidate := ratchet.CandidateOf(c.report, k.row, file.Entry(k.row.Kernel, k.row.Config), who)
	candidate.Class = k.class
	var entry *ratchet.Entry
	var err error
	if k.gone {
		entry, err = file.Anchor(candidate, fmt.Sprintf("commit %s cannot be built any more, and this is the same version", git.Short(k.entry.Commit)))
	} else {
		if k.match != nil { // so that luck does not accumulate
			candidate = candidate.Remeasured(k.match.Remeasured(0))
		}
		entry, err = file.Move(candidate)
	}
	var refused *ratchet.Refusal
	switch {
	case err == nil:
		k.row.Moved.Done, k.row.Moved.ToS = true, entry.MedianMS/1e3
	case errors.As(err, &refused):
		k.row.Moved.Refused, k.row.Moved.Hint = refused.Why, refused.Hint
	default:
		k.row.Moved.Refused = err.Error()
	}
}

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
	who := ratchet.Who(c.Spec.Dir)
	byClass := map[string][]*contest{}
	for _, k := range c.contests {
		if k.row.Fault != nil || k.row.Timing == nil || ctx.Err() != nil {
			continue
		}
		if gone := k.stuck(); !gone && !judge.Moves(k.evidence(c.gate), k.row.Verdict, k.entry == nil) {
			continue
		}
		k.row.Moved = &result.Moved{}
		if k.entry != nil {
			k.row.Moved.From, k.row.Moved.FromS = k.entry.Commit, k.entry.MedianMS/1e3
		}
		if why, hint := c.unfit(k); why != "" {
			k.row.Moved.Refused, k.row.Moved.Hint = why, hint
		} else if c.Update {
			byClass[k.class] = append(byClass[k.class], k)
		} else if commit := c.report.Commit; commit == nil {
			k.row.Moved = nil // the report says that there is no repository
		} else if k.row.Moved.Uncommitted = commit.Dirty; commit.Dirty {
			k.row.Moved.Hint = "commit it; then --update-baseline makes it the best-known version"
		} else {
			k.row.Moved.Hint = "--update-baseline makes it the best-known version"
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
				k.row.Moved.Done, k.row.Moved.Refused, k.row.Moved.Hint = false, err.Error(), ""
			}
		}
		c.warn("baseline", "", "baseline stays: %v", err)
	}
	if stays != nil {
		return &StaysError{stays}
	}
	return nil
}

// stuck tells whether a row got faster and cannot show that it is faster than the
// best-known version, because nobody can build that any more.
func (k *contest) stuck() bool {
	return k.row.Verdict == result.Improvement && k.entry != nil && k.best != nil && (k.best.job == nil || k.best.job.Row.Fault != nil)
}

// unfit says why a row does not become the baseline whatever it took, and what to do;
// "" when nothing is against it.
func (c *check) unfit(k *contest) (why, hint string) {
	switch {
	case k.stuck():
		return fmt.Sprintf("the best-known version, of commit %s, cannot be built any more", git.Short(k.entry.Commit)),
			"pawl baseline accept --reason makes this one the best-known; pawl baseline reset --reason begins anew"
	case len(c.loose) > 0:
		return strings.Join(c.loose[:min(len(c.loose), 3)], ", ") + " not in git: its commit alone cannot be built", "git add, commit and measure again"
	}
	if why = c.unproven(k); why != "" {
		hint = "pawl baseline accept --reason makes it the best-known version all the same"
	}
	return why, hint
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
	case v.Integrity != result.Clean:
		return "its result is " + string(v.Integrity)
	case c.Fork && k.row.Trust != trustHarness:
		return "it is a stranger's code that shares its cell's address space: such a result moves nothing"
	}
	return ""
}

// trustHarness is of cells whose candidate cannot reach the code that measures it.
const trustHarness = "harness"

func (c *check) moveOne(file *ratchet.File, k *contest, who string) {
	candidate := ratchet.CandidateOf(c.report, k.row, file.Entry(k.row.Kernel, k.row.Config), who)
	candidate.Class = k.class
	if k.match != nil { // stored as re-measured, so that luck does not accumulate
		row := *k.row
		row.Timing = k.match.Remeasured(0)
		candidate.Row = &row
	}
	_, err := file.Move(candidate)
	var refused *ratchet.Refusal
	switch {
	case err == nil:
		k.row.Moved.Done = true
	case errors.As(err, &refused):
		k.row.Moved.Refused, k.row.Moved.Hint = refused.Why, refused.Hint
	default:
		k.row.Moved.Refused = err.Error()
	}
}

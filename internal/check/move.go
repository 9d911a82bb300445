package check

import (
	"context"
	"errors"

	"pawl/internal/judge"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// move makes the baseline what is provably faster, or first of its name. Without
// --update-baseline it only says so.
func (c *check) move(ctx context.Context) error {
	who := ratchet.Who(c.Spec.Dir)
	byClass := map[string][]*contest{}
	for _, k := range c.contests {
		if k.row.Fault != nil || k.row.Timing == nil || ctx.Err() != nil || !judge.Moves(k.evidence(c.gate), k.row.Verdict, k.entry == nil) {
			continue
		}
		k.row.Moved = &result.Moved{}
		if k.entry != nil {
			k.row.Moved.From, k.row.Moved.FromS = k.entry.Commit, k.entry.MedianMS/1e3
		}
		if why := c.unproven(k); why != "" {
			k.row.Moved.Refused, k.row.Moved.Hint = why, "pawl baseline accept --reason makes it the best-known version all the same"
		} else if c.Update {
			byClass[k.class] = append(byClass[k.class], k)
		} else {
			k.row.Moved.Hint = "--update-baseline makes it the best-known version"
		}
	}
	for class, moving := range byClass {
		err := c.store.Update(ctx, class, func(file *ratchet.File) error {
			for _, k := range moving {
				c.moveOne(file, k, who)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
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

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
		if c.Update {
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

package bench

import (
	"context"
	"slices"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/lab"
)

// row measures one row in a fresh cell.
func (b *bench) row(ctx context.Context, room *examRoom, p *plan, startErr error, done, total int) {
	if ctx.Err() != nil {
		p.Fail("measure", context.Canceled)
		return
	}
	if startErr != nil {
		p.Fail("load", startErr)
		return
	}
	kind := run.Measure
	if p.exam != nil {
		kind = run.Verify // an oracle on the processor may take longer than all samples
	}
	b.run.Emit(run.Event{Kind: kind, Row: p.Row.Name(), Done: done, Total: total})
	lane := room.lane
	if _, err := lane.Client(ctx); err != nil {
		p.Fail("load", err)
		return
	}
	b.measure(ctx, room, p, func(m measure.Progress) {
		b.run.Emit(run.Event{
			Kind: run.Measure, Row: p.Row.Name(), Done: done, Total: total,
			Samples: m.Samples, MedianS: m.Median, HalfWidth: m.HalfWidth,
		})
	})
	for _, side := range p.sides() {
		lane.HoldAgainstRoof(side.Job)
		lane.Doubt(side.Job, b.Spec.Gate.CV)
	}
}

// measure opens a cell for the row and each of its rivals, compares their answers,
// lets them take turns, and closes the cells. A rival that fails does not stop the
// others.
func (b *bench) measure(ctx context.Context, room *examRoom, p *plan, progress func(measure.Progress)) {
	lane := room.lane
	waiting := slices.DeleteFunc(p.sides(), func(side *plan) bool { return side.Row.Fault != nil })
	seats, openErrs := lane.LeaseAll(ctx, jobsOf(waiting))
	var open []*plan
	var seated []*lab.Lease
	var sides []measure.Side
	for i, side := range waiting {
		if openErrs[i] != nil {
			side.Fail("load", openErrs[i])
			continue
		}
		if err := room.examine(ctx, p, side, seats[i], b.Measure.Seed); err != nil {
			side.Fail("verify", lane.Return(ctx, seats[i], side.Job, err))
			continue
		}
		open, seated = append(open, side), append(seated, seats[i])
		sides = append(sides, measure.Side{Cell: seats[i].Cell, Instance: side.Instance, Symbols: side.Artifact.Symbols})
	}
	if len(open) == 0 {
		return
	}
	timings, ratios, errs := measure.Turns(ctx, sides, b.Measure, progress)
	for i, side := range open {
		if len(timings[i].Samples.Seconds) > 0 {
			side.Row.Timing = timings[i]
		}
		err := lane.Return(ctx, seated[i], side.Job, errs[i])
		if err != nil {
			side.Fail("measure", err)
		}
		if i > 0 && open[0] == p {
			p.rival(side).Ratio = ratios[i-1]
		}
	}
}

// compareSound takes the ratios back where one of the two sides has come to nothing.
// It is asked when all rows are done: what is wrong with a side may come to light
// after its turns, at the roof or when its cell is closed.
func (p *plan) compareSound() {
	for _, r := range p.Row.Rivals {
		if p.Row.Fault != nil || r.Row.Fault != nil {
			r.Ratio = nil
		}
	}
}

func jobsOf(plans []*plan) []*lab.Job {
	jobs := make([]*lab.Job, len(plans))
	for i, p := range plans {
		jobs[i] = p.Job
	}
	return jobs
}

// rival is the report's entry of one of the plan's rivals.
func (p *plan) rival(side *plan) *result.Rival {
	for _, r := range p.Row.Rivals {
		if r.Row == side.Row {
			return r
		}
	}
	return nil
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker"
)

// row measures one row in a fresh cell.
func (b *bench) row(ctx context.Context, p *plan, startErr error, done, total int) {
	if ctx.Err() != nil {
		p.fail("measure", context.Canceled)
		return
	}
	if startErr != nil {
		p.fail("load", startErr)
		return
	}
	b.run.Emit(run.Event{Kind: run.Measure, Row: p.row.Name(), Done: done, Total: total})
	client, err := b.living(ctx)
	if err != nil {
		p.fail("load", err)
		return
	}
	b.measure(ctx, client, p, func(m measure.Progress) {
		b.run.Emit(run.Event{
			Kind: run.Measure, Row: p.row.Name(), Done: done, Total: total,
			Samples: m.Samples, MedianS: m.Median, HalfWidth: m.HalfWidth,
		})
	})
	for _, side := range p.sides() {
		b.holdAgainstRoof(side)
		b.doubt(side.row)
	}
	b.checkLock(p)
}

// doubt adds the row's warnings.
func (b *bench) doubt(row *result.Row) {
	if row.Timing != nil {
		row.Warnings = append(row.Warnings, measure.Doubts(row.Timing, b.Spec.Gate.CV)...)
	}
	doubtSandbox(row)
}

// doubtSandbox names what the row's cell was refused.
func doubtSandbox(row *result.Row) {
	if box := row.Sandbox; box != nil && len(box.Attempts) > 0 {
		row.Warnings = append(row.Warnings, result.Warning{
			Code: "sandbox", Message: fmt.Sprintf("the kernel tried what its sandbox refuses: %s", listed(box.Attempts)),
		})
	}
}

// checkLock warns when a clock that was locked did not stay where it was put.
func (b *bench) checkLock(p *plan) {
	const slack = 0.02
	for _, side := range p.sides() {
		t := side.row.Timing
		if b.LockMHz == 0 || t == nil || t.Stats.GHz == 0 || side.row.Cell != spec.CellCUDA {
			continue
		}
		if locked := float64(b.LockMHz) / 1e3; t.Stats.GHz < locked*(1-slack) || t.Stats.GHz > locked*(1+slack) {
			side.row.Warnings = append(side.row.Warnings, result.Warning{
				Code: "lock", Message: fmt.Sprintf("the clock was locked at %.2f GHz and ran at %.2f", locked, t.Stats.GHz),
				Hint: "the GPU could not hold it: power or temperature",
			})
		}
	}
}

func listed(items []string) string {
	const most = 5
	text := ""
	for i, item := range items {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(items)-most)
		}
		if i > 0 {
			text += "; "
		}
		text += item
	}
	return text
}

// measure opens a cell for the row and each of its rivals, lets them take turns,
// and closes the cells. A rival that fails does not stop the others.
func (b *bench) measure(ctx context.Context, client *worker.Client, p *plan, progress func(measure.Progress)) {
	waiting := slices.DeleteFunc(p.sides(), func(side *plan) bool { return side.row.Fault != nil })
	seats, openErrs := b.seats(ctx, client, waiting)
	var open []*plan
	var seated []*seat
	var sides []measure.Side
	for i, side := range waiting {
		if openErrs[i] != nil {
			side.fail("load", openErrs[i])
			continue
		}
		open, seated = append(open, side), append(seated, seats[i])
		sides = append(sides, measure.Side{Cell: seats[i].cell, Instance: side.instance, Symbols: side.artifact.Symbols})
	}
	if len(open) == 0 {
		return
	}
	timings, ratios, errs := measure.Turns(ctx, sides, b.Options.Measure, progress)
	for i, side := range open {
		if len(timings[i].Samples.Seconds) > 0 {
			side.row.Timing = timings[i]
		}
		err := b.leave(ctx, seated[i], side, errs[i])
		if err != nil {
			side.fail("measure", err)
		}
		if i > 0 && open[0] == p && err == nil {
			p.rival(side).Ratio = ratios[i-1]
		}
	}
}

// rival is the report's entry of one of the plan's rivals.
func (p *plan) rival(side *plan) *result.Rival {
	for _, r := range p.row.Rivals {
		if r.Row == side.row {
			return r
		}
	}
	return nil
}

// fail records on the row why it has no (trustworthy) number.
func (p *plan) fail(stage string, err error) {
	var fault *result.Fault
	if !errors.As(err, &fault) {
		fault = &result.Fault{Cause: result.CauseInternal, Message: err.Error()}
		if errors.Is(err, context.Canceled) {
			fault = &result.Fault{Cause: result.CauseInterrupted, Message: "interrupted"}
		}
	}
	if fault.Stage == "" {
		fault.Stage = stage
	}
	p.row.Fault = fault
	switch fault.Cause {
	case result.CauseForged, result.CauseOverRoof:
		p.row.Verdict = result.Rejected
	case result.CauseUnsupported, result.CauseInterrupted, result.CauseInternal:
		p.row.Verdict = "" // says nothing of the kernel
	default:
		p.row.Verdict = result.Broken
	}
	var failed *worker.Failed
	if errors.As(err, &failed) {
		if failed.Log != "" {
			p.row.Log = failed.Log
		}
		if failed.Sandbox != nil {
			p.row.Sandbox = failed.Sandbox
		}
	}
}

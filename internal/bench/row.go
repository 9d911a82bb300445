package bench

import (
	"context"
	"errors"
	"fmt"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
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
	if err := b.measure(ctx, client, p, done, total); err != nil {
		p.fail("load", err)
	}
	if t := p.row.Timing; t != nil {
		p.row.Warnings = append(p.row.Warnings, measure.Doubts(t, b.Spec.Gate.CV)...)
	}
	if box := p.row.Sandbox; box != nil && len(box.Attempts) > 0 {
		p.row.Warnings = append(p.row.Warnings, result.Warning{
			Code: "sandbox", Message: fmt.Sprintf("the kernel tried what its sandbox refuses: %s", listed(box.Attempts)),
		})
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

// Limits of a cell beyond what its arguments need.
const (
	spareMemory  = 1 << 30
	spareThreads = 64
)

func (b *bench) measure(ctx context.Context, client *worker.Client, p *plan, done, total int) error {
	sha, err := client.Upload(ctx, p.artifact.Bytes)
	if err != nil {
		return err
	}
	threads := 1
	for _, l := range p.instance.Launches {
		threads = max(threads, l.Threads)
	}
	cell, err := client.Open(ctx, wire.Open{
		Cell: p.row.Cell, Sandbox: b.Sandbox,
		Memory: 3*p.instance.Footprint + spareMemory, Threads: spareThreads + 2*threads,
	})
	if err != nil {
		return err
	}
	p.row.Trust, p.row.Sandbox = cell.Info.Trust, &cell.Info.Sandbox
	loaded, err := cell.Load(ctx, wire.Load{SHA256: sha, DeadlineS: b.Options.Measure.Timeout.Seconds()})
	if err == nil {
		b.report.Method.Flush = loaded.Flush
		p.row.Timing, err = measure.Series(ctx, cell, p.instance, b.Options.Measure, func(m measure.Progress) {
			b.run.Emit(run.Event{
				Kind: run.Measure, Row: p.row.Name(), Done: done, Total: total,
				Samples: m.Samples, MedianS: m.Median, HalfWidth: m.HalfWidth,
			})
		})
	}
	if p.row.Timing != nil && len(p.row.Timing.Samples.Seconds) == 0 {
		p.row.Timing = nil
	}
	var failed *worker.Failed
	if errors.As(err, &failed) && failed.CellEnded {
		return err
	}
	closed, closeErr := cell.Close(ctx)
	if closeErr != nil {
		if err == nil {
			err = closeErr
		}
		return err
	}
	p.row.Log, p.row.Sandbox = closed.Log, &closed.Sandbox
	if p.row.Timing != nil {
		p.row.Timing.PeakMemory = max(p.row.Timing.PeakMemory, closed.PeakMemory)
	}
	return err
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
	case result.CauseForged:
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

// Package bench builds and measures kernels, each row in a cell of its own, and returns the Report.
// It judges no speed, because there is nothing to compare with. Where rivals take part, all answers
// are compared with the kernel's oracle.
package bench

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"pawl/internal/explain"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// Options are the options of a bench.
type Options struct {
	Set     []Setting // params that differ from their defaults
	Against []string  // rivals to take turns with, by name
	Measure measure.Options
	Lab     lab.Options
	Devices []int // which GPUs share the rows; nil: all there are

	Explain *explain.Settings // of a profile: how rows are explained
}

// Default returns the options of a plain `pawl bench`.
func Default() Options {
	return Options{Measure: measure.Default(), Lab: lab.Options{Peaks: roof.Folder()}}
}

// Check refuses settings that make no sense.
func (o Options) Check() error { return cmp.Or(o.Measure.Check(), o.Lab.Check()) }

// Setting gives a param a value in every selected kernel that has it.
type Setting struct{ Name, Value string }

// bench is what the stages of a run share.
type bench struct {
	Options
	Spec   *spec.Spec
	lab    *lab.Lab
	run    *run.Run
	report *result.Report
}

// Run builds and measures everything selected. It always returns a report; errors of rows are in
// the rows. The returned error concerns the whole run, such as a param that no kernel has.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	kind := result.KindBench
	if opts.Explain != nil {
		kind = result.KindProfile
	}
	if err := cmp.Or(r.Of(kind), opts.Check()); err != nil {
		return nil, err
	}
	opts.Measure.Seed = r.Seed
	b := &bench{Options: opts, Spec: r.Spec, run: r, report: r.NewReport(ctx, opts.Measure.Method())}
	if opts.Explain != nil {
		var err error
		if b.Explain, err = opts.Explain.By(r.Spec); err != nil {
			return nil, err
		}
		b.report.OwnFindings = explain.Own(r.Spec)
	}
	rows, err := b.plan()
	if err != nil {
		return nil, err
	}
	b.noteDefaults(rows)
	place := opts.Lab
	place.Class, place.Timeout = b.Spec.DeviceClass, opts.Measure.Timeout
	if len(opts.Devices) > 0 {
		place.Device = opts.Devices[0]
	}
	b.lab = lab.New(r, b.report, place)
	var jobs []*lab.Job
	for _, m := range rows {
		for _, side := range m.sides() {
			jobs = append(jobs, side.Job)
		}
		if m.exam != nil {
			jobs = append(jobs, m.exam.Jobs()...)
		}
	}
	r.Stage("build")
	startErr := b.lab.Build(ctx, jobs)
	defer b.lab.Close()
	if startErr != nil && opts.Lab.Workers > 0 && ctx.Err() == nil { // a pool without workers
		return nil, startErr
	}
	r.Stage("measure")
	if err := b.measureAll(ctx, rows, startErr); err != nil {
		return nil, err
	}
	for _, m := range rows {
		b.report.Rows = append(b.report.Rows, b.row(m))
	}
	b.explain(ctx, rows)
	r.Finish(ctx, b.report, b.lab.Held())
	return b.report, nil
}

// noteDefaults says which params have another default in the source: what is measured is not what a build without
// pawl makes.
func (b *bench) noteDefaults(rows []*measured) {
	var said []string
	for _, m := range rows {
		for _, one := range b.Spec.Overridden(m.Variant) {
			if text := m.Variant.Kernel.Name + " is built with " + one; !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	if len(said) > 0 {
		b.report.Warnings = append(b.report.Warnings, result.Warning{
			Code: "params", Message: unit.Few(said, 3) + ": the first value of a param in pawl.yaml is its default",
			Hint: "give both the same default, unless your own build defines the macro, too",
		})
	}
}

// explain says why the measured rows take their time, where that is asked for.
func (b *bench) explain(ctx context.Context, rows []*measured) {
	if b.Explain == nil {
		return
	}
	var asked []*result.Row
	var questions []explain.Question
	for i, m := range rows {
		if m.fault == nil {
			asked = append(asked, b.report.Rows[i])
			questions = append(questions, explain.Question{Versions: []explain.Version{{Job: m.Job, Timing: m.timing}}})
		}
	}
	if len(asked) == 0 || ctx.Err() != nil {
		return
	}
	b.run.Stage("explain")
	for i, why := range explain.Rows(ctx, b.lab, b.run, *b.Explain, questions) {
		asked[i].Why = why
	}
}

func killed(err error) bool {
	fault, ok := errors.AsType[*result.Fault](err)
	return ok && fault.Cause == result.CauseKilled
}

// anywhere reports whether any GPU's lane may measure the row: no side of it runs on the CPU.
func (m *measured) anywhere() bool {
	return !slices.ContainsFunc(m.sides(), func(side *measured) bool { return !side.GPU() })
}

// measureAll lets the lanes measure all rows.
func (b *bench) measureAll(ctx context.Context, rows []*measured, startErr error) error {
	for _, m := range rows {
		for _, side := range m.sides() {
			side.fault = side.Record.Fault
		}
	}
	work := lab.Work{Pieces: len(rows), Devices: b.Devices, Anywhere: func(i int) bool { return rows[i].anywhere() }}
	return b.lab.Share(ctx, work, func(lane *lab.Lab, pieces iter.Seq[lab.Piece]) {
		startErr := startErr
		room := &examRoom{lane: lane}
		defer room.close(ctx)
		for piece := range pieces {
			m := rows[piece.N]
			if piece.Again {
				m.forget()
			}
			tried := m.fault == nil
			if tried {
				b.measure(ctx, room, m, startErr, piece.N, len(rows))
				m.fault = piece.Explain(lane, m.fault)
				if lane.InCrew() && m.GPU() {
					m.device = lane.UUID() // a worker that replaces another may have another GPU of the kind
				}
			}
			b.run.Emit(run.Event{Kind: run.RowDone, Row: m.Name(), Fault: m.fault, MedianS: m.timing.Median(), Done: piece.N + 1, Total: len(rows)})
			if tried && killed(startErr) { // this row fails; the next one tries another worker
				startErr = nil
			}
		}
		lane.Release(ctx)
	})
}

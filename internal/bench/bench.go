// Package bench builds and measures kernels, each row in a cell of its own, and
// returns the Report. It judges no speed: there is nothing to judge against. Where
// rivals take part, all answers are compared with the kernel's oracle.
package bench

import (
	"context"
	"errors"
	"time"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/lab"
)

// Options are what a bench needs to know.
type Options struct {
	Kind       result.Kind
	Tool       result.Tool
	Command    []string
	Spec       *spec.Spec
	Selections []spec.Selection
	Set        []Setting // params that differ from their defaults
	Against    []string  // rivals to take turns with, by name
	Measure    measure.Options
	Lab      lab.Options
	Devices    []int // which GPUs share the rows; nil: all there are
}

// Setting gives a param a value in every selected kernel that has it.
type Setting struct{ Name, Value string }

// plan is one row to come, or one rival of it.
type plan struct {
	*lab.Job
	rivals []*plan
	exam   *exam // of a row with rivals
}

// bench is a run under way.
type bench struct {
	Options
	lab *lab.Lab
	run    *run.Run
	report *result.Report
}

// Run builds and measures everything selected. It always returns a report; what
// went wrong is in its rows. The error is for what concerns the whole run, such as
// a param that no kernel has.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	b := &bench{Options: opts, run: r, report: lab.NewReport(ctx, r, opts.Kind, opts.Tool, opts.Command, opts.Spec, opts.Measure)}
	plans, err := b.plan()
	if err != nil {
		return nil, err
	}
	place := opts.Lab
	place.Class, place.Timeout = opts.Spec.DeviceClass, opts.Measure.Timeout
	if len(opts.Devices) > 0 {
		place.Device = opts.Devices[0]
	}
	b.lab = lab.New(r, b.report, place)
	var jobs []*lab.Job
	for _, p := range plans {
		for _, side := range p.sides() {
			jobs = append(jobs, side.Job)
		}
		jobs = append(jobs, p.exam.jobs()...)
	}
	startErr := b.lab.Build(ctx, jobs)
	defer b.lab.Close()
	lanes, err := b.lanes(plans)
	if err != nil {
		return nil, err
	}
	b.measureAll(ctx, lanes, plans, startErr)
	for _, p := range plans {
		p.compareSound()
	}
	b.report.Interrupted = ctx.Err() != nil
	b.report.Finished = time.Now().UTC()
	return b.report, nil
}

func killed(err error) bool {
	var fault *result.Fault
	return errors.As(err, &fault) && fault.Cause == result.CauseKilled
}

func median(row *result.Row) float64 {
	if row.Timing == nil {
		return 0
	}
	return row.Timing.Stats.Median
}

// Package bench builds and measures kernels, each row in a cell of its own, and
// returns the Report. It judges nothing: there is nothing to judge against.
package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"pawl/internal/build"
	"pawl/internal/git"
	"pawl/internal/machine"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker"
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
	Build      build.Options
	Measure    measure.Options
	Sandbox    string   // auto, require, off
	Worker     []string // command that starts the worker; nothing: here
	Device     int      // which GPU
	LockMHz    int      // hold its clock there; 0: leave it alone
	Peaks      string   // folder of measured peaks; "": no percent of roof
}

// Setting gives a param a value in every selected kernel that has it.
type Setting struct{ Name, Value string }

// plan is one row to come, or one rival of it.
type plan struct {
	row      *result.Row
	variant  spec.Variant
	instance *spec.Instance
	artifact *build.Artifact
	rivals   []*plan

	module   []byte         // of a Python rival that ships with pawl
	keywords map[string]any // of a Python function
}

// bench is a run under way.
type bench struct {
	Options
	run     *run.Run
	report  *result.Report
	worker  *worker.Client
	largest int64                  // bytes of the largest problem's arguments
	kept    []*seat                // Python cells that the next row may use
	peaks   map[string]*roof.Peaks // by device class, nil for those without
}

// Run builds and measures everything selected. It always returns a report; what
// went wrong is in its rows. The error is for what concerns the whole run, such as
// a param that no kernel has.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	b := &bench{Options: opts, run: r, report: newReport(r, opts)}
	plans, err := b.plan()
	if err != nil {
		return nil, err
	}
	started := make(chan struct{})
	var startErr error
	go func() { // a worker takes as long to start as a cached build: do both at once
		defer close(started)
		b.worker, startErr = b.startWorker(ctx)
	}()
	if b.hasCUDA() {
		<-started // the GPU says what to compile for
		b.adoptGPU(plans)
	}
	b.build(ctx, plans)
	<-started
	defer b.closeWorker()
	if startErr == nil {
		b.report.Machine = b.worker.Hello().Machine
		b.report.DeviceClass = b.worker.Hello().DeviceClass
		b.adoptGPU(plans)
		if opts.Spec.DeviceClass != "" {
			b.report.DeviceClass = opts.Spec.DeviceClass
		}
	}
	b.describeCompilers(plans)
	for i, p := range plans {
		if p.row.Fault == nil {
			b.row(ctx, p, startErr, i, len(plans))
			if killed(startErr) { // costs this row; the next one tries another worker
				startErr = nil
			}
		}
		b.run.Emit(run.Event{Kind: run.RowDone, Row: p.row.Name(), Fault: p.row.Fault, MedianS: median(p.row), Done: i + 1, Total: len(plans)})
	}
	b.release(ctx)
	b.report.Interrupted = ctx.Err() != nil
	b.report.Finished = time.Now().UTC()
	return b.report, nil
}

// hasCUDA tells whether anything to measure is compiled for a GPU.
func (b *bench) hasCUDA() bool {
	for _, row := range b.report.Rows {
		if row.Cell == spec.CellCUDA {
			return true
		}
		for _, rival := range row.Rivals {
			if rival.Row.Cell == spec.CellCUDA {
				return true
			}
		}
	}
	return false
}

// adoptGPU makes the run one on the chosen GPU, if there is one to run on, and
// refuses what cannot fit there.
func (b *bench) adoptGPU(plans []*plan) {
	onGPU := slices.ContainsFunc(plans, func(p *plan) bool { return slices.ContainsFunc(p.sides(), (*plan).gpu) })
	if b.worker == nil || !onGPU || b.Device < 0 || b.Device >= len(b.worker.Hello().Devices) {
		return
	}
	gpu := b.worker.Hello().Devices[b.Device]
	b.report.Machine.GPU = &gpu
	b.report.DeviceClass = machine.Slug(gpu.Name)
	if b.Options.Build.Arch == "" {
		b.Options.Build.Arch = gpu.Arch
	}
	refuseUnfit(plans, &gpu)
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

func newReport(r *run.Run, opts Options) *result.Report {
	report := &result.Report{
		Schema: result.Schema, Kind: opts.Kind, ID: r.ID, Tool: opts.Tool, Command: opts.Command,
		Started: r.Started.UTC(), Spec: result.SpecRef{File: opts.Spec.File, SHA256: opts.Spec.SHA256},
		Method: result.Method{
			Cache: opts.Measure.Cache, BudgetS: opts.Measure.Budget.Seconds(), MinSamples: opts.Measure.MinSamples,
			MaxSamples: opts.Measure.MaxSamples, HalfWidth: opts.Measure.HalfWidth, Seed: opts.Measure.Seed,
		},
	}
	if head, ok, err := git.Head(opts.Spec.Dir); err == nil && ok {
		report.Commit = &result.Commit{SHA: head.SHA, Dirty: head.Dirty}
	}
	return report
}

func (b *bench) startWorker(ctx context.Context) (*worker.Client, error) {
	return worker.Start(ctx, worker.Options{Command: b.Worker, OnNote: func(text string) {
		b.run.Emit(run.Event{Kind: run.Note, Text: text})
	}})
}

func (b *bench) closeWorker() {
	if b.worker != nil {
		b.worker.Close()
	}
}

// living returns a worker that is there, starting another when the last one died.
func (b *bench) living(ctx context.Context) (*worker.Client, error) {
	if b.worker != nil {
		select {
		case <-b.worker.Gone():
		default:
			return b.worker, nil
		}
	}
	var err error
	b.worker, err = b.startWorker(ctx)
	return b.worker, err
}

// Package bench builds and measures kernels, each row in a cell of its own, and
// returns the Report. It judges nothing: there is nothing to judge against.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
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
	Devices    []int    // which GPUs share the rows; nil: all there are
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
	device  int                    // the GPU of this lane
	uuid    string                 // its name
	shared  *sync.Mutex            // over what lanes write to the report
}

// Run builds and measures everything selected. It always returns a report; what
// went wrong is in its rows. The error is for what concerns the whole run, such as
// a param that no kernel has.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	b := &bench{Options: opts, run: r, report: newReport(r, opts), shared: &sync.Mutex{}}
	if len(opts.Devices) > 0 {
		b.device = opts.Devices[0]
	}
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
		b.refuseCUDA(plans)
	}
	b.build(ctx, plans)
	<-started
	defer b.closeWorker()
	if startErr == nil {
		b.report.Machine = b.worker.Hello().Machine
		b.report.DeviceClass = b.worker.Hello().DeviceClass
		b.adoptGPU(plans)
		b.doubtMachine()
		if opts.Spec.DeviceClass != "" {
			b.report.DeviceClass = opts.Spec.DeviceClass
		}
	}
	b.describeCompilers(plans)
	lanes, err := b.lanes(plans)
	if err != nil {
		return nil, err
	}
	b.measureAll(ctx, lanes, plans, startErr)
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
	if b.worker == nil || !onGPU || b.device >= len(b.worker.Hello().Devices) {
		return
	}
	gpu := b.worker.Hello().Devices[b.device]
	b.report.Machine.GPU = &gpu
	b.report.DeviceClass = machine.Slug(gpu.Name)
	if b.Options.Build.Arch == "" {
		b.Options.Build.Arch = gpu.Arch
	}
	refuseUnfit(plans, &gpu)
}

// refuseCUDA gives kernels that no GPU can run the reason for it, which the worker
// knows better than a compiler that is not told what to compile for.
func (b *bench) refuseCUDA(plans []*plan) {
	if b.worker == nil || b.Options.Build.Arch != "" || os.Getenv("PAWL_CUDA_ARCH") != "" {
		return
	}
	why := b.worker.Hello().NoDevices
	if count := len(b.worker.Hello().Devices); count > 0 {
		why = fmt.Sprintf("there is no GPU %d; this machine has %d", b.device, count)
	}
	if why == "" {
		return // a worker that does not say
	}
	for _, p := range plans {
		for _, side := range p.sides() {
			if side.row.Cell == spec.CellCUDA && side.row.Fault == nil {
				side.fail("build", &result.Fault{
					Cause: result.CauseUnsupported, Message: why, Hint: "pawl doctor shows what is missing; PAWL_CUDA_ARCH=sm_90a only builds",
				})
			}
		}
	}
}

// doubtMachine says what of the GPU is not watched.
func (b *bench) doubtMachine() {
	if why := b.worker.Hello().NoState; why != "" && b.report.Machine.GPU != nil {
		b.report.Warnings = append(b.report.Warnings, result.Warning{
			Code: "nvml", Message: "temperature, power, throttling and other processes on the GPU are not watched: " + why, Hint: "pawl doctor shows what is missing",
		})
	}
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
	if opts.Measure.Sustain {
		report.Method.Cache = "sustained"
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

// Package stand is what every service that measures stands on: artifacts are
// built, a worker is started, cells are opened, loaded and closed. It decides
// nothing about what is measured, and fills in the parts of the Report that say
// where it was.
package stand

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"pawl/internal/build"
	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker"
)

// Options say how candidate code is built and held, and where.
type Options struct {
	Build   build.Options
	Sandbox string        // auto, require, off: for compilers and cells
	Worker  []string      // command that starts the worker; nothing: here
	Device  int           // which GPU
	LockMHz int           // hold its clock there; 0: leave it alone
	Timeout time.Duration // the longest one launch may take
	Peaks   string        // folder of measured peaks; "": no percent of roof
	Class   string        // of the device, where the user names it
}

// Stand is a run's place to measure at.
type Stand struct {
	Options
	Report  *result.Report
	Largest int64 // bytes of the largest problem's arguments

	run       *run.Run
	starting  *sync.Mutex // of a worker
	worker    *worker.Client
	kept      []*Seat // Python cells that the next row may use
	shared    *shared
	uuid      string // of the GPU
	known     bool   // the report says what the machine is
	processor bool   // something is timed on the processor
}

// shared is what the stands of one run have together, besides the report: whoever
// writes to a part of that which is no row's holds the lock.
type shared struct {
	sync.Mutex
	peaks map[string]*roof.Peaks // by device class, nil for those without
}

// New makes a stand that writes to the report.
func New(r *run.Run, report *result.Report, opts Options) *Stand {
	opts.Build.Sandbox = opts.Sandbox
	return &Stand{Options: opts, Report: report, run: r, starting: &sync.Mutex{}, shared: &shared{}}
}

// Another is a stand beside this one, on another GPU, with a worker of its own. What
// is timed on the processor stays with the first.
func (b *Stand) Another(device int) *Stand {
	other := *b
	other.Device, other.starting, other.worker, other.kept, other.processor = device, &sync.Mutex{}, nil, nil, false
	other.uuid = b.worker.Hello().Devices[device].UUID
	return &other
}

// UUID names the GPU of the stand, once it is known to be there.
func (b *Stand) UUID() string { return b.uuid }

// Devices are the GPUs of the worker's machine.
func (b *Stand) Devices() []result.GPU {
	if b.worker == nil {
		return nil
	}
	return b.worker.Hello().Devices
}

// Start starts the worker, for whoever must know the machine before there is
// anything to build.
func (b *Stand) Start(ctx context.Context) error {
	_, err := b.Living(ctx)
	if err == nil {
		b.adopt(nil)
	}
	return err
}

// ClassOf is the device class that the numbers of a folder's kernel belong to.
func (b *Stand) ClassOf(ctx context.Context, dir string, k *spec.Kernel) string {
	hello := b.worker.Hello()
	switch {
	case b.Class != "":
		return b.Class
	case b.Device < len(hello.Devices) && b.willUseGPU(ctx, dir, k):
		return machine.Slug(hello.Devices[b.Device].Name)
	}
	return hello.DeviceClass
}

// willUseGPU is what GPU says of a kernel's jobs once they are built. Of some Python
// modules only their imports tell, and to build one is to read them.
func (b *Stand) willUseGPU(ctx context.Context, dir string, k *spec.Kernel) bool {
	p := &Job{Row: &result.Row{Cell: k.Cell}, Variant: k.Default(), Dir: dir}
	if k.Cell == spec.CellPython && k.Framework == "" {
		if builder, err := build.New(b.Options.Build); err == nil {
			p.Artifact = builder.Build(ctx, []build.Request{{Dir: dir, Variant: p.Variant}})[0].Artifact
		}
	}
	return p.GPU()
}

// Build compiles what the jobs need, and starts the worker where it has not been:
// both at once where that can be. What cannot be built says so in its row; the
// error is for the worker.
func (b *Stand) Build(ctx context.Context, jobs []*Job) error {
	cuda := false
	for _, p := range jobs {
		cuda = cuda || p.Row.Cell == spec.CellCUDA
		if p.Instance != nil {
			b.Largest = max(b.Largest, p.Instance.Footprint)
		}
	}
	started := make(chan error, 1)
	go func() { // a worker takes as long to start as a cached build
		_, err := b.Living(ctx)
		started <- err
	}()
	var startErr error
	if cuda { // the GPU says what to compile for
		if startErr = <-started; startErr == nil {
			b.adopt(jobs)
			b.refuseCUDA(jobs)
		}
	}
	b.compile(ctx, jobs)
	if !cuda {
		startErr = <-started
	}
	if startErr == nil {
		b.adopt(jobs) // what Python modules run on is known only now
	}
	for _, p := range jobs {
		b.processor = b.processor || !p.Untimed && !p.GPU()
		if p.Artifact != nil && p.Artifact.Compiler != "" {
			b.compiler(p.Row.Cell, p.Artifact.Compiler)
		}
	}
	return startErr
}

// compile builds every variant once.
func (b *Stand) compile(ctx context.Context, jobs []*Job) {
	var requests []build.Request
	var waiting []*Job
	for _, p := range jobs {
		if p.Row.Fault == nil {
			requests = append(requests, build.Request{Dir: p.Dir, Variant: p.Variant, Module: p.Module})
			waiting = append(waiting, p)
		}
	}
	opts := b.Options.Build
	opts.OnProgress = func(p build.Progress) {
		b.run.Emit(run.Event{Kind: run.Build, Done: p.Done, Total: p.Total, Text: p.Current})
	}
	builder, err := build.New(opts)
	if err != nil {
		for _, p := range waiting {
			p.Fail("build", err)
		}
		return
	}
	for i, outcome := range builder.Build(ctx, requests) {
		p := waiting[i]
		for _, note := range outcome.Notes {
			p.Row.Warnings = append(p.Row.Warnings, result.Warning{Code: "cache", Message: note})
		}
		if outcome.Fault != nil {
			p.Fail("build", outcome.Fault)
			p.Row.Build = &result.Build{Output: outcome.Output, Sandbox: outcome.Sandbox}
			continue
		}
		a := outcome.Artifact
		p.Artifact = a
		p.Row.Key, p.Row.Code, p.Row.Identity = a.Key, a.Code, p.Instance.Identity(a.Code)
		p.Row.Build = &result.Build{Cached: a.Cached, Seconds: a.Seconds, Compiler: a.Compiler, Output: a.Output, Resources: a.Resources, Sandbox: outcome.Sandbox}
	}
}

// compiler notes what kernels of a kind are made or run with.
func (b *Stand) compiler(cell, name string) {
	b.note(func(r *result.Report) {
		if r.Machine.Compilers == nil {
			r.Machine.Compilers = map[string]string{}
		}
		r.Machine.Compilers[cell] = name
	})
}

// note writes to the part of the report that several stands share.
func (b *Stand) note(write func(*result.Report)) {
	b.shared.Lock()
	defer b.shared.Unlock()
	write(b.Report)
}

// adopt makes the run one on the worker's machine and, once there are jobs for a
// GPU, on the chosen one of its GPUs. Its class is that of its rows: what these are
// compared with may run elsewhere.
func (b *Stand) adopt(jobs []*Job) {
	hello := b.worker.Hello()
	if !b.known {
		b.Report.Machine, b.Report.DeviceClass = hello.Machine, hello.DeviceClass
		b.known = true
	}
	onGPU := slices.ContainsFunc(jobs, (*Job).GPU)
	if onGPU && b.Device < len(hello.Devices) {
		b.adoptGPU(hello.Devices[b.Device])
		RefuseUnfit(jobs, b.Report.Machine.GPU)
		if slices.ContainsFunc(jobs, func(p *Job) bool { return p.GPU() && !p.Beside }) {
			b.Report.DeviceClass = machine.Slug(b.Report.Machine.GPU.Name)
		}
	}
	if b.Class != "" {
		b.Report.DeviceClass = b.Class
	}
}

func (b *Stand) adoptGPU(gpu result.GPU) {
	if b.Report.Machine.GPU != nil {
		return
	}
	b.uuid = gpu.UUID
	b.Report.Machine.GPU = &gpu
	if b.Options.Build.Arch == "" {
		b.Options.Build.Arch = gpu.Arch
	}
	if why := b.worker.Hello().NoState; why != "" {
		b.Report.Warnings = append(b.Report.Warnings, result.Warning{
			Code: "nvml", Message: "temperature, power, throttling and other processes on the GPU are not watched: " + why, Hint: "pawl doctor shows what is missing",
		})
	}
}

// refuseCUDA gives kernels that no GPU can run the reason for it: that no GPU of the
// architecture can, or what the worker knows better than a compiler that is not told
// what to compile for.
func (b *Stand) refuseCUDA(jobs []*Job) {
	arch := build.Arch(b.Options.Build.Arch)
	if b.Report.Machine.GPU == nil { // whose own limits adopt knows
		RefuseUnfit(jobs, limitsOf(arch))
	}
	if b.worker == nil || arch != "" {
		return
	}
	why := b.worker.Hello().NoDevices
	if count := len(b.worker.Hello().Devices); count > 0 {
		why = fmt.Sprintf("there is no GPU %d; this machine has %d", b.Device, count)
	}
	if why == "" {
		return // a worker that does not say
	}
	for _, p := range jobs {
		if p.Row.Cell == spec.CellCUDA && p.Row.Fault == nil {
			p.Fail("build", &result.Fault{
				Cause: result.CauseUnsupported, Message: why, Hint: "pawl doctor shows what is missing; PAWL_CUDA_ARCH=sm_90a only builds",
			})
		}
	}
}

func (b *Stand) startWorker(ctx context.Context) (*worker.Client, error) {
	return worker.Start(ctx, worker.Options{Command: b.Worker, OnNote: func(text string) {
		b.run.Emit(run.Event{Kind: run.Note, Text: text})
	}})
}

// Close ends the worker.
func (b *Stand) Close() {
	if b.worker != nil {
		b.worker.Close()
	}
}

// Living returns a worker that is there, starting another when the last one died.
func (b *Stand) Living(ctx context.Context) (*worker.Client, error) {
	b.starting.Lock()
	defer b.starting.Unlock()
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

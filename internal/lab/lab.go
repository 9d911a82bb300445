// Package lab provides what a run needs to measure: it builds artifacts, starts workers, and leases
// cells with an artifact loaded, for any purpose. It does not decide what is measured. It fills in
// the parts of the Report that describe the machine and the build.
//
// A service makes a Lab, builds its Jobs (Build, or Each to receive every Job as soon as it is
// built), and gets their cells from Lease, LeaseAll, a Host (for duets) or an Examiner (for
// answers). Crew and Share spread work over several GPUs or over the workers of a pool. The lab
// stores what it learns of a Job in the Job's Record, and Job.Row turns the Record into a row of
// the report.
package lab

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"pawl/internal/build"
	"pawl/internal/diag"
	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Options say how and where candidate code is built and sandboxed.
type Options struct {
	Build   build.Options
	Sandbox string        // auto, require, off: for compilers and cells
	Worker  []string      // command that starts the worker; empty: on this machine
	Workers int           // how many workers of a pool run at once; 0: it is no pool's
	Pool    Pool          // whose command it is
	Device  int           // which GPU
	LockMHz int           // lock the GPU clock at this frequency; 0: leave it alone
	Timeout time.Duration // the longest one launch may take
	Peaks   string        // folder of measured peaks; "": the report has no percent of roof
	Class   string        // of the device, where the user names it
	OnWait  func()        // is called when another run has the device, and this one waits for it; may be nil
}

// Check refuses settings that make no sense.
func (o Options) Check() error {
	switch {
	case o.Device < 0:
		return &diag.SettingError{Setting: "device", Value: o.Device, Expected: "the number of a GPU, counted from 0"}
	case o.LockMHz < 0:
		return &diag.SettingError{Setting: "lock-clocks", Value: o.LockMHz, Expected: "a frequency in MHz"}
	}
	return nil
}

// Lab builds and measures for one run.
type Lab struct {
	Options
	Report  *result.Report
	Largest int64 // bytes of the largest problem's arguments

	run       *run.Run
	starting  *sync.Mutex // guards the start of a worker, and the next two
	worker    *worker.Client
	said      wire.Hello // of the last worker; before there is one, of another lane's
	kept      []*Lease   // Python cells that the next row may use
	shared    *shared
	known     bool // the report describes the machine
	processor bool // something is timed on the CPU

	lane    int   // its number in a crew
	several bool  // others work beside it
	crewed  bool  // its crew starts its workers
	mixed   bool  // a worker of another kind may join
	absent  error // why it has no worker; nil: it has one, or may start one
}

// shared is what the labs of one run have in common, besides the report. Whoever writes to a part
// of the report that belongs to no row holds the lock.
type shared struct {
	sync.Mutex
	peaks   map[string]*roof.Peaks // by device class, nil for classes without peaks
	workers []*worker.Client       // all that were started
	pool    *poolUse
	idle    []*Lab                   // lanes of a pool whose workers have nothing to do
	waits   bool                     // a worker had to wait for a device
	starts  map[string]time.Duration // by kind of cell: the shortest time that one took to open and to load its code
}

// New makes a lab that writes to the report.
func New(r *run.Run, report *result.Report, opts Options) *Lab {
	opts.Build.Sandbox = opts.Sandbox
	if opts.Workers > 0 {
		opts.Worker = expand(opts.Worker, r.ID)
	}
	return &Lab{Options: opts, Report: report, run: r, starting: &sync.Mutex{}, shared: &shared{starts: map[string]time.Duration{}, pool: &poolUse{Pool: opts.Pool, launch: opts.Worker, run: r}}}
}

// UUID returns the UUID of the lab's GPU, once the GPU is known to exist.
func (l *Lab) UUID() string {
	if devices := l.Devices(); l.machine().GPU != nil && l.Device < len(devices) {
		return devices[l.Device].UUID
	}
	return ""
}

// Devices returns the GPUs of the worker's machine.
func (l *Lab) Devices() []result.GPU { return l.hello().Devices }

// Start starts the worker, for callers that must know the machine before there is anything to
// build.
func (l *Lab) Start(ctx context.Context) error {
	_, err := l.Client(ctx)
	if err == nil {
		l.adopt(nil)
	}
	return err
}

// ClassOf returns the device class that the numbers of a folder's kernel belong to.
func (l *Lab) ClassOf(ctx context.Context, dir string, k *spec.Kernel) string {
	hello := l.hello()
	switch {
	case l.Class != "":
		return l.Class
	case l.Device < len(hello.Devices) && l.willUseGPU(ctx, dir, k):
		return machine.Slug(hello.Devices[l.Device].Name)
	}
	return hello.DeviceClass
}

// willUseGPU predicts what GPU will report for a kernel's jobs once they are built. For some Python
// modules only their imports decide, and building such a module means reading them.
func (l *Lab) willUseGPU(ctx context.Context, dir string, k *spec.Kernel) bool {
	p := &Job{Variant: k.Default(), Dir: dir}
	if k.Cell == spec.CellPython && k.Framework == "" {
		if builder, err := build.New(l.Options.Build); err == nil {
			p.Artifact = builder.Build(ctx, []build.Request{{Dir: dir, Variant: p.Variant}})[0].Artifact
		}
	}
	return p.GPU()
}

// Build is Each for callers that need all jobs at once.
func (l *Lab) Build(ctx context.Context, jobs []*Job) error { return l.Each(ctx, jobs, func(*Job) {}) }

// Each compiles what the jobs need, every variant once, and starts the worker if it is not running:
// both at once where that is possible. It calls done for every job as soon as it is built, one call
// at a time, while others are compiled. Cells may be leased in done, and after Each: until Each
// returns, the lab learns of the machine between two calls. A job that cannot be built says so in
// its record; the error is about the worker.
func (l *Lab) Each(ctx context.Context, jobs []*Job, done func(*Job)) error {
	cuda := false
	for _, p := range jobs {
		cuda = cuda || p.Cell() == spec.CellCUDA
		if p.Instance != nil {
			l.Largest = max(l.Largest, p.Instance.Footprint)
		}
	}
	start := sync.OnceValue(func() error {
		_, err := l.Client(ctx)
		return err
	})
	if !cuda {
		go func() { _ = start() }() // a worker takes as long to start as a cached build
	} else if start() == nil { // the GPU says what to compile for
		l.adopt(jobs)
		l.refuseCUDA(jobs)
	}
	var requests []build.Request
	var waiting, refused []*Job
	for _, p := range jobs {
		if p.Record.Fault == nil {
			requests = append(requests, build.Request{Dir: p.Dir, Variant: p.Variant, Module: p.Module})
			waiting = append(waiting, p)
		} else {
			refused = append(refused, p)
		}
	}
	hand := func(p *Job) {
		if start() == nil {
			l.adopt([]*Job{p}) // the device of a Python module is known only now
		}
		l.processor = l.processor || !p.Untimed && !p.GPU()
		if p.Artifact != nil && p.Artifact.Compiler != "" {
			l.compiler(p.Cell(), p.Artifact.Compiler)
		}
		done(p)
	}
	opts := l.Options.Build
	opts.OnProgress = func(p build.Progress) {
		l.run.Emit(run.Event{Kind: run.Build, Done: p.Done, Total: p.Total, Text: p.Current})
	}
	if builder, err := build.New(opts); err != nil {
		for _, p := range waiting {
			p.fail("build", err)
			hand(p)
		}
	} else {
		builder.Each(ctx, requests, func(i int, outcome build.Outcome) {
			waiting[i].record(outcome)
			hand(waiting[i])
		})
	}
	for _, p := range refused {
		hand(p)
	}
	if err := start(); err != nil {
		return err
	}
	l.adopt(nil)
	return nil
}

// record stores what came of a job's build.
func (p *Job) record(outcome build.Outcome) {
	for _, note := range outcome.Notes {
		p.Record.Warnings = append(p.Record.Warnings, result.Warning{Code: "cache", Message: note})
	}
	if outcome.Fault != nil {
		p.fail("build", outcome.Fault)
		p.Record.Build = &result.Build{Output: outcome.Output, Flags: outcome.Flags, Sandbox: outcome.Sandbox}
		return
	}
	a := outcome.Artifact
	p.Artifact = a
	p.Record.Build = &result.Build{
		Cached: a.Cached, Seconds: a.Seconds, Compiler: a.Compiler, Flags: outcome.Flags, Output: a.Output, Resources: a.Resources, Sandbox: outcome.Sandbox,
		WholeFile: a.WholeFile,
	}
}

// compiler records the compiler or interpreter of a kind of kernels.
func (l *Lab) compiler(cell, name string) {
	l.note(func(r *result.Report) {
		if r.Machine.Compilers == nil {
			r.Machine.Compilers = map[string]string{}
		}
		r.Machine.Compilers[cell] = name
	})
}

// note writes to the part of the report that several labs share.
func (l *Lab) note(write func(*result.Report)) {
	l.shared.Lock()
	defer l.shared.Unlock()
	write(l.Report)
}

// adopt records the worker's machine as the run's and, once there are jobs for a GPU, the chosen
// GPU. The class is that of the rows: the versions that they are compared with may run elsewhere.
func (l *Lab) adopt(jobs []*Job) {
	hello := l.hello()
	if !l.known {
		l.Report.Machine, l.Report.DeviceClass = hello.Machine, hello.DeviceClass
		l.known = true
	}
	onGPU := slices.ContainsFunc(jobs, (*Job).GPU)
	if onGPU && l.Device < len(hello.Devices) {
		l.adoptGPU(hello.Devices[l.Device])
		RefuseUnfit(jobs, l.Report.Machine.GPU)
		if slices.ContainsFunc(jobs, func(p *Job) bool { return p.GPU() && !p.Beside }) {
			l.Report.DeviceClass = machine.Slug(l.Report.Machine.GPU.Name)
		}
	}
	if l.Class != "" {
		l.Report.DeviceClass = l.Class
	}
}

func (l *Lab) adoptGPU(gpu result.GPU) {
	if l.Report.Machine.GPU != nil {
		return
	}
	l.Report.Machine.GPU = &gpu
	if l.Options.Build.Arch == "" {
		l.Options.Build.Arch = gpu.Arch
	}
	if why := l.hello().NoState; why != "" {
		l.Report.Warnings = append(l.Report.Warnings, result.Warning{
			Code: "nvml", Message: "temperature, power, throttling and other processes on the GPU are not watched: " + why, Hint: "pawl doctor shows what is missing",
		})
	}
}

// refuseCUDA gives kernels that no GPU can run the reason: no GPU of the architecture can run them,
// or the worker has no such GPU. The compiler would only say that no architecture was given.
func (l *Lab) refuseCUDA(jobs []*Job) {
	arch := build.Arch(l.Options.Build.Arch)
	if l.Report.Machine.GPU == nil { // adopt knows the limits of a GPU that is there
		RefuseUnfit(jobs, limitsOf(arch))
	}
	if arch != "" {
		return
	}
	why := l.hello().NoDevices
	if count := len(l.hello().Devices); count > 0 {
		why = fmt.Sprintf("there is no GPU %d; this machine has %d", l.Device, count)
	}
	if why == "" {
		return // the worker does not say why
	}
	for _, p := range jobs {
		if p.Cell() == spec.CellCUDA && p.Record.Fault == nil {
			p.fail("build", &result.Fault{
				Cause: result.CauseUnsupported, Message: why, Hint: "pawl doctor shows what is missing; PAWL_CUDA_ARCH=sm_90a lets pawl build without a GPU",
			})
		}
	}
}

package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl/internal/build"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Limits of a cell beyond what its arguments need.
const (
	spareMemory  = 1 << 30
	spareThreads = 64
	driverMemory = 16 << 30
)

// Purpose says what a cell is leased for. The zero value means timing.
type Purpose struct {
	Memory   int64          // at least; the memory of the arguments is included
	Threads  int            // at least
	Beside   *Lease         // load the job into this lease's cell, beside what is loaded there already,
	Side     int            // as this side of it
	Tool     string         // tool of compute-sanitizer that runs the cell: the worker then limits neither memory nor threads, and locks no clocks
	Profiler *wire.Profiler // Nsight Compute runs the cell: no limits either
	Sandbox  string         // overrides the lab's; "": the lab's
	Deadline time.Duration  // for loading; 0: the lab's

	client *worker.Client // that opens the cell; nil: the lab's
}

// tooled reports whether the process of the cell is that of a tool.
func (p Purpose) tooled() bool { return p.Tool != "" || p.Profiler != nil }

// Lease is a cell with a job's artifact loaded. Its caller closes it.
type Lease struct {
	Cell *worker.Cell

	side   int             // of the cell that the job was loaded as
	loaded *wire.LoadReply // of the job it was opened for
	client *worker.Client
	id     string // of the loaded artifact
	memory int64
	last   *Job // the job that used it last
}

// Lease opens a cell and loads a job's artifact there. On failure it leaves no cell open, except a
// cell that it was to share: its owner closes that one.
func (l *Lab) Lease(ctx context.Context, job *Job, purpose Purpose) (*Lease, error) {
	client := purpose.client
	if purpose.Beside != nil {
		client = purpose.Beside.client
	}
	var err error
	if client == nil {
		if client, err = l.Client(ctx); err != nil {
			return nil, &unreachedError{err}
		}
	}
	var unread error
	read := func() (object []byte, err error) {
		object, unread = job.Artifact.Read()
		return object, unread
	}
	if err := client.Provide(ctx, job.Artifact.SHA256, read); unread != nil {
		return nil, unread
	} else if err != nil {
		return nil, &unreachedError{err}
	}
	open, load := l.requests(job, purpose)
	if purpose.Beside != nil {
		loaded, err := purpose.Beside.Cell.Load(ctx, load)
		if err != nil {
			return nil, err
		}
		return &Lease{Cell: purpose.Beside.Cell, side: purpose.Side, loaded: loaded, client: client}, nil
	}
	began := time.Now()
	cell, err := client.Open(ctx, open)
	if err != nil {
		return nil, err
	}
	if !purpose.tooled() {
		cell.Timeout = l.Timeout
	}
	if job.Variant.Kernel.Launcher {
		cell.Signature = build.Signatures(job.Variant.Kernel)
	}
	lease := &Lease{Cell: cell, client: client, id: job.loadID(), memory: open.Memory}
	lease.loaded, err = cell.Load(ctx, load)
	if err == nil && !purpose.tooled() {
		l.started(job, time.Since(began))
	}
	if purpose.tooled() { // the tool's output is not the row's
		if err != nil {
			return nil, &unloadedError{endCell(ctx, cell, err)}
		}
		return lease, nil
	}
	job.Record.Trust = cell.Info.Trust
	job.Record.held(cell.Info.Sandbox)
	if err == nil {
		err = l.misplaced(job, len(client.Hello().Devices), lease.loaded)
	}
	if err != nil {
		return nil, lease.Close(ctx, job, err)
	}
	return lease, nil
}

// unreachedError means that the worker did not get as far as opening a cell: it says nothing of the
// job.
type unreachedError struct{ error }

func (e *unreachedError) Unwrap() error { return e.error }

// unloadedError means that a job could not be loaded under a tool; it holds the tool's output.
type unloadedError struct{ end cellEnd }

func (e *unloadedError) Error() string { return e.end.err.Error() }

func (e *unloadedError) Unwrap() error { return e.end.err }

// ended reports whether the worker has ended, and the cell with it.
func (s *Lease) ended() bool { return hasEnded(s.client) }

// hasEnded reports whether a worker has ended.
func hasEnded(client *worker.Client) bool {
	select {
	case <-client.Gone():
		return true
	default:
		return false
	}
}

// started remembers how long a cell took to start. The first of a run reads files that later ones find in memory, and
// one beside others takes longer.
func (l *Lab) started(p *Job, took time.Duration) {
	l.shared.Lock()
	defer l.shared.Unlock()
	if before, known := l.shared.starts[p.Cell()]; !known || took < before {
		l.shared.starts[p.Cell()] = took
	}
}

// StartOf returns how long a cell takes to start with a job's code, by those of its kind that this run has opened; 0:
// there was none.
func (l *Lab) StartOf(p *Job) time.Duration {
	l.shared.Lock()
	defer l.shared.Unlock()
	return l.shared.starts[p.Cell()]
}

// LeaseAll leases a cell for every job, all at once: importing a framework takes seconds. Python
// cells of the last row that have the same function loaded are used again, the others are closed.
// Every job has a lease or an error.
func (l *Lab) LeaseAll(ctx context.Context, jobs []*Job) ([]*Lease, []error) {
	leases, errs := make([]*Lease, len(jobs)), make([]error, len(jobs))
	for i, job := range jobs {
		open, _ := l.requests(job, Purpose{})
		leases[i] = l.take(job, open.Memory)
	}
	l.Release(ctx)
	atOnce(len(jobs), func(i int) {
		if leases[i] == nil {
			leases[i], errs[i] = l.Lease(ctx, jobs[i], Purpose{})
		}
	})
	for i, job := range jobs {
		if errs[i] == nil {
			l.describe(job, leases[i])
		}
	}
	return leases, errs
}

// requests returns the requests to the worker.
func (l *Lab) requests(p *Job, purpose Purpose) (wire.Open, wire.Load) {
	threads := 1
	for _, launch := range p.Instance.Launches {
		threads = max(threads, launch.Threads)
	}
	open := wire.Open{
		Cell: p.Cell(), Sandbox: cmp.Or(purpose.Sandbox, l.Sandbox), Device: l.Device, LockMHz: l.LockMHz,
		Memory: 5*p.Instance.Footprint + spareMemory, Threads: spareThreads + 2*threads,
		Processor: l.processor && p.GPU(), Untimed: p.Untimed,
	}
	load := wire.Load{DeadlineS: cmp.Or(purpose.Deadline, l.Timeout).Seconds(), Side: purpose.Side}
	if p.Artifact != nil {
		load.SHA256 = p.Artifact.SHA256
	}
	switch p.Cell() {
	case spec.CellCUDA:
		open.Memory = driverMemory // the arguments are on the device
	case spec.CellPython:
		open.Parallel = threads
		l.python(p, &open, &load)
	}
	if open.Memory, open.Threads = max(open.Memory, purpose.Memory), max(open.Threads, purpose.Threads); purpose.Tool != "" {
		// The process that the worker would limit is the tool.
		open.Sanitizer, open.Memory, open.Threads, open.LockMHz = purpose.Tool, 0, 0, 0
	} else if purpose.Profiler != nil {
		open.Profiler, open.Memory, open.Threads = purpose.Profiler, 0, 0
		if clock := purpose.Profiler.Clock; clock != "" && clock != "none" {
			open.LockMHz = 0 // the profiler sets the clock itself
		}
	}
	return open, load
}

// misplaced says why a GPU function would run on the CPU, if it would. A job that only gives
// answers may run anywhere.
func (l *Lab) misplaced(p *Job, gpus int, loaded *wire.LoadReply) error {
	if p.Cell() != spec.CellPython || !p.GPU() || p.Untimed || l.Report.Kind == result.KindFuzz || gpus == 0 || loaded.OnDevice {
		return nil
	}
	return &result.Fault{
		Stage: "load", Cause: result.CauseUnsupported, Message: fmt.Sprintf("%s does not find this machine's GPU", cmp.Or(loaded.Runtime, "the framework of "+p.Variant.Kernel.Name)),
		Hint: "install a build with CUDA (PAWL_PYTHON names the interpreter); or set CUDA_VISIBLE_DEVICES= to measure the CPU",
	}
}

// describe records what a cell reported about itself, and about the job when it was loaded.
func (l *Lab) describe(p *Job, s *Lease) {
	s.last = p
	loaded := s.loaded
	p.Record.Trust = s.Cell.Info.Trust
	p.Record.held(s.Cell.Info.Sandbox)
	if p.Variant.Kernel.Launcher {
		p.Record.Trust = "author" // host code shares the cell's address space
	}
	for _, limit := range loaded.Limits {
		warning := result.Warning{Code: "limit", Message: limit}
		if !slices.Contains(p.Record.Warnings, warning) {
			p.Record.Warnings = append(p.Record.Warnings, warning)
		}
	}
	if loaded.Runtime != "" {
		p.Record.Build.Compiler = loaded.Runtime
		l.compiler(p.Cell(), loaded.Runtime)
	}
	p.Record.Flush = loaded.Flush
}

// held records the sandbox that held a cell. A job may have had several cells: the attempts of all
// of them are kept.
func (r *Record) held(box result.Sandbox) {
	if before := r.Sandbox; before != nil {
		box.Attempts = slices.Clone(box.Attempts)
		for _, attempt := range before.Attempts {
			if !slices.Contains(box.Attempts, attempt) {
				box.Attempts = append(box.Attempts, attempt)
			}
		}
	}
	r.Sandbox = &box
}

// as records what a cell reported that another job was in as well.
func (r *Record) as(other Record) {
	r.PeakMemory = max(r.PeakMemory, other.PeakMemory)
	if other.Sandbox != nil {
		r.held(*other.Sandbox)
	}
}

// loadID is equal for jobs that load the same function.
func (p *Job) loadID() string {
	keywords, _ := json.Marshal(p.Keywords) // of plain values: cannot fail
	return p.Artifact.Key + string(keywords)
}

// take finds a cell that an earlier row has left open for such a job.
func (l *Lab) take(p *Job, memory int64) *Lease {
	return takeOut(&l.kept, func(s *Lease) bool {
		return !s.ended() && p.Cell() == spec.CellPython && s.id == p.loadID() && s.memory >= memory
	})
}

// takeOut removes the first value that fits from a list and returns it; nil: none fits.
func takeOut[T any](list *[]*T, fits func(*T) bool) *T {
	at := slices.IndexFunc(*list, fits)
	if at < 0 {
		return nil
	}
	found := (*list)[at]
	*list = slices.Delete(*list, at, at+1)
	return found
}

// Return closes a lease after its row, or keeps it for the next. It keeps a Python cell that is
// still usable, even if its function refused the problem.
func (l *Lab) Return(ctx context.Context, s *Lease, p *Job, err error) error {
	failed, ok := errors.AsType[*worker.Failed](err)
	refused := ok && failed.Cause == result.CauseUnsupported && !failed.CellEnded
	if p.Cell() == spec.CellPython && (err == nil || refused) {
		l.kept = append(l.kept, s)
		return err
	}
	return s.Close(ctx, p, err)
}

// Release closes the cells that were kept, all at once. An error that only closing reveals is
// recorded for the row that used the cell last.
func (l *Lab) Release(ctx context.Context) {
	kept := slices.DeleteFunc(l.kept, (*Lease).ended)
	l.kept = nil
	for i, end := range endAll(ctx, kept) {
		last := kept[i].last
		if err := last.timed(end); err != nil && last.Record.Fault == nil {
			last.fail("measure", err)
		}
	}
}

// endAll ends cells, all at once: a cell that has used a GPU takes a while to end. A nil lease has
// no cell.
func endAll(ctx context.Context, leases []*Lease, errs ...error) []cellEnd {
	ends := make([]cellEnd, len(leases))
	errs = append(errs, make([]error, len(leases))...)
	atOnce(len(leases), func(i int) {
		if leases[i] != nil {
			ends[i] = endCell(ctx, leases[i].Cell, errs[i])
		}
	})
	return ends
}

// atOnce calls do for every number below n, all at once, and waits for them.
func atOnce(n int, do func(i int)) {
	var busy sync.WaitGroup
	for i := range n {
		busy.Go(func() { do(i) })
	}
	busy.Wait()
}

// Close ends the cell and records what it reported. It returns the fault that matters: the given
// one, or the one that only closing revealed.
func (s *Lease) Close(ctx context.Context, p *Job, err error) error {
	return p.timed(endCell(ctx, s.Cell, err))
}

// cellEnd is how a cell ended.
type cellEnd struct {
	reply   *wire.CloseReply // nil if it had ended before
	err     error            // the one that matters
	closing error            // the error of closing
}

// endCell ends a cell, unless the given error has ended it.
func endCell(ctx context.Context, cell *worker.Cell, err error) cellEnd {
	if failed, ok := errors.AsType[*worker.Failed](err); ok && failed.CellEnded {
		return cellEnd{err: err}
	}
	reply, closing := cell.Close(ctx)
	if closing != nil {
		return cellEnd{err: cmp.Or(err, closing), closing: closing}
	}
	return cellEnd{reply: reply, err: err}
}

// timed is closed for a cell in which the job was timed, whose memory counts.
func (p *Job) timed(end cellEnd) error {
	if end.reply != nil {
		p.Record.PeakMemory = max(p.Record.PeakMemory, end.reply.PeakMemory)
	}
	return p.closed(end)
}

// closed records what a cell of the job reported when it ended.
func (p *Job) closed(end cellEnd) error {
	if end.reply == nil {
		return end.err
	}
	p.Record.Log = end.reply.Log
	p.Record.held(end.reply.Sandbox)
	return end.err
}

// Limits of a Python cell: importing a framework takes memory, threads and, the first time, a long
// while.
const (
	pythonThreads = 1024
	pythonImports = 90 // seconds
)

// python adds the settings of a Python cell.
func (l *Lab) python(p *Job, open *wire.Open, load *wire.Load) {
	open.Memory = 5*l.Largest + spareMemory + driverMemory // the cell may serve other configs too
	open.Threads = pythonThreads
	open.Framework = p.Artifact.Framework
	if dir, err := filepath.Abs(p.Dir); err == nil && p.Module == nil {
		open.Dirs, open.Apart = []string{dir}, build.Apart(l.Options.Build.Checkout, dir)
	}
	load.Entry, load.Params = p.Artifact.Symbols[0], map[string]json.RawMessage{}
	for name, value := range p.Keywords {
		if raw, err := json.Marshal(value); err == nil {
			load.Params[name] = raw
		}
	}
	load.DeadlineS += pythonImports
}

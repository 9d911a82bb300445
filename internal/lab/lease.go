package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

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

// Purpose says what a cell is leased for. The zero value is for timing.
type Purpose struct {
	Memory   int64         // at least; what the arguments need by themselves is counted in
	Threads  int           // at least
	Beside   *Lease        // load the job into this lease's cell, beside what is loaded there,
	Side     int           // as this side of it
	Tool     string        // of compute-sanitizer, which runs the cell: the worker limits neither, and locks no clocks
	Sandbox  string        // other than the lab's; "": that
	Deadline time.Duration // of loading; 0: the lab's
}

// Lease is a cell with a job's artifact loaded. Whoever leased it closes it.
type Lease struct {
	Cell *worker.Cell

	loaded *wire.LoadReply // of the job it was opened for
	client *worker.Client
	id     string // of what is loaded
	memory int64
	last   *Job // that used it
}

// Lease opens a cell and loads a job's artifact there. One that fails leaves nothing behind,
// but for a cell that it was to share: that is closed by whoever has it.
func (l *Lab) Lease(ctx context.Context, job *Job, purpose Purpose) (*Lease, error) {
	client, err := l.Client(ctx)
	if err != nil {
		return nil, &unreachedError{err}
	}
	if err := client.Provide(ctx, job.Artifact.SHA256, job.Artifact.Read); err != nil {
		return nil, &unreachedError{err}
	}
	open, load := l.requests(job, purpose)
	if purpose.Beside != nil {
		loaded, err := purpose.Beside.Cell.Load(ctx, load)
		if err != nil {
			return nil, err
		}
		return &Lease{Cell: purpose.Beside.Cell, loaded: loaded, client: client, memory: purpose.Beside.memory}, nil
	}
	cell, err := client.Open(ctx, open)
	if err != nil {
		return nil, err
	}
	lease := &Lease{Cell: cell, client: client, id: job.loadID(), memory: open.Memory}
	lease.loaded, err = cell.Load(ctx, load)
	if purpose.Tool != "" { // what it says is not of the row
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

// unreachedError is a worker that did not get as far as opening a cell: it says nothing of
// the job.
type unreachedError struct{ err error }

func (e *unreachedError) Error() string { return e.err.Error() }

func (e *unreachedError) Unwrap() error { return e.err }

// unloadedError is a job that could not be loaded under a tool, with what that has to say.
type unloadedError struct{ end cellEnd }

func (e *unloadedError) Error() string { return e.end.err.Error() }

func (e *unloadedError) Unwrap() error { return e.end.err }

// gone reports whether the worker has ended, and the cell with it.
func (s *Lease) gone() bool {
	select {
	case <-s.client.Gone():
		return true
	default:
		return false
	}
}

// LeaseAll leases a cell for every job, all at once: importing a framework takes
// seconds. Python cells of the last row that have the same function loaded are
// used again, the others closed. Where there is no lease there is an error.
func (l *Lab) LeaseAll(ctx context.Context, jobs []*Job) ([]*Lease, []error) {
	leases, errs := make([]*Lease, len(jobs)), make([]error, len(jobs))
	for i, job := range jobs {
		open, _ := l.requests(job, Purpose{})
		leases[i] = l.take(job, open.Memory)
	}
	l.Release(ctx)
	var opening sync.WaitGroup
	for i, job := range jobs {
		if leases[i] == nil {
			opening.Go(func() { leases[i], errs[i] = l.Lease(ctx, job, Purpose{}) })
		}
	}
	opening.Wait()
	for i, job := range jobs {
		if errs[i] == nil {
			l.describe(job, leases[i], leases[i].loaded)
		}
	}
	return leases, errs
}

// requests are what the worker is asked for.
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
	}
	return open, load
}

// misplaced says why a GPU function would run on the processor, if it would. Whoever is only asked for answers may give them anywhere.
func (l *Lab) misplaced(p *Job, gpus int, loaded *wire.LoadReply) error {
	if p.Cell() != spec.CellPython || !p.GPU() || p.Untimed || l.Report.Kind == result.KindFuzz || gpus == 0 || loaded.OnDevice {
		return nil
	}
	return &result.Fault{
		Stage: "load", Cause: result.CauseUnsupported, Message: fmt.Sprintf("%s does not find the GPU of this machine", cmp.Or(loaded.Runtime, "the framework of "+p.Variant.Kernel.Name)),
		Hint: "install a build of it with CUDA (PAWL_PYTHON names the interpreter); with CUDA_VISIBLE_DEVICES= before pawl the processor is measured",
	}
}

// describe records what a cell said of itself, and of the job when it was loaded.
func (l *Lab) describe(p *Job, s *Lease, loaded *wire.LoadReply) {
	s.last = p
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

// held records what held a cell. A job may have had several: what was tried in any
// of them stays.
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

// loadID is the same for jobs that load the same function.
func (p *Job) loadID() string {
	keywords, _ := json.Marshal(p.Keywords) // of plain values: cannot fail
	return p.Artifact.Key + string(keywords)
}

// take finds a cell that an earlier row has left open for such a job.
func (l *Lab) take(p *Job, memory int64) *Lease {
	at := slices.IndexFunc(l.kept, func(s *Lease) bool {
		return !s.gone() && p.Cell() == spec.CellPython && s.id == p.loadID() && s.memory >= memory
	})
	if at < 0 {
		return nil
	}
	found := l.kept[at]
	l.kept = slices.Delete(l.kept, at, at+1)
	return found
}

// Return closes a lease after its row, or keeps it for the next: a Python cell that
// is as good as before, also where its function refused the problem.
func (l *Lab) Return(ctx context.Context, s *Lease, p *Job, err error) error {
	var failed *worker.Failed
	refused := errors.As(err, &failed) && failed.Cause == result.CauseUnsupported && !failed.CellEnded
	if p.Cell() == spec.CellPython && (err == nil || refused) {
		l.kept = append(l.kept, s)
		return err
	}
	return s.Close(ctx, p, err)
}

// Release closes the cells that were kept, all at once. What only closing brings to light
// is told of the row that used the cell last.
func (l *Lab) Release(ctx context.Context) {
	kept := slices.DeleteFunc(l.kept, (*Lease).gone)
	l.kept = nil
	for i, end := range endAll(ctx, kept) {
		last := kept[i].last
		if err := last.closed(end); err != nil && last.Record.Fault == nil {
			last.fail("measure", err)
		}
	}
}

// endAll ends cells, all at once: one that has used a GPU takes a while to end. A lease that
// is nil has none.
func endAll(ctx context.Context, leases []*Lease, errs ...error) []cellEnd {
	ends := make([]cellEnd, len(leases))
	var closing sync.WaitGroup
	for i, s := range leases {
		if s == nil {
			continue
		}
		var err error
		if i < len(errs) {
			err = errs[i]
		}
		closing.Go(func() { ends[i] = endCell(ctx, s.Cell, err) })
	}
	closing.Wait()
	return ends
}

// Close ends the cell and takes down its story. It returns the fault that matters:
// the one there was, or what only closing brought to light.
func (s *Lease) Close(ctx context.Context, p *Job, err error) error {
	return p.closed(endCell(ctx, s.Cell, err))
}

// cellEnd is how a cell ended.
type cellEnd struct {
	reply   *wire.CloseReply // nil where it had ended before
	err     error            // the one that matters
	closing error            // what closing came to
}

// endCell ends a cell, unless the error that there was has ended it.
func endCell(ctx context.Context, cell *worker.Cell, err error) cellEnd {
	var failed *worker.Failed
	if errors.As(err, &failed) && failed.CellEnded {
		return cellEnd{err: err}
	}
	reply, closing := cell.Close(ctx)
	if closing != nil {
		return cellEnd{err: cmp.Or(err, closing), closing: closing}
	}
	return cellEnd{reply: reply, err: err}
}

// closed takes down what a cell of the job's said when it ended.
func (p *Job) closed(end cellEnd) error {
	if end.reply == nil {
		return end.err
	}
	p.Record.Log = end.reply.Log
	p.Record.held(end.reply.Sandbox)
	p.Record.PeakMemory = max(p.Record.PeakMemory, end.reply.PeakMemory)
	return end.err
}

package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

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

// Seat is a cell with a job's artifact loaded.
type Seat struct {
	Cell   *worker.Cell
	loaded *wire.LoadReply // of the job it was opened for

	client *worker.Client
	id     string // of what is loaded
	memory int64
	last   *Job // that used it
}

// gone tells whether the worker has ended, and the cell with it.
func (s *Seat) gone() bool {
	select {
	case <-s.client.Gone():
		return true
	default:
		return false
	}
}

// Seats opens a cell for every side, all at once: importing a framework takes
// seconds. Python cells of the last row that have the same function loaded are
// used again, the others closed. Where there is no cell there is an error.
func (b *Lab) Seats(ctx context.Context, client *worker.Client, sides []*Job) ([]*Seat, []error) {
	seats, errs := make([]*Seat, len(sides)), make([]error, len(sides))
	opens, loads := make([]wire.Open, len(sides)), make([]wire.Load, len(sides))
	for i, side := range sides {
		sha, err := client.Upload(ctx, side.Artifact.Bytes)
		if err != nil {
			errs[i] = err
			continue
		}
		opens[i], loads[i] = b.requests(side, sha)
		seats[i] = b.take(client, side, opens[i])
	}
	b.Release(ctx)
	var opening sync.WaitGroup
	for i, side := range sides {
		if seats[i] == nil && errs[i] == nil {
			opening.Go(func() { seats[i], errs[i] = b.open(ctx, client, side, opens[i], loads[i]) })
		}
	}
	opening.Wait()
	for i, side := range sides {
		if errs[i] == nil {
			b.describe(side, seats[i], seats[i].loaded)
		}
	}
	return seats, errs
}

// requests are what the worker is asked for.
func (b *Lab) requests(p *Job, sha string) (wire.Open, wire.Load) {
	threads := 1
	for _, l := range p.Instance.Launches {
		threads = max(threads, l.Threads)
	}
	open := wire.Open{
		Cell: p.Row.Cell, Sandbox: b.Sandbox, Device: b.Device, LockMHz: b.LockMHz,
		Memory: 5*p.Instance.Footprint + spareMemory, Threads: spareThreads + 2*threads,
		Processor: b.processor && p.GPU(), Untimed: p.Untimed,
	}
	load := wire.Load{SHA256: sha, DeadlineS: b.Timeout.Seconds()}
	switch p.Row.Cell {
	case spec.CellCUDA:
		open.Memory = driverMemory // the arguments are on the device
	case spec.CellPython:
		open.Parallel = threads
		b.python(p, &open, &load)
	}
	return open, load
}

// open starts a cell and loads the side's artifact.
func (b *Lab) open(ctx context.Context, client *worker.Client, p *Job, open wire.Open, load wire.Load) (*Seat, error) {
	cell, err := client.Open(ctx, open)
	if err != nil {
		return nil, err
	}
	p.Row.Trust = cell.Info.Trust
	p.held(cell.Info.Sandbox)
	loaded, err := cell.Load(ctx, load)
	if err == nil {
		err = b.misplaced(p, len(client.Hello().Devices), loaded)
	}
	if err != nil {
		return nil, b.close(ctx, cell, p, err)
	}
	return &Seat{Cell: cell, loaded: loaded, client: client, id: p.loadID(), memory: open.Memory}, nil
}

// misplaced is that a function would be timed on the processor and taken for one on
// the GPU. Whoever is only asked for answers may give them anywhere.
func (b *Lab) misplaced(p *Job, gpus int, loaded *wire.LoadReply) error {
	if p.Row.Cell != spec.CellPython || !p.GPU() || p.Untimed || b.Report.Kind == result.KindFuzz || gpus == 0 || loaded.OnDevice {
		return nil
	}
	return &result.Fault{
		Stage: "load", Cause: result.CauseUnsupported, Message: fmt.Sprintf("%s does not find the GPU of this machine", cmp.Or(loaded.Runtime, "the framework of "+p.Row.Kernel)),
		Hint: "install a build of it with CUDA (PAWL_PYTHON names the interpreter); with CUDA_VISIBLE_DEVICES= before pawl the processor is measured",
	}
}

// describe records what a cell said of itself, and of the job when it was loaded.
func (b *Lab) describe(p *Job, s *Seat, loaded *wire.LoadReply) {
	s.last = p
	p.Row.Trust = s.Cell.Info.Trust
	p.held(s.Cell.Info.Sandbox)
	if p.Variant.Kernel.Launcher {
		p.Row.Trust = "author" // host code shares the cell's address space
	}
	for _, limit := range loaded.Limits {
		warning := result.Warning{Code: "limit", Message: limit}
		if !slices.Contains(p.Row.Warnings, warning) {
			p.Row.Warnings = append(p.Row.Warnings, warning)
		}
	}
	if loaded.Runtime != "" {
		p.Row.Build.Compiler = loaded.Runtime
		b.compiler(p.Row.Cell, loaded.Runtime)
	}
	p.Row.Flush = loaded.Flush
}

// held records what held a cell. A row may have had several: what was tried in any
// of them stays.
func (p *Job) held(box result.Sandbox) {
	if before := p.Row.Sandbox; before != nil {
		box.Attempts = slices.Clone(box.Attempts)
		for _, attempt := range before.Attempts {
			if !slices.Contains(box.Attempts, attempt) {
				box.Attempts = append(box.Attempts, attempt)
			}
		}
	}
	p.Row.Sandbox = &box
}

// loadID tells whether two plans load the same function.
func (p *Job) loadID() string {
	keywords, _ := json.Marshal(p.Keywords) // of plain values: cannot fail
	return p.Artifact.Key + string(keywords)
}

// take finds a cell that an earlier row has left open for such a plan.
func (b *Lab) take(client *worker.Client, p *Job, open wire.Open) *Seat {
	at := slices.IndexFunc(b.kept, func(s *Seat) bool {
		return s.client == client && s.id == p.loadID() && s.memory >= open.Memory && p.Row.Cell == spec.CellPython
	})
	if at < 0 {
		return nil
	}
	found := b.kept[at]
	b.kept = slices.Delete(b.kept, at, at+1)
	return found
}

// Leave closes a cell after its row, or keeps it for the next: a Python cell that
// is as good as before, also where its function refused the problem.
func (b *Lab) Leave(ctx context.Context, s *Seat, p *Job, err error) error {
	var failed *worker.Failed
	refused := errors.As(err, &failed) && failed.Cause == result.CauseUnsupported && !failed.CellEnded
	if p.Row.Cell == spec.CellPython && (err == nil || refused) {
		b.kept = append(b.kept, s)
		return err
	}
	return b.close(ctx, s.Cell, p, err)
}

// Release closes the cells that were kept, all at once. What only closing brings to light
// is told of the row that used the cell last.
func (b *Lab) Release(ctx context.Context) {
	kept := slices.DeleteFunc(b.kept, (*Seat).gone)
	ends := make([]cellEnd, len(kept))
	var closing sync.WaitGroup
	for i, s := range kept {
		closing.Go(func() { ends[i] = endCell(ctx, s.Cell, nil) })
	}
	closing.Wait()
	for i, s := range kept {
		if err := s.last.closed(ends[i]); err != nil && s.last.Row.Fault == nil {
			s.last.Fail("measure", err)
		}
		doubtSandbox(s.last.Row)
	}
	b.kept = nil
}

// close ends a cell and takes down its story. It returns the fault that matters:
// the one there was, or what only closing brought to light.
func (b *Lab) close(ctx context.Context, cell *worker.Cell, p *Job, err error) error {
	return p.closed(endCell(ctx, cell, err))
}

// cellEnd is how a cell ended.
type cellEnd struct {
	reply *wire.CloseReply // nil where it had ended before
	err   error
}

// endCell ends a cell, unless the error that there was has ended it.
func endCell(ctx context.Context, cell *worker.Cell, err error) cellEnd {
	var failed *worker.Failed
	if errors.As(err, &failed) && failed.CellEnded {
		return cellEnd{err: err}
	}
	reply, closing := cell.Close(ctx)
	if closing != nil {
		return cellEnd{err: cmp.Or(err, closing)}
	}
	return cellEnd{reply, err}
}

// closed takes down what a cell of the job's said when it ended.
func (p *Job) closed(end cellEnd) error {
	if end.reply == nil {
		return end.err
	}
	p.Row.Log = end.reply.Log
	p.held(end.reply.Sandbox)
	if p.Row.Timing != nil {
		p.Row.Timing.PeakMemory = max(p.Row.Timing.PeakMemory, end.reply.PeakMemory)
	}
	return end.err
}

package bench

import (
	"context"
	"encoding/json"
	"errors"
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

// seat is a cell with a side's artifact loaded.
type seat struct {
	cell   *worker.Cell
	loaded *wire.LoadReply

	client *worker.Client
	id     string // of what is loaded
	memory int64
	last   *plan // that used it
}

// seats opens a cell for every side, all at once: importing a framework takes
// seconds. Python cells of the last row that have the same function loaded are
// used again, the others closed. Where there is no cell there is an error.
func (b *bench) seats(ctx context.Context, client *worker.Client, sides []*plan) ([]*seat, []error) {
	seats, errs := make([]*seat, len(sides)), make([]error, len(sides))
	opens, loads := make([]wire.Open, len(sides)), make([]wire.Load, len(sides))
	for i, side := range sides {
		sha, err := client.Upload(ctx, side.artifact.Bytes)
		if err != nil {
			errs[i] = err
			continue
		}
		opens[i], loads[i] = b.requests(side, sha)
		seats[i] = b.take(client, side, opens[i])
	}
	b.release(ctx)
	var opening sync.WaitGroup
	for i, side := range sides {
		if seats[i] == nil && errs[i] == nil {
			opening.Go(func() { seats[i], errs[i] = b.open(ctx, client, side, opens[i], loads[i]) })
		}
	}
	opening.Wait()
	for i, side := range sides {
		if errs[i] == nil {
			b.describe(side, seats[i])
		}
	}
	return seats, errs
}

// requests are what the worker is asked for.
func (b *bench) requests(p *plan, sha string) (wire.Open, wire.Load) {
	threads := 1
	for _, l := range p.instance.Launches {
		threads = max(threads, l.Threads)
	}
	open := wire.Open{
		Cell: p.row.Cell, Sandbox: b.Sandbox, Device: b.device, LockMHz: b.LockMHz,
		Memory: 3*p.instance.Footprint + spareMemory, Threads: spareThreads + 2*threads,
	}
	load := wire.Load{SHA256: sha, DeadlineS: b.Options.Measure.Timeout.Seconds()}
	switch p.row.Cell {
	case spec.CellCUDA:
		open.Memory = driverMemory // the arguments are on the device
	case spec.CellPython:
		open.Parallel = threads
		b.python(p, &open, &load)
	}
	return open, load
}

// open starts a cell and loads the side's artifact.
func (b *bench) open(ctx context.Context, client *worker.Client, p *plan, open wire.Open, load wire.Load) (*seat, error) {
	cell, err := client.Open(ctx, open)
	if err != nil {
		return nil, err
	}
	p.row.Trust, p.row.Sandbox = cell.Info.Trust, &cell.Info.Sandbox
	loaded, err := cell.Load(ctx, load)
	if err != nil {
		return nil, b.close(ctx, cell, p, err)
	}
	return &seat{cell: cell, loaded: loaded, client: client, id: p.loadID(), memory: open.Memory}, nil
}

// describe records what a cell said of itself.
func (b *bench) describe(p *plan, s *seat) {
	s.last = p
	p.row.Trust, p.row.Sandbox = s.cell.Info.Trust, &s.cell.Info.Sandbox
	if p.variant.Kernel.Launcher {
		p.row.Trust = "author" // host code shares the cell's address space
	}
	if s.loaded.Runtime != "" {
		p.row.Build.Compiler = s.loaded.Runtime
		b.compiler(p.row.Cell, s.loaded.Runtime)
	}
	b.note(func(r *result.Report) { r.Method.Flush = s.loaded.Flush })
}

// loadID tells whether two plans load the same function.
func (p *plan) loadID() string {
	keywords, _ := json.Marshal(p.keywords) // of plain values: cannot fail
	return p.artifact.Key + string(keywords)
}

// take finds a cell that an earlier row has left open for such a plan.
func (b *bench) take(client *worker.Client, p *plan, open wire.Open) *seat {
	at := slices.IndexFunc(b.kept, func(s *seat) bool {
		return s.client == client && s.id == p.loadID() && s.memory >= open.Memory && p.row.Cell == spec.CellPython
	})
	if at < 0 {
		return nil
	}
	found := b.kept[at]
	b.kept = slices.Delete(b.kept, at, at+1)
	return found
}

// leave closes a cell after its row, or keeps it for the next: a Python cell that
// is as good as before, also where its function refused the problem.
func (b *bench) leave(ctx context.Context, s *seat, p *plan, err error) error {
	var failed *worker.Failed
	refused := errors.As(err, &failed) && failed.Cause == result.CauseUnsupported && !failed.CellEnded
	if p.row.Cell == spec.CellPython && (err == nil || refused) {
		b.kept = append(b.kept, s)
		return err
	}
	return b.close(ctx, s.cell, p, err)
}

// release closes the cells that were kept. What only closing brings to light is
// told of the row that used the cell last.
func (b *bench) release(ctx context.Context) {
	for _, s := range b.kept {
		select {
		case <-s.client.Gone():
			continue // and its cells with it
		default:
		}
		if err := b.close(ctx, s.cell, s.last, nil); err != nil && s.last.row.Fault == nil {
			s.last.fail("measure", err)
		}
		doubtSandbox(s.last.row)
	}
	b.kept = nil
}

// close ends a cell and takes down its story. It returns the fault that matters:
// the one there was, or what only closing brought to light.
func (b *bench) close(ctx context.Context, cell *worker.Cell, p *plan, err error) error {
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

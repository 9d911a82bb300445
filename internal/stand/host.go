package stand

import (
	"context"
	"fmt"
	"sync"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// sidesMinor is the protocol's minor version that brought sides.
const sidesMinor = 1

// Host gives the versions of one kernel fresh cells, as measure's duets ask for
// them: all in one where they are device code, else one for each.
type Host struct {
	stand *Stand
	sides []*Job // by side; any config of theirs, for they load the same
	seats []*Seat

	memory  int64 // of a cell, for the largest config that plays there
	threads int
}

// NewHost is the host of a kernel's versions, the candidate first.
func (b *Stand) NewHost(sides []*Job) *Host { return &Host{stand: b, sides: sides} }

// Admit makes the cells large enough for another config of the versions.
func (h *Host) Admit(job *Job) {
	open, _ := h.stand.requests(job, "")
	h.memory, h.threads = max(h.memory, open.Memory), max(h.threads, open.Threads)
}

// requests are a side's, for cells that are as large as any config needs.
func (h *Host) requests(job *Job, sha string) (wire.Open, wire.Load) {
	open, load := h.stand.requests(job, sha)
	open.Memory, open.Threads = max(open.Memory, h.memory), max(open.Threads, h.threads)
	return open, load
}

// oneCell tells whether all sides can live in one cell: device code cannot reach
// the process that launches it, everything else can.
func (h *Host) oneCell() bool {
	for _, side := range h.sides {
		if !side.Variant.Kernel.DeviceCode() {
			return false
		}
	}
	return true
}

// Open loads the sides in the given order.
func (h *Host) Open(ctx context.Context, order []int) ([]measure.Place, int, error) {
	client, err := h.stand.Living(ctx)
	if err != nil {
		return nil, -1, err
	}
	places := make([]measure.Place, len(h.sides))
	h.seats = make([]*Seat, len(h.sides))
	if !h.oneCell() {
		side, err := h.openEach(ctx, order, places)
		return places, side, err
	}
	if client.Minor() < sidesMinor {
		return nil, -1, &result.Fault{
			Cause: result.CauseUnsupported, Message: fmt.Sprintf("the worker speaks protocol %s; several versions in one cell need 1.%d", client.Hello().Protocol, sidesMinor),
			Hint: "install the same version of pawl on both sides",
		}
	}
	var cell *Seat
	for index, side := range order {
		job := h.sides[side]
		sha, err := client.Upload(ctx, job.Artifact.Bytes)
		if err != nil {
			return nil, -1, err
		}
		open, load := h.requests(job, sha)
		load.Side = index
		var loaded *wire.LoadReply
		if cell != nil {
			loaded, err = h.loadAnother(ctx, cell, job, load)
		} else if cell, err = h.stand.open(ctx, client, job, open, load); err == nil {
			loaded = cell.loaded
		}
		if err != nil {
			return nil, side, err
		}
		h.stand.describe(job, cell, loaded)
		h.seats[side], places[side] = cell, measure.Place{Cell: cell.Cell, Index: index}
	}
	return places, 0, nil
}

func (h *Host) loadAnother(ctx context.Context, cell *Seat, job *Job, load wire.Load) (*wire.LoadReply, error) {
	loaded, err := cell.Cell.Load(ctx, load)
	if err != nil {
		return nil, h.stand.close(ctx, cell.Cell, job, err)
	}
	return loaded, nil
}

// openEach starts a cell for every side, in order.
func (h *Host) openEach(ctx context.Context, order []int, places []measure.Place) (int, error) {
	errs := make([]error, len(h.sides))
	one := func(side int) {
		client, err := h.stand.Living(ctx)
		if err != nil {
			errs[side] = err
			return
		}
		job := h.sides[side]
		sha, err := client.Upload(ctx, job.Artifact.Bytes)
		if err != nil {
			errs[side] = err
			return
		}
		open, load := h.requests(job, sha)
		if h.seats[side], errs[side] = h.stand.open(ctx, client, job, open, load); errs[side] == nil {
			places[side] = measure.Place{Cell: h.seats[side].Cell}
			h.stand.describe(job, h.seats[side], h.seats[side].loaded)
		}
	}
	var opening sync.WaitGroup
	for _, side := range order {
		if h.sides[side].Row.Cell == spec.CellPython { // importing a framework takes seconds
			opening.Go(func() { one(side) })
			continue
		}
		one(side)
	}
	opening.Wait()
	for side, err := range errs {
		if err != nil {
			h.Close(ctx, make([]error, len(h.sides)))
			return side, err
		}
	}
	return 0, nil
}

// Close ends the cells. It returns what only closing brought to light, by side.
func (h *Host) Close(ctx context.Context, errs []error) []error {
	out := make([]error, len(h.sides))
	closed := map[*Seat]bool{}
	for side, seat := range h.seats {
		if seat == nil || closed[seat] {
			continue
		}
		closed[seat] = true
		err := errs[side]
		for other, also := range h.seats { // the cell of all of them, ended by one
			if also == seat && errs[other] != nil {
				err = errs[other]
			}
		}
		if got := h.stand.close(ctx, seat.Cell, h.sides[side], err); got != nil && err == nil {
			out[side] = got
		}
	}
	h.seats = make([]*Seat, len(h.sides))
	return out
}

package lab

import (
	"context"
	"fmt"
	"slices"
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
	lab *Lab
	sides []*Job // by side; any config of theirs, for they load the same
	seats []*Seat
	ahead []*seating // opened before they are asked for

	memory  int64 // of a cell, for the largest config that plays there
	threads int
}

// NewHost is the host of a kernel's versions, the candidate first.
func (b *Lab) NewHost(sides []*Job) *Host { return &Host{lab: b, sides: sides} }

// Admit makes the cells large enough for another config of the versions.
func (h *Host) Admit(job *Job) {
	open, _ := h.lab.requests(job, "")
	h.memory, h.threads = max(h.memory, open.Memory), max(h.threads, open.Threads)
}

// requests are a side's, for cells that are as large as any config needs.
func (h *Host) requests(job *Job, sha string) (wire.Open, wire.Load) {
	open, load := h.lab.requests(job, sha)
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
	seated := h.take(order)
	if seated == nil {
		var side int
		var err error
		if seated, side, err = h.seat(ctx, order, h.sides); err != nil {
			return nil, side, err
		}
	}
	h.seats = seated.seats
	for side, job := range h.sides {
		h.lab.describe(job, seated.seats[side], seated.loaded[side])
	}
	return seated.places, 0, nil
}

// seating is the cells of one visit, by side.
type seating struct {
	order  []int
	seats  []*Seat
	loaded []*wire.LoadReply
	places []measure.Place
}

// gone tells whether the worker has ended, and its cells with it.
func (s *seating) gone() bool { return slices.ContainsFunc(s.seats, (*Seat).gone) }

// seat opens cells and loads the sides. What is to be known of them is written to the rows
// of jobs.
func (h *Host) seat(ctx context.Context, order []int, jobs []*Job) (*seating, int, error) {
	client, err := h.lab.Living(ctx)
	if err != nil {
		return nil, -1, err
	}
	s := &seating{order, make([]*Seat, len(jobs)), make([]*wire.LoadReply, len(jobs)), make([]measure.Place, len(jobs))}
	if !h.oneCell() {
		if side, err := h.seatEach(ctx, s, jobs); err != nil {
			return nil, side, err
		}
		return s, 0, nil
	}
	if client.Minor() < sidesMinor {
		return nil, -1, &result.Fault{
			Cause: result.CauseUnsupported, Message: fmt.Sprintf("the worker speaks protocol %s; several versions in one cell need 1.%d", client.Hello().Protocol, sidesMinor),
			Hint: "install the same version of pawl on both sides",
		}
	}
	var cell *Seat
	for index, side := range order {
		job := jobs[side]
		sha, err := client.Upload(ctx, job.Artifact.Bytes)
		if err != nil {
			h.leave(ctx, s.seats, jobs, make([]error, len(jobs)))
			return nil, -1, err
		}
		open, load := h.requests(job, sha)
		load.Side = index
		if cell != nil {
			s.loaded[side], err = h.loadAnother(ctx, cell, job, load)
		} else if cell, err = h.lab.open(ctx, client, job, open, load); err == nil {
			s.loaded[side] = cell.loaded
		}
		if err != nil {
			return nil, side, err
		}
		s.seats[side], s.places[side] = cell, measure.Place{Cell: cell.Cell, Index: index}
	}
	return s, 0, nil
}

func (h *Host) loadAnother(ctx context.Context, cell *Seat, job *Job, load wire.Load) (*wire.LoadReply, error) {
	loaded, err := cell.Cell.Load(ctx, load)
	if err != nil {
		return nil, h.lab.close(ctx, cell.Cell, job, err)
	}
	return loaded, nil
}

// seatEach starts a cell for every side, in order.
func (h *Host) seatEach(ctx context.Context, s *seating, jobs []*Job) (int, error) {
	errs := make([]error, len(jobs))
	one := func(side int) {
		client, err := h.lab.Living(ctx)
		if err != nil {
			errs[side] = err
			return
		}
		job := jobs[side]
		sha, err := client.Upload(ctx, job.Artifact.Bytes)
		if err != nil {
			errs[side] = err
			return
		}
		open, load := h.requests(job, sha)
		if s.seats[side], errs[side] = h.lab.open(ctx, client, job, open, load); errs[side] == nil {
			s.loaded[side], s.places[side] = s.seats[side].loaded, measure.Place{Cell: s.seats[side].Cell}
		}
	}
	var opening sync.WaitGroup
	for _, side := range s.order {
		if jobs[side].Row.Cell == spec.CellPython { // importing a framework takes seconds
			opening.Go(func() { one(side) })
			continue
		}
		one(side)
	}
	opening.Wait()
	for side, err := range errs {
		if err != nil {
			h.leave(ctx, s.seats, jobs, make([]error, len(jobs)))
			return side, err
		}
	}
	return 0, nil
}

// aheadMemory is what a cell takes that has loaded a framework, or a GPU's driver.
const aheadMemory = 4 << 30

// Expect opens the cells of visits to come, side by side. What goes wrong there goes wrong
// again in Open, which tells.
func (h *Host) Expect(ctx context.Context, orders [][]int) {
	client, err := h.lab.Living(ctx)
	if err != nil || !slices.ContainsFunc(h.sides, func(job *Job) bool { return job.Row.Cell != spec.CellHost }) {
		return
	}
	facts := client.Hello().Machine
	most := min(len(orders), facts.CPU.Cores/2/len(h.sides), int(facts.MemoryBytes/2/aheadMemory)/len(h.sides))
	if most < 2 {
		return
	}
	h.Release(ctx) // what was expected before
	made := make([]*seating, most)
	var opening sync.WaitGroup
	for i := range made {
		jobs := h.apart()
		opening.Go(func() { made[i], _, _ = h.seat(ctx, orders[i], jobs) })
	}
	opening.Wait()
	for _, s := range made {
		if s != nil {
			h.ahead = append(h.ahead, s)
		}
	}
}

// apart are the sides with rows of their own, for cells that may never be used.
func (h *Host) apart() []*Job {
	jobs := make([]*Job, len(h.sides))
	for side, job := range h.sides {
		own, row := *job, *job.Row
		own.Row = &row
		jobs[side] = &own
	}
	return jobs
}

// take finds cells that were opened before they were asked for.
func (h *Host) take(order []int) *seating {
	h.ahead = slices.DeleteFunc(h.ahead, (*seating).gone)
	at := slices.IndexFunc(h.ahead, func(s *seating) bool { return slices.Equal(s.order, order) })
	if at < 0 {
		return nil
	}
	found := h.ahead[at]
	h.ahead = slices.Delete(h.ahead, at, at+1)
	return found
}

// Release closes cells that were opened and not needed.
func (h *Host) Release(ctx context.Context) {
	for _, s := range slices.DeleteFunc(h.ahead, (*seating).gone) {
		h.leave(ctx, s.seats, h.apart(), make([]error, len(h.sides)))
	}
	h.ahead = nil
}

// Close ends the cells. It returns what only closing brought to light, by side.
func (h *Host) Close(ctx context.Context, errs []error) []error {
	seats := h.seats
	h.seats = make([]*Seat, len(h.sides))
	return h.leave(ctx, seats, h.sides, errs)
}

// leave closes the cells of a visit, all at once: one that has used a GPU takes a while to
// end.
func (h *Host) leave(ctx context.Context, seats []*Seat, jobs []*Job, errs []error) []error {
	ends := make([]*cellEnd, len(jobs))
	before := make([]error, len(jobs))
	var closing sync.WaitGroup
	for side, seat := range seats {
		if seat == nil || slices.Index(seats, seat) < side {
			continue
		}
		before[side] = errs[side]
		for other, also := range seats { // the cell of all of them, ended by one
			if also == seat && errs[other] != nil {
				before[side] = errs[other]
			}
		}
		ends[side] = &cellEnd{}
		closing.Go(func() { *ends[side] = endCell(ctx, seat.Cell, before[side]) })
	}
	closing.Wait()
	out := make([]error, len(jobs))
	for side, end := range ends {
		if end == nil {
			continue
		}
		if err := jobs[side].closed(*end); before[side] == nil {
			out[side] = err
		}
	}
	return out
}

package lab

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
)

// sidesMinor is the minor version of the protocol that introduced sides.
const sidesMinor = 1

// Host opens fresh cells for the versions of one kernel, as package measure's duets ask for them:
// one cell for all if they are device code, else one for each.
type Host struct {
	lab   *Lab
	sides []*Job // by side; any of their configs, since all load the same artifact
	seats []*Lease
	ahead []*seating // opened before they are asked for

	admitted []guest
	purpose  Purpose // large enough for every config that plays there
}

// guest is a config of a version that plays in the cells of another.
type guest struct {
	side int
	job  *Job
}

// NewHost returns the host of a kernel's versions, the candidate first.
func (l *Lab) NewHost(sides []*Job) *Host { return &Host{lab: l, sides: sides} }

// Admit makes the cells large enough for another config of a version.
func (h *Host) Admit(side int, job *Job) {
	if job != h.sides[side] && job.Record.Sandbox == nil {
		h.admitted = append(h.admitted, guest{side, job})
	}
	open, _ := h.lab.requests(job, Purpose{})
	h.purpose.Memory, h.purpose.Threads = max(h.purpose.Memory, open.Memory), max(h.purpose.Threads, open.Threads)
}

// oneCell reports whether all sides can live in one cell: device code cannot reach
// the process that launches it, everything else can.
func (h *Host) oneCell() bool {
	return !slices.ContainsFunc(h.sides, func(side *Job) bool { return !side.Variant.Kernel.DeviceCode() })
}

// Open loads the sides in the given order.
func (h *Host) Open(ctx context.Context, order []int) ([]measure.Place, error) {
	seated := h.take(order)
	if seated == nil {
		var err error
		if seated, err = h.seat(ctx, order, h.sides); err != nil {
			return nil, err
		}
	}
	h.seats = seated.seats
	places := make([]measure.Place, len(h.sides))
	for side, lease := range h.seats {
		h.lab.describe(h.sides[side], lease)
		places[side] = measure.Place{Cell: lease.Cell, Index: lease.side}
	}
	return places, nil
}

// seating holds the cells of one visit, by side.
type seating struct {
	order []int
	seats []*Lease
}

// ended reports whether the worker has ended, and its cells with it.
func (s *seating) ended() bool { return slices.ContainsFunc(s.seats, (*Lease).ended) }

// seat opens cells and loads the sides. It writes what it learns of them to the records of jobs.
func (h *Host) seat(ctx context.Context, order []int, jobs []*Job) (*seating, error) {
	client, err := h.lab.Client(ctx)
	if err != nil {
		return nil, err
	}
	s := &seating{order, make([]*Lease, len(jobs))}
	if !h.oneCell() {
		return s, h.seatEach(ctx, s, jobs)
	}
	if client.Minor() < sidesMinor {
		return nil, result.Faultf(result.CauseUnsupported, "the worker speaks protocol %s; several versions in one cell need 1.%d", client.Hello().Protocol, sidesMinor).
			WithHint("install the same version of pawl on both sides")
	}
	purpose := h.purpose
	for index, side := range order {
		purpose.Side = index
		lease, err := h.lab.Lease(ctx, jobs[side], purpose)
		if err != nil {
			if purpose.Beside != nil {
				err = purpose.Beside.Close(ctx, jobs[side], err)
			}
			return nil, ofSide(side, err)
		}
		purpose.Beside = cmp.Or(purpose.Beside, lease)
		s.seats[side] = lease
	}
	return s, nil
}

// seatEach leases a cell for every side, in order.
func (h *Host) seatEach(ctx context.Context, s *seating, jobs []*Job) error {
	errs := make([]error, len(jobs))
	one := func(side int) { s.seats[side], errs[side] = h.lab.Lease(ctx, jobs[side], h.purpose) }
	var opening sync.WaitGroup
	for _, side := range s.order {
		if jobs[side].Cell() == spec.CellPython { // importing a framework takes seconds
			opening.Go(func() { one(side) })
			continue
		}
		one(side)
	}
	opening.Wait()
	for side, err := range errs {
		if err != nil {
			h.leave(ctx, s.seats, jobs, make([]error, len(jobs)))
			return ofSide(side, err)
		}
	}
	return nil
}

// ofSide blames a side for an error, unless the worker did not get as far as opening a cell.
func ofSide(side int, err error) error {
	if errors.As(err, new(*unreachedError)) {
		return err
	}
	return &measure.SideError{Side: side, Err: err}
}

// aheadMemory is the memory of a cell that has loaded a framework, or a GPU's driver.
const aheadMemory = 4 << 30

// Expect opens the cells of later visits, in parallel. It ignores errors: they happen again in
// Open, which returns them.
func (h *Host) Expect(ctx context.Context, orders [][]int) {
	client, err := h.lab.Client(ctx)
	if err != nil || !slices.ContainsFunc(h.sides, func(job *Job) bool { return job.Cell() != spec.CellHost }) {
		return
	}
	facts := client.Hello().Machine
	most := min(len(orders), facts.CPU.Cores/2/len(h.sides), int(facts.MemoryBytes/2/aheadMemory)/len(h.sides))
	if most < 2 {
		return
	}
	h.Release(ctx) // the cells that were expected before
	made := make([]*seating, most)
	atOnce(most, func(i int) {
		if s, err := h.seat(ctx, orders[i], h.apart()); err == nil {
			made[i] = s
		}
	})
	h.ahead = slices.DeleteFunc(made, func(s *seating) bool { return s == nil })
}

// apart returns the sides with records of their own, for cells that may never be used.
func (h *Host) apart() []*Job {
	jobs := make([]*Job, len(h.sides))
	for side, job := range h.sides {
		own := *job
		jobs[side] = &own
	}
	return jobs
}

// take finds cells that were opened ahead.
func (h *Host) take(order []int) *seating {
	h.ahead = slices.DeleteFunc(h.ahead, (*seating).ended)
	return takeOut(&h.ahead, func(s *seating) bool { return slices.Equal(s.order, order) })
}

// Release closes cells that were opened but not needed.
func (h *Host) Release(ctx context.Context) {
	for _, s := range slices.DeleteFunc(h.ahead, (*seating).ended) {
		h.leave(ctx, s.seats, h.apart(), make([]error, len(h.sides)))
	}
	h.ahead = nil
}

// Close ends the cells. It returns, by side, the errors that only closing revealed.
func (h *Host) Close(ctx context.Context, errs []error) []error {
	seats := h.seats
	h.seats = make([]*Lease, len(h.sides))
	out := h.leave(ctx, seats, h.sides, errs)
	for _, g := range h.admitted { // the sandbox of the cells held everything that played in them
		into, from := &g.job.Record, h.sides[g.side].Record
		if into.Trust, into.Flush = from.Trust, from.Flush; from.Sandbox != nil {
			into.held(*from.Sandbox)
		}
	}
	return out
}

// leave closes the cells of a visit.
func (h *Host) leave(ctx context.Context, seats []*Lease, jobs []*Job, errs []error) []error {
	once, before := make([]*Lease, len(jobs)), make([]error, len(jobs))
	first := map[*worker.Cell]int{}
	for side, seat := range seats {
		if seat == nil {
			continue
		}
		at, shared := first[seat.Cell]
		if !shared {
			at, first[seat.Cell], once[side] = side, side, seat
		}
		if errs[side] != nil { // a shared cell may be ended by any of the sides
			before[at] = errs[side]
		}
	}
	out := make([]error, len(jobs))
	for side, end := range endAll(ctx, once, before...) {
		if once[side] == nil {
			continue
		}
		if err := jobs[side].timed(end); before[side] == nil {
			out[side] = err
		}
	}
	return out
}

// Duel is a match and the function that judges it.
type Duel struct {
	Match  *measure.Match
	Settle func() result.Verdict // records what the match has found so far, and judges it

	verdict result.Verdict
}

// PlayOut plays duels that share their cells to the end. It plays a first set of cells; once more
// with a double budget if that was undecided; and a second, independent set for a verdict that
// would fail a change or move the baseline.
func PlayOut(ctx context.Context, host measure.Host, duels []*Duel, opts measure.DuetOptions, progress func(*measure.Match, measure.Progress)) {
	play := func(set int, opts measure.DuetOptions, wanted func(result.Verdict) bool) {
		var chosen []*Duel
		var matches []*measure.Match
		for _, d := range duels {
			if wanted(d.verdict) {
				chosen, matches = append(chosen, d), append(matches, d.Match)
			}
		}
		if len(matches) > 0 && ctx.Err() == nil {
			measure.Play(ctx, matches, host, set, opts, progress)
		}
		for _, d := range chosen {
			d.verdict = d.Settle()
		}
	}
	play(0, opts, func(result.Verdict) bool { return true })
	longer := opts
	longer.Budget *= 2
	play(0, longer, func(v result.Verdict) bool { return v == result.Inconclusive })
	play(1, opts, judge.Confirm)
}

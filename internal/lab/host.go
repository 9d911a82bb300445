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

// Host opens fresh cells for the versions of kernels, as package measure's duets ask for them. Device
// code lives in one cell, where the versions of one kernel take the place of another's; everything
// else has a cell for each version, and the host is of one kernel.
type Host struct {
	lab     *Lab
	teams   map[string]*team
	seats   []*Lease // by side of the team that is seated
	seated  *team
	order   []int      // that its sides were loaded in
	visited []*team    // since the cells were opened
	ahead   []*seating // opened before they are asked for
	purpose Purpose    // large enough for every config that plays there
}

// team is the versions of a kernel, the candidate first.
type team struct {
	sides  []*Job // any of their configs, since all load the same artifact
	guests []guest
}

// guest is another config of a version.
type guest struct {
	side int
	job  *Job
}

// NewHost returns a host without matches.
func (l *Lab) NewHost() *Host { return &Host{lab: l, teams: map[string]*team{}} }

// Admit returns a match of versions of a kernel, the candidate first. The cells are large enough for
// it.
func (h *Host) Admit(name string, jobs []*Job) *measure.Match {
	m := &measure.Match{Name: name}
	for _, job := range jobs {
		m.Team += job.loadID() + "\x00"
		m.Sides = append(m.Sides, measure.Side{Instance: job.Instance, Symbols: job.Artifact.Symbols})
	}
	t := h.teams[m.Team]
	if t == nil {
		t = &team{sides: jobs}
		h.teams[m.Team] = t
	}
	for side, job := range jobs {
		if job != t.sides[side] && job.Record.Sandbox == nil {
			t.guests = append(t.guests, guest{side, job})
		}
		open, _ := h.lab.requests(job, Purpose{})
		h.purpose.Memory, h.purpose.Threads = max(h.purpose.Memory, open.Memory), max(h.purpose.Threads, open.Threads)
	}
	return m
}

// oneCell reports whether all sides can live in one cell: device code cannot reach
// the process that launches it, everything else can.
func (t *team) oneCell() bool {
	return !slices.ContainsFunc(t.sides, func(side *Job) bool { return !side.Variant.Kernel.DeviceCode() })
}

// Open seats the team of a match: in the cells that are open, or else in fresh ones.
func (h *Host) Open(ctx context.Context, m *measure.Match, order []int) ([]measure.Place, error) {
	t := h.teams[m.Team]
	if h.seats == nil {
		if err := h.open(ctx, t, order); err != nil {
			return nil, err
		}
	}
	if h.seated != t || !slices.Equal(h.order, order) {
		if err := h.replace(ctx, t, order); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(h.visited, t) {
		h.visited = append(h.visited, t)
	}
	places := make([]measure.Place, len(t.sides))
	for side, lease := range h.seats {
		h.lab.describe(t.sides[side], lease)
		places[side] = measure.Place{Cell: lease.Cell, Index: lease.side}
	}
	return places, nil
}

// open takes cells that were opened ahead, or opens some.
func (h *Host) open(ctx context.Context, t *team, order []int) error {
	s := h.take(t, order)
	if s == nil {
		var err error
		if s, err = h.seat(ctx, order, t, t.sides); err != nil {
			return err
		}
	}
	h.seats, h.seated, h.order, h.visited = s.seats, s.team, s.order, nil
	return nil
}

// replace loads a team's sides into the cell that is open. If one cannot be loaded, the cell ends.
func (h *Host) replace(ctx context.Context, t *team, order []int) error {
	s, err := h.fill(ctx, order, t, t.sides, h.seats[h.order[0]])
	if err != nil {
		h.seats = nil
		return err
	}
	h.seats, h.seated, h.order = s.seats, t, order
	return nil
}

// seating holds the cells of one visit, by side.
type seating struct {
	team  *team
	order []int
	seats []*Lease
}

// ended reports whether the worker has ended, and its cells with it.
func (s *seating) ended() bool { return slices.ContainsFunc(s.seats, (*Lease).ended) }

// seat opens cells and loads the sides. It writes what it learns of them to the records of jobs.
func (h *Host) seat(ctx context.Context, order []int, t *team, jobs []*Job) (*seating, error) {
	client, err := h.lab.Client(ctx)
	if err != nil {
		return nil, err
	}
	if !t.oneCell() {
		s := &seating{t, order, make([]*Lease, len(jobs))}
		return s, h.seatEach(ctx, s, jobs)
	}
	if client.Minor() < sidesMinor {
		return nil, result.Faultf(result.CauseUnsupported, "the worker speaks protocol %s; several versions in one cell need 1.%d", client.Hello().Protocol, sidesMinor).
			WithHint("install the same version of pawl on both sides")
	}
	return h.fill(ctx, order, t, jobs, nil)
}

// fill loads the sides into one cell, which it opens where there is none yet.
func (h *Host) fill(ctx context.Context, order []int, t *team, jobs []*Job, into *Lease) (*seating, error) {
	s := &seating{t, order, make([]*Lease, len(jobs))}
	purpose := h.purpose
	purpose.Beside = into
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
			leave(ctx, s.seats, jobs, make([]error, len(jobs)))
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
func (h *Host) Expect(ctx context.Context, m *measure.Match, orders [][]int) {
	t := h.teams[m.Team]
	client, err := h.lab.Client(ctx)
	if err != nil || !slices.ContainsFunc(t.sides, func(job *Job) bool { return job.Cell() != spec.CellHost }) {
		return
	}
	facts := client.Hello().Machine
	most := min(len(orders), facts.CPU.Cores/2/len(t.sides), int(facts.MemoryBytes/2/aheadMemory)/len(t.sides))
	if most < 2 {
		return
	}
	h.Release(ctx) // the cells that were expected before
	made := make([]*seating, most)
	atOnce(most, func(i int) {
		if s, err := h.seat(ctx, orders[i], t, t.apart()); err == nil {
			made[i] = s
		}
	})
	h.ahead = slices.DeleteFunc(made, func(s *seating) bool { return s == nil })
}

// apart returns the sides with records of their own, for cells that may never be used.
func (t *team) apart() []*Job {
	jobs := make([]*Job, len(t.sides))
	for side, job := range t.sides {
		own := *job
		jobs[side] = &own
	}
	return jobs
}

// take finds cells that were opened ahead: those with the team seated in that order or, if it has
// one cell, any other.
func (h *Host) take(t *team, order []int) *seating {
	h.ahead = slices.DeleteFunc(h.ahead, (*seating).ended)
	same := takeOut(&h.ahead, func(s *seating) bool { return s.team == t && slices.Equal(s.order, order) })
	if same != nil || !t.oneCell() {
		return same
	}
	return takeOut(&h.ahead, func(s *seating) bool { return s.team != t })
}

// Release closes cells that were opened but not needed.
func (h *Host) Release(ctx context.Context) {
	for _, s := range slices.DeleteFunc(h.ahead, (*seating).ended) {
		leave(ctx, s.seats, s.team.apart(), make([]error, len(s.seats)))
	}
	h.ahead = nil
}

// Close ends the cells. It returns, by side, the errors that only closing revealed.
func (h *Host) Close(ctx context.Context, errs []error) []error {
	seats, last := h.seats, h.seated
	if h.seats = nil; seats == nil {
		return nil
	}
	out := leave(ctx, seats, last.sides, errs)
	for _, t := range h.visited {
		if t != last { // it had the same cell
			t.sides[0].Record.as(last.sides[0].Record)
		}
		for _, g := range t.guests { // the sandbox of the cells held everything that played in them
			into, from := &g.job.Record, t.sides[g.side].Record
			if into.Trust, into.Flush = from.Trust, from.Flush; from.Sandbox != nil {
				into.held(*from.Sandbox)
			}
		}
	}
	return out
}

// leave closes the cells of a visit.
func leave(ctx context.Context, seats []*Lease, jobs []*Job, errs []error) []error {
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

package measure

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Duets are played in short fresh cells: conditions that are fixed when a process starts (its
// memory layout, the state of the clock) are drawn anew in each, and the difference between cells
// is part of the interval.
const (
	cellsLeast   = 4
	blocksLeast  = 30 // ABBA blocks, over all cells
	visitGPU     = 25 * time.Millisecond
	visitHost    = 150 * time.Millisecond
	visitBlocks  = 200 // and never more than this in one cell
	longestBlock = 512 / 8
)

// A side's turn where every side has its own cell: more samples say more about one side, but with
// too many the turns of two sides are too far apart in time.
const (
	turnHost   = 20 * time.Millisecond
	turnFewest = 3
	turnMost   = 8
)

// DefaultFloor is the resolution of a duet on a machine that has not been calibrated.
const DefaultFloor = 0.0005

// DuetOptions say how exactly a duet is played.
type DuetOptions struct {
	Options
	Floor float64       // the smallest half-width of an interval, in log-ratio
	Visit time.Duration // the longest time a match plays in one cell, once it has its blocks; 0: long enough to be worth opening one
}

// Match is one config of a kernel whose versions play against each other, the candidate first. It
// collects the measurements, over as many sets of cells as are played.
type Match struct {
	Name  string
	Team  string // equal for matches whose sides load the same code
	Sides []Side // without their cells, which a Host gives them

	Cells   []MatchCell
	Stopped string        // width, budget, interrupted; of the last set
	Spent   time.Duration // in cells

	records []result.PlayCell // the same cells, for the report
	shared  bool              // the sides share a cell

	series []*series
	starts [][]int     // for each set: how many samples every side had before
	order  []int       // of turns, by side
	device deviceClock // of samples that sides took in turns
	repeat int         // launches per sample: chosen once, so that all cells measure the same
	news   int         // turns with wholly new data, each for all sides
	done   bool
	err    error

	spentBefore time.Duration // before the last set
}

// SideError is the fault of one side of a match. Errors of other types concern all of them.
type SideError struct {
	Side int
	Err  error
}

// Error returns the message of the side's error.
func (e *SideError) Error() string { return e.Err.Error() }

// Unwrap returns the side's error.
func (e *SideError) Unwrap() error { return e.Err }

// whole is the side of an error that concerns all sides.
const whole = -1

// SideOf returns the side that an error is about; -1: no particular one. A worker that ends or hangs
// says nothing of the side whose turn it was.
func SideOf(err error) int {
	if of, ok := errors.AsType[*SideError](err); ok && !lost(err) {
		return of.Side
	}
	return whole
}

func lost(err error) bool { return errors.As(err, new(*worker.Lost)) }

// Place is the cell in which a side is loaded.
type Place struct {
	Cell  *worker.Cell
	Index int // among the sides of that cell
}

// Host gives the sides of matches cells. Open loads those of a match in the given order and returns
// their places by side, or a *SideError where one cannot be loaded, whose cells have then ended. The
// cells are fresh after Close, which is given the error of each side that was loaded last; before,
// the next match gets the same.
type Host interface {
	Open(ctx context.Context, m *Match, order []int) ([]Place, error)
	Close(ctx context.Context, errs []error) []error
}

// A Host that takes long to open cells may open several at once. Expect tells it the orders in
// which a match's sides will be loaded, unless the match ends before, and that nothing is being
// measured now. Release tells it that no more of them are needed.
type expectant interface {
	Expect(ctx context.Context, m *Match, orders [][]int)
	Release(ctx context.Context)
}

// Cells that are opened at once: first those that every match needs, then a few.
const (
	expectFirst = cellsLeast
	expectMore  = 2
)

// expect tells a host that can open cells ahead which cells come next, before the first of them is
// opened.
func expect(ctx context.Context, host Host, m *Match, cell int) {
	ready, yes := host.(expectant)
	if !yes || cell != 0 && (cell < expectFirst || (cell-expectFirst)%expectMore != 0) {
		return
	}
	many := expectMore
	if cell == 0 {
		many = expectFirst
	}
	var orders [][]int
	for ahead := range many {
		orders = append(orders, loadingOrder(len(m.Sides), cell+ahead))
	}
	ready.Expect(ctx, m, orders)
}

// Err returns why a match ended early: a *SideError, or an error that concerns all sides.
func (m *Match) Err() error { return m.err }

// Timings returns the timing of each side.
func (m *Match) Timings() []*result.Timing {
	var out []*result.Timing
	for _, s := range m.series {
		s.noted.Stopped = m.Stopped // finish overrides this where it was interrupted
		out = append(out, s.finish(m.err))
	}
	return out
}

// Play plays one set of cells: at least four, then more until every match knows its ratios exactly
// enough or has used its budget. Sampling stops on the width of an interval alone, never on its
// position.
func Play(ctx context.Context, matches []*Match, host Host, set int, opts DuetOptions, progress func(*Match, Progress)) {
	if ready, yes := host.(expectant); yes {
		defer ready.Release(ctx)
	}
	for _, m := range matches {
		m.begin(opts)
	}
	for cell := 0; ; cell++ {
		waiting := slices.DeleteFunc(slices.Clone(matches), func(m *Match) bool { return m.done || m.err != nil })
		if len(waiting) == 0 {
			return
		}
		// A match may feel the heat of the one before: in every cell they come in another order.
		rand.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
		expect(ctx, host, waiting[0], cell)
		visit(ctx, waiting, host, set, cell, opts, progress)
		for _, m := range waiting {
			if m.err != nil {
				continue
			}
			played, blocks := m.played(set)
			switch {
			case played < cellsLeast || blocks < blocksLeast:
			case m.HalfWidth(set, opts.Floor) <= opts.HalfWidth:
				m.done, m.Stopped = true, "width"
			case m.Spent-m.spentBefore >= opts.Budget:
				m.done, m.Stopped = true, "budget"
			}
		}
	}
}

// begin prepares a match for a set.
func (m *Match) begin(opts DuetOptions) {
	m.done, m.spentBefore = false, m.Spent
	if m.series == nil {
		for _, side := range m.Sides {
			m.series = append(m.series, newSeries(side, opts.Options, func(Progress) {}))
		}
		m.order = turnsOf(len(m.Sides))
	}
	start := make([]int, len(m.series))
	for i, s := range m.series {
		start[i] = len(s.samples.Seconds)
		s.opts = opts.Options
		s.opts.Keep = opts.Keep && i == 0 // only the candidate's outputs are judged
		s.inMatch = true
	}
	m.starts = append(m.starts, start)
}

// turnsOf returns the order of turns: blocks that read the same backwards, so that drift favours no
// side, each started by another side. For two: ABBA BAAB.
func turnsOf(sides int) []int {
	var order []int
	for first := range sides {
		block := rotated(sides, first)
		order = append(order, block...)
		slices.Reverse(block)
		order = append(order, block...)
	}
	return order
}

// loadingOrder returns the order in which a cell loads its sides: each side is first equally often,
// and last.
func loadingOrder(sides, cell int) []int {
	loading := rotated(sides, cell)
	if cell/sides%2 == 1 {
		slices.Reverse(loading)
	}
	return loading
}

// visit opens fresh cells and lets every match play in them. A cell that one match ends is replaced
// for the others.
func visit(ctx context.Context, matches []*Match, host Host, set, cell int, opts DuetOptions, progress func(*Match, Progress)) {
	matches = slices.Clone(matches)
	var suspects []*Match
	defer func() {
		for _, m := range suspects {
			if m.err != nil && SideOf(m.err) == whole && !lost(m.err) && ctx.Err() == nil {
				m.blame(ctx, host, loadingOrder(len(m.Sides), cell))
			}
		}
	}()
	for len(matches) > 0 {
		var errs []error // of the sides of the last match
		var here []*Match
		for len(matches) > 0 && !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			m := matches[0]
			errs = make([]error, len(m.Sides))
			loading := loadingOrder(len(m.Sides), cell)
			places, err := host.Open(ctx, m, loading)
			if err != nil { // so do all that load the same
				for _, other := range matches {
					if other.Team == m.Team {
						other.err = err
					}
				}
				matches = slices.DeleteFunc(matches, func(other *Match) bool { return other.Team == m.Team })
				errs, here = nil, nil // its cells have ended
				break
			}
			matches, suspects = matches[1:], append(suspects, m)
			began := time.Now()
			m.err = m.visit(ctx, places, loading, set, len(here) > 0, opts, progress)
			m.Spent += time.Since(began)
			if m.err == nil {
				here = append(here, m)
				continue
			}
			for i := range errs {
				if faulty := SideOf(m.err); i == faulty || faulty == whole {
					errs[i] = m.err
				}
			}
		}
		if errs == nil {
			continue
		}
		// An error that only closing reveals concerns every match that played there.
		for side, err := range host.Close(ctx, errs) {
			for _, m := range here {
				if err != nil && m.err == nil {
					m.err = &SideError{side, err}
				}
			}
		}
	}
}

// blame finds out which side ended a shared cell, by letting each side launch alone. If none ends its
// cell then, the error says nothing of any side.
func (m *Match) blame(ctx context.Context, host Host, loading []int) {
	places, err := host.Open(ctx, m, loading)
	if err != nil {
		m.err = err
		return
	}
	errs := make([]error, len(places))
	if errors.As(m.err, new(*worker.Failed)) {
		m.err = result.Faultf(result.CauseInternal, "the cell that the versions share crashed, but no version crashes its cell when it runs alone: %v", m.err).
			WithHint("run the check again; compute-sanitizer finds errors that appear only sometimes")
	}
	for _, i := range loading {
		s := m.series[i]
		s.Cell, s.Index = places[i].Cell, places[i].Index
		err := s.begin(ctx)
		if err == nil {
			err = at("measure", s.batch(ctx, 3*cellsLeast))
		}
		if err != nil {
			m.err, errs[i] = &SideError{i, err}, err
			break
		}
	}
	host.Close(ctx, errs)
}

// visit plays one match in one cell, or in one of each side.
func (m *Match) visit(ctx context.Context, places []Place, loading []int, set int, warm bool, opts DuetOptions, progress func(*Match, Progress)) (err error) {
	var cores []int
	most := 1 // threads of any side
	for _, s := range m.series {
		most = max(most, s.threads())
	}
	for _, i := range loading {
		s := m.series[i]
		s.Cell, s.Index, s.cores, s.coresFor, s.warm, s.turns = places[i].Cell, places[i].Index, cores, most, warm, nil
		if err := s.begin(ctx); err != nil {
			return &SideError{i, err}
		}
		warm = true
		cores = s.pinned
	}
	unhideAll(m.series)
	if m.repeat == 0 {
		m.repeat = 1 << 20
		for _, s := range m.series {
			m.repeat = min(m.repeat, s.perSample)
		}
	}
	for _, s := range m.series {
		s.perSample = m.repeat
	}
	m.shared = places[0].Cell == places[len(places)-1].Cell && len(places) > 1
	record, kept := newMatchCell(set, loading[0], len(m.Sides)), m.newRecord(set)
	_, before := m.played(set)
	width := m.HalfWidth(set, opts.Floor) // of the earlier cells: this one counts when it is complete
	span := visitHost
	if m.series[0].onGPU() {
		span = visitGPU
	}
	if opts.Visit > 0 {
		span = min(span, opts.Visit)
	}
	start := time.Now()
	for record.Blocks*cellsLeast < blocksLeast || record.Blocks < visitBlocks && time.Since(start) < span {
		var took [][]turn
		if m.shared {
			took, err = m.sharedTurns(ctx)
		} else {
			took, err = m.separateTurns(ctx)
		}
		if err != nil {
			return err
		}
		for _, turns := range took {
			record.add(turns, m.shared)
			keepRound(&kept, turns, m.shared)
		}
		progress(m, Progress{Samples: before + record.Blocks, Median: stat.Median(m.series[0].samples.Kept()), HalfWidth: width})
	}
	record.finish()
	for _, s := range m.series {
		s.closeCell()
	}
	if err := ctx.Err(); err != nil { // also where no request was running to notice it
		return err
	}
	if len(m.Cells) == 0 {
		for i, s := range m.series {
			if err := s.checkClock(ctx); err != nil {
				return &SideError{i, at("measure", err)}
			}
		}
		if err := compareClocks(ctx, m.series); err != nil {
			return err
		}
	}
	m.Cells, m.records = append(m.Cells, *record), append(m.records, kept)
	return nil
}

// sharedTurns asks a cell that holds all sides for several orders of turns at once.
func (m *Match) sharedTurns(ctx context.Context) ([][]turn, error) {
	first := m.series[0]
	order := make([]int, len(m.order))
	each := 0.0
	for i, side := range m.order {
		order[i] = m.series[side].Index
		each += m.series[side].perItem
	}
	count := max(1, min(longestBlock/len(m.Sides), int(turnSpan.Seconds()/max(each, 1e-6))))
	for _, s := range m.series {
		s.data = first.data + 1
	}
	limit := first.opts.Timeout.Seconds() + 4*each*float64(count)
	request := wire.Sample{
		Order: order, Batch: first.data, Count: count * len(order), Repeat: m.repeat, Cache: first.opts.Cache, MaxS: 0.25, DeadlineS: limit,
	}
	if first.due() {
		request.Keep = 1 + rand.IntN(count)*len(order) + slices.Index(m.order, 0)
	}
	got, err := first.Cell.Sample(ctx, request)
	if err != nil {
		return nil, at("measure", err)
	}
	first.keep(request, got)
	var out [][]turn
	for i := 0; i+len(order) <= len(got.Seconds); i += len(order) {
		var turns []turn
		for k, side := range m.order {
			s := m.series[side]
			s.add(got.Seconds[i+k:i+k+1], got.GHz[i+k:i+k+1])
			turns = append(turns, turn{side: side, Samples: s.since(len(s.samples.Seconds) - 1)})
		}
		out = append(out, turns)
	}
	for _, s := range m.series {
		s.took(got)
		s.perItem = got.WorkerS / float64(got.Count)
	}
	return out, at("measure", m.device.hold(got, m.repeat, false))
}

// separateTurns lets sides in their own cells take turns, one active at a time.
func (m *Match) separateTurns(ctx context.Context) ([][]turn, error) {
	count := 1 << 20
	for _, s := range m.series {
		count = min(count, s.fitting(turnHost, turnFewest), s.turnLongest())
	}
	var turns []turn
	for around := range slices.Chunk(m.order, len(m.series)) {
		apart := align(m.series)
		x, many := m.series[0].drawExtras(count), count // neighbouring turns have the same extras
		held := !apart && m.holds(count, x.fresh > 0)   // otherwise all data is generated within the turn
		if x.fresh > 0 {
			many = min(count, max(anewWithin, x.fresh+rand.IntN(2)))
			m.news++
			x.batch, x.pair = m.series[0].data+1, m.news
			for _, s := range m.series {
				s.data = x.batch
			}
		}
		for _, side := range around {
			t, err := m.series[side].turnInMatch(ctx, many, x, held)
			if err != nil {
				return nil, &SideError{side, at("measure", err)}
			}
			t.side = side
			turns = append(turns, t)
		}
	}
	return [][]turn{turns}, nil
}

// turnInMatch takes one side's turn.
func (s *series) turnInMatch(ctx context.Context, count int, x extras, held bool) (turn, error) {
	if x.fresh > 0 {
		if err := s.stage(ctx, x); err != nil {
			return turn{}, err
		}
	}
	before, data := len(s.samples.Seconds), s.stepping
	got, err := s.request(ctx, count, x, !held && s.due()) // keeping outputs takes the candidate time
	if err == nil && held {
		err = s.hold(ctx, got)
	}
	if err != nil {
		return turn{}, err
	}
	s.turns = append(s.turns, span{before, len(s.samples.Seconds), got.Fresh > 0})
	t := turn{Samples: s.since(before), data: make([]int, got.Count)}
	for i := range t.data {
		if t.data[i] = data; got.Fresh > 0 && i+1 >= got.Fresh {
			t.data[i] = x.batch
		}
	}
	return t, nil
}

// played returns the number of cells and of blocks in a set.
func (m *Match) played(set int) (cells, blocks int) {
	for _, c := range m.Cells {
		if c.Set == set {
			cells++
			blocks += c.Blocks
		}
	}
	return cells, blocks
}

// logs returns the log-ratios of a side, cell by cell; of one set, or of all: -1.
func (m *Match) logs(side, set int) [][]float64 {
	var out [][]float64
	for _, c := range m.Cells {
		if set < 0 || c.Set == set {
			out = append(out, c.Logs[side])
		}
	}
	return out
}

// HalfWidth returns the half-width of the widest interval among the sides, in one set.
func (m *Match) HalfWidth(set int, floor float64) float64 {
	widest := 0.0
	for side := 1; side < len(m.Sides); side++ {
		e := stat.CellEstimate(m.logs(side, set), floor)
		if half := (e.High - e.Low) / 2; !(half <= widest) { // NaN counts as wide
			widest = half
		}
	}
	if math.IsNaN(widest) || math.IsInf(widest, 0) {
		return 1
	}
	return widest
}

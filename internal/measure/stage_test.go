package measure

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/internal/formula"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// newWorker starts a worker that shares its device with no other test.
func newWorker(t *testing.T, env ...string) *worker.Client {
	t.Helper()
	command, err := puppet.Worker(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command = slices.Concat([]string{"env"}, env, command)
	client, err := worker.Start(t.Context(), worker.Options{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// unstolen is for tests that must find something: time that a hypervisor really takes from this
// machine would excuse it.
const unstolen = puppet.Stolen + "=0"

// loaded returns a puppet's cell.
func loaded(t *testing.T, client *worker.Client, script puppet.Script) *worker.Cell {
	t.Helper()
	sha, err := client.Upload(t.Context(), []byte(script.String()))
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "off"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(t.Context(), wire.Load{SHA256: sha}); err != nil {
		t.Fatal(err)
	}
	return c
}

// stage is a Host of puppets: script says what a side does in the nth cells.
type stage struct {
	t      *testing.T
	client *worker.Client
	shared bool // all sides in one cell, as device code has it
	script func(cell, side int) puppet.Script
	last   int    // the worker ends when these cells have been opened; 0: it does not
	refuse string // team whose first side cannot be loaded

	places []Place   // of the cells that are open
	team   string    // whose sides they have loaded
	loads  []string  // teams, as they were loaded
	orders [][]int   // that sides were loaded in, cells by cells
	errs   [][]error // that their ends were told of
	cells  []*worker.Cell
	calls  []call              // requests for samples, as the cells that were closed tell
	dry    []string            // caches of those without launches
	staged []string            // batches that were generated beforehand
	data   map[[2]int][]string // by cells and side: batch, step, and which sample turned to which batch
}

// call is one request for samples.
type call struct {
	at   int64 // nanoseconds
	cell int
	said string // the sides in the order of their turns, by their index in the cell
	side int    // whose cell it was; -1: everybody's
}

func newStage(t *testing.T, script func(cell, side int) puppet.Script, env ...string) *stage {
	t.Helper()
	return &stage{t: t, client: newWorker(t, env...), script: script, data: map[[2]int][]string{}}
}

func (s *stage) Open(ctx context.Context, m *Match, order []int) ([]Place, error) {
	if s.refuse != "" && m.Team == s.refuse {
		if s.places != nil {
			s.Close(ctx, make([]error, len(order)))
		}
		return nil, &SideError{0, errors.New("refused")}
	}
	if s.team != m.Team || s.places == nil {
		s.team, s.loads = m.Team, append(s.loads, m.Team)
	}
	if s.places != nil {
		return s.places, nil
	}
	number := len(s.orders)
	s.orders = append(s.orders, order)
	s.cells = make([]*worker.Cell, len(order))
	places := make([]Place, len(order))
	for index, side := range order {
		sha, err := s.client.Upload(ctx, []byte(s.script(number, side).String()))
		if err != nil {
			return nil, err
		}
		if index == 0 || !s.shared {
			if s.cells[side], err = s.client.Open(ctx, wire.Open{Cell: "host", Sandbox: "off"}); err != nil {
				return nil, &SideError{side, err}
			}
		} else {
			s.cells[side] = s.cells[order[0]]
		}
		at := 0
		if s.shared {
			at = index
		}
		if _, err := s.cells[side].Load(ctx, wire.Load{SHA256: sha, Side: at}); err != nil {
			return nil, &SideError{side, err}
		}
		places[side] = Place{Cell: s.cells[side], Index: at}
	}
	if s.last > 0 && number == s.last {
		s.client.Close()
	}
	s.places = places
	return places, nil
}

func (s *stage) Close(ctx context.Context, errs []error) []error {
	s.places = nil
	out := make([]error, len(s.cells))
	s.errs = append(s.errs, slices.Clone(errs))
	for side, cell := range s.cells {
		if s.shared && side != s.orders[len(s.orders)-1][0] || errs[side] != nil {
			continue
		}
		closed, err := cell.Close(ctx)
		if err != nil {
			out[side] = err
			continue
		}
		if s.shared {
			side = -1
		}
		for line := range strings.Lines(closed.Log) {
			at, said, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch at {
			case "dry":
				s.dry = append(s.dry, said)
			case "staged":
				s.staged = append(s.staged, said)
			case "data":
				key := [2]int{len(s.orders) - 1, side}
				s.data[key] = append(s.data[key], said)
			}
			if n, err := strconv.ParseInt(at, 10, 64); err == nil && strings.HasSuffix(said, "]") {
				s.calls = append(s.calls, call{at: n, cell: len(s.orders) - 1, said: strings.Trim(said, "[]"), side: side})
			}
		}
	}
	return out
}

// sized returns an instance whose scalar argument is n: the nanoseconds that a puppet takes if its
// script gives no time.
func sized(cell string, n int64) *spec.Instance {
	in := instance(spec.RoleIn)
	in.Variant.Kernel.Cell = cell
	in.Args = in.Args[:2]
	in.Args[1].Scalar = formula.Int(n)
	in.Launches = in.Launches[:1]
	return in
}

// newMatch returns a match of versions that take this many nanoseconds.
func newMatch(cell, name string, nanos ...int64) *Match {
	m := &Match{Name: name}
	for _, n := range nanos {
		m.Sides = append(m.Sides, Side{Instance: sized(cell, n), Symbols: []string{"entry"}})
	}
	return m
}

// brief returns options that are short enough for a test.
func brief() DuetOptions {
	opts := DuetOptions{Options: Default(), Floor: DefaultFloor, Visit: time.Millisecond}
	opts.Budget = 50 * time.Millisecond
	opts.Timeout = 10 * time.Second
	return opts
}

func quiet(*Match, Progress) {}

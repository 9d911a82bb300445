package measure

import (
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

// At whatever request its cell ends, a side has failed for that reason: in the warm-up, among its
// samples, or when its clock is checked, once or again.
func TestCellsThatEnd(t *testing.T) {
	t.Parallel()
	client := newWorker(t, unstolen)
	for name, test := range map[string]struct {
		script   puppet.Script
		cell     string
		launcher bool
	}{
		"a processor's":              {puppet.Script{Micros: 1000}, spec.CellHost, false},
		"a launcher's":               {puppet.Script{Micros: 1000, Host: 100}, spec.CellCUDA, true},
		"one whose clock is doubted": {puppet.Script{Micros: 1000, Spin: 60}, spec.CellHost, false},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "a processor's" {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			opts := quickly()
			opts.MinSamples, opts.MaxSamples, opts.Keep = 20, 20, true
			ended := 0
			for after := 0; ; after += 15 {
				script := test.script
				script.Crash, script.After = "sample", after
				c := loaded(t, client, script)
				in := sized(test.cell, 8)
				in.Variant.Kernel.Launcher = test.launcher
				in.Args[0].Role, in.Args[0].Init = spec.RoleOut, spec.Init{}
				_, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: in, Symbols: []string{"entry"}}}, opts, func(Progress) {})
				_, gone := c.Close(t.Context())
				if gone == nil {
					break
				}
				if causeOf(errs[0]) != result.CauseExit {
					t.Errorf("after %d samples the cell is gone; the side says: %v", after, errs[0])
				}
				ended++
			}
			if ended < 4 {
				t.Errorf("it ended only %d times", ended)
			}
		})
	}
}

func TestRunsThatEnd(t *testing.T) {
	t.Parallel()
	client := newWorker(t, unstolen)
	for _, sustain := range []bool{false, true} {
		opts := quickly()
		opts.Sustain = sustain
		c := loaded(t, client, puppet.Script{Micros: 100, Crash: "run"})
		_, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: sized(spec.CellHost, 8)}}, opts, func(Progress) {})
		if causeOf(errs[0]) != result.CauseExit {
			t.Errorf("sustained %t: %v", sustain, errs[0])
		}
	}
}

// One more set of cells shows which side ended the shared ones.
func TestBlameIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	for guilty := range 3 {
		host := newStage(t, func(_, side int) puppet.Script {
			if side == guilty {
				return puppet.Script{Crash: "sample", After: 14}
			}
			return puppet.Script{}
		})
		host.shared = true
		m := newMatch(spec.CellCUDA, "m", 3_000_000, 3_000_000, 3_000_000)
		opts := brief()
		opts.Budget = time.Second // so that a warm-up always has 11 samples
		Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
		if err := m.Err(); SideOf(err) != guilty || causeOf(err) != result.CauseExit || len(host.orders) != 2 {
			t.Errorf("side %d of guilty %d after %d sets of cells: %v", SideOf(err), guilty, len(host.orders), err)
		}
	}
}

// A worker that ends says nothing of the side whose turn it was. No side is tried alone.
func TestWorkerThatEnds(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		for _, last := range []int{1, 3} { // one loads side 1 first, the other side 0
			s := newStage(t, func(int, int) puppet.Script { return puppet.Script{Micros: 100} })
			s.shared, s.last = shared, last
			m := newMatch(spec.CellHost, "m", 100_000, 100_000)
			Play(t.Context(), []*Match{m}, s, 0, brief(), quiet)
			if SideOf(m.Err()) != whole || causeOf(m.Err()) != result.CauseKilled || len(s.orders) != last+1 {
				t.Errorf("shared %t: side %d after %d visits: %v", shared, SideOf(m.Err()), len(s.orders), m.Err())
			}
		}
	}
}

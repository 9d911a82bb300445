package measure

import (
	"math"
	"testing"

	"pawl/internal/clocks"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// A version that is honest in every request except the turns of a match is found there: its turns
// take longer than they claim, compared with the same requests without launches.
func TestClocksAreHeldInTurns(t *testing.T) {
	for name, test := range map[string]struct {
		scripts []puppet.Script
		found   []bool // against each of the others
	}{
		"honest":            {[]puppet.Script{{Micros: 100}, {Micros: 300}}, []bool{false}},
		"hides":             {[]puppet.Script{{Micros: 100, Hide: 300}, {Micros: 300}}, []bool{true}},
		"the others hide":   {[]puppet.Script{{Micros: 300}, {Micros: 100, Hide: 300}, {Micros: 300}}, []bool{false, false}},
		"one of three does": {[]puppet.Script{{Micros: 100, Hide: 300}, {Micros: 300}, {Micros: 310}}, []bool{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "hides" {
				t.Skip("long: run by make long")
			}
			t.Parallel()
			stage := newStage(t, func(_, side int) puppet.Script { return test.scripts[side] }, unstolen)
			m := newMatch(spec.CellHost, "a", make([]int64, len(test.scripts))...)
			opts := brief()
			opts.Floor = 1 // for as long as it may
			Play(t.Context(), []*Match{m}, stage, 0, opts, quiet)
			Play(t.Context(), []*Match{m}, stage, 1, opts, quiet)
			if err := m.Err(); err != nil {
				t.Fatal(err)
			}
			timings := m.Timings()
			mine := timings[0].InTurns
			for i, want := range test.found {
				theirs := timings[i+1].InTurns
				if mine == nil || theirs == nil || len(mine.Beyond) != len(theirs.Beyond) || len(mine.Beyond) < 60 {
					t.Fatalf("%+v, %+v", mine, theirs)
				}
				if hidden, _ := clocks.HidesInTurns(mine, theirs); (hidden > 0) != want {
					t.Errorf("against %d: hides %g", i+1, hidden)
				}
				if helped, _ := clocks.HasHelpInTurns(mine, theirs); (helped > 0) != want {
					t.Errorf("against %d: %g of help", i+1, helped)
				}
			}
		})
	}
}

// A helper that works on new data as soon as the data is there shows beside the turn, though it is
// idle afterwards.
func TestHelpBesideNewData(t *testing.T) {
	t.Parallel()
	s := newSeries(Side{Cell: loaded(t, newWorker(t, unstolen), puppet.Script{Micros: 10}), Instance: sized(spec.CellHost, 8)}, quickly(), func(Progress) {})
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.stage(t.Context(), extras{fresh: 1, batch: 9}); err != nil {
		t.Fatal(err)
	}
	s.staged.WorkerS, s.staged.BusyS = 1000, 3000 // three threads work, of which one may
	for fresh, want := range []float64{0, 2} {
		turn := &wire.SampleReply{Samples: wire.Samples{Count: 1, Seconds: []float64{10e-6}, Fresh: fresh}}
		if err := s.hold(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		if got := s.inTurns.Beside[fresh]; math.Abs(max(0, got)-want) >= 1 || s.inTurns.Fresh[fresh] != (fresh > 0) {
			t.Errorf("new data %t: %g threads beside", fresh > 0, got)
		}
	}
}

// Slow versions have fewer turns, and more of them are compared; those on a GPU are not.
func TestWhichTurnsAreHeld(t *testing.T) {
	const draws = 20_000
	for _, test := range []struct {
		cell    string
		perItem float64
		fresh   bool
		part    float64
	}{
		{spec.CellHost, 100e-6, false, 1. / 3},
		{spec.CellHost, 10e-3, false, 2. / 3},
		{spec.CellHost, 0.4, false, 2. / 3},
		{spec.CellHost, 100e-6, true, 3. / 4},
		{spec.CellCUDA, 1e-3, false, 0},
		{spec.CellCUDA, 1e-3, true, 0},
	} {
		m := newMatch(test.cell, "a", 8, 8)
		m.begin(brief())
		for _, s := range m.series {
			s.Cell, s.perItem = &worker.Cell{}, test.perItem
		}
		held := 0
		for range draws {
			if m.holds(8, test.fresh) {
				held++
			}
		}
		if got := float64(held) / draws; math.Abs(got-test.part) > 0.02 {
			t.Errorf("%+v: %.3f of all turns", test, got)
		}
	}
}

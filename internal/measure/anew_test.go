package measure

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// New data comes with any of the first samples of a request, each equally often; in requests of few
// samples more often, and never at a sample that is not taken.
func TestWhichSampleIsOnNewData(t *testing.T) {
	const draws = 20_000
	for _, test := range []struct {
		count   int
		perItem float64
		want    int // samples that may be on new data
		part    float64
	}{
		{8, 1e-3, anewWithin, 1. / 3},
		{3, 20e-3, 3, 1. / 2},
		{3, 0.13, 2, 1. / 2},
		{3, 0.3, 1, 1. / 2},
		{1, 0, 1, 1. / 2},
	} {
		s := newSeries(Side{Instance: sized(spec.CellHost, 8), Cell: &worker.Cell{}}, Options{Cache: "cold"}, nil)
		s.inMatch, s.perItem = true, test.perItem
		at := make([]int, 20)
		for range draws {
			var m wire.Sample
			m.Count = test.count
			s.data++
			s.ask(&m, s.drawExtras(test.count))
			at[m.Fresh]++
			if m.Probe > test.count || (m.Fresh > 0) != (m.FreshBatch == s.data) {
				t.Fatalf("%+v: %+v", test, m)
			}
		}
		for i, n := range at[1:] {
			each := 0.0
			if i < test.want {
				each = test.part / float64(test.want)
			}
			if got := float64(n) / draws; math.Abs(got-each) > 0.02 {
				t.Errorf("%+v: sample %d in %.3f of all requests, want %.3f", test, i+1, got, each)
			}
		}
	}
}

// A slow version gets new data with a sample that it takes, though the draw was for another.
func TestNewDataIsReached(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8), Cell: &worker.Cell{}}, Options{Cache: "cold"}, nil)
	s.inMatch, s.perItem = true, 0.3
	m := wire.Sample{Count: 8}
	if s.ask(&m, extras{fresh: 7, probe: 3}); m.Fresh != 1 || m.Probe != 1 {
		t.Errorf("%+v", m)
	}
}

// The usual time is that of samples at the same place of turns without new data: a kernel that is
// slow in the rest of a turn, once it has seen new data, does not change it. Places where samples
// always take longer are not compared.
func TestWhatIsUsual(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	samples := &s.samples
	samples.Fresh = []result.Fresh{{At: 0}} // while it warms up
	samples.Seconds = []float64{9, 9}
	want := []float64{0}
	for _, turn := range [][]float64{
		{3, 1, 5, 5, 5}, {3, 1, 1.1, 1, 1}, {5, 5, 5, 5, 5}, {3, 1, 1.1, 1, 1}, {3, 1, 1.1, 5, 5}, {3, 1, 1.2, 1}, {3, 5, 5, 5, 5}, {3, 1, 1, 1}, {3, 1, 1, 1, 5}, {3, 1, 1.1, 1, 1}, {3, 1, 1.1, 1}, {5, 5, 5, 5, 5}, {3, 1, 1, 1, 1, 5},
	} {
		from, fresh := len(samples.Seconds), false
		for i, v := range turn {
			if v == 5 && !fresh {
				fresh = true
				samples.Fresh = append(samples.Fresh, result.Fresh{At: from + i})
				want = append(want, []float64{0, 1, 1.1, 1, 1, 0}[i])
			}
		}
		samples.Seconds = append(samples.Seconds, turn...)
		s.turns = append(s.turns, span{from, len(samples.Seconds), fresh})
	}
	s.closeCell()
	for i, f := range samples.Fresh {
		if math.Abs(f.UsualS-want[i]) > 1e-9 {
			t.Errorf("sample %d: %g is usual, want %g", f.At, f.UsualS, want[i])
		}
	}
	if len(s.turns) > 0 {
		t.Error("turns are left for the next cell")
	}
}

// Sides that are out of step go on with other data, the same for all.
func TestSidesAreAligned(t *testing.T) {
	for _, cell := range []string{spec.CellHost, spec.CellPython, spec.CellCUDA} {
		var all []*series
		for range 3 {
			all = append(all, newSeries(Side{Instance: sized(cell, 8), Cell: &worker.Cell{}}, Options{}, nil))
		}
		all[1].data, all[1].stepping, all[1].steps = 5, 4, 2
		all[2].data, all[2].steps = 3, 9
		for round := range 2 {
			if apart := align(all); apart != (round == 0 && cell != spec.CellCUDA) {
				t.Errorf("%s, round %d: apart: %t", cell, round, apart)
			}
			if next := all[0].data + 1; next <= all[0].stepping {
				t.Errorf("%s, round %d: batch %d would be new, but %d has been used", cell, round, next, all[0].stepping)
			}
			var asked []wire.Sample
			for _, s := range all {
				var m wire.Sample
				s.freshen(&m)
				s.keep(m, &wire.SampleReply{Samples: wire.Samples{Count: 3}})
				asked = append(asked, m)
			}
			if !reflect.DeepEqual(asked[0], asked[1]) || !reflect.DeepEqual(asked[0], asked[2]) || asked[0].Batch < 6 {
				t.Errorf("%s, round %d: %+v", cell, round, asked)
			}
		}
	}
}

// A turn's samples are on the old data up to the one that turns to new data.
func TestDataOfATurn(t *testing.T) {
	t.Parallel()
	s := newSeries(Side{Cell: loaded(t, newWorker(t), puppet.Script{Micros: 10}), Instance: sized(spec.CellHost, 8)}, quickly(), func(Progress) {})
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	const count = 4
	old := 0
	for _, fresh := range []int{0, 1, 2, 4} {
		batch := 100 + fresh
		took, err := s.turnInMatch(t.Context(), count, extras{fresh: fresh, batch: batch}, false)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Repeat([]int{old}, count)
		for i := range want {
			if fresh > 0 && i >= fresh-1 {
				want[i], old = batch, batch
			}
		}
		if !slices.Equal(took.data, want) {
			t.Errorf("new data with sample %d: %v, want %v", fresh, took.data, want)
		}
	}
}

// A turn with new data has a few samples, and more than it takes to reach the new data.
func TestLengthOfTurns(t *testing.T) {
	t.Parallel()
	client := newWorker(t)
	m := newMatch(spec.CellHost, "m", 10_000, 10_000)
	m.begin(brief())
	for _, s := range m.series {
		s.Cell = loaded(t, client, puppet.Script{})
		if err := s.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[int]int{}
	for range 1000 { // a turn in 24 is the longer one of those with new data
		for _, s := range m.series {
			s.perItem = 10e-6 // also on a busy machine
			s.turns = nil
		}
		if _, err := m.separateTurns(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range m.series {
			for _, turn := range s.turns {
				length := turn.to - turn.from
				if fresh := length == anewWithin || length == anewWithin+1; fresh != turn.fresh || !fresh && length != turnMost {
					t.Errorf("a turn of %d samples; new data: %t", length, turn.fresh)
				}
				seen[length]++
			}
		}
		if len(seen) == 3 {
			return
		}
	}
	t.Errorf("turns by length: %v", seen)
}

// The turns of all sides have the same data, though one of them warms up for longer, and wholly new
// data is generated in separate requests.
func TestTurnsHaveTheSameData(t *testing.T) {
	t.Parallel()
	stage := newStage(t, func(_, side int) puppet.Script { return puppet.Script{Slow: 30 * side} })
	m := newMatch(spec.CellHost, "m", 200_000, 200_000)
	opts := brief()
	opts.Budget = time.Minute
	Play(t.Context(), []*Match{m}, stage, 0, opts, quiet)
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	fresh := 0
	for cell := 1; cell < len(stage.orders); cell++ { // in the first, clocks are compared afterwards
		mine, theirs := stage.data[[2]int{cell, 0}], stage.data[[2]int{cell, 1}]
		turns := 2 * m.Cells[cell].Blocks // of each side
		if len(mine) <= turns || len(theirs) <= turns {
			t.Fatalf("cell %d: %d blocks, %d and %d requests", cell, m.Cells[cell].Blocks, len(mine), len(theirs))
		}
		mine, theirs = mine[len(mine)-turns:], theirs[len(theirs)-turns:]
		if !slices.Equal(mine, theirs) {
			t.Errorf("cell %d: %v\n%v", cell, mine, theirs)
		}
		for _, said := range mine {
			var batch, step, at, to int
			if _, err := fmt.Sscan(said, &batch, &step, &at, &to); err != nil {
				t.Fatal(said, err)
			}
			if at > 0 {
				fresh++
				if !slices.Contains(stage.staged, fmt.Sprint(to)) {
					t.Errorf("cell %d: batch %d was not there before its turn", cell, to)
				}
			}
		}
	}
	if fresh == 0 {
		t.Error("no turn had new data")
	}
}

package measure

import (
	"math"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// New data comes with any sample of a request, the first included, each as often as the
// others; in requests of few samples more often, and never where no sample is taken.
func TestWhichSampleIsOnNewData(t *testing.T) {
	const draws = 20_000
	for _, test := range []struct {
		count   int
		perItem float64
		want    int // samples that a request has
		part    float64
	}{
		{8, 1e-3, 8, 1. / 3},
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
			if m.Probe > test.want || (m.Fresh > 0) != (m.FreshBatch == s.data) {
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

// A slow version has new data with a sample that it takes, though the draw was for another.
func TestNewDataIsReached(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8), Cell: &worker.Cell{}}, Options{Cache: "cold"}, nil)
	s.inMatch, s.perItem = true, 0.3
	m := wire.Sample{Count: 8}
	if s.ask(&m, extras{fresh: 7, probe: 3}); m.Fresh != 1 || m.Probe != 1 {
		t.Errorf("%+v", m)
	}
}

// What is usual is what samples take at the same place of turns without new data: a kernel
// that is slow in the rest of a turn, once it has seen some, does not change that. Where
// samples always take longer nothing is compared.
func TestWhatIsUsual(t *testing.T) {
	s := newSeries(Side{Instance: sized(spec.CellHost, 8)}, Options{}, nil)
	samples := &s.timing.Samples
	samples.Fresh = []result.Fresh{{At: 0}} // while it warms up
	samples.Seconds = []float64{9, 9}
	want := []float64{0}
	for _, turn := range [][]float64{
		{3, 1, 5, 5, 5}, {3, 1, 1.1, 1, 1}, {5, 5, 5, 5, 5}, {3, 1, 1.1, 1, 1}, {3, 1, 1.1, 5, 5}, {3, 1, 1.2, 1}, {3, 5, 5, 5, 5}, {3, 1, 1, 1}, {3, 1, 1, 1, 5},
	} {
		from, fresh := len(samples.Seconds), false
		for i, v := range turn {
			if v == 5 && !fresh {
				fresh = true
				samples.Fresh = append(samples.Fresh, result.Fresh{At: from + i})
				want = append(want, []float64{0, 1, 1.1, 1, 0}[i])
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

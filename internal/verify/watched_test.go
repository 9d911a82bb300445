package verify

import (
	"math"
	"math/rand/v2"
	"testing"

	"pawl/internal/worker/wire"
)

// inspection plays the requests of an inspection. Samples vary as on a busy machine; the first of a
// request, and those from new data on, take longer.
func inspection(r *rand.Rand, looks int, knows func(place int, m wire.Sample) bool) *watched {
	w := &watched{}
	for range looks {
		m := wire.Sample{Count: 1 + r.IntN(askedMost)}
		if r.IntN(askedAnew) == 0 {
			m.Fresh = 1 + r.IntN(m.Count)
		}
		if m.Keep = 1 + r.IntN(m.Count); m.Fresh > 0 && r.IntN(anewKept) > 0 {
			m.Keep = m.Fresh
		}
		seconds := make([]float64, m.Count)
		for i := range seconds {
			place := i + 1
			seconds[i] = 100e-6 * math.Exp(r.NormFloat64()/3)
			if place == 1 || m.Fresh > 0 && place >= m.Fresh {
				seconds[i] *= 2
			}
			if !knows(place, m) {
				seconds[i] /= 4
			}
		}
		w.add(m, seconds)
	}
	return w
}

func TestWatched(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const runs = 2000
	for name, test := range map[string]struct {
		works func(place int, m wire.Sample) bool
		least int
		most  int
	}{
		"always":                     {func(int, wire.Sample) bool { return true }, 0, 0},
		"the first only":             {func(place int, _ wire.Sample) bool { return place == 1 }, 0, 0},
		"one in four":                {func(place int, _ wire.Sample) bool { return place%4 == 0 }, 0, 0},
		"the verified and the first": {func(place int, m wire.Sample) bool { return place == 1 || place == m.Keep }, runs * 97 / 100, runs},
	} {
		accused := 0
		for range runs {
			if found := inspection(r, 29, test.works).findings(); len(found) > 0 {
				accused++
			}
		}
		if accused < test.least || accused > test.most {
			t.Errorf("works at %s: %d of %d accused", name, accused, runs)
		}
	}
}

// What says nothing is not compared.
func TestWatchedLeavesOut(t *testing.T) {
	for name, m := range map[string]wire.Sample{
		"nothing verified": {Count: 3}, "the first": {Count: 3, Keep: 1}, "new data": {Count: 3, Keep: 2, Fresh: 2},
		"no other": {Count: 2, Keep: 2}, "none but new data": {Count: 3, Keep: 2, Fresh: 3}, "not reached": {Count: 4, Keep: 4},
	} {
		w := &watched{}
		if w.add(m, []float64{1, 2, 3}[:min(m.Count, 3)]); len(w.chances) > 0 {
			t.Errorf("%s: %+v", name, w)
		}
	}
	w := &watched{}
	for range 20 { // hardly slower: nothing to gain
		w.add(wire.Sample{Count: 8, Keep: 5}, []float64{2, 1, 1, 1, 1.1, 1, 1, 1})
	}
	if w.slowest != 20 || len(w.findings()) > 0 {
		t.Errorf("%+v", w)
	}
	w = &watched{}
	for range 20 { // as long as holding signals back takes
		w.add(wire.Sample{Count: 8, Keep: 5}, []float64{2e-6, 1e-6, 1e-6, 1e-6, 5e-6, 1e-6, 1e-6, 1e-6})
	}
	if w.slowest > 0 || len(w.chances) != 20 {
		t.Errorf("%+v", w)
	}
}

// With one other sample a verified one is the slowest half the time: twenty times in a row happen by
// chance less than once in a million times, nineteen times happen more often.
func TestWatchedByChance(t *testing.T) {
	for requests, accused := range map[int]bool{19: false, 20: true} {
		w := &watched{}
		for range requests {
			w.add(wire.Sample{Count: 3, Keep: 3}, []float64{1, 1, 2})
		}
		if found := w.findings(); (len(found) == 1) != accused {
			t.Errorf("%d requests: %+v", requests, found)
		}
	}
}

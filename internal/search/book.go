package search

import (
	"math"
	"math/rand/v2"

	"pawl/internal/space"
)

// book remembers which points were asked for and what came of them, and draws those that were not. All
// strategies keep one.
type book struct {
	ground Ground
	random *rand.Rand
	first  []space.Point // still to be tried before all others
	known  map[string]*trial
	trials []*trial // in the order in which they became known

	rest []space.Point // where draws mostly hit known points, unknown ones are drawn from this list
}

// trial is a point that was asked for or told of.
type trial struct {
	point    space.Point
	told     bool
	learned  bool    // the model has it
	expected bool    // the model expected guess
	guess    float64 // logarithm of the cost
	Outcome
}

func newBook(g Ground, o Options) *book {
	return &book{
		ground: g, random: rand.New(rand.NewPCG(o.Seed, 0x7061776c)), // any second word: seeds are what differs
		first: o.First, known: map[string]*trial{},
	}
}

// isKnown reports whether a point was asked for or told of.
func (b *book) isKnown(p space.Point) bool { return b.known[p.Key()] != nil }

// ask notes that a point is tried.
func (b *book) ask(p space.Point) *trial {
	if t := b.known[p.Key()]; t != nil {
		return t
	}
	t := &trial{point: p.Clone()}
	b.known[p.Key()] = t
	b.trials = append(b.trials, t)
	return t
}

// tell notes what came of a point.
func (b *book) tell(p space.Point, o Outcome) *trial {
	t := b.known[p.Key()]
	if t == nil {
		t = b.ask(p)
	}
	if !o.Failed && (!(o.Cost > 0) || math.IsInf(o.Cost, 1)) {
		o = Outcome{Failed: true} // a cost that nothing can have: no model may see it
	}
	t.told, t.Outcome = true, o
	return t
}

// opening returns the next of the points that are to be tried before all others; nil: there is none.
func (b *book) opening() space.Point {
	for len(b.first) > 0 {
		p := b.first[0]
		b.first = b.first[1:]
		if !b.isKnown(p) && b.ground.Contains(p) {
			return p
		}
	}
	return nil
}

const (
	drawsInVain = 100     // so many draws of known points in a row: most points are known
	restChunk   = 1 << 16 // unknown points that are held at a time
)

// draw returns a point that is not known, drawn uniformly; nil: all are known. In a ground of which nearly
// all points are known, and more than restChunk are not, those first in its order come first.
func (b *book) draw() space.Point {
	if b.rest == nil {
		for range drawsInVain {
			p := b.ground.Sample(b.random)
			if p == nil {
				return nil
			}
			if !b.isKnown(p) {
				return p
			}
		}
	}
	for {
		for n := len(b.rest); n > 0; n = len(b.rest) {
			i := b.random.IntN(n)
			if p := b.rest[i]; !b.isKnown(p) {
				return p // it stays in the list: who draws need not ask
			}
			b.rest[i] = b.rest[n-1]
			b.rest = b.rest[:n-1]
		}
		if b.rest = b.unknown(restChunk); len(b.rest) == 0 {
			return nil
		}
	}
}

// unknown returns the first points of the ground that are not known.
func (b *book) unknown(limit int) []space.Point {
	var found []space.Point
	for p := range b.ground.All() {
		if !b.isKnown(p) {
			if found = append(found, p.Clone()); len(found) == limit {
				break
			}
		}
	}
	return found
}

package search

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"pawl/internal/space"
)

// evolve crosses the best points it knows, and changes a param of the child now and then. Its population
// is small: it is meant for hundreds of evaluations, not for thousands.
type evolve struct {
	*book
	elite []*trial // the fastest, best first
}

const (
	evolveStart  = 12   // points at random, before the first child
	evolveElite  = 10   // points that have children
	evolveMutate = 0.15 // probability that a value of a child is changed
	childrenTry  = 50   // children that are no points of the ground, or known, in a row
)

func newEvolve(b *book, _ Options) Strategy { return &evolve{book: b} }

func (e *evolve) Ask(n int) []space.Point { return e.take(n, e.choose) }

func (e *evolve) Tell(p space.Point, o Outcome) {
	e.elite = insert(e.elite, e.tell(p, o), evolveElite)
}

// insert keeps the fastest trials sorted. A trial that is told again counts as it was told last.
func insert(elite []*trial, t *trial, most int) []*trial {
	elite = slices.DeleteFunc(elite, func(o *trial) bool { return o == t })
	if t.Failed || t.Cut {
		return elite
	}
	at, _ := slices.BinarySearchFunc(elite, t, func(a, b *trial) int { return cmp.Compare(a.Cost, b.Cost) })
	elite = slices.Insert(elite, at, t)
	return elite[:min(len(elite), most)]
}

func (e *evolve) choose() space.Point {
	if len(e.trials) >= evolveStart && len(e.elite) >= 2 {
		for range childrenTry {
			if p := child(e.random, e.ground.Params(), e.elite, evolveMutate); !e.isKnown(p) && e.ground.Contains(p) {
				return p
			}
		}
	}
	if len(e.elite) > 0 && len(e.trials) >= evolveStart {
		near := slices.DeleteFunc(e.ground.Neighbours(e.elite[0].point), e.isKnown)
		if len(near) > 0 {
			return near[e.random.IntN(len(near))]
		}
	}
	return e.draw()
}

// child crosses two of the elite, the better ones more often, and changes values with a probability.
func child(r *rand.Rand, params []space.Param, elite []*trial, mutate float64) space.Point {
	// The smaller of two draws: a rank twice as often as one twice as far down.
	pick := func() space.Point { return elite[min(r.IntN(len(elite)), r.IntN(len(elite)))].point }
	a, b := pick(), pick()
	p := a.Clone()
	for i := range p {
		if r.IntN(2) == 0 {
			p[i] = b[i]
		}
		if r.Float64() < mutate {
			p[i] = uint16(r.IntN(len(params[i].Values)))
		}
	}
	return p
}

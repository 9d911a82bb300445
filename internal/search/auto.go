package search

import (
	"math"

	"pawl/internal/space"
)

// auto is bayes with two more ways to find points. Children of the fastest points are candidates too: where a
// kernel has switches, the model is not needed to see that two good halves may fit together. And every few steps
// the neighbour of the best point that the model expects to be fastest is tried, however little it may bring.
type auto struct {
	*bayes
	steps int
}

const (
	children    = 20  // that become candidates in a step
	childMutate = 0.1 // probability that a value of one is changed
)

func newAuto(b *book, o Options) Strategy { return &auto{bayes: modelled(b, o)} }

func (s *auto) Ask(n int) []space.Point {
	return s.take(n, func() space.Point {
		if !s.ready() {
			return s.spread()
		}
		s.prepare()
		for range children {
			if p := child(s.random, s.ground.Params(), s.elite, childMutate); !s.isKnown(p) && s.ground.Contains(p) {
				s.m.pool.add(p)
			}
		}
		s.m.pool.predict()
		if s.steps++; s.steps%s.Exploit == 0 {
			if c := s.nearest(); c != nil {
				return s.expect(c)
			}
		}
		return s.expect(s.improving())
	})
}

// nearest returns the neighbour of the best point that is expected to be fastest; nil: all are known.
func (s *auto) nearest() *candidate {
	return s.top(func(c *candidate) float64 {
		if !c.near {
			return math.Inf(-1)
		}
		return math.Log(s.m.feasible(c)) - c.mean
	})
}

package search

import "math"

// auto is bayes with two more ways to choose: candidates are also children of the fastest points, and
// every few steps the point that the model expects to be the fastest among the neighbours of the best
// one is tried, however sure the model is of it.
func newAuto(b *book, o Options) Strategy {
	s := modelled(b, o)
	s.portfolio = true
	return s
}

const (
	children    = 20  // that become candidates in a step
	childMutate = 0.1 // probability that a value of one is changed
)

func (s *bayes) pickAuto() *candidate {
	for range children {
		if p := child(s.random, s.ground.Params(), s.elite, childMutate); s.ground.Contains(p) && !s.isKnown(p) {
			s.m.pool.add(p)
		}
	}
	s.m.pool.predict()
	if s.steps%s.Exploit == 0 {
		c := s.top(func(c *candidate) float64 {
			if !c.near {
				return math.Inf(-1)
			}
			return -c.mean + math.Log(s.m.feasible(c))
		})
		if c != nil {
			return c
		}
	}
	return s.improving()
}

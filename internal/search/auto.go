package search

import "math"

// auto is bayes with two more ways to choose: candidates are also children of the fastest points, and
// every few steps the point that the model expects to be the fastest among the neighbours of the best
// one is tried, however sure the model is of it.
func newAuto(b *book, _ Options) Strategy {
	s := modelled(b)
	s.portfolio = true
	return s
}

const (
	exploitEvery = 3
	children     = 20 // that become candidates in a step
	childMutate  = 0.1
)

func (s *bayes) pickAuto() *candidate {
	for range int(knob("children", children)) {
		if p := child(s.random, s.ground.Params(), s.elite, childMutate); s.ground.Contains(p) && !s.isKnown(p) {
			s.m.pool.add(p)
		}
	}
	s.m.pool.predict()
	if s.steps%int(knob("cycle", exploitEvery)) == 0 {
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
	return s.top(func(c *candidate) float64 { return c.improvement(s.m.best) * s.m.feasible(c) })
}

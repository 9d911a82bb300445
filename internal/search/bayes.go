package search

import (
	"math"
	"slices"

	"pawl/internal/space"
)

// bayes keeps a model of the logarithm of the cost and of what fails, and tries what improves on the best
// point by most, as far as the model can expect.
type bayes struct {
	*book
	portfolio bool
	c         *coordinates
	g         *process
	pool      *pool
	elite     []*trial
	rows      []*trial  // that the process knows, in its order
	guess     []float64 // of rows that are pending: what was expected of them
	fine      []float64 // l⁻¹ of which rows have not failed
	share     float64   // of the trials that have not failed
	fitted    int       // trials told at the last fit
	told      int
	steps     int
	near      *trial // whose neighbours are candidates
}

func newBayes(b *book, _ Options) Strategy {
	return &bayes{book: b, c: newCoordinates(b.ground.Params())}
}
func newAuto(b *book, _ Options) Strategy {
	return &bayes{book: b, c: newCoordinates(b.ground.Params()), portfolio: true}
}

func (s *bayes) Ask(n int) []space.Point { return s.take(n, s.choose) }

func (s *bayes) Tell(p space.Point, o Outcome) {
	t := s.tell(p, o)
	s.told++
	if !t.Failed && !t.Cut {
		s.elite = insert(s.elite, t, 10)
	}
}

func (s *bayes) choose() space.Point {
	if len(s.trials) < int(knob("start", 10)) || len(s.elite) == 0 || len(s.c.params) == 0 {
		return s.spread()
	}
	s.learn()
	s.widen()
	s.pool.remove(func(key string) bool { return s.known[key] != nil })
	if len(s.pool.candidates) == 0 {
		return s.draw()
	}
	s.pool.predict()
	s.steps++
	best := math.Inf(1)
	for i, t := range s.rows {
		if t.told && !t.Failed {
			best = min(best, s.g.y[i])
		}
	}
	exploit := s.portfolio && s.steps%int(knob("cycle", 3)) == 0
	var chosen *candidate
	top := math.Inf(-1)
	for _, c := range s.pool.candidates {
		var score float64
		fine := s.feasible(c)
		if exploit {
			if !c.near {
				continue
			}
			score = -c.mean + math.Log(fine)
		} else {
			score = c.improvement(best-knob("xi", 0)) * fine
		}
		if score > top {
			top, chosen = score, c
		}
	}
	if chosen == nil {
		return s.draw()
	}
	return chosen.point
}

// feasible estimates the probability that a candidate does not fail.
func (s *bayes) feasible(c *candidate) float64 {
	if s.share == 1 || knob("feas", 1) == 0 {
		return 1
	}
	f := s.share
	for i, v := range c.v {
		f += v * s.fine[i]
	}
	return math.Pow(min(1, max(0.01, f)), knob("fpow", 1))
}

// spread returns a point that is far from all known ones: the furthest of a few draws.
func (s *bayes) spread() space.Point {
	var best space.Point
	far := -1.0
	for range int(knob("draws", 10)) {
		p := s.draw()
		if p == nil {
			return nil
		}
		x, near := s.c.of(p), math.Inf(1)
		for _, t := range s.trials {
			near = min(near, s.c.distance(x, s.c.of(t.point)))
		}
		if near > far {
			far, best = near, p
		}
		if len(s.trials) == 0 {
			break
		}
	}
	return best
}

// learn brings the process up to date.
func (s *bayes) learn() {
	if s.g == nil || float64(s.told) >= max(float64(s.fitted)*knob("refit", 1.2), float64(s.fitted)+2) {
		s.refit()
	}
	for _, t := range s.trials[len(s.rows):] {
		s.rows = append(s.rows, t)
		s.g.add(s.c.of(t.point), 0)
	}
	y := s.values()
	copy(s.g.y, y)
	s.g.settle()
	ok, all := 0.0, 0.0
	for _, t := range s.rows {
		if t.told {
			all++
			if !t.Failed {
				ok++
			}
		}
	}
	s.share = ok / all
	s.fine = s.fine[:0]
	for _, t := range s.rows {
		f := 0.0
		if t.told {
			f = 1 - s.share
			if t.Failed {
				f = -s.share
			}
		}
		s.fine = append(s.fine, f)
	}
	s.g.solve(s.fine)
}

// values returns the rows' values, scaled to mean 0 and variance 1.
func (s *bayes) values() []float64 {
	var ok []float64
	for _, t := range s.rows {
		if t.told && !t.Failed && !t.Cut {
			ok = append(ok, math.Log(t.Cost))
		}
	}
	slices.Sort(ok)
	q := func(p float64) float64 { return ok[int(p*float64(len(ok)-1))] }
	median, fail := q(knob("cq", 0.5)), q(knob("fq", 0.9))
	squash := func(y float64) float64 {
		if y > median {
			return median + (y-median)*knob("comp", 1)
		}
		return y
	}
	y := make([]float64, len(s.rows))
	for i, t := range s.rows {
		switch {
		case !t.told, t.Failed:
			y[i] = squash(fail)
		case t.Cut:
			y[i] = squash(max(q(0.5), math.Log(t.Cost)))
		default:
			y[i] = squash(math.Log(t.Cost))
		}
	}
	mean, n := 0.0, float64(len(y))
	for _, v := range y {
		mean += v / n
	}
	variance := 0.0
	for _, v := range y {
		variance += (v - mean) * (v - mean) / n
	}
	std := math.Sqrt(variance)
	if !(std > 1e-12) {
		std = 1
	}
	for i := range y {
		y[i] = (y[i] - mean) / std
	}
	return y
}

// refit looks for new hyperparameters and draws new candidates.
func (s *bayes) refit() {
	if s.g == nil {
		s.g = newProcess(s.c)
	}
	s.fitted = s.told
	s.rows = append(s.rows[:0], s.trials...)
	x := make([][]uint8, len(s.rows))
	for i, t := range s.rows {
		x[i] = s.c.of(t.point)
	}
	y := s.values()
	s.g.fit(x, y, int(knob("steps", 15)))
	s.g.reset()
	for i := range x {
		s.g.add(x[i], y[i])
	}
	s.pool = newPool(s.g)
	s.near = nil
	for range int(knob("pool", 1000)) {
		p := s.draw()
		if p == nil {
			break
		}
		if key := p.Key(); !s.pool.has(key) {
			s.pool.add(p, key, false)
		}
	}
}

// widen makes neighbours and children of the best points candidates.
func (s *bayes) widen() {
	consider := func(p space.Point, near bool) {
		if key := p.Key(); s.known[key] == nil {
			if !s.pool.has(key) {
				s.pool.add(p.Clone(), key, near)
			} else if near {
				for _, c := range s.pool.candidates {
					if c.key == key {
						c.near = true
					}
				}
			}
		}
	}
	if s.near != s.elite[0] {
		for _, c := range s.pool.candidates {
			c.near = false
		}
		for i, t := range s.elite[:min(len(s.elite), int(knob("hoods", 5)))] {
			for _, p := range s.ground.Neighbours(t.point) {
				consider(p, i == 0)
			}
		}
		s.near = s.elite[0]
	}
	for range int(knob("children", 20)) {
		if p := child(s.random, s.ground.Params(), s.elite, 0.1); s.ground.Contains(p) {
			consider(p, false)
		}
	}
}

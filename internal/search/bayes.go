package search

import (
	"math"

	"pawl/internal/space"
)

// bayes keeps a model of what points cost and of what fails, and tries the point by which it expects to
// improve on the best one most.
type bayes struct {
	*book
	m     *model
	elite []*trial // the fastest, best first
	told  int
	best  *trial // whose neighbours are candidates

	portfolio bool // see auto
	steps     int
}

const (
	start      = 10   // points that are spread over the ground, before the model chooses
	startDraws = 10   // points that each of them is the furthest of
	poolSize   = 1000 // candidates at random
	hoods      = 5    // of the fastest points: those whose neighbours are candidates
	maxHood    = 400  // neighbours of a point that are candidates
	eliteSize  = 10
)

func newBayes(b *book, _ Options) Strategy { return modelled(b) }

func modelled(b *book) *bayes { return &bayes{book: b, m: newModel(b.ground.Params())} }

func (s *bayes) Ask(n int) []space.Point { return s.take(n, s.choose) }

func (s *bayes) Tell(p space.Point, o Outcome) {
	t := s.tell(p, o)
	s.told++
	if !t.Failed && !t.Cut {
		s.elite = insert(s.elite, t, eliteSize)
	}
}

func (s *bayes) choose() space.Point {
	if len(s.trials) < int(knob("start", start)) || len(s.elite) == 0 || len(s.m.c.params) == 0 {
		return s.spread()
	}
	if s.m.learn(s.trials, s.told) {
		s.refill()
	}
	s.surround()
	s.m.pool.remove(func(key string) bool { return s.known[key] != nil })
	s.m.pool.predict()
	s.steps++
	c := s.pick()
	if c == nil {
		return s.draw()
	}
	// Until it is told, the model believes what it expects: points that are asked for at once are not
	// all the same idea.
	t := s.ask(c.point)
	t.expected, t.guess = true, c.mean*s.m.scale+s.m.center
	return t.point
}

// pick returns the candidate to try; nil: there is none.
func (s *bayes) pick() *candidate {
	if s.portfolio {
		return s.pickAuto()
	}
	return s.top(func(c *candidate) float64 { return c.improvement(s.m.best) * s.m.feasible(c) })
}

// top returns the candidate of the highest score.
func (s *bayes) top(score func(*candidate) float64) *candidate {
	var chosen *candidate
	highest := math.Inf(-1)
	for _, c := range s.m.pool.candidates {
		if v := score(c); v > highest {
			highest, chosen = v, c
		}
	}
	return chosen
}

// spread returns a point that is far from all known ones: the furthest of a few draws.
func (s *bayes) spread() space.Point {
	var best space.Point
	far := -1.0
	for range int(knob("draws", startDraws)) {
		p := s.draw()
		if p == nil {
			return nil
		}
		x, near := s.m.c.of(p), math.Inf(1)
		for _, t := range s.trials {
			near = min(near, s.m.c.distance(x, s.m.c.of(t.point)))
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

// refill draws new candidates.
func (s *bayes) refill() {
	s.best = nil
	for range int(knob("pool", poolSize)) {
		p := s.draw()
		if p == nil {
			return
		}
		s.m.pool.add(p)
	}
}

// surround makes neighbours of the fastest points candidates.
func (s *bayes) surround() {
	if s.best == s.elite[0] {
		return
	}
	s.best = s.elite[0]
	s.m.pool.unmark()
	for i, t := range s.elite[:min(len(s.elite), hoods)] {
		near := s.ground.Neighbours(t.point)
		s.random.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
		for _, p := range near[:min(len(near), maxHood)] {
			if !s.isKnown(p) {
				s.m.pool.add(p).near = i == 0
			}
		}
	}
}

package search

import (
	"math"

	"pawl/internal/space"
)

// bayes keeps a model of what points cost and of what fails, and tries the point by which it expects to
// improve on the best one most.
type bayes struct {
	*book
	Settings
	m     *model
	elite []*trial // the fastest, best first
	told  int      // trials
}

const (
	startDraws = 10  // points at random, of which the furthest is taken
	poolSize   = 400 // candidates at random
	hoods      = 5   // of the fastest points: those whose neighbours are candidates
	maxHood    = 400 // neighbours of a point that are candidates
	eliteSize  = 10
)

func newBayes(b *book, o Options) Strategy { return modelled(b, o) }

func modelled(b *book, o Options) *bayes {
	s := &bayes{book: b, Settings: DefaultSettings()}
	if o.Settings != nil {
		s.Settings = *o.Settings
	}
	s.m = newModel(b.ground.Params(), s.Squash)
	return s
}

func (s *bayes) Ask(n int) []space.Point {
	return s.take(n, func() space.Point {
		if !s.ready() {
			return s.spread()
		}
		s.prepare()
		s.m.pool.predict()
		return s.expect(s.improving())
	})
}

func (s *bayes) Tell(p space.Point, o Outcome) {
	t := s.tell(p, o)
	s.told++
	s.elite = insert(s.elite, t, eliteSize)
}

// ready reports whether there is anything that a model can learn from.
func (s *bayes) ready() bool {
	return len(s.trials) >= s.Spread && len(s.elite) > 0 && len(s.m.c.axes) > 0
}

// prepare brings the model and its candidates up to date.
func (s *bayes) prepare() {
	if s.m.learn(s.trials, s.told) {
		s.refill()
	}
	s.surround()
	s.m.pool.remove(func(key string) bool { return s.known[key] != nil })
}

// expect asks for a candidate. Until it is told, the model believes what it expects of it: points that are
// asked for at once are not all the same idea.
func (s *bayes) expect(c *candidate) space.Point {
	if c == nil {
		return s.draw()
	}
	t := s.ask(c.point)
	t.expected, t.guess = true, c.mean*s.m.scale+s.m.center
	return t.point
}

// improving returns the candidate that is expected to improve on the best point most; nil: there is none.
func (s *bayes) improving() *candidate {
	return s.top(func(c *candidate) float64 { return c.improvement(s.m.best, s.Explore) * s.m.feasible(c) })
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
	for range startDraws {
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
	s.m.hub = nil
	for range poolSize {
		p := s.draw()
		if p == nil {
			return
		}
		s.m.pool.add(p)
	}
}

// surround makes neighbours of the fastest points candidates.
func (s *bayes) surround() {
	if s.m.hub == s.elite[0] {
		return
	}
	s.m.hub = s.elite[0]
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

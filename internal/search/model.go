package search

import (
	"math"
	"slices"

	"pawl/internal/space"
)

// model predicts the logarithm of the cost of points, and whether they fail, from trials.
type model struct {
	squash float64 // see Settings
	c      *coordinates
	g      *process
	pool   *pool

	rows          []*trial // that the process knows, in its order
	seen          int      // trials that are rows, or were left out of them
	hub           *trial   // whose neighbours are candidates
	center, scale float64  // of the values that the process sees
	best          float64  // the lowest of them
	fine          []float64
	share         float64 // of the told trials that have not failed
	fitted        int     // trials told at the last fit
}

const (
	maxRows    = 400 // trials that a model learns from: time grows with their cube
	fitRows    = 200 // of them, those that its hyperparameters are fitted to, which takes that many times over
	fitSteps   = 15
	fewTrials  = 2   // so many new trials, and
	refitRatio = 1.2 // so many times as many, make a new fit worthwhile
)

func newModel(params []space.Param, squash float64) *model {
	return &model{squash: squash, c: newCoordinates(params), scale: 1}
}

// learn brings the model up to date. It reports whether its hyperparameters are new, and with them its
// candidates gone. At least one trial must have succeeded.
func (m *model) learn(trials []*trial, told int) (refitted bool) {
	if m.g == nil || told >= max(m.fitted+fewTrials, int(math.Ceil(float64(m.fitted)*refitRatio))) {
		m.fit(trials, told)
		refitted = true
	}
	for _, t := range trials[m.seen:] {
		m.rows = append(m.rows, t)
		m.g.add(m.c.of(t.point), 0)
	}
	m.seen = len(trials)
	copy(m.g.y, m.values())
	m.g.settle()
	m.separate()
	return refitted
}

// fit looks for new hyperparameters.
func (m *model) fit(trials []*trial, told int) {
	if m.g == nil {
		m.g = newProcess(m.c)
	}
	m.fitted = told
	x, y := m.take(trials, fitRows)
	m.g.fit(x, y, fitSteps)
	m.g.reset()
	x, y = m.take(trials, maxRows)
	for i := range x {
		m.g.add(x[i], y[i])
	}
	m.seen = len(trials)
	m.pool = newPool(m.g)
}

// take makes rows of at most so many trials, and returns what the process is to know of them.
func (m *model) take(trials []*trial, most int) (x [][]uint8, y []float64) {
	m.rows = append(m.rows[:0], worthwhile(trials, most)...)
	for _, t := range m.rows {
		x = append(x, m.c.of(t.point))
	}
	return x, m.values()
}

// worthwhile returns the trials to learn from where there are more than that: the fastest, and the latest.
func worthwhile(trials []*trial, most int) []*trial {
	if len(trials) <= most {
		return trials
	}
	late := len(trials) - most/2
	early := slices.Clone(trials[:late])
	rank := func(t *trial) float64 {
		if !t.told || t.Failed {
			return math.Inf(1)
		}
		return t.Cost
	}
	slices.SortStableFunc(early, func(a, b *trial) int {
		switch {
		case rank(a) < rank(b):
			return -1
		case rank(a) > rank(b):
			return 1
		}
		return 0
	})
	// Failures are at the end: one in eight rows is left to them, so that they are not forgotten.
	kept := early[:most*3/8]
	return append(append(kept, early[len(early)-most/8:]...), trials[late:]...)
}

// values returns the values of the rows as the process sees them. What is slower than the median is
// brought nearer to it: the process is to know the fast points well, and a few that are thirty times
// slower would be all it sees. A failure counts as slow, never as infinite.
func (m *model) values() []float64 {
	var ok []float64
	for _, t := range m.rows {
		if t.told && !t.Failed && !t.Cut {
			ok = append(ok, math.Log(t.Cost))
		}
	}
	if len(ok) == 0 { // all were cut: the bounds are all there is
		for _, t := range m.rows {
			if t.told && !t.Failed {
				ok = append(ok, math.Log(t.Cost))
			}
		}
	}
	slices.Sort(ok)
	quantile := func(p float64) float64 { return ok[int(p*float64(len(ok)-1))] }
	median, slow := quantile(0.5), quantile(0.9)
	y := make([]float64, len(m.rows))
	for i, t := range m.rows {
		switch {
		case !t.told && t.expected:
			y[i] = t.guess
		case !t.told:
			y[i] = median
		case t.Failed:
			y[i] = slow
		case t.Cut:
			// It costs at least so much: what was expected of it stands, if that is more.
			y[i] = max(math.Log(t.Cost), median)
			if t.expected {
				y[i] = max(math.Log(t.Cost), t.guess)
			}
		default:
			y[i] = math.Log(t.Cost)
		}
		if y[i] > median {
			y[i] = median + (y[i]-median)*m.squash
		}
	}
	return m.standardise(y)
}

// standardise scales values to mean 0 and variance 1, and remembers the lowest that was measured.
func (m *model) standardise(y []float64) []float64 {
	mean, variance, n := 0.0, 0.0, float64(len(y))
	for _, v := range y {
		mean += v / n
	}
	for _, v := range y {
		variance += (v - mean) * (v - mean) / n
	}
	m.center, m.scale, m.best = mean, math.Sqrt(variance), math.Inf(1)
	if !(m.scale > 1e-12) {
		m.scale = 1
	}
	for i, t := range m.rows {
		y[i] = (y[i] - mean) / m.scale
		if t.told && !t.Failed {
			m.best = min(m.best, y[i])
		}
	}
	return y
}

// separate learns what fails, with the covariance of the costs: what makes a kernel need more of
// something, and so slow, also makes it need too much.
func (m *model) separate() {
	ok, all := 0.0, 0.0
	for _, t := range m.rows {
		if t.told {
			all++
			if !t.Failed {
				ok++
			}
		}
	}
	m.share = ok / all
	m.fine = m.fine[:0]
	for _, t := range m.rows {
		f := 0.0
		switch {
		case !t.told:
		case t.Failed:
			f = -m.share
		default:
			f = 1 - m.share
		}
		m.fine = append(m.fine, f)
	}
	m.g.solve(m.fine)
}

// feasible estimates the probability that a candidate does not fail.
func (m *model) feasible(c *candidate) float64 {
	if m.share == 1 {
		return 1
	}
	f := m.share
	for i, v := range c.v {
		f += v * m.fine[i]
	}
	return min(1, max(0.01, f))
}

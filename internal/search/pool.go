package search

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"pawl/internal/space"
)

// pool holds candidates and what a process predicts of them. A point that the process takes in costs
// each of them one product of vectors.
type pool struct {
	g          *process
	candidates []*candidate
	members    map[string]*candidate
}

type candidate struct {
	point    space.Point
	key      string
	x        []uint8
	v        []float64 // l⁻¹ of the covariances with the process's points
	mean     float64
	variance float64
	near     bool // differs from the best point in one param
}

func newPool(g *process) *pool { return &pool{g: g, members: map[string]*candidate{}} }

// add returns the candidate of a point.
func (p *pool) add(point space.Point) *candidate {
	key := point.Key()
	c := p.members[key]
	if c == nil {
		c = &candidate{point: point.Clone(), key: key, x: p.g.c.of(point), variance: p.g.signal}
		p.members[key] = c
		p.candidates = append(p.candidates, c)
	}
	return c
}

// unmark forgets which candidates are near the best point.
func (p *pool) unmark() {
	for _, c := range p.candidates {
		c.near = false
	}
}

// remove drops the candidates that are known by now.
func (p *pool) remove(known func(key string) bool) {
	kept := p.candidates[:0]
	for _, c := range p.candidates {
		if known(c.key) {
			delete(p.members, c.key)
		} else {
			kept = append(kept, c)
		}
	}
	clear(p.candidates[len(kept):])
	p.candidates = kept
}

// predict brings the candidates' means and variances up to date.
func (p *pool) predict() {
	first := len(p.g.x)
	for _, c := range p.candidates {
		first = min(first, len(c.v))
	}
	factors := make([][]float64, len(p.g.tables)) // of the values of a row with all others
	for i := first; i < len(p.g.x); i++ {
		for j, table := range p.g.tables {
			width := p.g.c.axes[j].width
			at := int(p.g.x[i][j]) * width
			factors[j] = table[at : at+width]
		}
		row := p.g.l[i]
		for _, c := range p.candidates {
			if len(c.v) != i {
				continue
			}
			k := p.g.signal
			for j, level := range c.x {
				k *= factors[j][level]
			}
			v := (k - floats.Dot(row[:i], c.v)) / row[i]
			c.v = append(c.v, v)
			c.variance -= v * v
		}
	}
	for _, c := range p.candidates {
		c.mean = floats.Dot(c.v, p.g.z)
	}
}

// improvement returns the expected improvement over best. explore is a factor of the standard deviation.
func (c *candidate) improvement(best, explore float64) float64 {
	s := math.Sqrt(max(c.variance, 1e-12)) * explore
	u := (best - c.mean) / s
	return s * (u*math.Erfc(-u/math.Sqrt2)/2 + math.Exp(-u*u/2)/math.Sqrt(2*math.Pi))
}

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
	members    map[string]bool
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

func newPool(g *process) *pool { return &pool{g: g, members: map[string]bool{}} }

// has reports whether a point is a candidate.
func (p *pool) has(key string) bool { return p.members[key] }

func (p *pool) add(point space.Point, key string, near bool) {
	p.members[key] = true
	p.candidates = append(p.candidates, &candidate{point: point, key: key, x: p.g.c.of(point), near: near, variance: p.g.signal})
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

// reset must be called when the process has changed otherwise than by new points.
func (p *pool) reset() {
	for _, c := range p.candidates {
		c.v, c.variance = c.v[:0], p.g.signal
	}
}

// predict brings the candidates' means and variances up to date.
func (p *pool) predict() {
	for _, c := range p.candidates {
		for i := len(c.v); i < len(p.g.x); i++ {
			row := p.g.l[i]
			v := (p.g.covariance(c.x, p.g.x[i]) - floats.Dot(row[:i], c.v)) / row[i]
			c.v = append(c.v, v)
			c.variance -= v * v
		}
		c.mean = floats.Dot(c.v, p.g.z)
	}
}

// improvement is the expected improvement over a value.
func (c *candidate) improvement(best float64) float64 {
	s := math.Sqrt(max(c.variance, 1e-12))
	u := (best - c.mean) / s
	return s * (u*math.Erfc(-u/math.Sqrt2)/2 + math.Exp(-u*u/2)/math.Sqrt(2*math.Pi))
}

package search

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// process is a Gaussian process: what is known of a function from its values at some points, and how
// surely. Values are scaled by the caller to mean 0 and variance 1.
//
// Its covariance is a product over params of (1 − share) + share·correlation: a param of small share
// matters little whatever the others are, and effects of single params, which explain most of a
// kernel's time, are learned from few points.
type process struct {
	c      *coordinates
	hyper  []float64   // see hyperparameters
	prior  []normal    // of hyper
	tables [][]float64 // per param: the factor of all pairs of values
	signal float64
	noise  float64

	x [][]uint8
	y []float64
	l [][]float64 // rows of the Cholesky factor
	z []float64   // l⁻¹y
}

type normal struct{ mean, std float64 }

// Hyperparameters are the logarithm of the weight of every measure, for every param the logit of its
// share, the logarithm of the variance, and that of the noise.
func newProcess(c *coordinates) *process {
	g := &process{c: c}
	for _, m := range c.measures {
		p := normal{knob("wmean", 1), knob("wstd", 1.5)}
		if m.kind == byDifference {
			p.mean = knob("hmean", -1)
			if c.widths[m.param] == 2 {
				p.mean = knob("bmean", 1)
			}
		}
		if m.kind == bySize {
			p.mean -= knob("smean", 0)
		}
		g.prior = append(g.prior, p)
	}
	for i := range c.widths {
		m := knob("rmean", 0)
		if i >= c.base {
			m = knob("rder", -2)
		}
		g.prior = append(g.prior, normal{m, knob("rstd", 1.5)})
	}
	g.prior = append(g.prior, normal{knob("vmean", 0.5), knob("sstd", 1)}, normal{math.Log(knob("noise", 1e-3)), knob("nstd", 1.5)})
	for _, p := range g.prior {
		g.hyper = append(g.hyper, p.mean)
	}
	g.set(g.hyper)
	return g
}

// set makes the tables of given hyperparameters.
func (g *process) set(hyper []float64) {
	g.hyper = append(g.hyper[:0:0], hyper...)
	last := len(hyper) - 2
	g.signal, g.noise = math.Exp(hyper[last]), math.Exp(hyper[last+1])+1e-8
	g.tables = make([][]float64, len(g.c.widths))
	for i, n := range g.c.widths {
		g.tables[i] = make([]float64, n*n)
	}
	for m, measure := range g.c.measures {
		floats.AddScaled(g.tables[measure.param], math.Exp(hyper[m]), measure.square)
	}
	for i, t := range g.tables {
		share := logistic(hyper[len(g.c.measures)+i])
		for j, r2 := range t {
			k, _ := matern(r2)
			t[j] = 1 - share + share*k
		}
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// covariance of two points without noise.
func (g *process) covariance(a, b []uint8) float64 {
	k := g.signal
	for i, t := range g.tables {
		k *= t[int(a[i])*g.c.widths[i]+int(b[i])]
	}
	return k
}

// matern returns the Matérn-5/2 correlation at a squared distance, and its derivative by that.
func matern(r2 float64) (k, slope float64) {
	r := math.Sqrt(5 * r2)
	e := math.Exp(-r)
	return (1 + r + r*r/3) * e, -5.0 / 6 * (1 + r) * e
}

// reset forgets all points.
func (g *process) reset() { g.x, g.y, g.l, g.z = nil, nil, nil, nil }

// add takes a point in. Its value may be set later.
func (g *process) add(x []uint8, y float64) {
	n := len(g.x)
	row := make([]float64, n+1)
	for i, other := range g.x {
		row[i] = g.covariance(x, other)
	}
	g.solve(row[:n])
	row[n] = math.Sqrt(max(1e-10, g.signal+g.noise-floats.Dot(row[:n], row[:n])))
	g.x, g.y, g.l = append(g.x, x), append(g.y, y), append(g.l, row)
}

// solve replaces v by l⁻¹v.
func (g *process) solve(v []float64) {
	for i := range v {
		row := g.l[i]
		v[i] = (v[i] - floats.Dot(row[:i], v[:i])) / row[i]
	}
}

// settle must be called when values have changed, before anything is predicted.
func (g *process) settle() {
	g.z = append(g.z[:0], g.y...)
	g.solve(g.z)
}

// fit looks for the hyperparameters that are most probable given the points, from those it has, in so
// many steps.
func (g *process) fit(x [][]uint8, y []float64, steps int) {
	f := newFit(g, x, y)
	best, value := f.climb(append([]float64(nil), g.hyper...), steps)
	_ = value
	g.set(best)
}

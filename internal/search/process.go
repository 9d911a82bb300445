package search

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// process is a Gaussian process: what is known of a function from its values at some points, and how
// surely. Values are scaled by the caller to mean 0 and variance 1.
type process struct {
	c      *coordinates
	hyper  []float64   // logarithms: weight of every measure, variance, noise
	prior  []normal    // of hyper
	tables [][]float64 // per param: weighted squared distances of all pairs of values
	signal float64
	noise  float64

	x [][]uint8
	y []float64
	l [][]float64 // rows of the Cholesky factor
	z []float64   // l⁻¹y
}

type normal struct{ mean, std float64 }

func newProcess(c *coordinates) *process {
	g := &process{c: c}
	for _, m := range c.measures {
		mean := knob("wmean", 1.5)
		if m.kind == byDifference && c.widths[m.param] > 2 {
			mean = knob("hmean", -1)
		}
		mean -= knob("dimpow", 0) * math.Log(float64(len(c.params)))
		g.prior = append(g.prior, normal{mean, knob("wstd", 1.5)})
	}
	g.prior = append(g.prior, normal{0, knob("sstd", 1)}, normal{math.Log(knob("noise", 1e-3)), knob("nstd", 1.5)})
	for _, p := range g.prior {
		g.hyper = append(g.hyper, p.mean)
	}
	g.set(g.hyper)
	return g
}

// set makes the tables of given hyperparameters.
func (g *process) set(hyper []float64) {
	g.hyper = append(g.hyper[:0:0], hyper...)
	k := len(g.c.measures)
	g.signal, g.noise = math.Exp(hyper[k]), math.Exp(hyper[k+1])+1e-8
	g.tables = make([][]float64, len(g.c.params))
	for i, n := range g.c.widths {
		g.tables[i] = make([]float64, n*n)
	}
	for m, measure := range g.c.measures {
		floats.AddScaled(g.tables[measure.param], math.Exp(hyper[m]), measure.square)
	}
}

// covariance of two points without noise.
func (g *process) covariance(a, b []uint8) float64 {
	r2 := 0.0
	for i, t := range g.tables {
		r2 += t[int(a[i])*g.c.widths[i]+int(b[i])]
	}
	k, _ := matern(r2)
	return g.signal * k
}

// matern returns the Matérn-5/2 correlation at a squared distance, and its derivative by that.
func matern(r2 float64) (k, slope float64) {
	if m32 {
		r := math.Sqrt(3 * r2)
		e := math.Exp(-r)
		return (1 + r) * e, -1.5 * e
	}
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

var m32 = knob("m32", 0) > 0

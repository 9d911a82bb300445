package search

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// fit computes how probable hyperparameters are, and in which direction they become more so.
type fit struct {
	g        *process
	y        []float64
	n        int
	cells    [][]int32   // per param: of all pairs i > j, row by row, their place in the param's table
	weights  [][]float64 // per param: ∂density by the logarithm of the table's factors
	k        [][]float64 // covariance, then its Cholesky factor
	pairs    []float64   // covariance of all pairs, then ∂density by its logarithm
	inverse  [][]float64 // transposed inverse of the factor: row i begins at column i
	gradient []float64
}

func newFit(g *process, x [][]uint8, y []float64) *fit {
	n := len(x)
	f := &fit{g: g, y: y, n: n, pairs: make([]float64, n*(n-1)/2), gradient: make([]float64, len(g.hyper))}
	for p, width := range g.c.widths {
		cells, at := make([]int32, len(f.pairs)), 0
		for i := range n {
			row := int32(x[i][p]) * int32(width)
			for j := range i {
				cells[at] = row + int32(x[j][p])
				at++
			}
		}
		f.cells = append(f.cells, cells)
		f.weights = append(f.weights, make([]float64, width*width))
	}
	f.k, f.inverse = make([][]float64, n), make([][]float64, n)
	for i := range n {
		f.k[i], f.inverse[i] = make([]float64, i+1), make([]float64, n-i)
	}
	return f
}

// at returns the log posterior density of hyperparameters, but for a constant, and sets the gradient.
func (f *fit) at(hyper []float64) float64 {
	g := f.g
	g.set(hyper)
	for i := range f.pairs {
		f.pairs[i] = g.signal
	}
	for p, cells := range f.cells {
		table := g.tables[p]
		for i, c := range cells {
			f.pairs[i] *= table[c]
		}
	}
	for i, at := 0, 0; i < f.n; i++ {
		at += copy(f.k[i], f.pairs[at:at+i])
		f.k[i][i] = g.signal + g.noise
	}
	density, ok := f.factor()
	if !ok {
		return math.Inf(-1)
	}
	alpha := f.invert()
	density -= floats.Dot(alpha, f.y) / 2

	bySignal, byNoise, at := 0.0, 0.0, 0
	for i := range f.n {
		for j := range i {
			f.pairs[at] *= alpha[i]*alpha[j] - floats.Dot(f.inverse[i], f.inverse[j][i-j:])
			bySignal += f.pairs[at]
			at++
		}
		w := alpha[i]*alpha[i] - floats.Dot(f.inverse[i], f.inverse[i])
		bySignal += w * g.signal / 2
		byNoise += w * (g.noise - 1e-8) / 2
	}
	clear(f.gradient)
	last := len(hyper) - 2
	f.gradient[last], f.gradient[last+1] = bySignal, byNoise
	for p, cells := range f.cells {
		weights := f.weights[p]
		clear(weights)
		for i, c := range cells {
			weights[c] += f.pairs[i]
		}
	}
	f.chain(hyper)
	for i, p := range g.prior {
		d := (hyper[i] - p.mean) / p.std
		density -= d * d / 2
		f.gradient[i] -= d / p.std
	}
	return density
}

// chain turns derivatives by factors into those by shares and weights of measures.
func (f *fit) chain(hyper []float64) {
	g := f.g
	byR2 := make([][]float64, len(g.tables))
	for p, table := range g.tables {
		byR2[p] = make([]float64, len(table))
	}
	for m, measure := range g.c.measures {
		floats.AddScaled(byR2[measure.param], math.Exp(hyper[m]), measure.square)
	}
	for p, table := range g.tables {
		at := len(g.c.measures) + p
		share := logistic(hyper[at])
		for i, w := range f.weights[p] {
			if w == 0 {
				byR2[p][i] = 0
				continue
			}
			k, slope := matern(byR2[p][i])
			w /= table[i]
			f.gradient[at] += w * (k - 1) * share * (1 - share)
			byR2[p][i] = w * share * slope
		}
	}
	for m, measure := range g.c.measures {
		f.gradient[m] += math.Exp(hyper[m]) * floats.Dot(byR2[measure.param], measure.square)
	}
}

// factor replaces k by its Cholesky factor, and returns minus half the logarithm of its determinant.
func (f *fit) factor() (density float64, ok bool) {
	for i, row := range f.k {
		for j := range i {
			row[j] = (row[j] - floats.Dot(row[:j], f.k[j][:j])) / f.k[j][j]
		}
		d := row[i] - floats.Dot(row[:i], row[:i])
		if !(d > 0) {
			return 0, false
		}
		row[i] = math.Sqrt(d)
		density -= math.Log(row[i])
	}
	return density, true
}

// invert fills inverse, and returns k⁻¹y.
func (f *fit) invert() []float64 {
	z := make([]float64, f.n)
	for i, column := range f.inverse {
		column[0] = 1 / f.k[i][i]
		for j := i + 1; j < f.n; j++ {
			column[j-i] = -floats.Dot(f.k[j][i:j], column[:j-i]) / f.k[j][j]
		}
		for j := i; j < f.n; j++ {
			z[j] += column[j-i] * f.y[i]
		}
	}
	alpha := make([]float64, f.n)
	for i, column := range f.inverse {
		alpha[i] = floats.Dot(column, z[i:])
	}
	return alpha
}

// climb follows the signs of the gradient, each coordinate in steps of its own (Rprop).
func (f *fit) climb(hyper []float64, steps int) (best []float64, value float64) {
	step, last := make([]float64, len(hyper)), make([]float64, len(hyper))
	for i := range step {
		step[i] = 0.3
	}
	value = math.Inf(-1)
	for range steps {
		v := f.at(hyper)
		if v > value {
			value, best = v, append(best[:0], hyper...)
		}
		if math.IsInf(v, -1) {
			break
		}
		for i, g := range f.gradient {
			switch {
			case g*last[i] > 0:
				step[i] = min(step[i]*1.2, 1)
			case g*last[i] < 0:
				step[i] = max(step[i]*0.5, 1e-3)
				g = 0
			}
			if g != 0 {
				hyper[i] += math.Copysign(step[i], g)
			}
			last[i] = g
		}
	}
	if best == nil {
		best = hyper
	}
	return best, value
}

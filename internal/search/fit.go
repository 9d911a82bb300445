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
	squares  [][]float64 // of every measure: squared distances of all pairs i > j, row by row
	r2       []float64
	slopes   []float64
	k        [][]float64 // covariance, then its Cholesky factor
	inverse  [][]float64 // transposed inverse of the factor: row i begins at column i
	gradient []float64
}

func newFit(g *process, x [][]uint8, y []float64) *fit {
	n := len(x)
	pairs := n * (n - 1) / 2
	f := &fit{g: g, y: y, n: n, r2: make([]float64, pairs), slopes: make([]float64, pairs), gradient: make([]float64, len(g.hyper))}
	for _, m := range g.c.measures {
		square, width, at := make([]float64, pairs), g.c.widths[m.param], 0
		for i := range n {
			row := m.square[int(x[i][m.param])*width:]
			for j := range i {
				square[at] = row[x[j][m.param]]
				at++
			}
		}
		f.squares = append(f.squares, square)
	}
	f.k, f.inverse = make([][]float64, n), make([][]float64, n)
	for i := range n {
		f.k[i], f.inverse[i] = make([]float64, i+1), make([]float64, n-i)
	}
	return f
}

// at returns the log posterior density of hyperparameters, but for a constant, and sets the gradient.
func (f *fit) at(hyper []float64) float64 {
	m := len(f.squares)
	signal, noise := math.Exp(hyper[m]), math.Exp(hyper[m+1])+1e-8
	clear(f.r2)
	for i, square := range f.squares {
		floats.AddScaled(f.r2, math.Exp(hyper[i]), square)
	}
	at := 0
	for i := range f.n {
		for j := range i {
			k, slope := matern(f.r2[at])
			f.k[i][j], f.slopes[at] = signal*k, signal*slope
			at++
		}
		f.k[i][i] = signal + noise
	}
	density, ok := f.factor()
	if !ok {
		return math.Inf(-1)
	}
	alpha := f.invert()
	density -= floats.Dot(alpha, f.y) / 2

	// weights become ∂density/∂r2.
	weights, bySignal, byNoise := f.r2, 0.0, 0.0
	at = 0
	for i := range f.n {
		for j := range i {
			w := alpha[i]*alpha[j] - floats.Dot(f.inverse[i], f.inverse[j][i-j:])
			k, _ := matern(f.r2[at])
			bySignal += w * signal * k
			weights[at] = w * f.slopes[at]
			at++
		}
		w := alpha[i]*alpha[i] - floats.Dot(f.inverse[i], f.inverse[i])
		bySignal += w * signal / 2
		byNoise += w * noise / 2
	}
	for i, square := range f.squares {
		f.gradient[i] = math.Exp(hyper[i]) * floats.Dot(weights, square)
	}
	f.gradient[m], f.gradient[m+1] = bySignal, byNoise
	for i, p := range f.g.prior {
		d := (hyper[i] - p.mean) / p.std
		density -= d * d / 2
		f.gradient[i] -= d / p.std
	}
	return density
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

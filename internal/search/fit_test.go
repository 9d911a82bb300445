package search

import (
	"math"
	"math/rand/v2"
	"testing"

	"pawl/internal/formula"
	"pawl/internal/space"
)

// numbers returns a param with these values.
func numbers(name string, values ...int64) space.Param {
	p := space.Param{Name: name}
	for _, v := range values {
		p.Values = append(p.Values, formula.Int(v))
	}
	return p
}

func TestGradientOfFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := newCoordinates([]space.Param{numbers("a", 1, 2, 4, 8, 16), numbers("b", 0, 1), numbers("c", 3, 4, 5, 6)})
	g := newProcess(c)
	var x [][]uint8
	var y []float64
	for range 12 {
		x = append(x, []uint8{uint8(r.IntN(5)), uint8(r.IntN(2)), uint8(r.IntN(4))})
		y = append(y, r.NormFloat64())
	}
	f := newFit(g, x, y)
	for range 5 {
		hyper := make([]float64, len(g.hyper))
		for i := range hyper {
			hyper[i] = g.prior[i].mean + r.NormFloat64()
		}
		f.at(hyper)
		gradient := append([]float64(nil), f.gradient...)
		for i := range hyper {
			const h = 1e-5
			old := hyper[i]
			hyper[i] = old + h
			up := f.at(hyper)
			hyper[i] = old - h
			down := f.at(hyper)
			hyper[i] = old
			if slope := (up - down) / (2 * h); math.Abs(slope-gradient[i]) > 1e-4*(1+math.Abs(slope)) {
				t.Errorf("hyperparameter %d: gradient %g, differences say %g", i, gradient[i], slope)
			}
		}
	}
}

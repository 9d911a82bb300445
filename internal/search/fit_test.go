package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

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
		x = append(x, c.of(space.Point{uint16(r.IntN(5)), uint16(r.IntN(2)), uint16(r.IntN(4))}))
		y = append(y, r.NormFloat64())
	}
	f := newFit(g, x, y)
	for range 5 {
		hyper := make([]float64, len(g.hyper))
		for i := range hyper {
			hyper[i] = g.prior[i].mean + r.NormFloat64()
		}
		hyper[len(hyper)-1] += 5 // with more noise, so that differences are exact enough
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

// The order in which values are listed changes no distance, so that it changes no model.
func TestCoordinatesDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := space.Param{Name: "p"}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			for _, v := range rapid.SliceOfNDistinct(rapid.Int64Range(-100, 5000), 1, 300, rapid.ID).Draw(t, "numbers") {
				p.Values = append(p.Values, formula.Int(v))
			}
		case 1:
			for _, v := range rapid.SliceOfNDistinct(rapid.Float64(), 1, 9, rapid.ID).Draw(t, "floats") {
				p.Values = append(p.Values, formula.Float(v))
			}
		case 2:
			for _, v := range rapid.SliceOfNDistinct(rapid.String(), 1, 9, rapid.ID).Draw(t, "texts") {
				p.Values = append(p.Values, formula.String(v))
			}
		case 3:
			p.Values = []formula.Value{formula.Bool(true), formula.Bool(false)}
		}
		order := rapid.Permutation(p.Values).Draw(t, "order")
		q := space.Param{Name: "q", Values: order}
		a, b := newCoordinates([]space.Param{p}), newCoordinates([]space.Param{q})
		if len(a.measures) != len(b.measures) {
			t.Fatalf("%d measures, in another order %d", len(a.measures), len(b.measures))
		}
		if len(p.Values) < 2 {
			if len(a.axes) != 0 {
				t.Fatal("a param of one value is a coordinate")
			}
			return
		}
		for i, v := range p.Values {
			for j, w := range p.Values {
				x, y := a.of(space.Point{uint16(i)}), a.of(space.Point{uint16(j)})
				x2, y2 := b.of(space.Point{uint16(slices.Index(order, v))}), b.of(space.Point{uint16(slices.Index(order, w))})
				for m := range a.measures {
					at, at2 := int(x[0])*a.axes[0].width+int(y[0]), int(x2[0])*b.axes[0].width+int(y2[0])
					d, d2 := a.measures[m].square[at], b.measures[m].square[at2]
					if d != d2 || !(d >= 0 && d <= 1) || i == j && d != 0 {
						t.Fatalf("measure %d: %v and %v are %v apart, in another order %v", m, v, w, d, d2)
					}
				}
			}
		}
	})
}

// What a process predicts at its points is what it was told there, and it is surer there than elsewhere; what a pool
// computes step by step is what follows from the definition.
func TestProcessPredicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCoordinates([]space.Param{numbers("a", 1, 2, 4, 8, 16), numbers("b", 0, 1), numbers("c", 3, 4, 5, 6)})
		g := newProcess(c)
		g.hyper[len(g.hyper)-1] = math.Log(1e-6) // no noise
		g.set(g.hyper)
		p := newPool(g)
		for a := range uint16(5) {
			for b := range uint16(2) {
				for k := range uint16(4) {
					p.add(space.Point{a, b, k})
				}
			}
		}
		known := rapid.SliceOfNDistinct(rapid.IntRange(0, 39), 2, 12, rapid.ID).Draw(t, "known")
		for i, at := range known {
			g.add(p.candidates[at].x, float64(i%5)-2)
			if rapid.Bool().Draw(t, "predict") {
				g.settle()
				p.predict()
			}
		}
		g.settle()
		p.predict()
		for i, at := range known {
			c := p.candidates[at]
			if want := float64(i%5) - 2; math.Abs(c.mean-want) > 1e-2 || c.variance > 1e-3*g.signal {
				t.Fatalf("a known point of value %v is predicted as %v, variance %v", want, c.mean, c.variance)
			}
		}
		fresh := newPool(g)
		for _, c := range p.candidates {
			d := fresh.add(c.point)
			if fresh.predict(); math.Abs(c.mean-d.mean) > 1e-9 || math.Abs(c.variance-d.variance) > 1e-9 || c.variance < -1e-9 || c.variance > g.signal {
				t.Fatalf("step by step %v ± %v, at once %v ± %v", c.mean, c.variance, d.mean, d.variance)
			}
		}
	})
}

func TestImprovement(t *testing.T) {
	for _, c := range []struct{ mean, variance, best, want float64 }{
		{0, 1, 0, 1 / math.Sqrt(2*math.Pi)},
		{-3, 1e-20, 0, 3},
		{3, 1e-20, 0, 0},
		{1, 4, 0, 0.3955931}, // 2·(φ(0.5) − 0.5·Φ(−0.5)), by tables
	} {
		if got := (&candidate{mean: c.mean, variance: c.variance}).improvement(c.best, 1); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("expected improvement of %v ± %v over %v: %v, want %v", c.mean, c.variance, c.best, got, c.want)
		}
	}
}

package oracle

import (
	"math"
	"slices"
)

// fold is a reduction: of elements, and of what several parts gave.
type fold struct {
	start  float64
	add    func(have float64, values []float64) float64
	rounds bool // with every element that is added
}

var folds = map[string]fold{
	"sum": {0, func(have float64, values []float64) float64 { return have + total(values) }, true},
	// NaN wins, as in NumPy: a reference that loses one would excuse the kernel that does.
	"max": {math.Inf(-1), func(have float64, values []float64) float64 { return max(have, slices.Max(values)) }, false},
}

func reduction(name string) reference {
	return reference{
		inputs:      []slot{{name: "x", also: []string{"input", "in"}}},
		outputs:     []slot{{name: "out"}},
		accumulates: true,
		plan:        func(p *problem) (func(), error) { return planReduction(p, folds[name]) },
	}
}

func planReduction(p *problem, f fold) (func(), error) {
	x, out := p.inputs["x"], p.main
	if out.count > 1 && !leads(out.Shape, x.Shape) {
		return nil, p.refuse("check the shapes, "+other,
			"%s is %s and %s %s; expected an output of one element, or %s without some of its last dimensions",
			x.Name, shown(x.Shape), out.Name, shown(out.Shape), shown(x.Shape))
	}
	if f.rounds {
		p.terms = x.count / max(1, out.count)
	}
	initial := p.initial
	return func() {
		width := x.count / out.count
		results := make([]float64, out.count)
		if width >= share {
			for i := range results {
				results[i] = f.wide(x, int64(i)*width, width)
			}
		} else {
			several := share / width
			each(pieces(int(out.count), int(several)), func(n int) {
				for i := int64(n) * several; i < min(out.count, int64(n+1)*several); i++ {
					results[i] = f.part(x, i*width, width)
				}
			})
		}
		if initial != nil {
			held := make([]float64, out.count)
			initial.read(held, 0)
			for i := range results {
				results[i] = f.add(held[i], results[i:i+1])
			}
		}
		out.write(results, 0)
	}, nil
}

// leads reports whether short is how shape begins, ones at its end aside.
func leads(short, shape []int64) bool {
	n := 0
	for n < min(len(short), len(shape)) && short[n] == shape[n] {
		n++
	}
	return !slices.ContainsFunc(short[n:], func(size int64) bool { return size != 1 })
}

// wide reduces on all processors. Its parts do not depend on how many there are.
func (f fold) wide(x *operand, first, count int64) float64 {
	parts := make([]float64, pieces(int(count), share))
	each(len(parts), func(n int) {
		from := int64(n) * share
		parts[n] = f.part(x, first+from, min(share, count-from))
	})
	return f.add(f.start, parts)
}

// part reduces block by block, so that a long sum does not swallow its small ends.
func (f fold) part(x *operand, first, count int64) float64 {
	var values [block]float64
	result := f.start
	for i := int64(0); i < count; i += block {
		some := values[:min(block, count-i)]
		x.read(some, int(first+i))
		result = f.add(result, some)
	}
	return result
}

package oracle

import (
	"math"
	"slices"
	"sync"
)

var softmax = reference{
	inputs:  []slot{{name: "x", also: []string{"input", "in", "logits"}}},
	outputs: []slot{{name: "out"}},
	plan: func(p *problem) (func(), error) {
		x, out := p.inputs["x"], p.main
		if err := sameShape(p, x, out); err != nil {
			return nil, err
		}
		return func() {
			eachRow(x, func(row []float64, n int) {
				sum, _ := exponentials(row)
				for i := range row {
					row[i] /= sum
				}
				out.write(row, n*len(row))
			})
		}, nil
	},
}

var layernorm = reference{
	inputs: []slot{
		{name: "x", also: []string{"input", "in"}},
		{name: "gamma", also: []string{"weight", "w", "g"}, optional: true},
		{name: "beta", also: []string{"bias", "b"}, optional: true},
	},
	outputs: []slot{{name: "out"}, {name: "mean", optional: true}, {name: "rstd", optional: true}},
	scalars: map[string][]string{"eps": {"eps", "epsilon"}},
	plan:    planLayernorm,
}

func planLayernorm(p *problem) (func(), error) {
	x, gamma, beta, out := p.inputs["x"], p.inputs["gamma"], p.inputs["beta"], p.main
	if err := sameShape(p, x, out); err != nil {
		return nil, err
	}
	columns := x.Shape[len(x.Shape)-1]
	for _, o := range []*operand{gamma, beta} {
		if o != nil && (o.count != columns || o.Shape[len(o.Shape)-1] != columns) {
			return nil, p.refuse("check the shapes, "+other, "%s is %s, expected [%d], one number for each column of %s", o.Name, shown(o.Shape), columns, x.Name)
		}
	}
	mean, rstd := p.outputs["mean"], p.outputs["rstd"]
	for _, o := range []*operand{mean, rstd} {
		if o != nil && o.count*columns != x.count {
			return nil, p.refuse("check the shapes, "+other, "%s is %s, expected %s, one number for each row of %s", o.Name, shown(o.Shape), shown(x.Shape[:len(x.Shape)-1]), x.Name)
		}
	}
	eps := p.scalar("eps", 1e-5)
	return func() {
		factors, offsets := perColumn(gamma, int(columns), 1), perColumn(beta, int(columns), 0)
		eachRow(x, func(row []float64, n int) {
			average := total(row) / float64(len(row))
			squares := 0.0
			for _, v := range row {
				squares += (v - average) * (v - average)
			}
			inverse := 1 / math.Sqrt(squares/float64(len(row))+eps)
			for i, v := range row {
				row[i] = (v-average)*inverse*factors[i] + offsets[i]
			}
			out.write(row, n*len(row))
			if mean != nil {
				mean.write([]float64{average}, n)
			}
			if rstd != nil {
				rstd.write([]float64{inverse}, n)
			}
		})
	}, nil
}

func sameShape(p *problem, x, out *operand) error {
	if len(x.Shape) == 0 || !slices.Equal(x.Shape, out.Shape) {
		return p.refuse("check the shapes, "+other, "%s is %s and %s %s; expected two equal shapes of at least one dimension",
			x.Name, shown(x.Shape), out.Name, shown(out.Shape))
	}
	return nil
}

func perColumn(o *operand, columns int, otherwise float64) []float64 {
	values := slices.Repeat([]float64{otherwise}, columns)
	if o != nil {
		o.read(values, 0)
	}
	return values
}

func total(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum
}

// eachRow hands out the rows of x, which work may change.
func eachRow(x *operand, work func(row []float64, n int)) {
	columns := int(x.Shape[len(x.Shape)-1])
	rows := int(x.count) / columns
	several := max(1, share/columns)
	pool := sync.Pool{New: func() any { s := make([]float64, columns); return &s }}
	each(pieces(rows, several), func(n int) {
		row := pool.Get().(*[]float64)
		defer pool.Put(row)
		for i := n * several; i < min(rows, (n+1)*several); i++ {
			x.read(*row, i*columns)
			work(*row, i)
		}
	})
}

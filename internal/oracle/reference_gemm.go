package oracle

import (
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/blas"
)

var gemm = reference{
	inputs: []slot{
		{name: "a", also: []string{"a_t", "at", "a_transposed", "lhs"}},
		{name: "b", also: []string{"b_t", "bt", "b_transposed", "rhs"}},
		{name: "c", optional: true},
	},
	outputs:     []slot{{name: "out"}},
	scalars:     map[string][]string{"alpha": {"alpha"}, "beta": {"beta"}, "trans_a": {"trans_a", "transa"}, "trans_b": {"trans_b", "transb"}},
	accumulates: true,
	plan:        planGemm,
}

var transposed = []string{"a_t", "at", "a_transposed", "b_t", "bt", "b_transposed"}

// product is a gemm with its sizes: count products, the same a or b for all of them
// when its step is 0.
type product struct {
	a, b, c, out *operand

	count, m, n, k int
	aStep, bStep   int // elements from one product to the next
	aT, bT         bool
	alpha, beta    float64
}

func planGemm(p *problem) (func(), error) {
	a, b, c, out := p.inputs["a"], p.inputs["b"], p.inputs["c"], p.main
	wrong := func(why string) error {
		return p.refuse("check the shapes, name what is stored transposed a_t or b_t, "+other,
			"%s: %s is %s, %s %s and %s %s; expected a [M, K], b [K, N] and the output [M, N]",
			why, a.Name, shown(a.Shape), b.Name, shown(b.Shape), out.Name, shown(out.Shape))
	}
	if len(a.Shape) < 2 || len(b.Shape) < 2 || len(out.Shape) < 2 {
		return nil, wrong("each needs two dimensions")
	}
	g := product{a: a, b: b, c: c, out: out, alpha: p.scalar("alpha", 1), beta: p.scalar("beta", 1)}
	if !g.orient(p) {
		return nil, wrong("they do not fit")
	}
	p.terms = int64(g.k)
	batch := out.Shape[:len(out.Shape)-2]
	g.count = int(out.count) / (g.m * g.n)
	for _, in := range []struct {
		o    *operand
		step *int
	}{{a, &g.aStep}, {b, &g.bStep}} {
		switch leading := in.o.Shape[:len(in.o.Shape)-2]; {
		case slices.Equal(leading, batch):
			*in.step = int(in.o.count) / g.count
		case len(leading) > 0:
			return nil, wrong("the leading dimensions do not fit")
		}
	}
	if g.aStep > 0 && g.bStep == 0 && !g.aT { // one product with more rows
		g.m, g.count = g.m*g.count, 1
	}
	return g.compute, g.addend(p)
}

// orient finds out what is stored transposed: what its name or a scalar says, else
// nothing, else what alone makes the shapes fit.
func (g *product) orient(p *problem) bool {
	last := func(o *operand) (rows, columns int) {
		n := len(o.Shape)
		return int(o.Shape[n-2]), int(o.Shape[n-1])
	}
	says := func(o *operand, scalar string) (transposes, said bool) {
		if v, ok := p.scalars[scalar]; ok {
			return v != 0, true
		}
		named := slices.Contains(transposed, strings.ToLower(o.Name))
		return named, named
	}
	aSays, aSaid := says(g.a, "trans_a")
	bSays, bSaid := says(g.b, "trans_b")
	fits := func(aT, bT bool) bool {
		if aSaid && aT != aSays || bSaid && bT != bSays {
			return false
		}
		m, k := last(g.a)
		if aT {
			m, k = k, m
		}
		k2, n := last(g.b)
		if bT {
			k2, n = n, k2
		}
		rows, columns := last(g.out)
		if m != rows || n != columns || k != k2 {
			return false
		}
		g.m, g.n, g.k, g.aT, g.bT = m, n, k, aT, bT
		return true
	}
	if fits(aSays, bSays) {
		return true
	}
	found := 0
	for _, t := range [][2]bool{{true, true}, {true, false}, {false, true}} {
		if fits(t[0], t[1]) {
			found++
		}
	}
	return found == 1
}

// addend settles what beta is for.
func (g *product) addend(p *problem) error {
	switch _, given := p.scalars["beta"]; {
	case p.initial != nil && g.c != nil:
		return p.refuse("give "+p.initial.Name+" role: out", "both %s and what %s holds would be added", g.c.Name, p.initial.Name)
	case p.initial != nil:
		g.c = p.initial
	case g.c == nil && given && g.beta != 0:
		return p.refuse("give it role: inout, or make beta 0", "beta is %g, and %s has role out, so it holds nothing to scale", g.beta, g.out.Name)
	}
	if g.c != nil && !slices.Equal(g.c.Shape, g.out.Shape) {
		return p.refuse("check the shapes, "+other, "%s is %s, expected %s as the output", g.c.Name, shown(g.c.Shape), shown(g.out.Shape))
	}
	return nil
}

// compute takes as much of b at a time as fits in shared, transposed as
// heads.convert says why, and blocks of rows of a.
func (g *product) compute() {
	columns := min(g.n, max(8, shared/g.k))
	together := 1
	if columns == g.n {
		together = min(g.count, max(1, shared/(g.k*g.n)))
	}
	rows := min(tile, max(8, private/g.k))
	b := make([]float64, together*columns*g.k)
	pool := sync.Pool{New: func() any { s := make([]float64, rows*g.k); return &s }}
	parts, blocks := pieces(g.k, tile), pieces(g.m, rows)
	for first := 0; first < g.count; first += together {
		count := min(together, g.count-first)
		for column := 0; column < g.n; column += columns {
			width := min(columns, g.n-column)
			each(count*parts, func(n int) {
				at, from := n/parts, n%parts*tile
				g.convertB(b[at*width*g.k:], first+at, column, width, from, min(tile, g.k-from))
			})
			each(count*blocks, func(n int) {
				at, row := n/blocks, n%blocks*rows
				height := min(rows, g.m-row)
				a := pool.Get().(*[]float64)
				defer pool.Put(a)
				g.convertA(*a, first+at, row, height)
				for j := 0; j < width; j += tile {
					g.multiply(*a, b[(at*width+j)*g.k:], first+at, row, height, column+j, min(tile, width-j))
				}
			})
		}
	}
}

// convertB reads count of the k elements of some columns, each column in one piece.
func (g *product) convertB(into []float64, at, column, width, from, count int) {
	base := at * g.bStep
	if g.bT {
		for j := range width {
			g.b.read(into[j*g.k+from:][:count], base+(column+j)*g.k+from)
		}
		return
	}
	row := make([]float64, width)
	for i := from; i < from+count; i++ {
		g.b.read(row, base+i*g.n+column)
		for j, v := range row {
			into[j*g.k+i] = v
		}
	}
}

func (g *product) convertA(into []float64, at, row, height int) {
	base := at * g.aStep
	if !g.aT {
		g.a.read(into[:height*g.k], base+row*g.k)
		return
	}
	column := make([]float64, height)
	for i := range g.k {
		g.a.read(column, base+i*g.m+row)
		for j, v := range column {
			into[j*g.k+i] = v
		}
	}
}

// multiply computes one tile of the output.
func (g *product) multiply(a, b []float64, at, row, height, column, width int) {
	const depth = 512 // what of a and b is at hand stays near
	var sums, held [tile * tile]float64
	for k := 0; k < g.k; k += depth {
		library.Dgemm(blas.NoTrans, blas.Trans, height, width, min(depth, g.k-k), 1, a[k:], g.k, b[k:], g.k, 1, sums[:], tile)
	}
	for i := range height {
		line, to := sums[i*tile:][:width], (at*g.m+row+i)*g.n+column
		for j := range line {
			line[j] *= g.alpha
		}
		if g.c != nil && g.beta != 0 {
			g.c.read(held[:width], to)
			for j := range line {
				line[j] += g.beta * held[j]
			}
		}
		g.out.write(line, to)
	}
}

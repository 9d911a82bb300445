package oracle

import (
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// tile is how many rows and columns a product is cut into: gonum computes up to
// three blocks of 64 by itself, without goroutines of its own.
const tile = 64

// Variables, so that tests can make small problems take every turn.
var (
	// shared is how many float64 of converted inputs all processors share at a time.
	shared = 8 << 20
	// private is how many float64 one processor holds beside.
	private = 256 << 10
)

var library gonum.Implementation

// heads is attention with its sizes: count heads of keys, each with queries of
// group heads.
type heads struct {
	q, k, v, out, lse *operand

	count, group int
	rows, keys   int
	width, depth int // of a key, of a value
	scale        float64
	causal       bool
}

func attention(causal bool) reference {
	return reference{
		inputs:  []slot{{name: "q", also: []string{"query"}}, {name: "k", also: []string{"key"}}, {name: "v", also: []string{"value"}}},
		outputs: []slot{{name: "out"}, {name: "lse", also: []string{"softmax_lse"}, optional: true}},
		scalars: map[string][]string{"scale": {"scale", "softmax_scale", "sm_scale"}, "causal": {"causal", "is_causal"}},
		plan:    func(p *problem) (func(), error) { return planAttention(p, causal) },
	}
}

func planAttention(p *problem, causal bool) (func(), error) {
	q, k, v, out := p.inputs["q"], p.inputs["k"], p.inputs["v"], p.main
	const layout = "expected q [B, H, S, D], k [B, G, T, D], v [B, G, T, E] and the output [B, H, S, E], all with as many dimensions, at least two"
	wrong := func(why string) error {
		return p.refuse("check the shapes, "+other, "%s: q is %s, k %s, v %s and %s %s; %s",
			why, shown(q.Shape), shown(k.Shape), shown(v.Shape), out.Name, shown(out.Shape), layout)
	}
	rank := len(q.Shape)
	if rank < 2 || len(k.Shape) != rank || len(v.Shape) != rank || len(out.Shape) != rank {
		return nil, wrong("the numbers of dimensions do not fit")
	}
	qHeads, kHeads, batch := int64(1), int64(1), rank-2
	if rank > 2 {
		qHeads, kHeads, batch = q.Shape[rank-3], k.Shape[rank-3], rank-3
	}
	rows, keys, width, depth := q.Shape[rank-2], k.Shape[rank-2], q.Shape[rank-1], v.Shape[rank-1]
	switch {
	case k.Shape[rank-1] != width:
		return nil, wrong("q and k differ in their last dimension")
	case v.Shape[rank-2] != keys:
		return nil, wrong("k and v differ in length")
	case !slices.Equal(k.Shape[:rank-2], v.Shape[:rank-2]), !slices.Equal(q.Shape[:batch], k.Shape[:batch]):
		return nil, wrong("the leading dimensions do not fit")
	case qHeads%kHeads != 0:
		return nil, wrong("the heads of k do not divide those of q")
	case !slices.Equal(out.Shape[:rank-1], q.Shape[:rank-1]), out.Shape[rank-1] != depth:
		return nil, wrong("the output does not fit")
	}
	lse := p.outputs["lse"]
	if lse != nil && !slices.Equal(lse.Shape, q.Shape[:rank-1]) {
		return nil, p.refuse("check the shapes, "+other, "%s is %s, expected %s, one number for each row of q", lse.Name, shown(lse.Shape), shown(q.Shape[:rank-1]))
	}
	asked := p.scalar("causal", 0) != 0
	if _, given := p.scalars["causal"]; given && causal && !asked {
		return nil, p.refuse("write oracle: attention, which follows the scalar", "the scalar causal is 0")
	}
	h := heads{
		q: q, k: k, v: v, out: out, lse: lse,
		count: int(k.count / (keys * width)), group: int(qHeads / kHeads),
		rows: int(rows), keys: int(keys), width: int(width), depth: int(depth),
		scale: p.scalar("scale", 1/math.Sqrt(float64(width))), causal: causal || asked,
	}
	return h.compute, nil
}

// compute takes as many heads at a time as fit in shared, and these in blocks of
// rows.
func (h *heads) compute() {
	together := min(h.count, max(1, shared/(h.keys*(h.width+h.depth))))
	rows := min(tile, max(8, private/h.keys))
	keys := make([]float64, together*h.keys*h.width)
	values := make([]float64, together*h.keys*h.depth)
	pool := sync.Pool{New: func() any {
		return &rowBlock{q: make([]float64, rows*h.width), p: make([]float64, rows*h.keys), o: make([]float64, rows*h.depth)}
	}}
	parts, blocks := pieces(h.keys, tile), pieces(h.rows, rows)
	for first := 0; first < h.count; first += together {
		count := min(together, h.count-first)
		each(count*parts, func(n int) {
			head, from := n/parts, n%parts*tile
			h.convert(keys[head*h.keys*h.width:], values[head*h.keys*h.depth:], first+head, from, min(tile, h.keys-from))
		})
		each(count*h.group*blocks, func(n int) {
			head, block := n/blocks, n%blocks
			b := pool.Get().(*rowBlock)
			defer pool.Put(b)
			b.first, b.count = block*rows, min(rows, h.rows-block*rows)
			at := head / h.group
			h.attend(b, first*h.group+head, keys[at*h.keys*h.width:], values[at*h.keys*h.depth:])
		})
	}
}

func pieces(count, size int) int { return (count + size - 1) / size }

// convert reads some keys and values of a head, the values transposed: rows that
// are multiplied lie in one piece then, and gonum's product of such rows is the one
// that leaves no zero out. A zero times infinity is NaN in a kernel too.
func (h *heads) convert(keys, values []float64, head, from, count int) {
	h.k.read(keys[from*h.width:(from+count)*h.width], (head*h.keys+from)*h.width)
	rows := make([]float64, count*h.depth)
	h.v.read(rows, (head*h.keys+from)*h.depth)
	for i := range count {
		for j, v := range rows[i*h.depth : (i+1)*h.depth] {
			values[j*h.keys+from+i] = v
		}
	}
}

// rowBlock is a block of rows of one head and the memory for it.
type rowBlock struct {
	first, count int
	q, p, o      []float64
}

// visible returns how many keys a row sees.
func (h *heads) visible(row int) int {
	if !h.causal {
		return h.keys
	}
	return min(h.keys, max(0, row+1+h.keys-h.rows))
}

func (h *heads) attend(b *rowBlock, head int, keys, values []float64) {
	at := head*h.rows + b.first
	h.q.read(b.q[:b.count*h.width], at*h.width)
	all, some := h.visible(b.first), h.visible(b.first+b.count-1)
	for j := 0; j < some; j += tile {
		library.Dgemm(blas.NoTrans, blas.Trans, b.count, min(tile, some-j), h.width,
			h.scale, b.q, h.width, keys[j*h.width:], h.width, 0, b.p[j:], h.keys)
	}
	o := b.o[:b.count*h.depth]
	clear(o)
	var sums, lse [tile]float64
	for i := range b.count {
		sums[i], lse[i] = exponentials(b.p[i*h.keys:][:h.visible(b.first+i)])
	}
	for j := 0; j < h.depth && all > 0; j += tile {
		library.Dgemm(blas.NoTrans, blas.Trans, b.count, min(tile, h.depth-j), all,
			1, b.p, h.keys, values[j*h.keys:], h.keys, 0, o[j:], h.depth)
	}
	for i := range b.count {
		row, seen := o[i*h.depth:(i+1)*h.depth], h.visible(b.first+i)
		if seen == 0 {
			continue
		}
		for j := range row {
			if rest := seen - all; rest > 0 {
				row[j] += library.Ddot(rest, b.p[i*h.keys+all:], 1, values[j*h.keys+all:], 1)
			}
			row[j] /= sums[i]
		}
	}
	h.out.write(o, at*h.depth)
	if h.lse != nil {
		h.lse.write(lse[:b.count], at)
	}
}

// exponentials replaces each x by exp(x − max) and returns their sum and the
// logarithm of the sum of exp(x).
func exponentials(x []float64) (sum, log float64) {
	top := math.Inf(-1)
	for _, v := range x {
		if v > top {
			top = v
		}
	}
	for i, v := range x {
		e := math.Exp(v - top)
		x[i] = e
		sum += e
	}
	return sum, top + math.Log(sum)
}

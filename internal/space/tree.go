package space

import (
	"math/rand/v2"
	"slices"
)

// tree holds the points of a component: a branch for every value that some point has there. Branches
// whose values make no difference further down are one, so the tree can be small where the points are
// many.
type tree struct {
	order []int // the params, by depth
	root  int32
	// Edges of node n are those from first[n] up to first[n+1]. Node 0 is the end of all paths.
	first []int32
	value []uint16
	child []int32
	below []float64 // points below the edges of the node up to this one
}

const (
	dead     = -1 // a node without points
	unknown  = -2
	maxDense = 1 << 14 // combinations of values: shared nodes are found by index, not by hash
)

func (t *tree) edges(node int32) (from, to int32) { return t.first[node], t.first[node+1] }

// points returns the number of points below a node.
func (t *tree) points(node int32) float64 {
	switch node {
	case dead:
		return 0
	case 0:
		return 1
	}
	return t.below[t.first[node+1]-1]
}

// size returns the number of points.
func (t *tree) size() float64 { return t.points(t.root) }

// edge returns an edge of a node with a probability in proportion to the points below it.
func (t *tree) edge(r *rand.Rand, from, to int32) int32 {
	if to-from == 1 {
		return from
	}
	x := r.Float64() * t.below[to-1]
	at, found := slices.BinarySearch(t.below[from:to], x)
	if found {
		at++ // below counts the points up to and with an edge
	}
	return min(from+int32(at), to-1)
}

// draw sets the tree's params of a point, all points equally likely.
func (t *tree) draw(r *rand.Rand, p Point) {
	node := t.root
	for _, param := range t.order {
		from, to := t.edges(node)
		e := t.edge(r, from, to)
		p[param], node = t.value[e], t.child[e]
	}
}

// grower makes a tree.
type grower struct {
	*tree
	sizes   []int
	due     [][]*constraint // by depth: those whose last param is bound there
	shared  []sharing       // by depth
	states  []*byState      // by depth, where that shares more; nil elsewhere
	changed [][]*tracked    // by depth: states that are known from there on
	pending [][]pending     // by depth: edges of the node that is being made
	point   Point
	scratch scratch
	work    int // that may be done
	most    int // edges that there may be
}

type pending struct {
	value  uint16
	child  int32
	points float64
}

// sharing finds the node at a depth that an earlier path has made: one with the same values of the params
// that constraints further down name.
type sharing struct {
	params  []int
	strides []uint64 // nil: every path has a node of its own
	dense   []int32
	sparse  map[uint64]int32
}

// count returns the tree of the points that satisfy the constraints, or nil where that is too much work.
func (s *Space) count(c *component, constraints []*constraint) *tree {
	order, cost := s.plan(c, constraints, false, planEffort)
	work := s.limits.work(c)
	if cost > 4*float64(work) {
		return nil // the prediction is not that wrong
	}
	return s.grow(order, constraints, work, s.limits.edges)
}

// grow returns the tree with its params in the order, or nil where that takes more work or edges.
func (s *Space) grow(order []int, constraints []*constraint, work, edges int) *tree {
	t := &tree{order: order, first: []int32{0, 0}}
	g := &grower{tree: t, point: make(Point, len(s.params)), work: work, most: edges}
	g.due = dueBy(order, constraints)
	g.states, g.changed = s.byStates(order, constraints)
	for depth, param := range order {
		size := len(s.params[param].Values)
		g.sizes = append(g.sizes, size)
		g.pending = append(g.pending, make([]pending, 0, size))
		g.shared = append(g.shared, s.sharing(order, g.due, depth))
	}
	t.root = g.grow(0)
	if g.exhausted() {
		return nil
	}
	return t
}

// dueBy returns the constraints by the depth at which their last param is bound.
func dueBy(order []int, constraints []*constraint) [][]*constraint {
	depth, due := map[int]int{}, make([][]*constraint, len(order))
	for i, param := range order {
		depth[param] = i
	}
	for _, c := range constraints {
		last := 0
		for _, param := range c.scope {
			last = max(last, depth[param])
		}
		due[last] = append(due[last], c)
	}
	return due
}

func (s *Space) sharing(order []int, due [][]*constraint, depth int) sharing {
	var sh sharing
	for _, param := range order[:depth] {
		if slices.ContainsFunc(due[depth:], func(at []*constraint) bool {
			return slices.ContainsFunc(at, func(c *constraint) bool { return slices.Contains(c.scope, param) })
		}) {
			sh.params = append(sh.params, param)
		}
	}
	if len(sh.params) == depth {
		return sharing{} // no two paths are alike
	}
	sh.strides = make([]uint64, len(sh.params))
	product := 1.0
	for i, param := range sh.params {
		sh.strides[i] = uint64(product)
		product *= float64(len(s.params[param].Values))
	}
	switch {
	case product <= maxDense:
		sh.dense = slices.Repeat([]int32{unknown}, int(product))
	case product < 1<<63:
		sh.sparse = map[uint64]int32{}
	default:
		return sharing{}
	}
	return sh
}

func (sh *sharing) key(p Point) uint64 {
	key := uint64(0)
	for i, param := range sh.params {
		key += sh.strides[i] * uint64(p[param])
	}
	return key
}

func (g *grower) exhausted() bool { return g.scratch.work > g.work || len(g.value) > g.most }

// grow returns the node of all completions of the values bound so far, which an earlier path may have made.
func (g *grower) grow(depth int) int32 {
	if depth == len(g.order) {
		return 0
	}
	if by := g.states[depth]; by != nil {
		g.scratch.work += workHash
		key := by.key(g.point)
		node, ok := by.nodes[key]
		if !ok {
			node = g.node(depth)
			by.nodes[key] = node
		}
		return node
	}
	sh := &g.shared[depth]
	if sh.strides == nil {
		return g.node(depth)
	}
	key := sh.key(g.point)
	if sh.dense != nil {
		if sh.dense[key] == unknown {
			sh.dense[key] = g.node(depth)
		}
		return sh.dense[key]
	}
	g.scratch.work += workHash
	node, ok := sh.sparse[key]
	if !ok {
		node = g.node(depth)
		sh.sparse[key] = node
	}
	return node
}

// node makes the node of all completions of the values bound so far.
func (g *grower) node(depth int) int32 {
	edges := g.pending[depth][:0]
	param, due := g.order[depth], g.due[depth]
	sum := 0.0
values:
	for v := range g.sizes[depth] {
		g.scratch.work += workValue
		g.point[param] = uint16(v)
		for _, c := range due {
			if !c.holds(g.point, &g.scratch) {
				continue values
			}
		}
		if g.exhausted() {
			return dead
		}
		for _, st := range g.changed[depth] {
			st.update(g.point, &g.scratch)
		}
		if child := g.grow(depth + 1); child != dead {
			sum += g.points(child)
			edges = append(edges, pending{uint16(v), child, sum})
		}
	}
	if len(edges) == 0 {
		return dead
	}
	for _, e := range edges {
		g.value, g.child, g.below = append(g.value, e.value), append(g.child, e.child), append(g.below, e.points)
	}
	g.first = append(g.first, int32(len(g.value)))
	return int32(len(g.first) - 2)
}

package space

import (
	"math"
	"math/rand/v2"
	"slices"
)

// component is params that constraints join, or a single param that none names.
type component struct {
	params      []int // in the order of the file
	constraints []*constraint
	cartesian   float64
	size        float64

	list *list // all points; nil: there are too many
	tree *tree // nil with a list
	// Constraints that the tree does not know, with what was drawn to estimate how many points satisfy them.
	late    []*constraint
	due     [][]*constraint // late, by depth of the tree
	ceiling float64         // of weights of draws: a draw is kept with probability weight / ceiling
	known   []Point         // points that satisfy all constraints
}

// split makes the components.
func (s *Space) split() {
	root := make([]int, len(s.params))
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for _, c := range s.constraints {
		for _, param := range c.scope[1:] {
			a, b := find(c.scope[0]), find(param)
			root[max(a, b)] = min(a, b)
		}
	}
	for _, i := range s.varying {
		first := find(i)
		if s.of[first] == nil {
			s.of[first] = &component{cartesian: 1}
			s.components = append(s.components, s.of[first])
		}
		c := s.of[first]
		s.of[i] = c
		c.params = append(c.params, i)
		c.cartesian *= float64(len(s.params[i].Values))
	}
	for _, each := range s.constraints {
		c := s.of[each.scope[0]]
		c.constraints = append(c.constraints, each)
	}
}

// explore counts the points of a component and settles how they are kept.
func (s *Space) explore(c *component) *Error {
	s.lookInside(c)
	if t := s.count(c, c.constraints); t != nil {
		if c.size = t.size(); c.size == 0 {
			return s.empty(c)
		}
		if c.list = s.listOf(c, t); c.list == nil {
			c.tree = t
		}
		return nil
	}
	order, kept := s.affordable(c)
	c.tree = s.grow(order, kept, math.MaxInt, math.MaxInt)
	for _, each := range c.constraints {
		if !slices.Contains(kept, each) {
			c.late = append(c.late, each)
		}
	}
	if c.tree.size() == 0 {
		return s.empty(c)
	}
	return s.estimate(c)
}

// contains reports whether the component's part of a point, whose values exist, satisfies its constraints.
func (c *component) contains(p Point, sc *scratch) bool {
	if c.list != nil {
		return c.list.find(p) >= 0
	}
	return allHold(c.constraints, p, sc)
}

// draw sets the component's part of a point.
func (c *component) draw(r *rand.Rand, p Point, sc *scratch) {
	switch {
	case c.list != nil:
		c.list.read(r.IntN(c.list.len()), p)
	case len(c.late) == 0:
		c.tree.draw(r, p)
	default:
		c.drawLate(r, p, sc)
	}
}

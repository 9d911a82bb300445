// Package space holds what a search goes over: params with their values, and constraints between them.
// A space is never made whole: it is counted, drawn from and walked through as far as somebody asks.
//
// Params that no constraint joins are independent: a space is the product of its components, and only
// those are looked into. What is known of a component depends on its size:
//
//   - Up to 2^22 points are listed: 8 bytes each, in the order of the file. Numbers are exact.
//   - Of more points, the tree of values is kept. Branches that differ in nothing that a constraint further
//     down needs are one: the values of params, or of parts of constraints. Numbers are exact, and draws uniform.
//   - Where the tree is too large too, it is made without the constraints that make it so. A draw
//     from it is then kept or thrown away by these constraints: still uniform, but Size is an estimate.
//     Where fewer than one draw in some hundred would be kept, draws are nearly uniform: see Sample.
package space

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"pawl/internal/formula"
)

// Param is one param of a space and the values that it can have, the default first.
type Param struct {
	Name   string
	Values []formula.Value
}

// Point is one value for every param, by its index into Param.Values.
type Point []uint16

const maxValues = math.MaxUint16 // of one param: a Point holds their indexes

// Space is the points of all params that satisfy all constraints; there is at least one. It never
// changes and may be used by many goroutines at once.
type Space struct {
	params      []Param
	constraints []*constraint
	varying     []int // params of more than one value
	components  []*component
	of          []*component // of each param; nil: it has one value
	scratch     sync.Pool
	limits      limits
}

// New makes the space of the points that satisfy every constraint. A constraint that cannot be
// evaluated at a point, or is neither true nor false there, is not satisfied. The error is an *Error.
func New(params []Param, constraints []*formula.Expr) (*Space, error) {
	return within(usualLimits, params, constraints)
}

func within(most limits, params []Param, constraints []*formula.Expr) (*Space, error) {
	s := &Space{params: params, of: make([]*component, len(params)), limits: most}
	s.scratch.New = func() any { return &scratch{} }
	if err := s.checkParams(); err != nil {
		return nil, err
	}
	fixed := map[string]formula.Value{}
	for i, p := range params {
		if len(p.Values) == 1 {
			fixed[p.Name] = p.Values[0]
		} else {
			s.varying = append(s.varying, i)
		}
	}
	for i, expr := range constraints {
		c, err := s.compile(i, expr, fixed)
		if err != nil {
			return nil, err
		}
		if len(c.scope) > 0 {
			s.constraints = append(s.constraints, c)
		} else if o, _ := c.eval(&scratch{}); o != satisfied {
			return nil, s.never(c)
		}
	}
	s.split()
	for _, c := range s.components {
		if err := s.explore(c); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Space) checkParams() error {
	seen := map[string]bool{}
	for _, p := range s.params {
		fail := func(hint, format string, args ...any) error {
			return &Error{Param: p.Name, Constraint: -1, Message: "param " + p.Name + " " + fmt.Sprintf(format, args...), Hint: hint}
		}
		switch {
		case seen[p.Name]:
			return fail("rename one of them", "is given twice")
		case len(p.Values) == 0:
			return fail("list at least one; the first is the default", "has no values")
		case len(p.Values) > maxValues:
			return fail("list fewer, or make two params of it", "has %d values; at most %d are allowed", len(p.Values), maxValues)
		}
		seen[p.Name] = true
		values := make(map[formula.Value]bool, len(p.Values))
		for _, v := range p.Values {
			if values[v] {
				return fail("list each value once", "lists %s twice", v)
			}
			values[v] = true
		}
	}
	return nil
}

// Params returns the params in the order of the file; not to be changed.
func (s *Space) Params() []Param { return s.params }

// Cartesian returns the number of points without the constraints.
func (s *Space) Cartesian() float64 {
	product := 1.0
	for _, p := range s.params {
		product *= float64(len(p.Values))
	}
	return product
}

// Size returns the number of points; an estimate where Exact is false.
func (s *Space) Size() float64 {
	product := 1.0
	for _, c := range s.components {
		product *= c.size
	}
	return product
}

// Exact reports whether Size is no estimate. Beyond 2^53 it is rounded as floats are.
func (s *Space) Exact() bool {
	return !slices.ContainsFunc(s.components, func(c *component) bool { return len(c.late) > 0 })
}

// Contains reports whether the point satisfies the constraints.
func (s *Space) Contains(p Point) bool {
	if !s.inside(p) {
		return false
	}
	sc := s.borrow()
	defer s.scratch.Put(sc)
	return !slices.ContainsFunc(s.components, func(c *component) bool { return !c.contains(p, sc) })
}

// inside reports whether every param has a value at the point.
func (s *Space) inside(p Point) bool {
	if len(p) != len(s.params) {
		return false
	}
	for i, v := range p {
		if int(v) >= len(s.params[i].Values) {
			return false
		}
	}
	return true
}

// scratch is what evaluating constraints needs, kept so that nothing is allocated for each.
type scratch struct {
	values []formula.Value
	work   int // units done, as order.go counts them
}

func (s *Space) borrow() *scratch { return s.scratch.Get().(*scratch) }

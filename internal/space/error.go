package space

import "fmt"

// Error says why there is no such space.
type Error struct {
	Param      string // the param at fault; "": none
	Constraint int    // index of the constraint at fault; -1: none
	Message    string // lower case, no full stop
	Hint       string // what to do; may be empty
}

// Error returns the message, without the hint.
func (e *Error) Error() string { return e.Message }

// never returns what is wrong with a constraint that no point satisfies.
func (s *Space) never(c *constraint) *Error {
	const most = 1 << 16 // combinations: enough to see why
	sc, tried, faults := &scratch{}, 0, 0
	var first error
	at := make([]int, len(c.scope))
	for {
		o, err := c.evalWith(sc, func(i int) int { return at[i] })
		switch o {
		case undecided:
			value, _ := c.program.Eval(sc.values)
			e := c.error("must be true or false, not the %s %s", value.Kind(), value)
			e.Hint = "compare it with something"
			return e
		case failed:
			if faults++; first == nil {
				first = err
			}
		}
		if tried++; tried == most || !c.advance(at) {
			break
		}
	}
	if faults == tried {
		e := c.error("cannot be evaluated at any point: %v", first)
		e.Hint = "change it, or the values of its params"
		return e
	}
	e := c.error("is false at every point")
	e.Hint = "loosen it, or list further values"
	return e
}

// advance moves to the next combination and reports whether there is one.
func (c *constraint) advance(at []int) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i]++; at[i] < len(c.values[i]) {
			return true
		}
		at[i] = 0
	}
	return false
}

// empty returns which constraint leaves a component without points: one that is never satisfied, or the
// first that the points that satisfy all before it do not.
func (s *Space) empty(c *component) *Error {
	for _, each := range c.constraints {
		if t := s.count(c, []*constraint{each}); t != nil && t.size() == 0 {
			return s.never(each)
		}
	}
	left := "points"
	for i, last := range c.constraints {
		t := s.count(c, c.constraints[:i+1])
		switch {
		case t == nil:
			left = "points"
		case t.size() > 0:
			left = fmt.Sprintf("%.6g points", t.size()*s.Cartesian()/c.cartesian)
		default:
			return &Error{
				Constraint: last.index,
				Message:    fmt.Sprintf("no point satisfies the constraints: %q removes the last %s that those before it leave", last.source, left),
				Hint:       "loosen it, or list further values",
			}
		}
	}
	return &Error{Constraint: -1, Message: "no point satisfies the constraints", Hint: "loosen one of them, or list further values"}
}

// notFound returns the error of a component in which no draw satisfied the constraints.
func (c *component) notFound(draws int) *Error {
	hardest := c.late[0]
	for _, each := range c.late {
		if each.share < hardest.share {
			hardest = each
		}
	}
	return &Error{
		Constraint: hardest.index,
		Message:    fmt.Sprintf("found no point that satisfies the constraints, in %d draws; the hardest to satisfy is %q", draws, hardest.source),
		Hint:       "loosen it, or list fewer values of its params",
	}
}

package space

import (
	"iter"
	"slices"
)

// All yields every point, in the order of the params: the first point has the first values, and the last
// param changes fastest. A point is the caller's to keep.
func (s *Space) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		w := &walk{Space: s, yield: yield, point: make(Point, len(s.params)), rows: map[*component]*[2]int{}}
		w.steps = make([]step, len(s.varying))
		for depth, param := range s.varying {
			c := s.of[param]
			at := &w.steps[depth]
			*at = step{param: param, values: len(s.params[param].Values), list: c.list}
			if c.list != nil {
				if w.rows[c] == nil {
					w.rows[c] = &[2]int{0, c.list.len()}
				}
				at.rows, at.field = w.rows[c], slices.Index(c.params, param)
				continue
			}
			for _, each := range c.constraints {
				if each.scope[len(each.scope)-1] == param {
					at.due = append(at.due, each)
				}
			}
		}
		w.from(0)
	}
}

// walk visits points in order.
type walk struct {
	*Space
	yield   func(Point) bool
	point   Point
	steps   []step
	rows    map[*component]*[2]int // of lists: those that have the values so far
	scratch scratch
	block   []uint16 // for points to come: one allocation for several
}

// step binds one param.
type step struct {
	param  int
	values int
	due    []*constraint // without a list: constraints that can be decided here
	list   *list
	rows   *[2]int
	field  int // in list
}

// from visits all completions of the values that the steps before depth have bound; false means stop.
func (w *walk) from(depth int) bool {
	if depth == len(w.steps) {
		return w.yield(w.copied())
	}
	at := &w.steps[depth]
	if at.list == nil {
		for v := range at.values {
			w.point[at.param] = uint16(v)
			if allHold(at.due, w.point, &w.scratch) && !w.from(depth+1) {
				return false
			}
		}
		return true
	}
	first, hi := at.rows[0], at.rows[1]
	for lo := first; lo < hi; {
		end := at.list.run(lo, hi, at.field)
		w.point[at.param] = at.list.at(lo, at.field)
		at.rows[0], at.rows[1] = lo, end
		if !w.from(depth + 1) {
			return false
		}
		lo = end
	}
	at.rows[0], at.rows[1] = first, hi
	return true
}

func (w *walk) copied() Point {
	const several = 32
	n := len(w.point)
	if len(w.block) < n {
		w.block = make([]uint16, several*n)
	}
	p := w.block[:n:n]
	w.block = w.block[n:]
	copy(p, w.point)
	return p
}

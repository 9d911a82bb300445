package space

import "slices"

// Neighbours returns the points that differ from p in the value of one param, in the order of the params
// and their values. p need not be a point of the space.
func (s *Space) Neighbours(p Point) []Point {
	if !s.inside(p) {
		return nil
	}
	sc := s.borrow()
	defer s.scratch.Put(sc)
	outside, where := 0, (*component)(nil)
	for _, c := range s.components {
		if !c.contains(p, sc) {
			outside, where = outside+1, c
		}
	}
	if outside > 1 {
		return nil // a change of one param leaves one of them as it is
	}
	var found []Point
	near := slices.Clone(p)
	for _, param := range s.varying {
		c := s.of[param]
		if outside > 0 && c != where {
			continue
		}
		for v := range s.params[param].Values {
			if near[param] = uint16(v); near[param] != p[param] && c.contains(near, sc) {
				found = append(found, slices.Clone(near))
			}
		}
		near[param] = p[param]
	}
	return found
}

// Index returns the number of a point, from 0 up to Size. It has none where it is no point of the space,
// or the space is not listed.
func (s *Space) Index(p Point) (uint64, bool) {
	if !s.inside(p) || !s.numbered() {
		return 0, false
	}
	n := uint64(0)
	for _, c := range s.components {
		row := c.list.find(p)
		if row < 0 {
			return 0, false
		}
		n = n*uint64(c.list.len()) + uint64(row)
	}
	return n, true
}

// At returns the point of a number; nil where none has it. Points that follow each other in All need
// not have numbers that do.
func (s *Space) At(n uint64) Point {
	if !s.numbered() || float64(n) >= s.Size() {
		return nil
	}
	p := make(Point, len(s.params))
	for _, c := range slices.Backward(s.components) {
		rows := uint64(c.list.len())
		c.list.read(int(n%rows), p)
		n /= rows
	}
	return p
}

// numbered reports whether points have numbers.
func (s *Space) numbered() bool {
	return s.Size() < 1<<53 && !slices.ContainsFunc(s.components, func(c *component) bool { return c.list == nil })
}

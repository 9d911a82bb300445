package recorded

import (
	"math/rand/v2"

	"pawl/internal/formula"
	"pawl/internal/space"
)

// Shuffle returns the space with its params, their values and its settings in another order. How well a
// strategy does must not depend on that.
func (s *Space) Shuffle(r *rand.Rand) *Space {
	b := newBuilder(s.Name)
	params := r.Perm(len(s.params))
	places := make([][]int, len(params)) // of every param's values, by their old index
	for to, from := range params {
		old := s.params[from]
		param := space.Param{Name: old.Name, Values: make([]formula.Value, len(old.Values))}
		places[to] = r.Perm(len(old.Values))
		for v, place := range places[to] {
			param.Values[place] = old.Values[v]
		}
		b.s.params = append(b.s.params, param)
	}
	for _, n := range r.Perm(len(s.points)) {
		p := make(space.Point, len(params))
		for to, from := range params {
			p[to] = uint16(places[to][s.points[n][from]])
		}
		b.add(p, s.times[n], s.costs[n])
	}
	return b.space(s.Name, s.Constraints)
}

// Translate returns the setting that has the values of a setting of another space of the same kernel; ok is
// false where it was not recorded.
func (s *Space) Translate(other *Space, number int) (p space.Point, ok bool) {
	values := map[string]formula.Value{}
	for i, param := range other.params {
		values[param.Name] = other.Value(number, i)
	}
	p = make(space.Point, len(s.params))
	for i, param := range s.params {
		at := -1
		for v, value := range param.Values {
			if want, found := values[param.Name]; found && value == want {
				at = v
			}
		}
		if at < 0 {
			return nil, false
		}
		p[i] = uint16(at)
	}
	return p, s.Contains(p)
}

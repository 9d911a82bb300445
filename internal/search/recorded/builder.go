package recorded

import (
	"fmt"

	"pawl/internal/formula"
	"pawl/internal/space"
)

// builder makes a space of what a recording holds, and refuses what contradicts itself.
type builder struct {
	file   string
	s      *Space
	names  map[string]bool
	values []map[formula.Value]uint16
}

func newBuilder(file string) *builder {
	return &builder{file: file, s: &Space{numbers: map[string]int{}}, names: map[string]bool{}}
}

func (b *builder) wrong(format string, args ...any) error {
	return fmt.Errorf("%s: %s", b.file, fmt.Sprintf(format, args...))
}

func (b *builder) param(name string) error {
	if b.names[name] {
		return b.wrong("param %s is there twice", name)
	}
	b.names[name] = true
	b.s.params = append(b.s.params, space.Param{Name: name})
	b.values = append(b.values, map[formula.Value]uint16{})
	return nil
}

func (b *builder) value(param int, v formula.Value) error {
	p := &b.s.params[param]
	if _, twice := b.values[param][v]; twice {
		return b.wrong("param %s has the value %s twice", p.Name, v)
	}
	if len(p.Values) >= maxValues {
		return b.wrong("param %s has more than %d values", p.Name, maxValues)
	}
	b.values[param][v] = uint16(len(p.Values))
	p.Values = append(p.Values, v)
	return nil
}

func (b *builder) setting(p space.Point, ms, cost float64, place string) error {
	if other, twice := b.s.numbers[p.Key()]; twice {
		return b.wrong("%s is the same setting as number %d: expected every setting once", place, other)
	}
	b.add(p, ms, cost)
	return nil
}

// add takes in a setting that is new.
func (b *builder) add(p space.Point, ms, cost float64) {
	b.s.numbers[p.Key()] = len(b.s.points)
	b.s.points = append(b.s.points, p)
	b.s.times = append(b.s.times, ms)
	b.s.costs = append(b.s.costs, cost)
}

func (b *builder) space(name string, constraints []string) *Space {
	b.s.Name, b.s.Constraints = name, constraints
	return b.s
}

package trial

import (
	"errors"
	"fmt"
	"math/bits"

	"pawl/internal/formula"
	"pawl/internal/spec"
)

// values adds other distributions of the inputs.
func (p *Plan) values(base Trial, o Options) {
	base.Lane, base.Repeats = LaneValues, 1
	for _, name := range p.operation.values() {
		t := base
		t.Fill = name
		if !p.try(t, o) {
			return
		}
	}
	if p.operation.name == "" {
		p.note("large values and outliers are only tried with a built-in oracle: for other operations pawl does not know how errors grow")
	}
}

// try adds a trial whose fill makes sense; false: no fill makes sense for this kernel.
func (p *Plan) try(t Trial, o Options) bool {
	in, why := p.possible(t, o)
	if why != "" {
		return false
	}
	switch _, err := p.operation.fill(t.Fill, in); {
	case errors.Is(err, errOwn) || errors.Is(err, errNoFloat):
		which := "other"
		if t.Lane == LaneSpecials {
			which = "special"
		}
		p.note("%s values are not tried: %v", which, err)
		return false
	case err != nil:
		p.note("%s values are not tried: %v", t.Fill, err)
	default:
		p.Trials = append(p.Trials, t)
	}
	return true
}

// integers adds the case of small whole numbers, at sizes where it is exact, or of widely spread
// ones where there are no others.
func (p *Plan) integers(base Trial, o Options) {
	base.Lane, base.Repeats, base.Fill = LaneIntegers, 1, "integers"
	t, exact, err := p.exactSize(base, o)
	if err != nil {
		which := "exact small integers"
		if in, why := p.possible(base, o); why == "" && p.operation.allWhole(in) {
			which = "integers that are further apart"
		}
		p.note("%s are not tried: %v", which, err)
		return
	}
	t.Exact = exact
	p.Trials = append(p.Trials, t)
}

// exactSize makes a problem smaller until its sums are exact: to powers of two, the largest size
// first.
func (p *Plan) exactSize(t Trial, o Options) (Trial, bool, error) {
	for {
		in, why := p.possible(t, o)
		if why != "" {
			return t, false, errors.New(why)
		}
		c, err := p.operation.integers(in)
		if err == nil {
			return t, c.exact, nil
		}
		if !errors.Is(err, errRoom) {
			return t, false, err
		}
		name, largest := "", int64(1)
		for _, candidate := range p.Free {
			if n, ok := t.integer(candidate); ok && n > largest && p.matters(t, candidate) {
				name, largest = candidate, n
			}
		}
		if name == "" {
			return t, false, fmt.Errorf("%w, even for small problems", errRoom)
		}
		t = t.With(name, formula.Int(powerBelow(largest)))
	}
}

// matters reports whether a size affects the length of the sums.
func (p *Plan) matters(t Trial, name string) bool {
	before, err := p.variant.At(t.Config())
	if err != nil {
		return false
	}
	n, _ := t.integer(name)
	after, err := p.variant.At(t.With(name, formula.Int(powerBelow(n))).Config())
	if err != nil {
		return false
	}
	if !p.operation.isAttention() {
		return p.operation.terms(after) < p.operation.terms(before)
	}
	list := p.operation.inputs(before)
	rows := func(in *spec.Instance) int64 {
		shape := in.Args[list[2]].Shape
		return shape[len(shape)-2]
	}
	return rows(after) < rows(before)
}

// powerBelow returns the greatest power of two below n, at least 1.
func powerBelow(n int64) int64 {
	return 1 << max(0, bits.Len64(uint64(n-1))-1)
}

// specials adds NaN, infinities and other special values, where the file says how they propagate.
// Enough of them to include every kind would leave none of a few rows without one: such inputs are
// tried with fewer, too.
func (p *Plan) specials(base Trial, o Options) {
	if p.Specials != spec.SpecialsPropagate {
		return
	}
	base.Lane, base.Repeats, base.Fill = LaneSpecials, 1, specials
	if !p.try(base, o) {
		return
	}
	if in, why := p.possible(base, o); why == "" && p.operation.fewRows(in) {
		base.Fill = sparse
		p.try(base, o)
	}
}

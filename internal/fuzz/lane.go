package fuzz

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pawl/internal/formula"
	"pawl/internal/spec"
)

const (
	mostShapes = 12
	usualTile  = 16
	small      = 32 // what other sizes are cut to
	few        = 2  // and batches
)

// shapes adds sizes that tiles do not divide: one size at a time, the others small.
func (p *Plan) shapes(base Trial, o Options) {
	inner := inner(p.variant.Kernel)
	for _, name := range p.Free {
		bound := int64(few)
		if slices.Contains(inner, name) {
			bound = small
		}
		if n, ok := base.integer(name); ok && n > bound {
			base = base.with(name, formula.Int(bound))
		}
	}
	base.Lane, base.Repeats = LaneShape, 1
	sizes := beside(tiles(p.variant))
	random := o.random("shapes")
	perSize := make([][]Trial, len(p.Free))
	refused := map[string]int{}
	for i, name := range p.Free {
		candidates := sizes
		if !slices.Contains(inner, name) {
			candidates = []int64{1, 3} // one, and more than one of what a tile never spans
		}
		for _, n := range candidates {
			t := base.with(name, formula.Int(n))
			if _, why := p.possible(t, o); why != "" {
				refused[why]++
				continue
			}
			perSize[i] = append(perSize[i], t)
		}
		random.Shuffle(len(perSize[i]), func(a, b int) { perSize[i][a], perSize[i][b] = perSize[i][b], perSize[i][a] })
	}
	known := map[string]bool{}
	for _, t := range p.Trials {
		known[Vars(t.Vars)] = true
	}
	// Each size has its turn, so that none is left out when not all fit.
	for round, added := 0, 0; added < mostShapes; round++ {
		left := false
		for _, list := range perSize {
			if round >= len(list) {
				continue
			}
			left = true
			if name := Vars(list[round].Vars); !known[name] && added < mostShapes {
				known[name] = true
				p.Trials = append(p.Trials, list[round])
				added++
			}
		}
		if !left {
			break
		}
	}
	for _, why := range slices.Sorted(maps.Keys(refused)) {
		p.note("%d of the shapes beside the tiles left out: %s", refused[why], why)
	}
}

// inner are the variables of the last two dimensions of buffers: tiles lie there.
func inner(k *spec.Kernel) []string {
	var names []string
	for _, a := range k.Args {
		for _, f := range a.Shape[max(0, len(a.Shape)-2):] {
			names = append(names, f.Expr.Names()...)
		}
	}
	return names
}

// tiles are the params of a variant that may be sizes of tiles.
func tiles(v spec.Variant) []int64 {
	list := []int64{usualTile}
	for _, value := range v.Values {
		if n, ok := value.Int(); ok && value.Kind() == formula.KindInt && n >= 4 && n <= 1024 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// beside are sizes that a kernel made for whole tiles gets wrong: one, one less and
// one more than a tile, and a prime after two of them.
func beside(tiles []int64) []int64 {
	list := []int64{1}
	for _, t := range tiles {
		list = append(list, t-1, t+1, primeAfter(2*t))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func primeAfter(n int64) int64 {
	for n++; ; n++ {
		prime := n > 1
		for d := int64(2); d*d <= n && prime; d++ {
			prime = n%d != 0
		}
		if prime {
			return n
		}
	}
}

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
		p.note("large values and outliers are tried where the oracle, directly or through a kernel, is a built-in one: of other operations nobody knows how their errors grow")
	}
}

// try adds a trial whose fill makes sense; false: no fill of this kernel does.
func (p *Plan) try(t Trial, o Options) bool {
	in, why := p.possible(t, o)
	if why != "" {
		return false
	}
	switch _, err := p.operation.fill(t.Fill, in); {
	case errors.Is(err, errOwn):
		p.note("other values are not tried: %v", err)
		return false
	case err != nil:
		p.note("%s values are not tried: %v", t.Fill, err)
	default:
		p.Trials = append(p.Trials, t)
	}
	return true
}

// integers adds the case of small whole numbers, at sizes where it is exact.
func (p *Plan) integers(base Trial, o Options) {
	base.Lane, base.Repeats, base.Fill = LaneIntegers, 1, "integers"
	t, exact, err := p.exactSize(base, o)
	if err != nil {
		p.note("exact small integers are not tried: %v", err)
		return
	}
	t.Exact = exact
	p.Trials = append(p.Trials, t)
}

// exactSize makes a problem smaller until its sums are exact: to powers of two, and
// the largest size first.
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
			return t, false, fmt.Errorf("%w, however small the problem", errRoom)
		}
		t = t.with(name, formula.Int(powerBelow(largest)))
	}
}

// matters tells whether a size decides how long the sums are.
func (p *Plan) matters(t Trial, name string) bool {
	before, err := p.variant.At(t.Config())
	if err != nil {
		return false
	}
	n, _ := t.integer(name)
	after, err := p.variant.At(t.with(name, formula.Int(powerBelow(n))).Config())
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

// powerBelow is the greatest power of two below n.
func powerBelow(n int64) int64 {
	power := int64(1)
	for 2*power < n {
		power *= 2
	}
	return power
}

// specials adds NaN, infinities and other corners, where the file says what becomes
// of them.
func (p *Plan) specials(base Trial, o Options) {
	if p.Specials != spec.SpecialsPropagate {
		return
	}
	base.Lane, base.Repeats, base.Fill = LaneSpecials, 1, "specials"
	p.try(base, o)
}

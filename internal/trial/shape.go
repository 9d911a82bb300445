package trial

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"

	"pawl/internal/formula"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

const (
	mostShapes = 64 // with one odd size
	mostMixed  = 4  // with several
	usualTile  = 16
	small      = 32       // other sizes are cut to this
	few        = 2        // and batches
	roomy      = 16 << 20 // bytes that a shape may always take
)

// shapes adds sizes that tiles do not divide: one size at a time, the others small,
// and a few with all sizes drawn at random. None takes more than most bytes.
func (p *Plan) shapes(base Trial, most int64, o Options) {
	inside := inner(p.variant.Kernel)
	sizes := make([][]int64, len(p.Free))
	rounds := 0
	for i, name := range p.Free {
		sizes[i] = beside(tiles(p.variant), slices.Contains(inside, name))
		rounds = max(rounds, len(sizes[i]))
	}
	chosen := &selection{plan: p, options: o, most: most, known: map[string]bool{}}
	for _, t := range p.Trials {
		chosen.known[Vars(t.Vars)] = true
	}
	base = p.cut(base, inside, o)
	base.Lane, base.Repeats = LaneShape, 1
	// The sizes take turns, so that all lose equally when not all fit.
	perSize := make([][]Trial, len(p.Free))
	added := 0
	var over []string
	for round := range rounds {
		for i, name := range p.Free {
			if round >= len(sizes[i]) {
				continue
			}
			t := base.With(name, formula.Int(sizes[i][round]))
			switch {
			case !chosen.take(t):
			case added == mostShapes:
				over = append(over, fmt.Sprintf("%s=%d", name, sizes[i][round]))
			default:
				perSize[i] = append(perSize[i], t)
				added++
			}
		}
	}
	for i, name := range p.Free {
		slices.SortFunc(perSize[i], func(a, b Trial) int {
			x, _ := a.integer(name)
			y, _ := b.integer(name)
			return cmp.Compare(x, y)
		})
		p.Trials = append(p.Trials, perSize[i]...)
	}
	p.Trials = append(p.Trials, chosen.mixed(base, sizes, inside, o.random("shapes"))...)
	chosen.note()
	if added == 0 {
		p.Trials = append(p.Trials, chosen.round(base)...)
	}
	if len(over) > 0 {
		p.note("%s of the shapes beside the tiles were left out, because there are more than %d: %s", unit.Count(len(over)), mostShapes, strings.Join(over, ", "))
	}
}

// selection decides which shapes can be tried, and records which are.
type selection struct {
	plan    *Plan
	options Options
	most    int64 // bytes
	known   map[string]bool
	refused []refusal
}

// refusal says why shapes were left out. Reasons that differ only in the sizes are one.
type refusal struct {
	kind, first string
	count       int
}

func (s *selection) take(t Trial) bool {
	if s.known[Vars(t.Vars)] {
		return false
	}
	s.known[Vars(t.Vars)] = true
	in, why := s.plan.possible(t, s.options)
	if why == "" && in.Footprint > s.most {
		why = fmt.Sprintf("they take more than %s", unit.Bytes(s.most))
	}
	if why == "" {
		return true
	}
	kind, _, _ := strings.Cut(why, ", with ")
	i := slices.IndexFunc(s.refused, func(r refusal) bool { return r.kind == kind })
	if i < 0 {
		i = len(s.refused)
		s.refused = append(s.refused, refusal{kind: kind, first: why})
	}
	s.refused[i].count++
	return false
}

func (s *selection) note() {
	for _, r := range s.refused {
		why := r.first
		if r.count > 1 && r.kind != r.first {
			why += ", and the like"
		}
		s.plan.note("%d of the shapes beside the tiles were left out: %s", r.count, why)
	}
}

// mixed returns shapes with all sizes drawn at random, from the smaller ones: where edges meet
// there are mistakes that no single edge shows.
func (s *selection) mixed(base Trial, sizes [][]int64, inside []string, random *rand.Rand) []Trial {
	if len(sizes) < 2 {
		return nil
	}
	var trials []Trial
	for tries := 0; tries < 4*mostMixed && len(trials) < mostMixed; tries++ {
		t := base
		for i, name := range s.plan.Free {
			bound := int64(2 * few)
			if slices.Contains(inside, name) {
				bound = 4 * small
			}
			list := slices.DeleteFunc(slices.Clone(sizes[i]), func(n int64) bool { return n > bound })
			t = t.With(name, formula.Int(list[random.IntN(len(list))])) // 1 is always there
		}
		if s.take(t) {
			trials = append(trials, t)
		}
	}
	return trials
}

// roundSizes are for kernels that require sizes which tiles divide.
var roundSizes = []int64{16, 32, 48, 64, 96, 128, 256, 512, 1024}

// round returns a few shapes with one round size each.
func (s *selection) round(base Trial) []Trial {
	const most = 3 // of each size
	var trials []Trial
	for _, name := range s.plan.Free {
		found := 0
		for _, n := range roundSizes {
			t := base.With(name, formula.Int(n))
			if found == most || s.known[Vars(t.Vars)] {
				continue
			}
			if in, why := s.plan.possible(t, s.options); why == "" && in.Footprint <= s.most {
				s.known[Vars(t.Vars)] = true
				trials = append(trials, t)
				found++
			}
		}
	}
	return trials
}

// cut makes the sizes of a trial small, if the kernel accepts that: all of them, or else one after
// the other.
func (p *Plan) cut(t Trial, inside []string, o Options) Trial {
	bounded := func(t Trial, name string) Trial {
		bound := int64(few)
		if slices.Contains(inside, name) {
			bound = small
		}
		if n, ok := t.integer(name); ok && n > bound {
			t = t.With(name, formula.Int(bound))
		}
		return t
	}
	all := t
	for _, name := range p.Free {
		all = bounded(all, name)
	}
	if _, why := p.possible(all, o); why == "" {
		return all
	}
	for _, name := range p.Free {
		one := bounded(t, name)
		if _, why := p.possible(one, o); why == "" {
			t = one
		}
	}
	return t
}

// inner returns the variables of the last two dimensions of buffers: tiles lie there.
func inner(k *spec.Kernel) []string {
	var names []string
	for _, a := range k.Args {
		for _, f := range a.Shape[max(0, len(a.Shape)-2):] {
			names = append(names, f.Expr.Names()...)
		}
	}
	return names
}

// tiles returns the params of a variant that may be tile sizes, in their order, and last the usual
// one.
func tiles(v spec.Variant) []int64 {
	var list []int64
	add := func(n int64) {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	for _, value := range v.Values {
		if n, ok := value.Int(); ok && value.Kind() == formula.KindInt && n >= 4 && n <= 1024 {
			add(n)
		}
	}
	add(usualTile)
	return list
}

// beside returns sizes that a kernel made for whole tiles gets wrong, the most important first:
// one, a prime, and one less and one more than each tile. The prime exceeds two of the largest
// tile; for batches, which are seldom tiled, it is small.
func beside(tiles []int64, inside bool) []int64 {
	prime := int64(3)
	if inside {
		prime = primeAfter(2 * slices.Max(tiles))
	}
	list := []int64{1, prime}
	for _, t := range tiles {
		for _, n := range []int64{t - 1, t + 1} {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

func primeAfter(n int64) int64 {
	for n++; !big.NewInt(n).ProbablyPrime(0); n++ { // never wrong below 2⁶⁴
	}
	return n
}

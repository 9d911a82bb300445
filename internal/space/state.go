package space

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"pawl/internal/formula"
)

// state is a part of a constraint. Once its params are bound, its value is all that matters of them for the
// part that it is an operand of: P * Q <= R has few products where it has many pairs.
type state struct {
	params  []int // in the order of the file
	values  [][]formula.Value
	program *formula.Program // takes a value of each; nil: the part is a param
	of      int              // among the states of the constraint; -1: it is the constraint
	spread  float64          // estimated number of its values, as a power of two
}

// lookInside finds the states of a component's constraints, where that is worth the work.
func (s *Space) lookInside(c *component) {
	if c.cartesian < s.limits.inside {
		return
	}
	for _, each := range c.constraints {
		for _, inner := range each.expr.Inside() {
			st := state{of: inner.Of}
			var names []string
			used := inner.Names()
			for _, param := range each.scope {
				if p := s.params[param]; slices.Contains(used, p.Name) {
					st.params, names, st.values = append(st.params, param), append(names, p.Name), append(st.values, p.Values)
				}
			}
			if inner.Root().Symbol != "" {
				st.program, _ = inner.Compile(names) // all its names are there
				if st.of >= 0 {
					st.estimate()
				}
			}
			each.states = append(each.states, st)
		}
	}
}

// estimate settles how many values the state has: as many as a sample makes likely, and at most as
// there are combinations, or integers between the least and the greatest.
func (st *state) estimate() {
	combinations := 1.0
	for _, values := range st.values {
		combinations *= float64(len(values))
	}
	r, sc, seen := rand.New(rand.NewPCG(4, 5)), &scratch{}, map[formula.Value]bool{}
	low, high, whole := int64(math.MaxInt64), int64(math.MinInt64), true
	for range probes {
		v, err := st.eval(sc, func(i int) int { return r.IntN(len(st.values[i])) })
		if err != nil {
			continue
		}
		seen[v] = true
		i, ok := v.Int()
		low, high, whole = min(low, i), max(high, i), whole && ok
	}
	most := combinations
	if whole && len(seen) > 0 {
		most = min(most, float64(high)-float64(low)+1)
	}
	st.spread = math.Log2(max(1, min(most, distinct(len(seen), probes))))
}

// distinct estimates how many values there are of which draws have come to so many different ones. Of n
// equally likely values, as many draws leave out a share exp(-draws/n). Values are not equally likely:
// the estimate is doubled.
func distinct(seen, draws int) float64 {
	low, high := float64(seen), 1e6
	for high > low*1.01 {
		n := math.Sqrt(low * high)
		if n*-math.Expm1(-float64(draws)/n) < float64(seen) {
			low = n
		} else {
			high = n
		}
	}
	if high == 1e6 {
		return math.Inf(1)
	}
	return 2 * high
}

func (st *state) eval(sc *scratch, choose func(i int) int) (formula.Value, error) {
	values := sc.room(len(st.params))
	for i := range values {
		values[i] = st.values[i][choose(i)]
	}
	return st.program.Eval(values)
}

// bound returns the depth at which the last param of the state is bound.
func (st *state) bound(depth []int) int {
	last := 0
	for _, param := range st.params {
		last = max(last, depth[param])
	}
	return last
}

// tracked is a state whose value is known along the path that is being grown.
type tracked struct {
	*state
	id  uint32 // of the value; 0: there is none
	ids map[formula.Value]uint32
}

const idBits = 24

// update evaluates the state at a point.
func (tr *tracked) update(p Point, sc *scratch) {
	sc.work += workEval + workHash
	v, err := tr.eval(sc, func(i int) int { return int(p[tr.params[i]]) })
	if err != nil {
		sc.work += workError
		tr.id = 0
		return
	}
	id, ok := tr.ids[v]
	if !ok {
		id = uint32(len(tr.ids) + 1)
		tr.ids[v] = id
	}
	tr.id = id
}

// stateKey tells paths apart by params and states.
type stateKey [4]uint64

// byState is how paths that come to the same states share a node.
type byState struct {
	params []int
	widths []int
	states []*tracked
	nodes  map[stateKey]int32
}

func (b *byState) key(p Point) stateKey {
	var key stateKey
	at := 0
	add := func(v uint64, width int) {
		key[at/64] |= v << (at % 64)
		if over := at%64 + width - 64; over > 0 {
			key[at/64+1] |= v >> (width - over)
		}
		at += width
	}
	for i, param := range b.params {
		add(uint64(p[param]), b.widths[i])
	}
	for _, st := range b.states {
		add(uint64(st.id), idBits)
	}
	return key
}

// shareByState reports whether paths are better told apart by states than by params, given how many there
// are of both, as powers of two: finding a node by states takes longer.
func (most limits) shareByState(states, params float64) bool {
	return params > most.crowded && states < params-most.crowded/4
}

// byStates returns, by depth, how paths share nodes by states, where that leaves fewer nodes than
// sharing by params does; and the states to evaluate, by the depth at which they are bound.
func (s *Space) byStates(order []int, constraints []*constraint) (at []*byState, due [][]*tracked) {
	depth := make([]int, len(s.params))
	for i, param := range order {
		depth[param] = i
	}
	type span struct {
		tracked     *tracked // nil: a param
		first, last int      // depths at which it is bound and still wanted
	}
	var spans []span
	until, wanted := map[int]int{}, map[int]int{} // by param: by constraints as wholes, and beside the states
	for _, c := range constraints {
		last := 0
		for _, param := range c.scope {
			last = max(last, depth[param])
		}
		for _, param := range c.scope {
			until[param] = max(until[param], last)
			if len(c.states) == 0 {
				wanted[param] = until[param]
			}
		}
		for i := range c.states {
			st := &c.states[i]
			if st.of < 0 {
				continue
			}
			first, end := st.bound(depth), c.states[st.of].bound(depth)
			switch {
			case st.program == nil:
				wanted[st.params[0]] = max(wanted[st.params[0]], end)
			case first < end:
				spans = append(spans, span{&tracked{state: st, ids: map[formula.Value]uint32{}}, first + 1, end})
			}
		}
	}
	at, due = make([]*byState, len(order)), make([][]*tracked, len(order))
	used := map[*tracked]bool{}
	for d := range order {
		b := &byState{nodes: map[stateKey]int32{}}
		whole, few, width := 0.0, 0.0, 0
		for i, param := range order[:d] {
			size := math.Log2(float64(len(s.params[param].Values)))
			if until[param] >= d && until[param] > i {
				whole += size
			}
			if wanted[param] >= d && wanted[param] > i {
				b.params, b.widths = append(b.params, param), append(b.widths, bits.Len(uint(len(s.params[param].Values)-1)))
				few += size
				width += b.widths[len(b.widths)-1]
			}
		}
		for _, sp := range spans {
			if sp.first <= d && d <= sp.last {
				b.states = append(b.states, sp.tracked)
				few += sp.tracked.spread
				width += idBits
			}
		}
		if len(b.states) == 0 || !s.limits.shareByState(few, whole) || width > 64*len(stateKey{}) {
			continue
		}
		at[d] = b
		for _, st := range b.states {
			if !used[st] {
				used[st] = true
				last := st.bound(depth)
				due[last] = append(due[last], st)
			}
		}
	}
	return at, due
}

package space

import (
	"cmp"
	"math"
	"slices"
)

// Work is counted in units of about 5 ns, so that construction ends after a time that can be told.
const (
	workValue = 2  // a value tried in the tree
	workTable = 1  // a constraint looked up
	workEval  = 12 // a constraint evaluated
	workError = 150
	workHash  = 20
)

// limits bound what is spent on a component.
type limits struct {
	listed int // words of a list
	edges  int // of a tree
	whole  int // work of counting one that could be walked as a whole: up to about a second
	large  int // of a larger one
	huge   int // of one that is larger still: some 40 ms
	cost   int // predicted work of a tree without the constraints that would make it too large
	draws  int // work of the draws that its size is estimated from

	inside  float64 // combinations from which on parts of constraints are looked at
	crowded float64 // paths at a depth, as a power of two, from which on they are told apart by states
}

var usualLimits = limits{listed: 1 << 22, edges: 6 << 20, whole: 1 << 28, large: 1 << 25, huge: 8 << 20, cost: 2 << 20, draws: 2 << 20, inside: 1 << 16, crowded: 12}

// work returns how much may be spent on counting a component.
func (most limits) work(c *component) int {
	switch {
	case c.cartesian <= 1<<26:
		return most.whole
	case c.cartesian <= 1<<33:
		return most.large
	}
	return most.huge
}

// layout predicts what growing a tree costs, by the order of its params.
type layout struct {
	sizes []float64 // by param, as powers of two
	of    []*constraint
	most  limits
	sure  bool // what it can cost at most; else what it probably costs

	depth, until, wanted []int // by param
	steps                []float64
}

// cost returns the work of growing the tree in the order. Branches are shared that do not differ in a
// param which a constraint further down names, so there are never more of them than combinations of
// these params.
func (l *layout) cost(order []int) float64 {
	for i, param := range order {
		l.depth[param], l.until[param], l.wanted[param] = i, i, i
	}
	n := len(order)
	if l.steps == nil {
		l.steps = make([]float64, 4*(n+1))
	}
	clear(l.steps)
	shared, share, price, states := l.steps[:n+1], l.steps[n+1:2*(n+1)], l.steps[2*(n+1):3*(n+1)], l.steps[3*(n+1):]
	for _, c := range l.of {
		last := 0
		for _, param := range c.scope {
			last = max(last, l.depth[param])
		}
		for _, param := range c.scope {
			l.until[param] = max(l.until[param], last)
			if len(c.states) == 0 {
				l.wanted[param] = l.until[param]
			}
		}
		for i := range c.states {
			st := &c.states[i]
			if st.of < 0 {
				continue
			}
			end := c.states[st.of].bound(l.depth)
			if st.program == nil {
				l.wanted[st.params[0]] = max(l.wanted[st.params[0]], end)
			} else if first := st.bound(l.depth); first < end {
				states[first+1] += st.spread
				states[min(end+1, n)] -= st.spread
			}
		}
		if price[last] += workEval; c.table != nil {
			price[last] += workTable - workEval
		}
		if !l.sure {
			share[last] += math.Log2(max(c.share, 1e-9))
		}
	}
	for i, param := range order {
		if until := l.until[param]; until > i {
			shared[i+1] += l.sizes[param]
			shared[min(until+1, n)] -= l.sizes[param]
		}
		if wanted := l.wanted[param]; wanted > i {
			states[i+1] += l.sizes[param]
			states[min(wanted+1, n)] -= l.sizes[param]
		}
	}
	total, branches, live, few := 0.0, 0.0, 0.0, 0.0
	for i, param := range order {
		live += shared[i]
		few += states[i]
		if branches = min(branches, live); !l.sure && l.most.shareByState(few, live) {
			total += math.Exp2(branches) * workHash
			branches = min(branches, few)
		}
		branches += l.sizes[param]
		total += math.Exp2(branches) * (workValue + price[i])
		branches += share[i]
	}
	return total
}

// plan returns a good order of a component's params for the constraints, and its predicted cost: few
// branches, which means that constraints come to an end early. Effort bounds what planning costs.
func (s *Space) plan(c *component, constraints []*constraint, sure bool, effort int) ([]int, float64) {
	n := len(s.params)
	l := &layout{most: s.limits, of: constraints, sure: sure, sizes: make([]float64, n), depth: make([]int, n), until: make([]int, n), wanted: make([]int, n)}
	for _, param := range c.params {
		l.sizes[param] = math.Log2(float64(len(s.params[param].Values)))
	}
	best := l.begin(c.params)
	least := l.cost(best)
	if cost := l.cost(c.params); cost <= least {
		best, least = slices.Clone(c.params), cost
	}
	// Move one param at a time to where it costs least.
	each := len(best)
	for _, k := range constraints {
		each += 2 * len(k.scope)
		for i := range k.states {
			each += 1 + len(k.states[i].params)
		}
	}
	try := make([]int, 0, len(best))
	for improved := true; improved; {
		improved = false
		for from := range best {
			for to := range best {
				if effort -= each; effort < 0 {
					return best, least
				}
				try = append(try[:0], best...)
				try = slices.Insert(slices.Delete(try, from, from+1), to, best[from])
				if cost := l.cost(try); cost < least*(1-1e-9) {
					least, improved = cost, true
					best, try = try, best
				}
			}
		}
	}
	return best, least
}

// begin returns an order to improve on: constraint by constraint, the one that adds least first.
func (l *layout) begin(params []int) []int {
	order, placed := make([]int, 0, len(params)), map[int]bool{}
	left := slices.Clone(l.of)
	for len(left) > 0 {
		next, least := 0, math.Inf(1)
		for i, c := range left {
			adds := math.Log2(max(c.share, 1e-9))
			for _, param := range c.scope {
				if !placed[param] {
					adds += l.sizes[param]
				}
			}
			if adds < least {
				next, least = i, adds
			}
		}
		for _, param := range left[next].scope {
			if !placed[param] {
				placed[param] = true
				order = append(order, param)
			}
		}
		left = slices.Delete(left, next, next+1)
	}
	for _, param := range params {
		if !placed[param] {
			order = append(order, param)
		}
	}
	return order
}

const planEffort = 1 << 19 // params and names looked at: some milliseconds

// affordable returns constraints of which the tree can be grown at a bounded cost, the narrowest first, and
// the order to grow it in.
func (s *Space) affordable(c *component) (order []int, kept []*constraint) {
	narrow := slices.Clone(c.constraints)
	slices.SortStableFunc(narrow, func(a, b *constraint) int { return cmp.Compare(a.combinations(), b.combinations()) })
	order = c.params
	for _, each := range narrow {
		better, cost := s.plan(c, append(kept, each), true, planEffort/len(narrow))
		if cost <= float64(s.limits.cost) {
			order, kept = better, append(kept, each)
		}
	}
	return order, kept
}

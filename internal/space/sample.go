package space

import "math/rand/v2"

const (
	maxDraws   = 1 << 11 // of a tree without the late constraints, for one point
	pilotDraws = 1 << 12
	maxKnown   = 64
	fewEdges   = 64 // of a node: the late constraints are tried at all of them
)

// Sample draws a point, with replacement.
//
// All points are equally likely, but for one case: components that are not counted exactly, and of which
// fewer than one draw in 64 would be kept. Draws are kept more often there, so that a point whose
// weight is above the largest of some thousand draws comes less often than it should. Where 2048 draws in a row
// are not kept, one of them is chosen by its weight; where none of them satisfies the constraints, one
// of the points that were found when the space was made.
func (s *Space) Sample(r *rand.Rand) Point {
	p := make(Point, len(s.params))
	sc := s.borrow()
	defer s.scratch.Put(sc)
	for _, c := range s.components {
		c.draw(r, p, sc)
	}
	return p
}

// descend draws a path through the tree, and returns its weight: over all paths, a point that satisfies the late
// constraints comes with a probability that is inverse to it. 0: the path ends at a late constraint.
func (c *component) descend(r *rand.Rand, p Point, due [][]*constraint, sc *scratch) float64 {
	weight, node := 1.0, c.tree.root
	for depth, param := range c.tree.order {
		from, to := c.tree.edges(node)
		chosen := int32(-1)
		switch {
		case len(due[depth]) == 0:
			chosen = c.tree.edge(r, from, to)
		case to-from > fewEdges:
			chosen = c.tree.edge(r, from, to)
			if p[param] = c.tree.value[chosen]; !allHold(due[depth], p, sc) {
				return 0
			}
		default:
			before, kept := 0.0, 0.0
			for e := from; e < to; e++ {
				points := c.tree.below[e] - before
				before = c.tree.below[e]
				if p[param] = c.tree.value[e]; allHold(due[depth], p, sc) {
					if kept += points; r.Float64()*kept < points {
						chosen = e
					}
				}
			}
			if chosen < 0 {
				return 0
			}
			weight *= kept / before
		}
		p[param], node = c.tree.value[chosen], c.tree.child[chosen]
	}
	return weight
}

func allHold(constraints []*constraint, p Point, sc *scratch) bool {
	for _, c := range constraints {
		if !c.holds(p, sc) {
			return false
		}
	}
	return true
}

// drawLate draws from the tree, and keeps what makes up for the weights.
func (c *component) drawLate(r *rand.Rand, p Point, sc *scratch) {
	sum := 0.0
	var best Point
	for range maxDraws {
		weight := c.descend(r, p, c.due, sc)
		if weight == 0 {
			continue
		}
		if r.Float64()*c.ceiling < weight {
			return
		}
		if sum += weight; r.Float64()*sum < weight {
			best = append(best[:0], p...)
		}
	}
	if best == nil {
		best = c.known[r.IntN(len(c.known))]
	}
	for _, param := range c.params {
		p[param] = best[param]
	}
}

// estimate settles the size of a component that has late constraints, and how draws from it are kept.
func (s *Space) estimate(c *component) *Error {
	r, sc := rand.New(rand.NewPCG(2, 3)), &scratch{}
	p := make(Point, len(s.params))
	c.due = dueBy(c.tree.order, c.late)
	sum, largest, draws := 0.0, 0.0, 0
	for ; draws < pilotDraws && sc.work < s.limits.draws || len(c.known) == 0 && sc.work < 8*s.limits.draws; draws++ {
		sc.work += len(c.params) * 2 * workValue
		weight := c.descend(r, p, c.due, sc)
		sum, largest = sum+weight, max(largest, weight)
		if weight > 0 && len(c.known) < maxKnown {
			c.known = append(c.known, append(Point{}, p...))
		}
	}
	if len(c.known) == 0 {
		return c.notFound(draws)
	}
	mean := sum / float64(draws)
	c.size = max(1, mean*c.tree.size())
	if c.ceiling = 1; mean < 1./64 {
		c.ceiling = largest
	}
	return nil
}

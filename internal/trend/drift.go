package trend

import "math"

// Drift is a slow move: a straight line describes points [From, To) better than levels do. No commit made it
// by itself.
type Drift struct {
	From int     `json:"from"`
	To   int     `json:"to"`
	Size float64 `json:"size"` // from its first point to its last
}

// shortest is how many points the shortest drift has; a shorter move is a ramp, and one change.
const shortest = 40

// ramps joins cuts that lie near each other and lead the same way into one, in the middle, where a straight
// move between the outer levels costs no more than the levels between them and their cuts. It returns for each cut how far
// the ramp around it reaches; nothing for a step.
func (n *noise) ramps(values []float64, starts []int) (joined []int, reached map[int][2]int) {
	joined, reached = []int{0}, map[int][2]int{}
	for i := 1; i < len(starts); i++ {
		j := i
		for j+1 < len(starts) && starts[j+1]-starts[i] <= 2*reach {
			j++
		}
		for ; j > i; j-- {
			if from, to, ok := n.ramp(values, starts, i, j); ok {
				at := (from + to + 1) / 2
				joined, reached[at] = append(joined, at), [2]int{from, to}
				break
			}
		}
		if j == i {
			joined = append(joined, starts[i])
		}
		i = j
	}
	return joined, reached
}

// ramp tries one in place of the cuts i to j.
func (n *noise) ramp(values []float64, starts []int, i, j int) (from, to int, ok bool) {
	begin, end := starts[i-1], endOf(starts, j, len(values))
	left, right := n.level(values, begin, starts[i]), n.level(values, starts[j], end)
	stairs := left.cost + right.cost
	for k := i; k < j; k++ {
		middle := n.level(values, starts[k], starts[k+1])
		if (middle.at-left.at)*(right.at-middle.at) <= 0 {
			return 0, 0, false
		}
		stairs += middle.cost
	}
	least := stairs + float64(j-i)*n.penalty()
	for p := max(begin, starts[i]-reach); p < starts[i]; p++ {
		for q := starts[j]; q < min(end, starts[j]+reach); q++ {
			cost := n.cost(values, begin, p, left.at) + n.cost(values, q, end, right.at)
			for k := p; k < q; k++ {
				level := left.at + (right.at-left.at)*float64(k-p+1)/float64(q-p+1)
				cost += n.cost(values, k, k+1, level)
			}
			if cost < least {
				least, from, to, ok = cost, p, q, true
			}
		}
	}
	return from, to, ok
}

// drifts says which cuts are stairs up or down a straight line: those of drifts are left out.
func (n *noise) drifts(values []float64, starts []int) (kept []int, found []Drift) {
	kept = []int{0}
	for i := 1; i < len(starts); {
		j := i
		for j+1 < len(starts) && n.sameWay(values, starts, j) {
			j++
		}
		taken := false
		for ; j >= i && !taken; j-- {
			if d, ok := n.drift(values, starts, i, j); ok {
				found, i, taken = append(found, d), j+1, true
			}
		}
		if !taken {
			kept = append(kept, starts[i])
			i++
		}
	}
	return kept, found
}

// sameWay reports whether the cuts j and j+1 lead the same way.
func (n *noise) sameWay(values []float64, starts []int, j int) bool {
	a := n.level(values, starts[j-1], starts[j]).at
	b := n.level(values, starts[j], starts[j+1]).at
	c := n.level(values, starts[j+1], endOf(starts, j+1, len(values))).at
	return (b-a)*(c-b) > 0
}

// drift tries one in place of the cuts i to j.
func (n *noise) drift(values []float64, starts []int, i, j int) (Drift, bool) {
	from, to := starts[i-1], endOf(starts, j, len(values))
	if to-from < shortest {
		return Drift{}, false
	}
	stairs := 0.0
	var first, last fit
	for k := i - 1; k <= j; k++ {
		f := n.level(values, starts[k], endOf(starts, k, len(values)))
		if k == i-1 {
			first = f
		}
		last = f
		stairs += f.cost
	}
	x1 := float64(from+starts[i]-1) / 2
	x2 := float64(starts[j]+to-1) / 2
	slope := (last.at - first.at) / (x2 - x1)
	line := n.line(values, from, to, first.at-slope*x1, slope)
	if line.cost > stairs+float64(j-i)*n.penalty() {
		return Drift{}, false
	}
	return Drift{From: from, To: to, Size: line.slope * float64(to-1-from)}, true
}

type lineFit struct{ slope, cost float64 }

// line fits a straight line to the points of [from, to) that are no outliers, beginning with one.
func (n *noise) line(values []float64, from, to int, offset, slope float64) lineFit {
	distance := func(i int) float64 { return values[i] - offset - slope*float64(i) }
	for range 10 {
		var w, x, y, xx, xy float64
		middle := float64(from+to-1) / 2
		for i := from; i < to; i++ {
			if math.Abs(distance(i)) < outlier*n.scales[i] {
				weight := 1 / (n.scales[i] * n.scales[i])
				dx := float64(i) - middle
				w, x, y = w+weight, x+weight*dx, y+weight*values[i]
				xx, xy = xx+weight*dx*dx, xy+weight*dx*values[i]
			}
		}
		bottom := w*xx - x*x
		if w == 0 || bottom <= 0 {
			break
		}
		slope = (w*xy - x*y) / bottom
		offset = (y-slope*x)/w - slope*middle
	}
	f := lineFit{slope: slope}
	for i := from; i < to; i++ {
		d := distance(i) / n.scales[i]
		f.cost += min(d*d, outlier*outlier)
	}
	return f
}

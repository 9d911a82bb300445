package trend

import (
	"math"
	"slices"
)

// outlier is how many standard deviations of the noise count in full. A point farther
// from its level costs the same wherever it lies, so that no single one pays for a level
// of its own.
const outlier = 3.0

// piece is a part of the least cost as a function of the present level: over [low, high]
// it is weight·(level−middle)² + cost. from is where that level began.
type piece struct {
	low, high            float64
	weight, middle, cost float64
	from                 int
}

// least returns the least cost on the piece's interval.
func (p *piece) least() float64 {
	d := min(max(p.middle, p.low), p.high) - p.middle
	return p.cost + float64(p.weight*d*d)
}

// potts cuts a series into levels so that the sum of all points' costs plus the penalty
// for every cut is least. It is the exact minimum for the bounded loss: a point costs the
// square of its distance from the level in units of its scale, and at most outlier². (Fearnhead
// and Rigaill, Changepoint Detection in the Presence of Outliers, JASA 2019: the least
// cost is kept as a function of the level, and parts of it that a new level beats for good
// are dropped, which keeps the work nearly linear.)
//
// It returns the first index of every segment, beginning with 0.
func potts(values, scales []float64, penalty float64) (starts []int) {
	n := len(values)
	if n == 0 {
		return nil
	}
	pieces := []piece{{low: slices.Min(values), high: slices.Max(values)}}
	var next []piece
	from := make([]int, n) // where the segment that ends at an index begins
	for t, v := range values {
		next = addPoint(next[:0], pieces, v, scales[t])
		pieces, next = next, pieces
		best := math.Inf(1)
		for i := range pieces {
			if cost := pieces[i].least(); cost < best {
				best, from[t] = cost, pieces[i].from
			}
		}
		next = cutAt(next[:0], pieces, best+penalty, t+1)
		pieces, next = next, pieces
	}
	for end := n; end > 0; end = from[end-1] {
		starts = append(starts, from[end-1])
	}
	slices.Reverse(starts)
	return starts
}

// addPoint adds the cost of a point to all pieces.
func addPoint(out, pieces []piece, v, scale float64) []piece {
	const most = outlier * outlier
	left, right := v-outlier*scale, v+outlier*scale
	weight := 1 / (scale * scale)
	for _, p := range pieces {
		if p.low < left {
			q := p
			q.high = min(p.high, left)
			q.cost += most
			out = append(out, q)
		}
		if low, high := max(p.low, left), min(p.high, right); low < high || low == high && p.low == p.high {
			// The sum of two parabolas: about the point's own value, so that no large numbers cancel.
			q := p
			q.low, q.high = low, high
			q.weight = p.weight + weight
			share := p.weight / q.weight
			d := p.middle - v
			q.middle = v + float64(d*share)
			q.cost += float64(weight * share * d * d)
			out = append(out, q)
		}
		if p.high > right {
			q := p
			q.low = max(p.low, right)
			q.cost += most
			out = append(out, q)
		}
	}
	return out
}

// cutAt replaces pieces by a new level that begins at an index wherever that costs less.
func cutAt(out, pieces []piece, cost float64, from int) []piece {
	fresh := func(low, high float64) {
		if last := len(out) - 1; last >= 0 && out[last].from == from {
			out[last].high = high
			return
		}
		out = append(out, piece{low: low, high: high, cost: cost, from: from})
	}
	for _, p := range pieces {
		if p.cost >= cost {
			fresh(p.low, p.high)
			continue
		}
		if p.weight == 0 {
			out = append(out, p)
			continue
		}
		reach := math.Sqrt((cost - p.cost) / p.weight)
		low, high := max(p.low, p.middle-reach), min(p.high, p.middle+reach)
		if low > high { // the part of the parabola that is low enough lies outside
			fresh(p.low, p.high)
			continue
		}
		if p.low < low {
			fresh(p.low, low)
		}
		q := p
		q.low, q.high = low, high
		out = append(out, q)
		if high < p.high {
			fresh(high, p.high)
		}
	}
	return out
}

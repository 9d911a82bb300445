package search

import (
	"math"
	"slices"

	"pawl/internal/formula"
	"pawl/internal/space"
)

// coordinates say how far points are from each other, param by param. A model weighs several measures of
// it, since nobody knows which one a kernel follows: by rank among the values, by size, or only whether
// they differ. The order of params and values does not matter.
type coordinates struct {
	axes     []axis
	measures []measure
}

// axis is a param with more than one value.
type axis struct {
	param  int
	levels []uint8 // by value
	width  int     // how many levels there are
}

// measure is one way in which the levels of an axis can be far from each other.
type measure struct {
	axis   int
	kind   measureKind
	square []float64 // squared distances of all pairs of levels
}

type measureKind uint8

const (
	byRank measureKind = iota
	bySize
	byDifference
)

// maxLevels is how many values of a param are told apart. Of a param with more, neighbours count as one.
const maxLevels = 128

// spreadForLog is the ratio of largest to smallest value from which on sizes are compared as logarithms.
const spreadForLog = 8

func newCoordinates(params []space.Param) *coordinates {
	c := &coordinates{}
	for i, p := range params {
		if len(p.Values) < 2 {
			continue
		}
		ranks, sizes := ranksOf(p.Values)
		n := min(len(p.Values), maxLevels)
		ax := axis{param: i, levels: make([]uint8, len(p.Values)), width: n}
		size := make([]float64, n)
		for v, rank := range ranks {
			ax.levels[v] = uint8(rank * n / len(p.Values))
			if sizes != nil {
				size[ax.levels[v]] = sizes[v]
			}
		}
		c.axes = append(c.axes, ax)
		c.differ(n)
		if n == 2 || sizes == nil {
			continue // all measures agree, or there is no order
		}
		c.measure(byRank, n, func(l int) float64 { return float64(l) / float64(n-1) })
		if !equallySpaced(size) { // as ranks are
			c.measure(bySize, n, func(l int) float64 { return size[l] })
		}
	}
	return c
}

// measure adds one to the last axis, by the positions of its levels.
func (c *coordinates) measure(kind measureKind, n int, position func(level int) float64) {
	square := make([]float64, n*n)
	for a := range n {
		for b := range n {
			d := position(a) - position(b)
			square[a*n+b] = d * d
		}
	}
	c.measures = append(c.measures, measure{len(c.axes) - 1, kind, square})
}

// differ adds the measure that tells only whether levels of the last axis differ.
func (c *coordinates) differ(n int) {
	square := make([]float64, n*n)
	for a := range n {
		for b := range n {
			if a != b {
				square[a*n+b] = 1
			}
		}
	}
	c.measures = append(c.measures, measure{len(c.axes) - 1, byDifference, square})
}

// ranksOf returns the rank of every value, and its size between 0 and 1; no sizes where values are no
// numbers.
func ranksOf(values []formula.Value) (ranks []int, sizes []float64) {
	numbers := make([]float64, len(values))
	for i, v := range values {
		f, ok := v.Float()
		if b, isBool := v.Bool(); isBool {
			ok = true
			if b {
				f = 1
			}
		}
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			numbers = nil
			break
		}
		numbers[i] = f
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	if numbers == nil {
		return order, nil
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case numbers[a] < numbers[b]:
			return -1
		case numbers[a] > numbers[b]:
			return 1
		}
		return 0
	})
	low, high := numbers[order[0]], numbers[order[len(order)-1]]
	scale := func(f float64) float64 { return f }
	if low > 0 && high/low >= spreadForLog {
		scale = math.Log2
	}
	ranks, sizes = make([]int, len(values)), make([]float64, len(values))
	for rank, i := range order {
		ranks[i] = rank
		if spread := scale(high) - scale(low); spread > 0 && !math.IsInf(spread, 1) {
			sizes[i] = (scale(numbers[i]) - scale(low)) / spread
		} else {
			sizes[i] = float64(rank) / float64(len(order)-1) // too far apart for a difference
		}
	}
	return ranks, sizes
}

func equallySpaced(sizes []float64) bool {
	for i, s := range sizes {
		if math.Abs(s-float64(i)/float64(len(sizes)-1)) > 0.02 {
			return false
		}
	}
	return true
}

// of returns the level of a point on every axis.
func (c *coordinates) of(p space.Point) []uint8 {
	x := make([]uint8, len(c.axes))
	for i, ax := range c.axes {
		x[i] = ax.levels[p[ax.param]]
	}
	return x
}

// distance between two points, by which points are spread: by rank and by difference.
func (c *coordinates) distance(a, b []uint8) float64 {
	sum := 0.0
	for _, m := range c.measures {
		if ax := c.axes[m.axis]; m.kind != bySize {
			sum += m.square[int(a[m.axis])*ax.width+int(b[m.axis])]
		}
	}
	return sum
}

package search

import (
	"math"
	"slices"

	"pawl/internal/formula"
	"pawl/internal/space"
)

// coordinates say how far values of a param are from each other. A model weighs several measures of it,
// since nobody knows which one a kernel follows: by rank among the values, by size, or only whether they
// differ. The order of params and values does not matter.
type coordinates struct {
	params   []int // those with more than one value
	widths   []int // of each of them: how many values are told apart
	levels   [][]uint8
	measures []measure
	base     int
	derived  []derived
}

// measure is one way in which values of a param can be far from each other.
type measure struct {
	param  int // its place in coordinates.params
	kind   measureKind
	square []float64 // squared distances of all pairs of values
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
		levels := make([]uint8, len(p.Values))
		position, size := make([]float64, n), make([]float64, n)
		for v, rank := range ranks {
			l := rank * n / len(p.Values)
			levels[v] = uint8(l)
			position[l] = float64(l) / float64(n-1)
			if sizes != nil {
				size[l] = sizes[v]
			}
		}
		at := len(c.params)
		c.params, c.widths, c.levels = append(c.params, i), append(c.widths, n), append(c.levels, levels)
		c.add(at, n, byDifference, func(a, b int) float64 {
			if a == b {
				return 0
			}
			return 1
		})
		if n == 2 || sizes == nil {
			continue // all measures agree, or there is no order
		}
		c.add(at, n, byRank, func(a, b int) float64 { return position[a] - position[b] })
		if equallySpaced(size) {
			continue // as ranks are
		}
		c.add(at, n, bySize, func(a, b int) float64 { return size[a] - size[b] })
	}
	c.base = len(c.params)
	if knob("prod", 0) > 0 {
		c.derive(params)
	}
	return c
}

// derive adds products of two sizes: threads of a block, elements of a tile.
func (c *coordinates) derive(params []space.Param) {
	logs := make([][]float64, len(params))
	for i, p := range params {
		if len(p.Values) < 3 {
			continue
		}
		for _, v := range p.Values {
			f, ok := v.Float()
			if !ok || f <= 0 {
				logs[i] = nil
				break
			}
			logs[i] = append(logs[i], math.Log2(f))
		}
	}
	for i := range params {
		for j := range i {
			if logs[i] == nil || logs[j] == nil {
				continue
			}
			for _, sign := range []float64{1, -1} {
				if sign < 0 && knob("prod", 0) < 2 {
					continue
				}
				var sums []float64
				for _, a := range logs[i] {
					for _, b := range logs[j] {
						sums = append(sums, math.Round((a+sign*b)*1e6)/1e6)
					}
				}
				distinct := slices.Clone(sums)
				slices.Sort(distinct)
				distinct = slices.Compact(distinct)
				n := min(len(distinct), maxLevels)
				size := make([]float64, n)
				d := derived{i, j, len(params[j].Values), nil}
				for _, v := range sums {
					rank, _ := slices.BinarySearch(distinct, v)
					l := rank * n / len(distinct)
					size[l] = (v - distinct[0]) / (distinct[len(distinct)-1] - distinct[0])
					d.levels = append(d.levels, uint8(l))
				}
				at := len(c.widths)
				c.derived, c.widths = append(c.derived, d), append(c.widths, n)
				c.add(at, n, bySize, func(a, b int) float64 { return size[a] - size[b] })
				if knob("prodh", 1) > 0 {
					c.add(at, n, byDifference, func(a, b int) float64 {
						if a == b {
							return 0
						}
						return 1
					})
				}
			}
		}
	}
}

type derived struct {
	a, b, width int
	levels      []uint8
}

func (c *coordinates) add(param, n int, kind measureKind, distance func(a, b int) float64) {
	square := make([]float64, n*n)
	for a := range n {
		for b := range n {
			d := distance(a, b)
			square[a*n+b] = d * d
		}
	}
	c.measures = append(c.measures, measure{param, kind, square})
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
		if high > low {
			sizes[i] = (scale(numbers[i]) - scale(low)) / (scale(high) - scale(low))
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

// of returns the levels of a point's values.
func (c *coordinates) of(p space.Point) []uint8 {
	x := make([]uint8, len(c.widths))
	for i, param := range c.params {
		x[i] = c.levels[i][p[param]]
	}
	for i, d := range c.derived {
		x[c.base+i] = d.levels[int(p[d.a])*d.width+int(p[d.b])]
	}
	return x
}

// distance between two points, by which points are spread.
func (c *coordinates) distance(a, b []uint8) float64 {
	sum := 0.0
	for _, m := range c.measures {
		if m.kind != bySize && m.param < c.base {
			sum += m.square[int(a[m.param])*c.widths[m.param]+int(b[m.param])]
		}
	}
	return sum
}

package effect

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"pawl/internal/result"
)

const (
	trees   = 64 // more change no share by a percent
	minLeaf = 2  // trials; of one, a leaf would be its noise
	seed    = 42 // equal trials have equal shares

	rounding = 1e-9 // of squares: what differs by less is equal, in whatever unit the cost is
)

// forest is what trees are grown from: trials as points, whose coordinates are numbers of levels. A level
// is a value of a param with which something was measured.
type forest struct {
	levels  []int  // of each param
	ordered []bool // the param's levels are numbers, in their order
	points  []point
}

type point struct {
	at []int
	y  float64 // log of the cost
}

func newForest(params []result.SpaceParam, trials []*result.Trial) *forest {
	f := &forest{levels: make([]int, len(params)), ordered: make([]bool, len(params))}
	level := make([]map[string]int, len(params))
	for i, p := range params {
		var seen []string
		for _, value := range p.Values {
			if slices.ContainsFunc(trials, func(t *result.Trial) bool { return t.Params[p.Name] == value }) {
				seen = append(seen, value)
			}
		}
		f.ordered[i] = sortNumbers(seen)
		f.levels[i], level[i] = len(seen), map[string]int{}
		for n, value := range seen {
			level[i][value] = n
		}
	}
	for _, t := range trials {
		p := point{at: make([]int, len(params)), y: math.Log(t.Cost)}
		inside := true
		for i := range params {
			n, known := level[i][t.Params[params[i].Name]]
			p.at[i], inside = n, inside && known
		}
		if inside { // else it is of another space
			f.points = append(f.points, p)
		}
	}
	middle := mean(f.points)
	for i := range f.points {
		f.points[i].y -= middle // squares of large numbers lose the digits that matter
	}
	return f
}

// sortNumbers sorts texts by their numbers, and reports whether all of them are numbers. Else it leaves
// them as they are.
func sortNumbers(texts []string) bool {
	number := map[string]float64{}
	for _, text := range texts {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			return false
		}
		number[text] = v
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(number[a], number[b]) })
	return true
}

// shares returns the share of the forest's variance that each param explains alone.
func (f *forest) shares() []float64 {
	random := rand.New(rand.NewPCG(seed, seed))
	main, total := make([]float64, len(f.levels)), 0.0
	for range trees {
		sample := make([]point, len(f.points))
		for i := range sample {
			sample[i] = f.points[random.IntN(len(f.points))]
		}
		d := newDecomposition(f.levels)
		box := make([][]int, len(f.levels))
		for i, n := range f.levels {
			for level := range n {
				box[i] = append(box[i], level)
			}
		}
		f.grow(sample, box, d)
		total += d.variance()
		for i := range main {
			main[i] += d.mainVariance(i)
		}
	}
	for i := range main {
		if total > 0 {
			main[i] = min(main[i]/total, 1)
		} else {
			main[i] = 0
		}
	}
	return main
}

// grow splits a box of the space until its trials are few or equal, and adds its leaves.
func (f *forest) grow(points []point, box [][]int, d *decomposition) {
	best := split{}
	for i := range box {
		if s := f.bestSplit(points, box[i], i); s.gain > best.gain+rounding*(1+best.gain) {
			best = s
		}
	}
	if best.gain <= 0 {
		d.leaf(box, mean(points))
		return
	}
	for side := range 2 {
		part := slices.Clone(box)
		part[best.param] = slices.DeleteFunc(slices.Clone(box[best.param]), func(level int) bool { return best.right[level] != (side == 1) })
		f.grow(slices.DeleteFunc(slices.Clone(points), func(p point) bool { return best.right[p.at[best.param]] != (side == 1) }), part, d)
	}
}

// split divides the levels of a param in two.
type split struct {
	gain  float64 // squares that it explains
	param int
	right map[int]bool
}

// bestSplit divides the levels that a box has of a param where that explains most. Numbers stay in their
// order. Other levels are sorted by their means, which finds the best division of them all.
func (f *forest) bestSplit(points []point, levels []int, param int) split {
	out := split{param: param}
	if len(levels) < 2 {
		return out
	}
	count, sum := make([]int, f.levels[param]), make([]float64, f.levels[param])
	all := 0.0
	for _, p := range points {
		count[p.at[param]]++
		sum[p.at[param]] += p.y
		all += p.y
	}
	order := slices.DeleteFunc(slices.Clone(levels), func(level int) bool { return count[level] == 0 })
	if !f.ordered[param] {
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Compare(sum[a]/float64(count[a]), sum[b]/float64(count[b]))
		})
	}
	at, n, left := -1, 0, 0.0
	for i, level := range order[:max(len(order)-1, 0)] {
		n, left = n+count[level], left+sum[level]
		if n < minLeaf || len(points)-n < minLeaf {
			continue
		}
		rest := all - left
		if gain := left*left/float64(n) + rest*rest/float64(len(points)-n) - all*all/float64(len(points)); gain > out.gain+rounding*(1+out.gain) {
			out.gain, at = gain, i
		}
	}
	if at >= 0 {
		out.right = f.rightOf(order, at, levels, param)
	}
	return out
}

// rightOf returns the levels that are right of a division. Those without a trial in the box are where the
// nearest number with one is or, where levels are no numbers, with the smaller half of the levels.
func (f *forest) rightOf(order []int, at int, levels []int, param int) map[int]bool {
	out := map[int]bool{}
	for _, level := range levels {
		place := slices.Index(order, level)
		switch {
		case place >= 0:
			out[level] = place > at
		case f.ordered[param]:
			out[level] = 2*level > order[at]+order[at+1]
		default:
			out[level] = at+1 > len(order)-at-1
		}
	}
	return out
}

func mean(points []point) float64 {
	sum := 0.0
	for _, p := range points {
		sum += p.y
	}
	return sum / float64(max(len(points), 1))
}

// decomposition adds up the leaves of a tree: its mean and square over the whole space, and its mean
// where a param has one level.
type decomposition struct {
	levels        []int
	first, second float64
	at            [][]float64
}

func newDecomposition(levels []int) *decomposition {
	d := &decomposition{levels: levels}
	for _, n := range levels {
		d.at = append(d.at, make([]float64, n))
	}
	return d
}

// leaf adds a box in which the tree has one value.
func (d *decomposition) leaf(box [][]int, value float64) {
	volume := 1.0
	for i, levels := range box {
		volume *= float64(len(levels)) / float64(max(d.levels[i], 1))
	}
	d.first += volume * value
	d.second += volume * value * value
	for i, levels := range box {
		for _, level := range levels {
			d.at[i][level] += value * volume * float64(d.levels[i]) / float64(len(levels))
		}
	}
}

func (d *decomposition) variance() float64 { return max(d.second-d.first*d.first, 0) }

// mainVariance is the variance that a param explains by itself.
func (d *decomposition) mainVariance(param int) float64 {
	squares := 0.0
	for _, v := range d.at[param] {
		squares += (v - d.first) * (v - d.first)
	}
	return squares / float64(max(len(d.at[param]), 1))
}

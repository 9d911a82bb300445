package trend

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"pawl/internal/stat"
)

const (
	// penalty is what a cut must gain, in squares of standard deviations: 3.2 of them.
	penalty = 10.0
	// settled is how many points must follow a change before it is final.
	settled = 10
	// passes of cutting and of estimating the noise inside what was cut. They mostly agree after two.
	passes = 3
	// reach is how far a cut may be moved to where it divides its neighbours best.
	reach = 5
)

// Segment is a level: points [From, To).
type Segment struct {
	From  int     `json:"from"`
	To    int     `json:"to"`
	Level float64 `json:"level"`
	Error float64 `json:"error"` // standard error of the level
}

// Change is a move from one level to the next, in units of the series.
type Change struct {
	Segment     int     `json:"segment"` // that begins with it
	At          int     `json:"at"`      // first point of the new level
	First       int     `json:"first"`   // First to Last: where it began, with a probability of 95%
	Last        int     `json:"last"`
	Size        float64 `json:"size"` // new level less old one
	Low         float64 `json:"ci_95_low"`
	High        float64 `json:"ci_95_high"`
	Confidence  float64 `json:"confidence"`            // probability that a series as noisy, without a change, shows none as large anywhere
	Provisional bool    `json:"provisional,omitempty"` // so few points follow that it may vanish again
}

// Flip is a move between two levels that a series comes back to again and again: a machine with two speeds changes
// between them. It is no change of the code.
type Flip struct {
	At    int
	Left  float64 // levels before and after
	Right float64
}

// Levels are the levels of a series and the changes between them. Points that are not
// finite are not there: they count in indices and for nothing else.
type Levels struct {
	Segments []Segment
	Changes  []Change
	Drifts   []Drift
	Flips    []Flip
	Noise    float64 // standard deviation of a point, the median over the series
	Memory   float64 // 1: points are independent; see noise
}

// Detect finds where the level of a series moved. errors are the standard errors of its
// points, nil where they are unknown. Sizes add: take logarithms of what multiplies.
func Detect(values, errors []float64) *Levels { return detectIn(values, errors, crossingsOfTimes) }

// detectIn does it where two levels are speeds of the machine from so many crossings on.
func detectIn(values, errors []float64, crossings int) *Levels {
	var kept, known []float64
	var place []int // of the kept points
	for i, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			kept, place = append(kept, v), append(place, i)
			if errors != nil {
				known = append(known, errors[i])
			}
		}
	}
	out := detect(kept, known, crossings)
	at := func(i int) int {
		if i == len(place) {
			return len(values)
		}
		return place[i]
	}
	for i := range out.Segments {
		s := &out.Segments[i]
		s.From, s.To = at(s.From), at(s.To)
	}
	for i := range out.Changes {
		c := &out.Changes[i]
		c.At, c.First, c.Last = at(c.At), at(c.First), at(c.Last)
	}
	for i := range out.Drifts {
		d := &out.Drifts[i]
		d.From, d.To = at(d.From), at(d.To)
	}
	for i := range out.Flips {
		out.Flips[i].At = at(out.Flips[i].At)
	}
	return out
}

// detect does it for a series without gaps.
func detect(values, errors []float64, crossings int) *Levels {
	if len(values) == 0 {
		return &Levels{Memory: 1}
	}
	starts := []int{0}
	var flips []Flip
	n := noiseOf(values, errors, starts)
	for range passes {
		if slices.Min(n.scales) <= 0 || n.degrees < 1 {
			break // constant, or too short to know any noise
		}
		before := starts
		starts = n.refine(values, potts(values, n.scales, n.penalty()))
		starts, flips = n.withoutFlips(values, starts, crossings)
		starts = n.prune(values, starts)
		if slices.Equal(starts, before) {
			break
		}
		inside := noiseOf(values, errors, starts)
		if slices.Min(inside.scales) <= 0 || inside.degrees < 1 {
			break // no noise inside the levels at all
		}
		n = inside
	}
	starts = n.withoutWander(values, starts)
	starts, reached := n.ramps(values, starts)
	out := n.describe(values, starts, flips)
	for i := range out.Changes {
		c := &out.Changes[i]
		if r, there := reached[c.At]; there {
			c.First, c.Last = min(c.First, r[0]), max(c.Last, r[1])
		}
	}
	n.takeDrifts(values, starts, out)
	return out
}

// takeDrifts takes changes that are stairs of a drift out of the answer. The levels stay as they are: they are
// what can be drawn.
func (n *noise) takeDrifts(values []float64, starts []int, out *Levels) {
	kept, found := n.drifts(values, starts)
	out.Drifts = found
	out.Changes = slices.DeleteFunc(out.Changes, func(c Change) bool { return !slices.Contains(kept, c.At) })
}

// penalty returns what a cut must gain. Where the noise is known from few points, Student's
// distribution says how much more that is; memory makes gains larger by itself.
func (n *noise) penalty() float64 {
	p := math.Erfc(math.Sqrt(penalty/2)) / 2
	t := stat.TQuantile(1-p, n.degrees)
	return float64(t*t) * n.memory
}

// refine moves each cut to where absolute distances from the medians on its sides are least:
// the bounded loss does not care on which side of a cut its outliers are. What is far from both
// sides says nothing.
func (n *noise) refine(values []float64, starts []int) []int {
	const far = 3 * outlier
	out := slices.Clone(starts)
	for i := 1; i < len(out); i++ {
		begin, end := out[i-1], endOf(out, i, len(values))
		left, right := stat.Median(values[begin:out[i]]), stat.Median(values[out[i]:end])
		// The cost of every cut, less that of the first.
		first := max(begin+1, out[i]-reach)
		costs := []float64{0}
		for j := first; j < min(end-1, out[i]+reach); j++ {
			most := far * n.scales[j]
			step := min(math.Abs(values[j]-left), most) - min(math.Abs(values[j]-right), most)
			costs = append(costs, costs[len(costs)-1]+step)
		}
		at := out[i] - first
		for j, c := range costs {
			if c < costs[at]-1e-9*math.Abs(right-left) {
				at = j
			}
		}
		out[i] = first + at
	}
	return out
}

func endOf(starts []int, i, n int) int {
	if i+1 < len(starts) {
		return starts[i+1]
	}
	return n
}

// withoutFlips takes out the cuts at which only the machine's speed changed: see flip. crossings is how often a series
// must go from one level to the other before they count as speeds.
func (n *noise) withoutFlips(values []float64, starts []int, crossings int) (kept []int, flips []Flip) {
	kept = []int{0}
	for i := 1; i < len(starts); i++ {
		from, cut, to := starts[i-1], starts[i], endOf(starts, i, len(values))
		left, right := stat.Median(values[from:cut]), stat.Median(values[cut:to])
		if n.flip(values, from, cut, to, left, right, crossings) {
			flips = append(flips, Flip{At: cut, Left: left, Right: right})
		} else {
			kept = append(kept, cut)
		}
	}
	return kept, flips
}

// prune takes out cuts that gain too little once others are gone, the weakest first.
func (n *noise) prune(values []float64, starts []int) []int {
	least := n.penalty()
	for len(starts) > 1 {
		weakest, at := math.Inf(1), 0
		for i := 1; i < len(starts); i++ {
			if g := n.gain(values, starts[i-1], starts[i], endOf(starts, i, len(values))); g < weakest {
				weakest, at = g, i
			}
		}
		if weakest >= least {
			break
		}
		starts = slices.Delete(starts, at, at+1)
	}
	return starts
}

// gain returns by how much a cut lowers the cost of [from, to).
func (n *noise) gain(values []float64, from, cut, to int) float64 {
	left, right := n.level(values, from, cut), n.level(values, cut, to)
	apart := left.cost + right.cost
	together := min(n.cost(values, from, to, left.at), n.cost(values, from, to, right.at), n.level(values, from, to).cost)
	return together - apart
}

// fit is a level with its cost and the weight of the points near it.
type fit struct{ at, cost, weight float64 }

// level fits the points of [from, to) by the mean of those that are no outliers, beginning with
// their median.
func (n *noise) level(values []float64, from, to int) fit {
	f := fit{at: stat.Median(values[from:to])}
	for range 10 {
		sum, weight := 0.0, 0.0
		for i := from; i < to; i++ {
			if d := values[i] - f.at; math.Abs(d) < outlier*n.scales[i] {
				w := 1 / (n.scales[i] * n.scales[i])
				sum += float64(w * d)
				weight += w
			}
		}
		f.weight = weight
		if weight == 0 || sum == 0 {
			break
		}
		f.at += sum / weight
	}
	f.cost = n.cost(values, from, to, f.at)
	return f
}

func (n *noise) cost(values []float64, from, to int, level float64) float64 {
	sum := 0.0
	for i := from; i < to; i++ {
		d := (values[i] - level) / n.scales[i]
		sum += min(float64(d*d), outlier*outlier)
	}
	return sum
}

// describe makes the answer of the cuts.
func (n *noise) describe(values []float64, starts []int, flips []Flip) *Levels {
	out := &Levels{Noise: stat.Median(n.scales), Memory: n.memory, Flips: flips}
	fits := make([]fit, len(starts))
	for i, from := range starts {
		to := endOf(starts, i, len(values))
		fits[i] = n.level(values, from, to)
		s := Segment{From: from, To: to, Level: fits[i].at}
		if fits[i].weight > 0 {
			s.Error = math.Sqrt(n.memory / fits[i].weight)
		}
		out.Segments = append(out.Segments, s)
	}
	for i := 1; i < len(starts); i++ {
		a, b := out.Segments[i-1], out.Segments[i]
		c := Change{Segment: i, At: b.From, Size: b.Level - a.Level, Provisional: len(values)-b.From < settled}
		half := stat.TQuantile(0.975, n.degrees) * math.Hypot(a.Error, b.Error)
		c.Low, c.High = c.Size-half, c.Size+half
		gain := n.gain(values, a.From, b.From, b.To) / n.memory
		c.Confidence = math.Pow(1-tTail(math.Sqrt(max(gain, 0)), n.degrees), float64(len(values)-1))
		c.First, c.Last = n.where(values, a, b)
		out.Changes = append(out.Changes, c)
	}
	return out
}

// tTail returns the probability that a variable of Student's distribution is farther from 0.
func tTail(t, degrees float64) float64 {
	if degrees >= manyDegrees {
		return math.Erfc(t / math.Sqrt2)
	}
	return mathext.RegIncBeta(degrees/2, 0.5, degrees/(degrees+float64(t*t)))
}

// where returns the range in which the change from a to b began: the fewest neighbouring
// places that hold 95% of the likelihood.
func (n *noise) where(values []float64, a, b Segment) (first, last int) {
	// The cost of beginning at i, less that of beginning at b.From.
	from, to := a.From+1, b.To-1
	costs := make([]float64, to-from+1)
	step := func(i int) float64 { // from beginning at i to beginning at i+1
		l, r := (values[i]-a.Level)/n.scales[i], (values[i]-b.Level)/n.scales[i]
		return min(float64(l*l), outlier*outlier) - min(float64(r*r), outlier*outlier)
	}
	for i := b.From; i < to; i++ {
		costs[i+1-from] = costs[i-from] + step(i)
	}
	for i := b.From - 1; i >= from; i-- {
		costs[i-from] = costs[i+1-from] - step(i)
	}
	all := 0.0
	least := slices.Min(costs)
	for i, c := range costs {
		costs[i] = math.Exp(-(c - least) / 2 / n.memory)
		all += costs[i]
	}
	first, last = b.From, b.From
	held := costs[b.From-from]
	for held < 0.95*all {
		left, right := 0.0, 0.0
		if first > from {
			left = costs[first-1-from]
		}
		if last < to {
			right = costs[last+1-from]
		}
		if first > from && (left >= right || last == to) {
			first, held = first-1, held+left
		} else if last < to {
			last, held = last+1, held+right
		} else {
			break
		}
	}
	return first, last
}

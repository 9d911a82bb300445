package plot

import (
	"math"
	"slices"
	"strings"
)

// Tag marks a single value: the median of a distribution, a line across a plot, or a point.
type Tag struct {
	Value float64
	Class string // how it looks: median, gate, first
	Title string // may be empty
}

// Bins count values in ranges of equal width.
type Bins struct {
	Low, High    float64 // of all bins together
	Counts       []int
	Below, Above int // values outside
}

// Bin counts the sorted values between low and high in at most the given number of
// bins: as many as the Freedman–Diaconis rule asks for. Values that are not finite
// are left out.
func Bin(sorted []float64, low, high float64, most int) Bins {
	return count(sorted, low, high, func(inside []float64, span float64) int { return binCount(inside, span, most) })
}

// count counts in as many bins as are asked for once the range is known.
func count(sorted []float64, low, high float64, bins func(inside []float64, span float64) int) Bins {
	s := Linear(low, high)
	sorted = sorted[before(sorted, -huge):before(sorted, math.Nextafter(huge, math.Inf(1)))]
	from, to := before(sorted, s.low), before(sorted, math.Nextafter(s.high, math.Inf(1)))
	inside := sorted[from:to]
	out := Bins{Low: s.low, High: s.high, Below: from, Above: len(sorted) - to}
	out.Counts = make([]int, bins(inside, s.high-s.low))
	for _, v := range inside {
		out.Counts[min(int(s.At(v)*float64(len(out.Counts))), len(out.Counts)-1)]++
	}
	return out
}

// before counts the sorted values below a limit.
func before(sorted []float64, limit float64) int {
	n, _ := slices.BinarySearch(sorted, limit)
	return n
}

func binCount(sorted []float64, span float64, most int) int {
	const fewest = 8
	most = max(most, 1)
	if len(sorted) == 0 {
		return min(fewest, most)
	}
	spread := sorted[len(sorted)*3/4] - sorted[len(sorted)/4]
	width := 2 * spread / math.Cbrt(float64(len(sorted)))
	// Without a spread the rule has no answer, and fine bins show that best.
	if width <= span/float64(most) {
		return most
	}
	return max(min(int(math.Ceil(span/width)), most), min(fewest, most))
}

// Histogram draws the bins as one silhouette, with tags over it.
func Histogram(bins Bins, tags []Tag, height int, title string) string {
	p := open("histogram", height, title)
	if highest := slices.Max(append([]int{0}, bins.Counts...)); highest > 0 {
		p.paths(len(bins.Counts), 100, "bins", silhouette(bins.Counts, 97, func(n int) float64 { return float64(n) / float64(highest) })+"z")
	}
	p.tags(Linear(bins.Low, bins.High), tags)
	return p.end()
}

// silhouette draws counts, of which each has a part of the height. One that is not 0
// reaches at least a level, so that it is seen however few it counts.
func silhouette(counts []int, level float64, part func(n int) float64) string {
	var d strings.Builder
	d.WriteString("M0 100")
	for _, n := range counts {
		top := 100 - 96*part(n)
		if n > 0 {
			top = math.Min(top, level)
		}
		d.WriteString("V" + decimal(math.Round(10*top)/10) + "h1")
	}
	return d.String() + "V100"
}

// Strip draws every value as a stroke: for so few that bins would mislead. Values
// outside the scale are left out.
func Strip(s Scale, values []float64, tags []Tag, height int, title string) string {
	p := open("strip", height, title)
	var d strings.Builder
	for _, v := range values {
		if s.holds(v) {
			d.WriteString("M" + decimal(100*s.At(v)) + " 30v60")
		}
	}
	if d.Len() > 0 {
		p.paths(100, 100, "strokes", d.String())
	}
	p.tags(s, tags)
	return p.end()
}

// tags draws the tags that are on the scale.
func (p *picture) tags(s Scale, tags []Tag) {
	for _, tag := range tags {
		if s.holds(tag.Value) {
			p.upright(tag.Class, s.At(tag.Value), tag.Title)
		}
	}
}

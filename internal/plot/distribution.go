package plot

import (
	"math"
	"slices"
	"strings"
)

// Tag marks a value of a distribution, such as its median.
type Tag struct {
	Value float64
	Class string // how it looks: median, p95
	Title string
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
	var b strings.Builder
	open(&b, "histogram", height, title)
	if highest := slices.Max(append([]int{0}, bins.Counts...)); highest > 0 {
		stretch(&b, len(bins.Counts), 100)
		b.WriteString(`<path class="bins" d="M0 100`)
		for _, n := range bins.Counts {
			top := 100 - 96*float64(n)/float64(highest)
			if n > 0 { // however few, they are seen
				top = math.Min(top, 97)
			}
			b.WriteString("V" + decimal(math.Round(10*top)/10) + "h1")
		}
		b.WriteString(`V100z"/></svg>`)
	}
	tagged(&b, Linear(bins.Low, bins.High), tags)
	return b.String()
}

// Strip draws every value as a stroke: for so few that bins would mislead. Values
// outside the scale are left out.
func Strip(s Scale, values []float64, tags []Tag, height int, title string) string {
	var b strings.Builder
	open(&b, "strip", height, title)
	var d strings.Builder
	for _, v := range values {
		if usable(v) && v >= s.low && v <= s.high {
			d.WriteString("M" + decimal(100*s.At(v)) + " 30v60")
		}
	}
	if d.Len() > 0 {
		stretch(&b, 100, 100)
		b.WriteString(`<path class="strokes" d="` + d.String() + `"/></svg>`)
	}
	tagged(&b, s, tags)
	return b.String()
}

// tagged draws the tags and ends the picture.
func tagged(b *strings.Builder, s Scale, tags []Tag) {
	for _, tag := range tags {
		if usable(tag.Value) && tag.Value >= s.low && tag.Value <= s.high {
			upright(b, tag.Class, s.At(tag.Value), tag.Title)
		}
	}
	b.WriteString(`</svg>`)
}

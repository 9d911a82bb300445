package plot

import "math"

// Layer is one of several distributions drawn over each other.
type Layer struct {
	Bins  Bins
	Class string // how it looks: own, base, best
}

// BinTogether bins several sorted lists alike, in as many bins as the one that
// needs most asks for.
func BinTogether(lists [][]float64, low, high float64, most int) []Bins {
	need := 0
	for _, sorted := range lists {
		need = max(need, len(Bin(sorted, low, high, most).Counts))
	}
	out := make([]Bins, len(lists))
	for i, sorted := range lists {
		out[i] = count(sorted, low, high, func([]float64, float64) int { return max(need, 1) })
	}
	return out
}

// Histograms draws layers over each other, each as shares of its own values, so
// that lists of different lengths compare.
func Histograms(layers []Layer, tags []Tag, height int, title string) string {
	p := open("overlay", height, title)
	highest := 0.0
	for _, layer := range layers {
		for _, n := range layer.Bins.Counts {
			highest = math.Max(highest, layer.Bins.share(n))
		}
	}
	var scale Scale
	for _, layer := range layers {
		scale = Linear(layer.Bins.Low, layer.Bins.High)
		if highest > 0 && len(layer.Bins.Counts) > 0 {
			p.paths(len(layer.Bins.Counts), 100, "layer "+layer.Class, silhouette(layer.Bins.Counts, 98, func(n int) float64 { return layer.Bins.share(n) / highest }))
		}
	}
	p.tags(scale, tags)
	return p.end()
}

// share returns what part of all values a bin of n holds.
func (b Bins) share(n int) float64 {
	all := b.Below + b.Above
	for _, n := range b.Counts {
		all += n
	}
	return float64(n) / math.Max(float64(all), 1)
}

// Course is one of several series drawn over each other.
type Course struct {
	Values []float64
	Class  string // how it looks: own, base, best
}

// Courses draws several series over each other, upwards on the scale, each over the
// whole width: a line of medians, and around it a band in which the middle half of
// the values lies.
func Courses(s Scale, courses []Course, columns, height int, title string) string {
	p := open("courses", height, title)
	level := func(v float64) string { return decimal(math.Round(10*(96-92*s.At(v))) / 10) }
	for _, course := range courses {
		var d stroke
		total := len(course.Values)
		columns := min(max(columns, 1), total)
		for i := range columns {
			column := sortedUsable(course.Values[i*total/columns : (i+1)*total/columns])
			if n := len(column); n > 0 {
				d.to(1000*(float64(i)+0.5)/float64(columns), level(column[n/4]), level(column[n/2]), level(column[n*3/4]))
			}
		}
		p.stroke("around "+course.Class, "course "+course.Class, &d)
	}
	return p.end()
}

package render

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/report/view"
	"pawl/internal/unit"
)

// How samples are drawn, so that no number of them makes a page large.
const (
	mostBins     = 40
	mostColumns  = 90
	fewSamples   = 30 // drawn one by one
	stripsHeight = 34
)

func frame(a view.Axis) plot.Frame {
	const height = 20
	return plot.Frame{Scale: a.Scale, Ticks: a.Scale.Ticks(a.Ticks), Reference: a.Reference, Rules: a.Rules, Height: height}
}

func axis(a view.Axis) template.HTML { return template.HTML(frame(a).Axis(tick(a))) }

// dot draws a line of a plot, which may have no mark.
func dot(a view.Axis, m *plot.Mark) template.HTML {
	if m == nil {
		return template.HTML(frame(a).Blank())
	}
	return template.HTML(frame(a).Dot(*m))
}

// tick names the ticks of an axis.
func tick(a view.Axis) func(float64) string {
	switch a.Unit {
	case view.Ratio:
		return func(v float64) string { return view.Short(fmt.Sprintf("%.3f", v)) + "×" }
	case view.Change:
		return view.Percent
	case view.Slowdown:
		return func(v float64) string { return view.Percent(v - 1) }
	}
	return func(v float64) string {
		if v == 0 {
			return "0"
		}
		if a.Scale.Logarithmic() { // each in a unit of its own
			number, name, _ := strings.Cut(unit.Duration(v), " ")
			return view.Short(number) + " " + name
		}
		number, _, name := unit.Durations(v, a.Scale.High())
		return view.Short(number) + " " + name
	}
}

func levels(a view.Axis) plot.Levels {
	return plot.Levels{Scale: a.Scale, Ticks: a.Scale.Ticks(a.Ticks), Rules: a.Rules, Height: a.Height}
}

func levelAxis(a view.Axis) template.HTML { return template.HTML(levels(a).Axis(tick(a))) }

func cells(c view.CellPlot) template.HTML {
	l := levels(c.Axis)
	l.Band = c.Band
	return template.HTML(l.Draw(c.Points, c.About))
}

func steps(h view.History) template.HTML {
	return template.HTML(levels(h.Axis).Steps(h.Marks, h.Now, h.About))
}

// drawn is samples twice: how they are distributed, and in the order they were taken.
type drawn struct {
	Label                string
	Rival                bool
	Distribution, Series template.HTML
	Low, High            string // ends of the scale
	Taken, Beyond        string
}

func strip(s view.Strip) drawn {
	low, high := view.Focus(s.Kept)
	scale := plot.Linear(low, high)
	tags := []plot.Tag{
		{Value: s.Median, Class: "median", Title: "median " + unit.Duration(s.Median)},
		{Value: s.P95, Class: "p95", Title: "p95 " + unit.Duration(s.P95)},
	}
	about := fmt.Sprintf("%s: %s, median %s, p95 %s", s.Name, view.Count(len(s.Kept), "sample"), unit.Duration(s.Median), unit.Duration(s.P95))
	bins := plot.Bin(s.Kept, low, high, mostBins)
	picture := plot.Histogram(bins, tags, stripsHeight, about)
	if len(s.Kept) <= fewSamples {
		picture = plot.Strip(scale, s.Kept, tags, stripsHeight, about)
	}
	return drawn{
		Label: s.Label, Rival: s.Rival, Distribution: template.HTML(picture), Low: unit.Duration(scale.Low()), High: unit.Duration(scale.High()),
		Taken: s.Taken, Beyond: beyond(bins, s.Kept),
		Series: template.HTML(plot.Series(scale, s.All, mostColumns, s.Apart, stripsHeight, s.Name+", samples in order: "+s.Taken)),
	}
}

// spread draws the samples of all sides of a duet over each other; nil when there are
// none.
func spread(d view.Duet) *drawn {
	const height = 96
	var lists [][]float64
	var all []float64
	low, high, fewest := math.Inf(1), math.Inf(-1), math.MaxInt
	var courses []plot.Course
	var tags []plot.Tag
	var taken []string
	for _, side := range d.Sides {
		courses = append(courses, plot.Course{Values: side.Kept, Class: side.Class})
		sorted := slices.Sorted(slices.Values(side.Kept))
		lists = append(lists, sorted)
		all = append(all, sorted...)
		if len(sorted) > 0 {
			from, to := bulk(sorted)
			low, high, fewest = math.Min(low, from), math.Max(high, to), min(fewest, len(sorted))
		}
		tags = append(tags, plot.Tag{Value: side.Mark.Value, Class: "median " + side.Class, Title: side.Name + ": median " + unit.Duration(side.Mark.Value)})
		taken = append(taken, unit.Count(len(sorted))+" of "+side.Name)
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	const share = 6 // samples in a column, or its median would be no better than one of them
	columns := min(fewest/share+1, mostColumns)
	var layers []plot.Layer
	for i, bins := range plot.BinTogether(lists, low, high, 2*mostBins) {
		layers = append(layers, plot.Layer{Bins: bins, Class: d.Sides[i].Class})
	}
	slices.Reverse(taken)
	made := &drawn{Taken: strings.Join(taken, ", "), Low: unit.Duration(low), High: unit.Duration(high), Beyond: beyond(plot.Bin(all, low, high, 1), all)}
	made.Distribution = template.HTML(plot.Histograms(layers, tags, height, d.Name+", distribution of the samples: "+made.Taken))
	made.Series = template.HTML(plot.Courses(plot.Linear(low, high), courses, columns, height, d.Name+", samples in the order taken: "+made.Taken))
	return made
}

// beyond says how many samples lie outside the drawn range, and how far.
func beyond(bins plot.Bins, sorted []float64) string {
	switch {
	case bins.Below > 0 && bins.Above > 0:
		return unit.Count(bins.Below+bins.Above) + " outside, from " + unit.Duration(sorted[0]) + " to " + unit.Duration(sorted[len(sorted)-1])
	case bins.Below > 0:
		return unit.Count(bins.Below) + " below, down to " + unit.Duration(sorted[0])
	case bins.Above > 0:
		return unit.Count(bins.Above) + " above, up to " + unit.Duration(sorted[len(sorted)-1])
	}
	return ""
}

// bulk returns the range of the sorted samples without their tails: a duet is judged by
// its middle, and is played where others may disturb one sample in ten.
func bulk(sorted []float64) (low, high float64) {
	const far = 4 // times the distance between the quartiles
	n := len(sorted)
	first, third := sorted[n/4], sorted[n*3/4]
	if spread := third - first; spread > 0 {
		return math.Max(sorted[0], first-far*spread), math.Min(sorted[n-1], third+far*spread)
	}
	return view.Focus(sorted)
}

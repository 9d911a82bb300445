package report

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// strips are the samples of a kernel and its rivals, a line each.
type strips struct {
	Kernel string
	Open   bool
	Lines  []stripLine
	More   string // lines that were left out
}

type stripLine struct {
	Label         string
	Rival         bool
	Distribution  template.HTML
	Low, High     string // ends of the distribution's scale
	Series        template.HTML
	Taken, Beyond string
}

// How much of the samples a page holds, so that neither many rows nor many samples
// make it large.
const (
	mostStrips   = 400 // in the page
	mostOpen     = 24  // without being asked for
	mostBins     = 40
	mostColumns  = 90
	fewSamples   = 30 // drawn one by one
	stripsHeight = 34
)

// allStrips are those of every line that has samples.
func allStrips(r *result.Report) []strips {
	var out []strips
	drawn, total := 0, 0
	for _, l := range lines(r) {
		if sampled(l.row) {
			total++
		}
	}
	for _, k := range byKernel(r) {
		made := strips{Kernel: k.name, Open: total <= mostOpen}
		left := 0
		for _, l := range lines(&result.Report{Rows: k.rows}) {
			switch {
			case !sampled(l.row):
			case drawn >= mostStrips:
				left++
			default:
				drawn++
				made.Lines = append(made.Lines, strip(l))
			}
		}
		if left > 0 {
			made.More = count(left, "more line") + " in the JSON report"
		}
		if len(made.Lines) > 0 || left > 0 {
			out = append(out, made)
		}
	}
	return out
}

func sampled(r *result.Row) bool { return measured(r) && len(r.Timing.Samples.Seconds) > 0 }

func strip(l line) stripLine {
	t := l.row.Timing
	kept := t.Samples.Kept()
	slices.Sort(kept) // a copy
	low, high := focus(kept)
	scale := plot.Linear(low, high)
	tags := []plot.Tag{
		{Value: t.Stats.Median, Class: "median", Title: "median " + unit.Duration(t.Stats.Median)},
		{Value: t.Stats.P95, Class: "p95", Title: "p95 " + unit.Duration(t.Stats.P95)},
	}
	label := l.row.Name()
	if l.rival != nil {
		label = l.label + ", " + l.row.Config
	}
	about := fmt.Sprintf("%s: %s, median %s, p95 %s", label, count(len(kept), "sample"), unit.Duration(t.Stats.Median), unit.Duration(t.Stats.P95))
	made := stripLine{Label: l.label, Rival: l.rival != nil, Low: unit.Duration(scale.Low()), High: unit.Duration(scale.High())}
	bins := plot.Bin(kept, low, high, mostBins)
	if len(kept) <= fewSamples {
		made.Distribution = template.HTML(plot.Strip(scale, kept, tags, stripsHeight, about))
	} else {
		made.Distribution = template.HTML(plot.Histogram(bins, tags, stripsHeight, about))
	}
	made.Beyond = beyond(bins, kept)

	var apart []plot.Span
	left := map[string]int{}
	for _, d := range t.Samples.Dropped {
		apart = append(apart, plot.Span{From: d.From, To: d.To, Title: d.Cause + ": " + count(d.To-d.From, "sample") + " left out"})
		left[d.Cause] += d.To - d.From
	}
	made.Taken = unit.Count(len(kept)) + " kept"
	for _, cause := range slices.Sorted(maps.Keys(left)) {
		made.Taken = unit.Count(left[cause]) + " " + cause + ", " + made.Taken
	}
	made.Series = template.HTML(plot.Series(scale, t.Samples.Seconds, mostColumns, apart, stripsHeight, label+", samples in order: "+made.Taken))
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

// focus is the range in which nearly all of the sorted samples lie: one stray
// sample is not to squeeze the others into a single bin.
func focus(sorted []float64) (low, high float64) {
	const far = 2.5 // times the distance from the median to the 5th or 95th percentile
	n := len(sorted)
	if n == 0 {
		return 0, 1
	}
	low, high = sorted[0], sorted[n-1]
	median := sorted[n/2]
	if tail := median - sorted[n/20]; tail > 0 {
		low = math.Max(low, median-far*tail)
	}
	if tail := sorted[n-1-n/20] - median; tail > 0 {
		high = math.Min(high, median+far*tail)
	}
	return low, high
}

package view

import (
	"math"

	"pawl/internal/plot"
)

// Unit is what the values of an axis are.
type Unit int

// The units.
const (
	Seconds Unit = iota
	Ratio
	Change   // a fraction, 0 where nothing changed
	Slowdown // a ratio shown as a change, 1 where nothing changed
)

// Axis is the scale that the marks of a plot share.
type Axis struct {
	Scale     plot.Scale
	Unit      Unit
	Ticks     int // at most
	Height    int // of a plot that goes upwards, in pixels
	Reference float64
	Rules     []plot.Tag
}

// Chart shows one kernel over its configs: how long it and its rivals take, and
// beside that how they compare.
type Chart struct {
	Kernel string
	Scale  string // how to read the times
	Times  Axis
	Ratios *Axis // nil when there is no rival
	Groups []ChartGroup
}

// ChartGroup is one config.
type ChartGroup struct {
	Config, Vars string
	Lines        []ChartLine
}

// ChartLine is a kernel or a rival; what was not measured has no mark.
type ChartLine struct {
	Label       string
	Rival       bool
	Time, Ratio *plot.Mark
	Badge       Cell // what stands in place of a mark
}

// Strip is the samples of one line.
type Strip struct {
	Label       string
	Rival       bool
	Name        string      // what a reader hears
	Kept        []float64   // sorted
	All         []float64   // in the order taken
	Apart       []plot.Span // of all, what was left out
	Taken       string
	Median, P95 float64
}

// Changes are all rows of a check on one scale.
type Changes struct {
	Gate  string
	Axis  Axis
	Lines []ChangeLine
}

// ChangeLine is a row or, below it, the best-known version.
type ChangeLine struct {
	Label   string
	Against bool
	Mark    *plot.Mark
}

// Duet is all that is drawn of one row.
type Duet struct {
	Name             string
	Badge            Cell
	Change, Interval string
	Class            string
	Times            string
	Open             bool
	Axis             Axis   // of the versions
	Versions         []Side // with the one that is only known from the baseline
	Cells            []CellPlot
	Sides            []Side
}

// CellPlot is what each cell found against one side.
type CellPlot struct {
	Title, Note string
	Axis        Axis
	Band        plot.Mark
	Points      []plot.Tag
	About       string
}

// Side is one side of a duet: its median, and its samples.
type Side struct {
	Name, Class string
	Mark        *plot.Mark
	Kept        []float64
}

// History is how the best-known version of a row came to be.
type History struct {
	Name, Course string
	From, To     string // when
	Axis         Axis
	Marks        []plot.Mark
	Now          *plot.Mark
	About        string
}

// Map is where the wrong elements of an output lie, tile by tile.
type Map struct {
	Output             string
	Dimensions         int // of the output
	Rows, Columns      int
	TileRows, TileCols int64
	Wrong              []int64
}

// Drawable reports whether a picture says more than a sentence: more than one element is wrong. It
// refuses maps that no cell of pawl makes.
func (m Map) Drawable() bool {
	const most = 64
	wrong := int64(0)
	for _, n := range m.Wrong {
		wrong += min(max(n, 0), 2)
	}
	return wrong > 1 && m.Rows > 0 && m.Rows <= most && m.Columns > 0 && m.Columns <= most && len(m.Wrong) == m.Rows*m.Columns && m.TileRows > 0 && m.TileCols > 0
}

// Focus returns the range in which nearly all of the sorted samples lie: one stray
// sample is not to squeeze the others into a single bin.
func Focus(sorted []float64) (low, high float64) {
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

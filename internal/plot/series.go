package plot

import (
	"html"
	"math"
	"slices"
	"strings"
)

// Span is a range of values that stands apart from the rest.
type Span struct {
	From, To int // first index, and one past the last
	Title    string
}

// Series draws values in their order, upwards on the scale. Where there are more
// than the given number of columns, a column shows the least, the median and the
// greatest of its share; none mixes values that stand apart with others. Values
// outside the scale are drawn at its edge.
func Series(s Scale, values []float64, columns int, apart []Span, height int, title string) string {
	p := open("series", height, title)
	total := len(values)
	columns = max(columns, 1)
	d := drawing{scale: s, values: values, share: max((total+columns-1)/columns, 1)}
	next := 0
	for _, span := range apart {
		from, to := max(span.From, next), min(span.To, total)
		if from >= to {
			continue
		}
		d.draw(p, next, from)
		p.WriteString(`<g class="apart"><title>` + html.EscapeString(span.Title) + `</title>`)
		p.element("rect", "", "x", percent(float64(from)/float64(total)), "y", "0", "width", percent(float64(to-from)/float64(total)), "height", "100%")
		d.draw(p, from, to)
		p.WriteString(`</g>`)
		next = to
	}
	d.draw(p, next, total)
	return p.end()
}

// sortedUsable returns the values that can be placed, sorted.
func sortedUsable(values []float64) []float64 {
	out := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !usable(v) })
	slices.Sort(out)
	return out
}

// drawing is a series while it is drawn, stretch by stretch.
type drawing struct {
	scale  Scale
	values []float64
	share  int // values in a column

	line, band   strings.Builder
	highs, edges []string // of the columns since the last gap: their greatest and least
}

// draw draws values[from:to] at their place among all. A column without a usable
// value is a gap that no line bridges.
func (d *drawing) draw(p *picture, from, to int) {
	for start := from; start < to; start += d.share {
		end := min(start+d.share, to)
		column := sortedUsable(d.values[start:end])
		if len(column) == 0 {
			d.lift()
			continue
		}
		x := decimal(math.Round(1000*float64(start+end)/2/float64(len(d.values)))) + " "
		pen := "L"
		if len(d.highs) == 0 {
			pen = "M"
		}
		d.line.WriteString(pen + x + d.level(column[len(column)/2]))
		d.highs = append(d.highs, x+d.level(column[len(column)-1]))
		d.edges = append(d.edges, x+d.level(column[0]))
	}
	d.lift()
	if d.line.Len() > 0 {
		p.paths(1000, 100, "band", d.band.String(), "line", d.line.String())
	}
	d.line.Reset()
	d.band.Reset()
}

// lift ends the stroke and closes the band around it, if it has any width.
func (d *drawing) lift() {
	if len(d.highs) == 1 {
		d.line.WriteString("h0") // a stroke without length is still a point
	}
	if !slices.Equal(d.highs, d.edges) {
		slices.Reverse(d.edges)
		d.band.WriteString("M" + strings.Join(d.highs, "L") + "L" + strings.Join(d.edges, "L") + "z")
	}
	d.highs, d.edges = nil, nil
}

// level returns a height from the top, with room for the stroke at either edge.
func (d *drawing) level(v float64) string { return decimal(math.Round(96 - 92*d.scale.At(v))) }

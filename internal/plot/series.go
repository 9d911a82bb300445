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
	level := func(v float64) string { return decimal(math.Round(96 - 92*s.At(v))) } // with room for the stroke at either edge
	total := len(values)
	columns = max(columns, 1)
	share := max((total+columns-1)/columns, 1) // values in a column
	draw := func(from, to int) {
		var d stroke
		for start := from; start < to; start += share {
			end := min(start+share, to)
			column := sortedUsable(values[start:end])
			if len(column) == 0 {
				d.lift() // a gap that no line bridges
				continue
			}
			d.to(1000*float64(start+end)/2/float64(total), level(column[0]), level(column[len(column)/2]), level(column[len(column)-1]))
		}
		p.stroke("band", "line", &d)
	}
	next := 0
	for _, span := range apart {
		from, to := max(span.From, next), min(span.To, total)
		if from >= to {
			continue
		}
		draw(next, from)
		p.WriteString(`<g class="apart"><title>` + html.EscapeString(span.Title) + `</title>`)
		p.element("rect", "", "x", percent(float64(from)/float64(total)), "y", "0", "width", percent(float64(to-from)/float64(total)), "height", "100%")
		draw(from, to)
		p.WriteString(`</g>`)
		next = to
	}
	draw(next, total)
	return p.end()
}

// sortedUsable returns the values that can be placed, sorted.
func sortedUsable(values []float64) []float64 {
	out := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !usable(v) })
	slices.Sort(out)
	return out
}

// stroke is a line through the middle of columns, and the band around it.
type stroke struct {
	line, band  strings.Builder
	highs, lows []string // of the columns since the last gap
}

// to extends the line and the band to the next column, whose place is in thousandths of the width.
func (d *stroke) to(thousandths float64, low, middle, high string) {
	x := decimal(math.Round(thousandths)) + " "
	pen := "L"
	if len(d.highs) == 0 {
		pen = "M"
	}
	d.line.WriteString(pen + x + middle)
	d.highs = append(d.highs, x+high)
	d.lows = append(d.lows, x+low)
}

// lift ends the line and closes the band around it, if it has any width.
func (d *stroke) lift() {
	if len(d.highs) == 1 {
		d.line.WriteString("h0") // a stroke without length is still a point
	}
	if !slices.Equal(d.highs, d.lows) {
		slices.Reverse(d.lows)
		d.band.WriteString("M" + strings.Join(d.highs, "L") + "L" + strings.Join(d.lows, "L") + "z")
	}
	d.highs, d.lows = nil, nil
}

// stroke draws a stroke that goes anywhere.
func (p *picture) stroke(band, line string, d *stroke) {
	d.lift()
	if d.line.Len() > 0 {
		p.paths(1000, 100, band, d.band.String(), line, d.line.String())
	}
}

package plot

import (
	"html"
	"math"
	"strings"
)

// Steps draws marks from left to right, each with its interval, and a line that keeps
// the level of one until the next: what was so until it changed. One whose value is
// not finite leaves its place free and breaks the line. now, where it is not nil,
// stands after all others, above or below the level that they reached.
func (l Levels) Steps(marks []Mark, now *Mark, title string) string {
	p := open("steps", l.Height, title)
	for _, tick := range l.Ticks {
		l.across(p, "grid", tick)
	}
	places := len(marks)
	if now != nil {
		places++
	}
	at := func(i int) float64 { return (float64(i) + 0.5) / float64(places) }
	if d := l.staircase(marks, places, at); d != "" {
		p.paths(1000, 100, "stairs", d)
	}
	for i, m := range marks {
		l.mark(p, at(i), m)
	}
	if now != nil {
		l.mark(p, at(places-1), *now)
	}
	return p.end()
}

func (l Levels) staircase(marks []Mark, places int, at func(int) float64) string {
	var d strings.Builder
	drawing := false
	for i, m := range marks {
		if !usable(m.Value) {
			drawing = false
			continue
		}
		pen := "V"
		if !drawing {
			pen = "M" + decimal(math.Round(1000*at(i))) + " "
		}
		drawing = true
		// A level holds until the next mark, or, before a gap, half of the way.
		end := at(i) + 0.5/float64(places)
		if i+1 < places && (i+1 == len(marks) || usable(marks[i+1].Value)) {
			end = at(i + 1)
		}
		d.WriteString(pen + decimal(100*(1-l.Scale.At(m.Value))) + "H" + decimal(math.Round(1000*end)))
	}
	return d.String()
}

func (l Levels) mark(p *picture, at float64, m Mark) {
	if !usable(m.Value) {
		return
	}
	p.WriteString(`<g class="` + html.EscapeString("step "+l.class(m.Class, m.Value)) + `">`)
	p.title(m.Title)
	if m.spread() {
		p.element("line", "", "class", "bar", "x1", percent(at), "x2", percent(at), "y1", l.y(math.Min(m.Low, m.Value)), "y2", l.y(math.Max(m.High, m.Value)))
	}
	p.element("circle", "", "class", "dot", "cx", percent(at), "cy", l.y(m.Value), "r", "3")
	p.WriteString(`</g>`)
}

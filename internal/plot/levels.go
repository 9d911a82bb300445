package plot

import (
	"html"
	"math"
	"slices"
	"strings"
)

// Levels is a plot of values in their order, upwards: a range that they should lie
// in, lines across that mean something, and a grid. Its axis is a picture of its
// own, to stand left of it.
type Levels struct {
	Scale  Scale
	Ticks  []float64
	Rules  []Tag // lines across; the axis has their titles in place of ticks that are too near
	Band   Mark  // an estimate and its interval, across the whole width
	Height int   // in pixels
}

// Axis names the ticks and the rules.
func (l Levels) Axis(name func(float64) string) string {
	p := open("levelaxis", l.Height, "")
	write := func(class string, at float64, text string) {
		p.text(text, "class", class, "x", "100%", "y", l.y(at), "dy", "4", "text-anchor", "end")
	}
	const apart = 13 // pixels that a line of text needs
	var named []float64
	for _, rule := range l.Rules {
		if rule.Title != "" && l.Scale.holds(rule.Value) {
			named = append(named, rule.Value)
			write("tick "+rule.Class, rule.Value, rule.Title)
		}
	}
	for _, tick := range l.Ticks {
		near := slices.ContainsFunc(named, func(v float64) bool { return math.Abs(l.Scale.At(v)-l.Scale.At(tick))*float64(l.Height) < apart })
		if !near {
			write("tick", tick, name(tick))
		}
	}
	return p.end()
}

// Draw draws the points from left to right. One outside the scale is drawn at its
// edge, as such; one that is not finite leaves its place free.
func (l Levels) Draw(points []Tag, title string) string {
	p := open("levels "+l.Band.Class, l.Height, title)
	for _, tick := range l.Ticks {
		l.across(p, "grid", tick)
	}
	if l.Band.spread() {
		top, bottom := 1-l.Scale.At(l.Band.High), 1-l.Scale.At(l.Band.Low)
		p.element("rect", "", "class", "band", "x", "0", "y", percent(top), "width", "100%", "height", percent(math.Max(bottom-top, 0.005)))
	}
	if usable(l.Band.Value) && l.Band.Class != "" {
		l.across(p, "middle", l.Band.Value)
	}
	for _, rule := range l.Rules {
		if l.Scale.holds(rule.Value) {
			l.across(p, rule.Class, rule.Value)
		}
	}
	for i, point := range points {
		if usable(point.Value) {
			at := (float64(i) + 0.5) / float64(len(points))
			p.element("circle", point.Title, "class", "point "+l.class(point.Class, point.Value), "cx", percent(at), "cy", l.y(point.Value), "r", "3.2")
		}
	}
	return p.end()
}

// class tells values outside the scale from those inside.
func (l Levels) class(class string, v float64) string {
	if l.Scale.holds(v) {
		return class
	}
	return class + " outside"
}

func (l Levels) y(v float64) string { return percent(1 - l.Scale.At(v)) }

func (l Levels) across(p *picture, class string, v float64) {
	p.element("line", "", "class", class, "x1", "0", "x2", "100%", "y1", l.y(v), "y2", l.y(v))
}

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

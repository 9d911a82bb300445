package plot

import (
	"math"
	"slices"
)

// Levels is a plot of values in their order, upwards: a range that they should lie
// in, lines across that mean something, and a grid. Its axis is a picture of its
// own, to stand left of it.
type Levels struct {
	Scale  Scale
	Ticks  []float64
	Rules  []Rule
	Band   Mark // an estimate and its interval, across the whole width
	Height int  // in pixels
}

// Rule is a line across a plot.
type Rule struct {
	Value float64
	Class string // how it looks: zero, gate
	Label string // on the axis, in place of ticks that are too near; may be empty
}

// Point is one value of a Levels.
type Point struct {
	Value float64
	Class string // how it looks: first, second
	Title string
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
		if rule.Label != "" && l.Scale.holds(rule.Value) {
			named = append(named, rule.Value)
			write("tick "+rule.Class, rule.Value, rule.Label)
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
func (l Levels) Draw(points []Point, title string) string {
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

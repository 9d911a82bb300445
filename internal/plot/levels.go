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
	var b strings.Builder
	open(&b, "levelaxis", l.Height, "")
	write := func(class string, at float64, text string) {
		b.WriteString(`<text class="` + html.EscapeString(class) + `" x="100%" y="` + l.y(at) + `" dy="4" text-anchor="end">` + html.EscapeString(text) + `</text>`)
	}
	const apart = 13 // pixels that a line of text needs
	var named []float64
	for _, rule := range l.Rules {
		if rule.Label != "" && l.holds(rule.Value) {
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
	b.WriteString(`</svg>`)
	return b.String()
}

// Draw draws the points from left to right. One outside the scale is drawn at its
// edge, as such; one that is not finite leaves its place free.
func (l Levels) Draw(points []Point, title string) string {
	var b strings.Builder
	open(&b, "levels "+l.Band.Class, l.Height, title)
	for _, tick := range l.Ticks {
		l.across(&b, "grid", tick)
	}
	if m := l.Band; usable(m.Low) && usable(m.High) && m.Low < m.High {
		top, bottom := 1-l.Scale.At(m.High), 1-l.Scale.At(m.Low)
		b.WriteString(`<rect class="band" x="0" y="` + percent(top) + `" width="100%" height="` + percent(math.Max(bottom-top, 0.005)) + `"/>`)
	}
	if m := l.Band; usable(m.Value) && m.Class != "" {
		l.across(&b, "middle", m.Value)
	}
	for _, rule := range l.Rules {
		if l.holds(rule.Value) {
			l.across(&b, rule.Class, rule.Value)
		}
	}
	for i, p := range points {
		if !usable(p.Value) {
			continue
		}
		class := "point " + p.Class
		if !l.holds(p.Value) {
			class += " outside"
		}
		b.WriteString(`<circle class="` + html.EscapeString(class) + `" cx="` + percent((float64(i)+0.5)/float64(len(points))) + `" cy="` + l.y(p.Value) + `" r="3.2"`)
		if p.Title == "" {
			b.WriteString(`/>`)
			continue
		}
		b.WriteString(`><title>` + html.EscapeString(p.Title) + `</title></circle>`)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// holds reports whether a value is on the scale.
func (l Levels) holds(v float64) bool { return usable(v) && v >= l.Scale.low && v <= l.Scale.high }

func (l Levels) y(v float64) string { return percent(1 - l.Scale.At(v)) }

func (l Levels) across(b *strings.Builder, class string, v float64) {
	y := l.y(v)
	b.WriteString(`<line class="` + html.EscapeString(class) + `" x1="0" x2="100%" y1="` + y + `" y2="` + y + `"/>`)
}

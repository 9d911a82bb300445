package plot

import (
	"math"
	"slices"
	"strings"
)

// Frame is what the lines of one plot share, each drawn as a picture of its own
// and stacked by the page: the scale, the grid behind it, and their height.
type Frame struct {
	Scale     Scale
	Ticks     []float64
	Reference float64 // a value with a line of its own, such as ratio 1; 0 for none
	Rules     []Tag   // more such values, each with its look
	Height    int     // of a line, in pixels
}

// Mark is an estimate with its interval.
type Mark struct {
	Value     float64
	Low, High float64 // equal to Value, or not finite, where there is none
	Class     string  // how it looks: own, rival, faster, slower, even
	Label     string  // written beside it; may be empty
	Title     string  // what a reader hears, or sees under the pointer
}

// spread reports whether a mark has an interval to draw.
func (m Mark) spread() bool { return usable(m.Low) && usable(m.High) && m.Low < m.High }

// Axis returns the line that names the ticks.
func (f Frame) Axis(name func(float64) string) string {
	p := open("axis", 18, "")
	kept := max(slices.Index(f.Ticks, f.Reference), 0) // the tick that stays when every other one has to go
	for i, tick := range f.Ticks {
		at := f.Scale.At(tick)
		class, anchor := "tick", "middle"
		if (i-kept)%2 != 0 {
			class = "tick alternate"
		}
		if at < 0.02 {
			anchor = "start"
		} else if at > 0.98 {
			anchor = "end"
		}
		p.text(name(tick), "class", class, "x", percent(at), "y", "13", "text-anchor", anchor)
	}
	return p.end()
}

// Blank returns a line with nothing on it but the grid.
func (f Frame) Blank() string {
	p := open("", f.Height, "")
	f.grid(p)
	return p.end()
}

// Dot returns a line with a mark on it. A mark whose value is not finite is not drawn.
func (f Frame) Dot(m Mark) string {
	if !usable(m.Value) {
		return f.Blank()
	}
	p := open(m.Class, f.Height, m.Title)
	f.grid(p)
	at := f.Scale.At(m.Value)
	left, right := at, at
	if m.spread() {
		left, right = math.Min(f.Scale.At(m.Low), at), math.Max(f.Scale.At(m.High), at)
		p.element("line", "", "class", "bar", "x1", percent(left), "x2", percent(right), "y1", "50%", "y2", "50%")
	}
	p.element("circle", "", "class", "dot", "cx", percent(at), "cy", "50%", "r", "3.5")
	switch {
	case m.Label == "":
	case f.labelsLeft(m, left, right):
		p.text(m.Label, "class", "label", "x", percent(left), "dx", "-9", "y", "50%", "dy", "4", "text-anchor", "end")
	default:
		p.text(m.Label, "class", "label", "x", percent(right), "dx", "9", "y", "50%", "dy", "4", "text-anchor", "start")
	}
	return p.end()
}

// labelsLeft tells on which side of a mark its label has room, preferring the side
// away from the reference.
func (f Frame) labelsLeft(m Mark, left, right float64) bool {
	const room = 0.2 // of the width, for a few digits on a narrow plot
	if right > 1-room {
		return left > 1-right
	}
	return f.Reference != 0 && m.Value < f.Reference && left > ratioMargin-0.01
}

func (f Frame) grid(p *picture) {
	var d strings.Builder
	for _, tick := range f.Ticks {
		if tick != f.Reference || f.Reference == 0 {
			d.WriteString("M" + decimal(100*f.Scale.At(tick)) + " 0v1")
		}
	}
	if d.Len() > 0 {
		p.paths(100, 1, "grid", d.String())
	}
	p.tags(f.Scale, f.Rules)
	if f.Reference != 0 {
		p.upright("reference", f.Scale.At(f.Reference), "")
	}
}

package plot

import (
	"html"
	"math"
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

// Axis returns the line that names the ticks.
func (f Frame) Axis(name func(float64) string) string {
	var b strings.Builder
	open(&b, "axis", 18, "")
	kept := 0 // the tick that stays when every other one has to go
	for i, tick := range f.Ticks {
		if tick == f.Reference {
			kept = i
		}
	}
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
		b.WriteString(`<text class="` + class + `" x="` + percent(at) + `" y="13" text-anchor="` + anchor + `">` + html.EscapeString(name(tick)) + `</text>`)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// Blank returns a line with nothing on it but the grid.
func (f Frame) Blank() string {
	var b strings.Builder
	open(&b, "", f.Height, "")
	f.grid(&b)
	b.WriteString(`</svg>`)
	return b.String()
}

// Dot returns a line with a mark on it. A mark whose value is not finite is not drawn.
func (f Frame) Dot(m Mark) string {
	if !usable(m.Value) {
		return f.Blank()
	}
	var b strings.Builder
	open(&b, m.Class, f.Height, m.Title)
	f.grid(&b)
	at := f.Scale.At(m.Value)
	left, right := at, at
	if usable(m.Low) && usable(m.High) && m.Low < m.High {
		left, right = math.Min(f.Scale.At(m.Low), at), math.Max(f.Scale.At(m.High), at)
		b.WriteString(`<line class="bar" x1="` + percent(left) + `" x2="` + percent(right) + `" y1="50%" y2="50%"/>`)
	}
	b.WriteString(`<circle class="dot" cx="` + percent(at) + `" cy="50%" r="3.5"/>`)
	if m.Label != "" {
		x, dx, anchor := right, "9", "start"
		if f.labelsLeft(m, left, right) {
			x, dx, anchor = left, "-9", "end"
		}
		b.WriteString(`<text class="label" x="` + percent(x) + `" dx="` + dx + `" y="50%" dy="4" text-anchor="` + anchor + `">` + html.EscapeString(m.Label) + `</text>`)
	}
	b.WriteString(`</svg>`)
	return b.String()
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

func (f Frame) grid(b *strings.Builder) {
	var d strings.Builder
	for _, tick := range f.Ticks {
		if tick != f.Reference || f.Reference == 0 {
			d.WriteString("M" + decimal(100*f.Scale.At(tick)) + " 0v1")
		}
	}
	if d.Len() > 0 {
		stretch(b, 100, 1)
		b.WriteString(`<path class="grid" d="` + d.String() + `"/></svg>`)
	}
	for _, rule := range f.Rules {
		if usable(rule.Value) && rule.Value >= f.Scale.low && rule.Value <= f.Scale.high {
			upright(b, rule.Class, f.Scale.At(rule.Value), rule.Title)
		}
	}
	if f.Reference != 0 {
		upright(b, "reference", f.Scale.At(f.Reference), "")
	}
}

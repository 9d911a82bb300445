package sheet

import (
	"math"

	"pawl/internal/unit"
)

// trade draws time and energy of what was measured, and the settings that no other beats in both.
func (s Search) trade(c canvas, x, y, inner float64) float64 {
	width := inner
	if !s.narrow {
		width = math.Min(inner, 560)
	}
	y = title(c, x, y, "Time and energy of a launch")
	y = s.legend(c, x, y-4, inner,
		key{func(x, y float64) { c.circle(x+6, y+6, 2.5, faint) }, "a setting"},
		key{func(x, y float64) { c.circle(x+6, y+6, 4, accent) }, "no other beats it in both"})
	const inset = 58
	var points []TradePoint
	var seconds, joules []float64
	for _, p := range s.Trade.Points {
		if usable(p.Seconds) && usable(p.Joules) {
			points, seconds, joules = append(points, p), append(seconds, p.Seconds), append(joules, p.Joules)
		}
	}
	if len(seconds) == 0 {
		return y
	}
	a := plotArea{x: x + inset, y: y, width: width - inset, height: chart, across: scaleOf(seconds), up: scaleOf(joules)}
	a.grid(c, a.across.Ticks(6), a.up.Ticks(6), unit.Duration, unit.Energy)
	c.line([]float64{a.x, a.y + a.height, a.x + a.width, a.y + a.height}, 1, muted, nil)
	var front []float64
	for _, p := range points {
		if !p.Front {
			c.circle(a.at(p.Seconds), a.level(p.Joules), 2.2, faint)
			continue
		}
		if front != nil {
			front = append(front, a.at(p.Seconds), front[len(front)-1])
		}
		front = append(front, a.at(p.Seconds), a.level(p.Joules))
	}
	c.line(front, 1.5, accent, nil)
	for _, p := range points {
		if p.Front {
			c.circle(a.at(p.Seconds), a.level(p.Joules), 4, accent)
		}
	}
	for _, p := range points {
		if p.Label != "" {
			tagged(c, a, p)
		}
	}
	return a.y + a.height + 20
}

// tagged draws a point that has a name.
func tagged(c canvas, a plotArea, p TradePoint) {
	x, y := a.at(p.Seconds), a.level(p.Joules)
	ring(c, x, y, 5.5, ink)
	if p.Front {
		c.circle(x, y, 3, accent)
	}
	side, dx := left, 10.0
	if x > a.x+a.width*0.7 {
		side, dx = right, -10
	}
	c.text(x+dx, y-6, small, bold, ink, side, p.Label)
}

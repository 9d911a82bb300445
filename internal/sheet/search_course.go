package sheet

import (
	"math"

	"pawl/internal/plot"
	"pawl/internal/unit"
)

// courses draws the best so far over the trials, and over time: one beside the other, or on a narrow
// page one below the other.
func (s Search) courses(c canvas, x, y, inner float64) float64 {
	wide := (inner - gap) / 2
	if s.narrow {
		wide = inner
	}
	bottom := s.course(c, x, y, wide, "Best so far, by settings tried", func(i int) float64 { return float64(i + 1) }, count)
	second := y
	if s.narrow {
		second = bottom + 16
	} else {
		x += wide + gap
	}
	last := s.course(c, x, second, wide, "Best so far, by time", func(i int) float64 { return s.Trials[i].Seconds }, clock)
	bottom = math.Max(bottom, last)
	keys := []key{
		{func(x, y float64) { c.line([]float64{x, y + 6, x + 12, y + 6}, 2, accent, nil) }, "best so far"},
		{func(x, y float64) { c.circle(x+6, y+6, 2, faint) }, "a setting; slower ones at the edge"},
	}
	if usable(s.Today) {
		keys = append(keys, key{func(x, y float64) { c.line([]float64{x, y + 6, x + 12, y + 6}, 1.2, ink, []float64{3, 3}) }, "today's defaults"})
	}
	for _, t := range s.Trials {
		if t.Failed {
			keys = append(keys, key{func(x, y float64) { c.line([]float64{x + 6, y + 2, x + 6, y + 11}, 1.5, alarm, nil) }, "it failed"})
			break
		}
	}
	return s.legend(c, s.pad(), bottom+8, inner, keys...)
}

// clock names the times of a search in one unit, the one that suits the longest, and returns its seconds.
func clock(longest float64) (step float64, name func(float64) string) {
	step, words := 1.0, " s"
	switch {
	case longest >= 7200:
		step, words = 3600, " h"
	case longest >= 120:
		step, words = 60, " min"
	}
	return step, func(v float64) string { return brief(v/step) + words }
}

// count names numbers of trials.
func count(float64) (step float64, name func(float64) string) {
	return 1, func(v float64) string { return unit.Count(int(v)) }
}

// course draws the best so far over where(i) of the trials. Settings slower than today's defaults and
// than the first that was measured lie at the upper edge: they would squeeze what matters.
func (s Search) course(c canvas, x, y, width float64, words string, where func(int) float64, scale func(float64) (float64, func(float64) string)) float64 {
	y = title(c, x, y, words)
	const inset, ticks = 52, 12
	costs := measured(s.Trials)
	bounds := []float64{costs[0]}
	end := 0.0
	for i, t := range s.Trials {
		end = math.Max(end, where(i))
		if t.placed() && !t.Cut {
			bounds = append(bounds, math.Min(t.Cost, costs[0]))
		}
	}
	if usable(s.Today) {
		bounds = append(bounds, s.Today)
	}
	a := plotArea{x: x + inset, y: y, width: width - inset, height: courseHeight, across: plot.Linear(0, math.Max(end, 1e-9)), up: scaleOf(bounds)}
	a.grid(c, nil, a.up.Ticks(6), nil, s.amount)
	strip := a.y + a.height + 4
	below := plotArea{x: a.x, y: strip, width: a.width, height: ticks, across: a.across}
	step, name := scale(end)
	var times []float64
	for _, tick := range plot.Linear(0, end/step).Ticks(6) {
		if tick >= 0 {
			times = append(times, math.Abs(tick)*step) // and not −0
		}
	}
	below.grid(c, times, nil, name, nil)
	for i, t := range s.Trials {
		at := a.at(where(i))
		switch {
		case t.Failed:
			c.line([]float64{at, strip, at, strip + ticks}, 1, alarm, nil)
		case t.placed():
			c.circle(at, math.Max(a.level(t.Cost), a.y+2), 1.6, faint)
		}
	}
	if usable(s.Today) {
		c.line([]float64{a.x, a.level(s.Today), a.x + a.width, a.level(s.Today)}, 1.2, ink, []float64{5, 4})
	}
	points, best := []float64(nil), math.Inf(1)
	for i, t := range s.Trials {
		if !t.placed() || t.Cut || t.Cost >= best {
			continue
		}
		if points != nil {
			points = append(points, a.at(where(i)), a.level(best))
		}
		best = t.Cost
		points = append(points, a.at(where(i)), a.level(best))
	}
	points = append(points, a.x+a.width, a.level(best))
	c.line(points, 2, accent, nil)
	label := s.amount(best)
	if usable(s.Today) {
		label += ", " + unit.Percent(best/s.Today-1)
	}
	wide := c.width(label, small, bold)
	c.rect(a.x+a.width-wide-3, a.level(best)-19, wide+3, 15, back) // over the dots
	c.text(a.x+a.width, a.level(best)-7, small, bold, ink, right, label)
	c.line([]float64{a.x, strip + ticks, a.x + a.width, strip + ticks}, 1, muted, nil)
	return strip + ticks + 20
}

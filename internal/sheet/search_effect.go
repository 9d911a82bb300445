package sheet

import (
	"fmt"
	"math"
	"slices"

	"pawl/internal/plot"
)

// effects draws a panel for every param: the best and the median cost of each value, and below them how
// many of its trials failed. All have one scale, so that params compare.
func (s Search) effects(c canvas, x, y, inner float64) float64 {
	y = title(c, x, y, "What the values of each param came to")
	y = s.legend(c, x, y-4, inner,
		key{func(x, y float64) { c.circle(x+6, y+6, 3.5, accent) }, "best"},
		key{func(x, y float64) { ring(c, x+6, y+6, 3.5, muted) }, "median"},
		key{func(x, y float64) { c.rect(x+3, y+3, 6, 9, alarm) }, "share that failed"},
		key{func(x, y float64) { c.rect(x, y+2, 12, 9, accent) }, "suggested"},
		key{func(x, y float64) { c.line([]float64{x, y + 10, x + 12, y + 10}, 1.5, ink, nil) }, "today's"})
	var all []float64
	for _, e := range s.Effects {
		for _, v := range e.Values {
			for _, cost := range []float64{v.Best, v.Median} {
				if usable(cost) {
					all = append(all, cost)
				}
			}
		}
	}
	if len(all) == 0 {
		return y
	}
	up := scaleOf(all)
	across, shown := 3, s.Effects[:min(mostEffects, len(s.Effects))]
	if s.narrow {
		across = 1
	}
	across = min(across, len(shown))
	wide := (inner - gap*float64(across-1)) / float64(across)
	bottom := y
	for i, e := range shown {
		if i%across == 0 && i > 0 {
			y = bottom + 14
		}
		bottom = math.Max(bottom, s.effect(c, x+float64(i%across)*(wide+gap), y, wide, e, up))
	}
	if left := len(s.Effects) - len(shown); left > 0 {
		c.text(x, bottom+small+4, small, regular, muted, left0, fmt.Sprintf("and %d params that matter less", left))
		bottom += lineStep
	}
	return bottom
}

const left0 = left // of text, where a number is called left

// effect draws one param.
func (s Search) effect(c canvas, x, y, width float64, e Effect, up plot.Scale) float64 {
	const inset, failures = 52, 16
	share := fmt.Sprintf("%.0f%%", 100*e.Share)
	if e.Share < 0.005 {
		share = "<1%"
	}
	c.text(x+inset, y+normal, normal, bold, ink, left, fit(c, e.Param, normal, width-inset-50))
	c.text(x+width, y+normal, normal, regular, muted, right, share)
	y += heading - 6
	a := plotArea{x: x + inset, y: y, width: width - inset, height: multiple, across: plot.Linear(0, float64(len(e.Values))), up: up}
	a.grid(c, nil, up.Ticks(5), nil, s.amount)
	base := a.y + a.height + failures + 4
	c.line([]float64{a.x, base, a.x + a.width, base}, 1, muted, nil)
	step := a.width / float64(len(e.Values))
	bests, medians := []float64(nil), []float64(nil)
	for i, v := range e.Values {
		at := a.x + step*(float64(i)+0.5)
		if usable(v.Median) {
			medians = append(medians, at, a.level(v.Median))
		}
		if usable(v.Best) {
			bests = append(bests, at, a.level(v.Best))
		}
		if v.Failed > 0 {
			high := math.Max(failures*math.Min(v.Failed, 1), 1)
			thick := math.Min(step*0.5, 14)
			c.rect(at-thick/2, base-high, thick, high, alarm)
		}
	}
	c.line(medians, 1, faint, []float64{2, 2})
	c.line(bests, 1.2, accent, nil)
	for i := 0; i+1 < len(medians); i += 2 {
		ring(c, medians[i], medians[i+1], 3.2, muted)
	}
	for i := 0; i+1 < len(bests); i += 2 {
		c.circle(bests[i], bests[i+1], 3.2, accent)
	}
	s.values(c, a, base, e.Values)
	return base + 22
}

// values names the values below a panel: first the one that is suggested, which has a ground of its own,
// and today's, which has a line below it, then those that touch none of the others.
func (s Search) values(c canvas, a plotArea, base float64, values []EffectValue) {
	const apart = 4
	var taken [][2]float64
	for _, named := range []bool{true, false} {
		for i, v := range values {
			if named != (v.Suggested || v.Today) {
				continue
			}
			words := fit(c, v.Value, small, a.width-apart)
			half := c.width(words, small, bold)/2 + 2
			at := min(max(a.x+a.width/float64(len(values))*(float64(i)+0.5), a.x+half), a.x+a.width-half)
			if slices.ContainsFunc(taken, func(t [2]float64) bool { return at-half < t[1]+apart && at+half > t[0]-apart }) {
				continue
			}
			taken = append(taken, [2]float64{at - half, at + half})
			look, w := muted, regular
			switch {
			case v.Suggested:
				c.rect(at-half, base+4, 2*half, 14, accent)
				look, w = back, bold
			case v.Today:
				look = ink
			}
			c.text(at, base+15, small, w, look, middle, words)
			if v.Today {
				c.line([]float64{at - half, base + 19.5, at + half, base + 19.5}, 1.5, ink, nil)
			}
		}
	}
}

// ring draws an empty circle.
func ring(c canvas, x, y, radius float64, s shade) {
	c.circle(x, y, radius, s)
	c.circle(x, y, radius-1.3, back)
}

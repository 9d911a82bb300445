package dash

import (
	"html/template"
	"math"

	"pawl/internal/plot"
	"pawl/internal/unit"
)

// smallChart draws one number of each commit, where it is known, on a linear scale.
func smallChart(line []place, s span, label string, low, high float64, name func(float64) string, value func(*place) (float64, bool)) template.HTML {
	known := false
	for i := s.From; i < s.To; i++ {
		if v, ok := value(&line[i]); ok {
			low, high, known = min(low, v), max(high, v), true
		}
	}
	if !known {
		return ""
	}
	f := frameOf{span: s}
	scale := plot.Linear(low, high)
	y := func(v float64) float64 { return 0.92 - 0.84*scale.At(v) }
	var d drawing
	var p pen
	d.open("trend small", label)
	for _, tick := range scale.Ticks(4) {
		d.rule("grid", 0, y(tick), 1, y(tick))
		d.text("tick", 0, y(tick), "start", name(tick))
	}
	stride := max(1, (s.To-s.From+columns-1)/columns)
	for at := s.From; at < s.To; at += stride {
		for i := at; i < min(at+stride, s.To); i++ { // the first of the column that is known
			if v, ok := value(&line[i]); ok {
				p.to(f.x(i), y(v))
				break
			}
		}
	}
	d.paths("course", p.String())
	return d.close()
}

func roofChart(line []place, s span) template.HTML {
	return smallChart(line, s, "percent of the roofline", math.Inf(1), math.Inf(-1), func(v float64) string { return short(v, 1) + "%" }, func(p *place) (float64, bool) {
		v := p.Last().RoofPct
		return v, v > 0
	})
}

func debtChart(line []place, s span) template.HTML {
	return smallChart(line, s, "how far main is behind the best-known version", -0.005, 0.01, unit.Percent, func(p *place) (float64, bool) {
		if p.Debt == nil {
			return 0, false
		}
		return p.Debt.Value - 1, true
	})
}

package report

import (
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/sheet"
	"pawl/internal/unit"
)

// picture returns the picture of a search as data.
func (s *search) picture() sheet.Search {
	p := sheet.Search{
		Title: view.Flat(s.Kernel + ": " + s.found()), Unit: s.unit,
		Subtitle: strings.Join(present(machineLine(s.r), s.effort(), when(s.unit == "×", "costs relative to today's defaults")), " · "),
		Foot:     strings.Join(present("pawl "+s.r.Tool.Version, prefixed("run ", s.r.ID)), " · "),
	}
	if s.today != nil && s.today.Measured() {
		p.Today = s.today.Cost * s.scale
	}
	for _, t := range s.Trials {
		if t.Status == result.TrialUnfit || t.Status == result.TrialLost {
			continue // neither worked nor failed
		}
		p.Trials = append(p.Trials, sheet.Try{Seconds: t.AtS, Cost: t.Cost * s.scale, Failed: t.Failed(), Cut: t.Status == result.TrialCut})
	}
	for _, e := range s.Effects {
		p.Effects = append(p.Effects, s.drawnEffect(e))
	}
	if len(s.front) > 0 {
		p.Trade = s.trade()
	}
	return p
}

// effort says how much was tried, in how long.
func (s *search) effort() string {
	text := view.Counted(s.evaluated(), "setting")
	if size := s.size(); size != "" {
		text = unit.Count(s.evaluated()) + " of " + size
	}
	return text + when(s.SpentS > 0, " in "+seconds(s.SpentS))
}

func (s *search) drawnEffect(e result.Effect) sheet.Effect {
	out := sheet.Effect{Param: e.Param, Share: e.Share}
	today := ""
	for _, p := range s.Space.Params {
		if p.Name == e.Param {
			today = p.Default
		}
	}
	for _, v := range e.Values {
		out.Values = append(out.Values, sheet.EffectValue{
			Value: v.Value, Best: v.Best * s.scale, Median: v.Median * s.scale, Failed: float64(v.Failed) / float64(max(v.Trials, 1)),
			Suggested: s.suggested() && s.winner.Params[e.Param] == v.Value, Today: v.Value == today,
		})
	}
	return out
}

// trade has time and energy of what was measured, the front first and the fastest first.
func (s *search) trade() *sheet.Trade {
	n, out := len(s.Configs), &sheet.Trade{}
	on := map[*result.Trial]bool{}
	point := func(t *result.Trial) {
		p := sheet.TradePoint{Seconds: t.Seconds(n), Joules: t.Joules(n), Front: on[t]}
		switch {
		case s.suggested() && t.N == s.winner.Trial:
			p.Label = "suggested"
		case t == s.today:
			p.Label = "today"
		}
		out.Points = append(out.Points, p)
	}
	for _, t := range s.front {
		on[t] = true
		point(t)
	}
	for _, t := range s.Trials {
		if t.Measured() && !on[t] {
			point(t)
		}
	}
	return out
}

// tunePictures adds the picture to a page.
func (b *builder) tunePictures(s *search) {
	if !b.shows(view.HTML) || !Searched(b.r) {
		return
	}
	p := s.picture()
	wide, err := p.SVG(sheet.Auto)
	if err != nil {
		return // without fonts there is no picture, and the page has the numbers
	}
	narrow, err := p.Narrow().SVG(sheet.Auto)
	if err != nil {
		return
	}
	says := s.Kernel + ": " + s.found() + "; " + unit.Count(len(s.Trials)) + " settings, the best so far by trials and by time, what the values of each param came to" + when(len(s.front) > 0, ", and time beside energy")
	b.add(view.HTML, view.Section{ID: "search", Title: "The search", Picture: &view.Picture{SVG: wide, Narrow: narrow, Says: says}})
}

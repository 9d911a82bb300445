package dash

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// hunt is a search as it is drawn: of a report, or of a journal while it runs.
type hunt struct {
	Space   result.Space
	Trials  []*result.Trial
	Configs int
	Best    *result.Trial // measured, with the least cost; nil: none
	Today   *result.Trial // today's defaults
	Scatter template.HTML
	Lines   template.HTML // parallel coordinates
	Counts  []statusCount
}

type statusCount struct {
	Status result.TrialStatus
	Count  int
}

// drawn bounds how many trials pictures have: of more, the last.
const drawn = 4000

func huntOf(space result.Space, trials []*result.Trial, configs int) *hunt {
	h := &hunt{Space: space, Trials: trials[max(0, len(trials)-drawn):], Configs: configs}
	today := space.Defaults()
	counts := map[result.TrialStatus]int{}
	for _, t := range trials {
		counts[t.Status]++
		if t.Measured() && (h.Best == nil || t.Cost < h.Best.Cost) {
			h.Best = t
		}
		if h.Today == nil && t.Is(today) {
			h.Today = t
		}
	}
	for _, status := range result.TrialStatuses {
		if n := counts[status]; n > 0 {
			h.Counts = append(h.Counts, statusCount{status, n})
		}
	}
	h.Scatter, h.Lines = h.scatter(), h.coordinates()
	return h
}

// Gain is how much less the best costs than today's defaults, in words.
func (h *hunt) Gain() string {
	if h.Best == nil || h.Today == nil || !h.Today.Measured() {
		return ""
	}
	return unit.Percent(h.Best.Cost/h.Today.Cost - 1)
}

// Params are the params of the best, as a command takes them.
func (h *hunt) Params() string {
	if h.Best == nil {
		return ""
	}
	var parts []string
	for _, p := range h.Space.Params {
		parts = append(parts, p.Name+"="+h.Best.Params[p.Name])
	}
	return strings.Join(parts, " ")
}

// trialClass is how a trial looks.
func trialClass(t *result.Trial) string {
	switch {
	case t.Status == result.TrialCut:
		return "cut"
	case t.Measured():
		return "measured"
	case t.Failed():
		return "failed"
	}
	return "other"
}

// scale is a scale of costs, which leaves the far ones at the edge: what matters is near the best.
func (h *hunt) scale() (plot.Scale, bool) {
	low := math.Inf(1)
	var all []float64
	for _, t := range h.Trials {
		if t.Cost > 0 {
			all = append(all, t.Cost)
			low = min(low, t.Cost)
		}
	}
	if len(all) == 0 {
		return plot.Log(1, 2), false
	}
	slices.Sort(all)
	high := max(all[len(all)*9/10], low*1.05)
	if h.Today != nil && h.Today.Cost > 0 {
		high = max(high, h.Today.Cost*1.05)
	}
	return plot.Log(low/1.03, high*1.05), true
}

// scatter draws what each trial cost, in their order, and the best so far.
func (h *hunt) scatter() template.HTML {
	s, some := h.scale()
	if !some {
		return ""
	}
	n := len(h.Trials)
	x := func(i int) float64 { return 0.02 + 0.96*(float64(i)+0.5)/float64(n) }
	y := func(v float64) float64 { return 0.9 - 0.85*s.At(v) }
	var d drawing
	best := math.Inf(1)
	d.open("scatter", fmt.Sprintf("%s: what each cost, and the best so far", unit.Plural(n, "setting", "settings")))
	unitCost := 1.0
	if h.Today != nil && h.Today.Cost > 0 {
		unitCost = h.Today.Cost
	}
	for _, tick := range changeTicks(s.Low()/unitCost, s.High()/unitCost) {
		class := "grid"
		if tick == 0 {
			class = "grid zero"
		}
		d.rule(class, 0, y((1+tick)*unitCost), 1, y((1+tick)*unitCost))
		d.text("tick", 0, y((1+tick)*unitCost), "start", changeName(tick))
	}
	var course pen
	for i, t := range h.Trials {
		if t.Measured() && t.Cost < best {
			if !math.IsInf(best, 1) {
				course.to(x(i), y(best))
			}
			best = t.Cost
			course.to(x(i), y(best))
		}
	}
	if !math.IsInf(best, 1) {
		course.to(x(n-1), y(best))
	}
	d.paths("course", course.String())
	for i, t := range h.Trials {
		at, class := 0.97, trialClass(t)
		if t.Cost > 0 {
			at = y(t.Cost)
		}
		if t == h.Best {
			class += " winner"
		}
		d.dot("trial "+class, x(i), at, "3", "", trialTitle(h, t))
	}
	return d.close()
}

func trialTitle(h *hunt, t *result.Trial) string {
	parts := []string{fmt.Sprintf("%d: %s", t.N, t.Status)}
	if t.Cost > 0 && h.Today != nil && h.Today.Cost > 0 {
		parts = append(parts, unit.Percent(t.Cost/h.Today.Cost-1)+" against today's defaults")
	}
	for _, p := range h.Space.Params {
		parts = append(parts, p.Name+"="+shorten(t.Params[p.Name], 40))
	}
	return strings.Join(parts, "\n")
}

// coordinates draws each setting as a line over the params, to its cost: the best tenth stands out.
func (h *hunt) coordinates() template.HTML {
	s, some := h.scale()
	if !some || len(h.Space.Params) == 0 {
		return ""
	}
	axes := len(h.Space.Params) + 1
	x := func(i int) float64 { return 0.04 + 0.92*float64(i)/float64(axes-1) }
	y := func(at, of int) float64 { return 0.1 + 0.8*(float64(at)+0.5)/float64(max(of, 1)) }
	var costs []float64
	for _, t := range h.Trials {
		if t.Measured() {
			costs = append(costs, t.Cost)
		}
	}
	slices.Sort(costs)
	good := math.Inf(-1)
	if len(costs) > 0 {
		good = costs[len(costs)/10]
	}
	var plain, best, winner pen
	for _, t := range h.Trials {
		if !t.Measured() {
			continue
		}
		to := &plain
		if t.Cost <= good {
			to = &best
		}
		if t == h.Best {
			to = &winner
		}
		to.lift()
		for i, p := range h.Space.Params {
			to.to(x(i), y(slices.Index(p.Values, t.Params[p.Name]), len(p.Values)))
		}
		to.to(x(axes-1), 0.9-0.8*s.At(t.Cost))
	}
	var d drawing
	d.open("coordinates", "each measured setting as a line over the params: "+unit.Count(len(costs)))
	d.paths("lines", plain.String(), "lines good", best.String(), "lines winner", winner.String())
	for i, p := range h.Space.Params {
		d.rule("grid", x(i), 0.08, x(i), 0.92)
		d.text("axis", x(i), 0.03, anchorOf(i, axes), shorten(p.Name, 18))
		for at, value := range p.Values {
			if len(p.Values) <= 16 || at%((len(p.Values)+15)/16) == 0 {
				d.text("tick", x(i), y(at, len(p.Values)), anchorOf(i, axes), shorten(value, 12))
			}
		}
	}
	d.rule("grid", x(axes-1), 0.08, x(axes-1), 0.92)
	d.text("axis", x(axes-1), 0.03, "end", "cost")
	return d.close()
}

func anchorOf(i, axes int) string {
	switch i {
	case 0:
		return "start"
	case axes - 1:
		return "end"
	}
	return "middle"
}

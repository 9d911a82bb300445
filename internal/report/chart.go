package report

import (
	"fmt"
	"maps"
	"slices"

	"pawl/internal/plot"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// charts adds a chart of every kernel that has something to draw.
func (b *builder) charts(r *result.Report) {
	if b.forms&view.HTML == 0 {
		return
	}
	if made := charts(r); made != nil {
		b.add(view.HTML, func() view.Section { return view.Section{ID: "charts", Title: "Charts", Charts: made} })
	}
}

// charts are those of the kernels with something to draw.
func charts(r *result.Report) []view.Chart {
	var out []view.Chart
	for _, k := range byKernel(r) {
		all := lines(&result.Report{Rows: k.rows})
		var times, ratios []float64
		rivals := false
		for _, l := range all {
			rivals = rivals || l.rival != nil
			if measured(l.row) {
				st := l.row.Timing.Stats
				times = append(times, st.Median, st.Low, st.High)
			}
			if l.rival != nil && l.rival.Ratio != nil {
				ratios = append(ratios, l.rival.Ratio.Median, l.rival.Ratio.Low, l.rival.Ratio.High)
			}
		}
		if len(times) == 0 {
			continue
		}
		out = append(out, drawChart(k, times, ratios, rivals))
	}
	return out
}

func drawChart(k *kernelRows, times, ratios []float64, rivals bool) view.Chart {
	const mostTicks = 6
	c := view.Chart{Kernel: k.name, Times: view.Axis{Scale: plot.Fit(times), Ticks: mostTicks}}
	if c.Times.Scale.Logarithmic() {
		c.Scale = "log scale"
	}
	if rivals {
		c.Ratios = &view.Axis{Scale: plot.FitRatios(ratios), Unit: view.Ratio, Ticks: mostTicks, Reference: 1}
	}
	for _, row := range k.rows {
		g := view.ChartGroup{Config: row.Config, Vars: pairs(row.Vars)}
		for _, l := range lines(&result.Report{Rows: []*result.Row{row}}) {
			made := view.ChartLine{Label: row.Kernel, Rival: l.rival != nil}
			if l.rival != nil {
				made.Label = l.label
			}
			if measured(l.row) {
				made.Time = timeMark(made, l)
			} else {
				made.Badge = l.judged()
			}
			if l.rival != nil && l.rival.Ratio != nil {
				made.Ratio = ratioMark(row.Kernel, l)
			}
			g.Lines = append(g.Lines, made)
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

func timeMark(c view.ChartLine, l line) *plot.Mark {
	st := l.row.Timing.Stats
	class := "own"
	if c.Rival {
		class = "rival"
	}
	return &plot.Mark{
		Value: st.Median, Low: st.Low, High: st.High, Class: class, Label: unit.Duration(st.Median),
		Title: fmt.Sprintf("%s, %s: median %s, 95%% interval %s to %s", c.Label, l.row.Config,
			unit.Duration(st.Median), unit.Duration(st.Low), unit.Duration(st.High)),
	}
}

func ratioMark(kernel string, l line) *plot.Mark {
	ratio := l.rival.Ratio
	return &plot.Mark{
		Value: ratio.Median, Low: ratio.Low, High: ratio.High, Class: string(standing(ratio)), Label: fmt.Sprintf("%.2f×", ratio.Median),
		Title: fmt.Sprintf("%s over %s, %s: %.3f×, 95%% interval %.3f to %.3f, %s", kernel, l.label, l.row.Config,
			ratio.Median, ratio.Low, ratio.High, view.Count(ratio.Rounds, "round")),
	}
}

// How much of the samples a page holds, so that many rows do not make it large.
const (
	mostStrips = 400 // in the page
	mostOpen   = 24  // without being asked for
)

// allStrips are the samples of every kernel and its rivals, a line each.
func allStrips(r *result.Report) []view.Section {
	var out []view.Section
	drawn, total := 0, 0
	for _, l := range lines(r) {
		if sampled(l.row) {
			total++
		}
	}
	for _, k := range byKernel(r) {
		made := view.Section{ID: "samples", Name: k.name, Open: total <= mostOpen}
		left := 0
		for _, l := range lines(&result.Report{Rows: k.rows}) {
			switch {
			case !sampled(l.row):
			case drawn >= mostStrips:
				left++
			default:
				drawn++
				made.Strips = append(made.Strips, strip(l))
			}
		}
		if left > 0 {
			made.Lines = linesOf("", []string{view.Count(left, "more line") + " in the JSON report"})
		}
		if len(made.Strips) > 0 || left > 0 {
			out = append(out, made)
		}
	}
	return out
}

func sampled(r *result.Row) bool { return measured(r) && len(r.Timing.Samples.Seconds) > 0 }

func strip(l line) view.Strip {
	t := l.row.Timing
	made := view.Strip{
		Label: l.label, Rival: l.rival != nil, Name: l.row.Name(), Kept: t.Samples.Kept(), All: t.Samples.Seconds, Median: t.Stats.Median, P95: t.Stats.P95,
	}
	slices.Sort(made.Kept) // a copy
	if l.rival != nil {
		made.Name = l.label + ", " + l.row.Config
	}
	left := map[string]int{}
	for _, d := range t.Samples.Dropped {
		made.Apart = append(made.Apart, plot.Span{From: d.From, To: d.To, Title: d.Cause + ": " + view.Count(d.To-d.From, "sample") + " left out"})
		left[d.Cause] += d.To - d.From
	}
	made.Taken = unit.Count(len(made.Kept)) + " kept"
	for _, cause := range slices.Sorted(maps.Keys(left)) {
		made.Taken = unit.Count(left[cause]) + " " + cause + ", " + made.Taken
	}
	return made
}

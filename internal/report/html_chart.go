package report

import (
	"fmt"
	"html/template"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// chart shows one kernel over its configs: how long it and its rivals take, and
// beside that how they compare.
type chart struct {
	Kernel    string
	Scale     string // how to read the times
	TimeAxis  template.HTML
	RatioAxis template.HTML // empty when there is no rival
	Groups    []chartGroup
}

// chartGroup is one config.
type chartGroup struct {
	Config, Vars string
	Lines        []chartLine
}

type chartLine struct {
	Label       string
	Rival       bool
	Time, Ratio template.HTML
	Outcome     outcome // what stands in place of a mark
}

const lineHeight = 20

// charts are those of the kernels with something to draw.
func charts(r *result.Report) []chart {
	var out []chart
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

func drawChart(k *kernelRows, times, ratios []float64, rivals bool) chart {
	const mostTicks = 6
	timeScale := plot.Fit(times)
	time := plot.Frame{Scale: timeScale, Ticks: timeScale.Ticks(mostTicks), Height: lineHeight}
	ratioScale := plot.FitRatios(ratios)
	ratio := plot.Frame{Scale: ratioScale, Ticks: ratioScale.Ticks(mostTicks), Reference: 1, Height: lineHeight}

	c := chart{Kernel: k.name, TimeAxis: template.HTML(time.Axis(timeTick(timeScale)))}
	if timeScale.Logarithmic() {
		c.Scale = "log scale"
	}
	if rivals {
		c.RatioAxis = template.HTML(ratio.Axis(ratioTick))
	}
	for _, row := range k.rows {
		g := chartGroup{Config: row.Config, Vars: pairs(row.Vars)}
		for _, l := range lines(&result.Report{Rows: []*result.Row{row}}) {
			made := chartLine{Label: row.Kernel, Rival: l.rival != nil, Time: template.HTML(time.Blank()), Ratio: template.HTML(ratio.Blank())}
			if l.rival != nil {
				made.Label = l.label
			}
			if measured(l.row) {
				made.Time = template.HTML(time.Dot(timeMark(made, l)))
			} else {
				made.Outcome = l.judged()
			}
			if l.rival != nil && l.rival.Ratio != nil {
				made.Ratio = template.HTML(ratio.Dot(ratioMark(row.Kernel, l)))
			}
			g.Lines = append(g.Lines, made)
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

func timeMark(c chartLine, l line) plot.Mark {
	st := l.row.Timing.Stats
	class := "own"
	if c.Rival {
		class = "rival"
	}
	return plot.Mark{
		Value: st.Median, Low: st.Low, High: st.High, Class: class, Label: unit.Duration(st.Median),
		Title: fmt.Sprintf("%s, %s: median %s, 95%% interval %s to %s", c.Label, l.row.Config,
			unit.Duration(st.Median), unit.Duration(st.Low), unit.Duration(st.High)),
	}
}

func ratioMark(kernel string, l line) plot.Mark {
	ratio := l.rival.Ratio
	return plot.Mark{
		Value: ratio.Median, Low: ratio.Low, High: ratio.High, Class: standing(ratio), Label: fmt.Sprintf("%.2f×", ratio.Median),
		Title: fmt.Sprintf("%s over %s, %s: %.3f×, 95%% interval %.3f to %.3f, %s", kernel, l.label, l.row.Config,
			ratio.Median, ratio.Low, ratio.High, count(ratio.Rounds, "round")),
	}
}

// timeTick names ticks of a time axis: in one unit on a linear scale, in that of
// each on a logarithmic one.
func timeTick(s plot.Scale) func(float64) string {
	return func(v float64) string {
		if v == 0 {
			return "0"
		}
		if s.Logarithmic() {
			number, name, _ := strings.Cut(unit.Duration(v), " ")
			return short(number) + " " + name
		}
		number, _, name := unit.Durations(v, s.High())
		return short(number) + " " + name
	}
}

func ratioTick(v float64) string { return short(fmt.Sprintf("%.3f", v)) + "×" }

// short drops the zeros at the end of a decimal.
func short(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// pairs writes what names stand for: "B=32 H=8".
func pairs(m map[string]string) string {
	var out []string
	for _, name := range sortedKeys(m) {
		out = append(out, name+"="+m[name])
	}
	return strings.Join(out, " ")
}

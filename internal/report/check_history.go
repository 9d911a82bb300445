package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// histories are how the best-known versions of rows came to be.
type histories struct {
	Plots []historyPlot
	Open  bool
	More  string // rows that were left out
}

// historyPlot is one row's.
type historyPlot struct {
	Name, Course string
	Scale        string // how to read the times
	Axis         template.HTML
	Picture      template.HTML
	From, To     string // when
}

// allHistories are those of rows that have at least two times to show.
func allHistories(rows []checked) histories {
	var out histories
	left := 0
	for _, c := range gravest(rows) {
		past := recorded(c.row.History)
		shown := times(past)
		if measured(c.row) && timed(c.row.Timing.Stats.Median) {
			shown++
		}
		switch {
		case shown < 2:
		case len(out.Plots) == mostDrawn:
			left++
		default:
			out.Plots = append(out.Plots, drawHistory(c, past))
		}
	}
	const most = 12 // that are open without being asked for
	out.Open = len(out.Plots) <= most
	if left > 0 {
		out.More = counted(left, "more config") + " in the JSON report"
	}
	return out
}

// recorded are the points from the first on that is a time.
func recorded(points []result.HistoryPoint) []result.HistoryPoint {
	for i, p := range points {
		if timed(p.MedianS) {
			return points[i:]
		}
	}
	return nil
}

func times(points []result.HistoryPoint) int {
	n := 0
	for _, p := range points {
		if timed(p.MedianS) {
			n++
		}
	}
	return n
}

// timed tells whether a time was stored, and not what is left of a reset.
func timed(seconds float64) bool { return seconds > 0 && !math.IsInf(seconds, 1) }

func drawHistory(c checked, past []result.HistoryPoint) historyPlot {
	var marks []plot.Mark
	var values, medians []float64
	for _, p := range past {
		m := plot.Mark{Value: math.NaN()}
		if timed(p.MedianS) {
			m = plot.Mark{Value: p.MedianS, Low: p.LowS, High: p.HighS, Class: "check", Title: pointTitle(p)}
			if p.By == "accept" {
				m.Class = "accept"
			}
			if !(0 < p.LowS && p.LowS <= p.HighS) {
				m.Low, m.High = p.MedianS, p.MedianS
			}
			values, medians = append(values, m.Low, m.Value, m.High), append(medians, m.Value)
		}
		marks = append(marks, m)
	}
	made := historyPlot{Name: c.row.Name()}
	if len(past) > 0 {
		made.From, made.To = day(past[0]), day(past[len(past)-1])
	}
	var now *plot.Mark
	if measured(c.row) && timed(c.row.Timing.Stats.Median) {
		st := c.row.Timing.Stats
		now = &plot.Mark{
			Value: st.Median, Low: st.Low, High: st.High, Class: "own",
			Title: fmt.Sprintf("this run: %s, 95%% interval %s to %s", unit.Duration(st.Median), unit.Duration(st.Low), unit.Duration(st.High)),
		}
		values, made.To = append(values, st.Low, st.Median, st.High), "this run"
	}
	if made.Course = unit.Duration(medians[0]); len(medians) > 1 {
		made.Course = unit.Pair(medians[0], medians[len(medians)-1])
	}
	if now != nil {
		made.Course += ", now " + unit.Duration(now.Value)
	}
	scale := historyScale(values)
	if scale.Logarithmic() {
		made.Scale = "log scale"
	}
	const mostTicks, height = 4, 92
	levels := plot.Levels{Scale: scale, Ticks: scale.Ticks(mostTicks), Height: height}
	made.Axis = template.HTML(levels.Axis(timeTick(scale)))
	made.Picture = template.HTML(levels.Steps(marks, now, fmt.Sprintf("%s, best-known medians since %s: %s", made.Name, made.From, made.Course)))
	return made
}

// historyScale fits times that may lie close together. It is never so narrow that
// its ticks look the same or that noise looks like a change.
func historyScale(values []float64) plot.Scale {
	const far = 20 // times apart, beyond which the short ones would all look alike
	values = slices.DeleteFunc(values, func(v float64) bool { return !timed(v) })
	low, high := slices.Min(values), slices.Max(values)
	if high/low > far {
		return plot.Log(low/1.2, high*1.2)
	}
	free := math.Max(0.12*(high-low), 0.02*high)
	return plot.Linear(low-free, high+free)
}

func pointTitle(p result.HistoryPoint) string {
	text := fmt.Sprintf("%s, %s: %s", shortSHA(p.Commit), day(p), unit.Duration(p.MedianS))
	if 0 < p.LowS && p.LowS <= p.HighS {
		text += fmt.Sprintf(", 95%% interval %s to %s", unit.Duration(p.LowS), unit.Duration(p.HighS))
	}
	text += ", moved by " + p.By
	if p.Reason != "" {
		text += ": " + p.Reason
	}
	return text
}

func day(p result.HistoryPoint) string { return p.Time.UTC().Format("2006-01-02") }

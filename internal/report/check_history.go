package report

import (
	"fmt"
	"math"
	"slices"

	"pawl/internal/plot"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// allHistories are those of rows that have at least two times to show.
func allHistories(rows []checked) view.Section {
	out := view.Section{ID: "history", Title: "History"}
	left := 0
	for _, c := range gravest(rows) {
		past := recorded(c.row.History)
		shown := times(past)
		if measured(c.row) && timed(c.row.Timing.Stats.Median) {
			shown++
		}
		switch {
		case shown < 2:
		case len(out.History) == mostDrawn:
			left++
		default:
			out.History = append(out.History, drawHistory(c, past))
		}
	}
	const most = 12 // that are open without being asked for
	out.Open = len(out.History) <= most
	if left > 0 {
		out.Lines = linesOf("", []string{view.Counted(left, "more config") + " in the JSON report"})
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

// timed reports whether a time was stored, and not what is left of a reset.
func timed(seconds float64) bool { return seconds > 0 && !math.IsInf(seconds, 1) }

func drawHistory(c checked, past []result.HistoryPoint) view.History {
	made := view.History{Name: c.row.Name()}
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
		made.Marks = append(made.Marks, m)
	}
	if len(past) > 0 {
		made.From, made.To = day(past[0]), day(past[len(past)-1])
	}
	if measured(c.row) && timed(c.row.Timing.Stats.Median) {
		st := c.row.Timing.Stats
		made.Now = &plot.Mark{
			Value: st.Median, Low: st.Low, High: st.High, Class: "own",
			Title: fmt.Sprintf("this run: %s, 95%% interval %s to %s", unit.Duration(st.Median), unit.Duration(st.Low), unit.Duration(st.High)),
		}
		values, made.To = append(values, st.Low, st.Median, st.High), "this run"
	}
	if made.Course = unit.Duration(medians[0]); len(medians) > 1 {
		made.Course = unit.Pair(medians[0], medians[len(medians)-1])
	}
	if made.Now != nil {
		made.Course += ", now " + unit.Duration(made.Now.Value)
	}
	made.Axis = view.Axis{Scale: historyScale(values), Ticks: 4}
	made.About = fmt.Sprintf("%s, best-known medians since %s: %s", made.Name, made.From, made.Course)
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

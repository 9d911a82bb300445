package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// checkPlots adds the plots of a page: all changes on one scale, each duet, and the history of the
// best-known versions.
func (b *builder) checkPlots(rows []checked) {
	gate := gateOf(b.r)
	drawn := slices.DeleteFunc(gravest(rows), func(c checked) bool { return c.change == nil })
	left := len(drawn) - mostDrawn
	drawn = drawn[:min(mostDrawn, len(drawn))]
	if len(drawn) > 0 {
		b.add(view.HTML, view.Section{ID: "changes", Title: "Changes", Changes: changes(drawn, gate)})
		s := view.Section{ID: "duets", Title: "Duets", Lines: linesOf("", present(leftOut(left, "config")))}
		for i, c := range drawn {
			const open = 6 // more would bury each other
			s.Duets = append(s.Duets, drawDuet(c, i < open))
		}
		b.add(view.HTML, s)
	}
	b.add(view.HTML, allHistories(rows))
}

// leaning returns whether a change was shown to be one, as a class of plots.
func leaning(c *result.Change) string { return string(gained(-c.High, -c.Low)) }

// changes draws all rows on one scale: times over those of the other side, with the
// gate between them.
func changes(rows []checked, gate result.Gate) *view.Changes {
	ratios := []float64{1 + gate.Regression, 1 - gate.Improvement}
	for _, c := range rows {
		for _, side := range c.sides() {
			ratios = append(ratios, 1+side.Change.Median, 1+side.Change.Low, 1+side.Change.High)
		}
	}
	made := &view.Changes{Gate: gateLine(gate), Axis: view.Axis{Scale: plot.FitRatios(ratios), Unit: view.Slowdown, Ticks: 8, Reference: 1, Rules: []plot.Tag{
		{Value: 1 + gate.Regression, Class: "gate"}, {Value: 1 - gate.Improvement, Class: "gate"},
	}}}
	for _, c := range rows {
		made.Lines = append(made.Lines, view.ChangeLine{Label: c.row.Name(), Mark: changeMark(c, c.first, leaning(c.change))})
		if c.best != nil {
			made.Lines = append(made.Lines, view.ChangeLine{Label: sideName(c.best), Against: true, Mark: changeMark(c, c.best, "rival")})
		}
	}
	return made
}

func changeMark(c checked, side *result.Side, class string) *plot.Mark {
	words := compared{change: side.Change}
	return &plot.Mark{
		Value: 1 + side.Change.Median, Low: 1 + side.Change.Low, High: 1 + side.Change.High, Class: class, Label: words.changed(),
		Title: fmt.Sprintf("%s against %s: %s, 95%% interval %s", c.row.Name(), sideName(side), words.changed(), words.interval()),
	}
}

func drawDuet(c checked, open bool) view.Duet {
	d := view.Duet{Name: c.row.Name(), Badge: c.badge(), Change: c.changed(), Interval: c.interval(), Class: leaning(c.change), Times: c.times(c.first), Open: open}
	d.Sides = c.playing()
	d.Axis, d.Versions = versions(c, d.Sides)
	for _, side := range c.sides() {
		if len(side.Change.Cells) > 0 {
			d.Cells = append(d.Cells, cells(c, side))
		}
	}
	return d
}

// playing returns the row and the sides it was measured against, the row last, so that
// it is drawn on top.
func (c checked) playing() []view.Side {
	var out []view.Side
	add := func(name, class string, row *result.Row) {
		if st := stats(row); st != nil {
			out = append(out, view.Side{Name: name, Class: class, Mark: medianMark(st, class, name), Kept: row.Timing.Samples.Kept()})
		}
	}
	for _, side := range slices.Backward(c.sides()) {
		add(sideName(side), string(side.Role), side.Row)
	}
	add("candidate", "own", c.row)
	return out
}

// versions returns the medians side by side, the oldest first. The results of earlier runs belong
// above them.
func versions(c checked, sides []view.Side) (axis view.Axis, out []view.Side) {
	if m := c.row.Moved; m != nil && m.FromS > 0 {
		out = append(out, view.Side{Name: "best " + shortSHA(m.From) + ", as stored", Class: "stored", Mark: &plot.Mark{
			Value: m.FromS, Low: m.FromS, High: m.FromS, Class: "even", Label: unit.Duration(m.FromS), Title: "when it became the baseline: " + unit.Duration(m.FromS),
		}})
	}
	out = append(out, sides...)
	if len(out) == 0 {
		return axis, nil
	}
	var all []float64
	for _, v := range out {
		all = append(all, v.Mark.Value, v.Mark.Low, v.Mark.High)
	}
	low, high := slices.Min(all), slices.Max(all)
	free := math.Max(0.15*(high-low), 0.005*high)
	return view.Axis{Scale: plot.Linear(low-free, high+free), Ticks: 6}, out
}

// cells draws the result of each cell, in the order they were played.
func cells(c checked, side *result.Side) view.CellPlot {
	const most = 240 // a page is no place for more
	change := side.Change
	shown := change.Cells[:min(most, len(change.Cells))]
	medians := each(shown, func(cell result.CellChange) float64 { return cell.Median })
	slices.Sort(medians)
	low, high := view.Focus(medians)
	low, high = min(low, change.Low, -c.gate.Improvement), max(high, change.High, c.gate.Regression)
	free := 0.06 * (high - low)
	words := compared{change: change}
	made := view.CellPlot{
		Title: "each cell against " + sideName(side), Note: strings.Join(cellNotes(change, len(change.Cells)-len(shown)), ", "),
		Axis: view.Axis{Scale: plot.Linear(low-free, high+free), Unit: view.Change, Ticks: 7, Height: 150, Rules: []plot.Tag{
			{Value: 0, Class: "zero"},
			{Value: c.gate.Regression, Class: "gate", Title: view.Percent(c.gate.Regression)},
			{Value: -c.gate.Improvement, Class: "gate", Title: view.Percent(-c.gate.Improvement)},
		}},
		Band:  plot.Mark{Value: change.Median, Low: change.Low, High: change.High, Class: leaning(change)},
		About: fmt.Sprintf("%s against %s: %s, 95%% interval %s, of %s", c.row.Name(), sideName(side), words.changed(), words.interval(), view.Count(len(change.Cells), "cell")),
	}
	for i, cell := range shown {
		p := plot.Tag{Value: cell.Median, Class: "first"}
		if cell.Set > 0 {
			p.Class = "second"
		}
		p.Title = fmt.Sprintf("cell %d: %s, %s, %s loaded first", i+1, unit.Percent(cell.Median), view.Count(cell.Pairs, "pair"), cmp.Or(cell.First, "candidate"))
		made.Points = append(made.Points, p)
	}
	return made
}

func cellNotes(change *result.Change, left int) []string {
	return present(
		view.Count(len(change.Cells), "cell"), view.Counted(change.Pairs, "pair"),
		when(change.Stopped != "interrupted", prefixed("stopped by ", change.Stopped)), when(change.Stopped == "interrupted", change.Stopped),
		textOf(change.Fastest, func(fastest *float64) string { return "fastest samples " + unit.Percent(*fastest) }),
		textOf(change.Tail, func(tail *result.Tail) string { return "P90 " + unit.Percent(tail.Change) }),
		leftOut(left, "cell"),
	)
}

// allHistories returns the histories of rows that have at least two times to show.
func allHistories(rows []checked) view.Section {
	out := view.Section{ID: "history", Title: "History"}
	left := 0
	for _, c := range gravest(rows) {
		past := recorded(c.row.History)
		shown := len(where(past, hasTime))
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
	out.Lines = linesOf("", present(leftOut(left, "config")))
	return out
}

// recorded returns the points from the first one with a time on.
func recorded(points []result.HistoryPoint) []result.HistoryPoint {
	if first := slices.IndexFunc(points, hasTime); first >= 0 {
		return points[first:]
	}
	return nil
}

func hasTime(p result.HistoryPoint) bool { return timed(p.MedianS) }

// timed reports whether a time was stored; a reset leaves none.
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
			Title: "this run: " + estimate(st.Median, st.Low, st.High),
		}
		values, made.To = append(values, st.Low, st.Median, st.High), "this run"
	}
	if made.Course = unit.Duration(medians[0]); len(medians) > 1 {
		made.Course = unit.Pair(medians[0], medians[len(medians)-1])
	}
	if made.Now != nil {
		made.Course += ", now " + unit.Duration(made.Now.Value)
	}
	made.Axis = view.Axis{Scale: historyScale(values), Ticks: 4, Height: 92}
	made.About = fmt.Sprintf("%s, best-known medians since %s: %s", made.Name, made.From, made.Course)
	return made
}

// historyScale fits times that may lie close together. It is never so narrow that its ticks look
// the same or that noise looks like a change.
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
	text := unit.Duration(p.MedianS)
	if 0 < p.LowS && p.LowS <= p.HighS {
		text = estimate(p.MedianS, p.LowS, p.HighS)
	}
	return shortSHA(p.Commit) + ", " + day(p) + ": " + text + ", moved by " + p.By + prefixed(": ", p.Reason)
}

func day(p result.HistoryPoint) string { return p.Time.UTC().Format("2006-01-02") }

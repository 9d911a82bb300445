package report

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

// changeLine is a row among the changes of all rows.
type changeLine struct {
	Label   string
	Against bool // the best-known version, below the row
	Picture template.HTML
}

// duet is all that is drawn of one row.
type duet struct {
	Name, Vars string
	Outcome    outcome
	Change     string
	Interval   string
	Class      string
	Times      string
	Open       bool
	Versions   []version
	Axis       template.HTML // of the versions
	Cells      []cellsPanel
	Spread     template.HTML
	Low, High  string // ends of the spread's scale
	Beyond     string
	Course     template.HTML
	Taken      string
}

// version is a side and its median.
type version struct {
	Name, Class string
	Picture     template.HTML
}

// cellsPanel is what each cell found against one side.
type cellsPanel struct {
	Title, Note   string
	Axis, Picture template.HTML
	Confirmed     bool
}

// leaning is whether a change was shown to be one, in the classes of plots.
func leaning(c *result.Change) string {
	switch {
	case c.Low > 0:
		return "slower"
	case c.High < 0:
		return "faster"
	}
	return "even"
}

// changes draws all rows on one scale: times over those of the other side, with the
// gate between them.
func changes(rows []checked, gate result.Gate) (axis template.HTML, out []changeLine) {
	ratios := []float64{1 + gate.Regression, 1 - gate.Improvement}
	for _, c := range rows {
		for _, side := range []*result.Side{c.first, c.best} {
			if side != nil {
				ratios = append(ratios, 1+side.Change.Median, 1+side.Change.Low, 1+side.Change.High)
			}
		}
	}
	const mostTicks = 8
	scale := plot.FitRatios(ratios)
	frame := plot.Frame{Scale: scale, Ticks: scale.Ticks(mostTicks), Reference: 1, Height: lineHeight, Rules: []plot.Tag{
		{Value: 1 + gate.Regression, Class: "gate"}, {Value: 1 - gate.Improvement, Class: "gate"},
	}}
	for _, c := range rows {
		out = append(out, changeLine{c.row.Name(), false, changeDot(frame, c, c.first, leaning(c.change))})
		if c.best != nil {
			out = append(out, changeLine{sideName(c.best), true, changeDot(frame, c, c.best, "rival")})
		}
	}
	return template.HTML(frame.Axis(func(v float64) string { return percentTick(v - 1) })), out
}

func changeDot(frame plot.Frame, c checked, side *result.Side, class string) template.HTML {
	words := compared{change: side.Change}
	return template.HTML(frame.Dot(plot.Mark{
		Value: 1 + side.Change.Median, Low: 1 + side.Change.Low, High: 1 + side.Change.High, Class: class, Label: words.changed(),
		Title: fmt.Sprintf("%s against %s: %s, 95%% interval %s", c.row.Name(), sideName(side), words.changed(), words.interval()),
	}))
}

// percentTick names a tick in as few digits as it takes.
func percentTick(v float64) string {
	if math.Abs(v) < 1e-9 {
		return "0"
	}
	text := short(fmt.Sprintf("%.2f", math.Abs(100*v))) + "%"
	if v < 0 {
		return "−" + text
	}
	return "+" + text
}

func drawDuet(c checked, open bool) duet {
	d := duet{
		Name: c.row.Name(), Vars: pairs(c.row.Vars), Outcome: c.badge(), Change: c.changed(), Interval: c.interval(), Class: leaning(c.change),
		Times: c.times(c.first), Open: open,
	}
	sides := c.playing()
	d.Axis, d.Versions = versions(c, sides)
	for _, side := range []*result.Side{c.first, c.best} {
		if side != nil && len(side.Change.Cells) > 0 {
			d.Cells = append(d.Cells, cells(c, side))
		}
	}
	d.spread(sides)
	return d
}

// entrant is a side of a duet as plots name it.
type entrant struct {
	name, class string
	timing      *result.Timing
}

// playing are the row and the sides it was measured against, the row last, so that
// it is drawn on top.
func (c checked) playing() []entrant {
	var out []entrant
	for _, side := range []*result.Side{c.best, c.first} {
		if side != nil && side.Row != nil && measured(side.Row) {
			out = append(out, entrant{sideName(side), string(side.Role), side.Row.Timing})
		}
	}
	if measured(c.row) {
		out = append(out, entrant{"candidate", "own", c.row.Timing})
	}
	return out
}

// versions are the medians side by side, the oldest first. What earlier runs found
// belongs above them.
func versions(c checked, sides []entrant) (axis template.HTML, out []version) {
	var all []float64
	for _, side := range sides {
		all = append(all, side.timing.Stats.Median, side.timing.Stats.Low, side.timing.Stats.High)
	}
	m := c.row.Moved
	if m != nil && m.FromS > 0 {
		all = append(all, m.FromS)
	}
	if len(all) == 0 {
		return "", nil
	}
	low, high := slices.Min(all), slices.Max(all)
	free := math.Max(0.15*(high-low), 0.005*high)
	scale := plot.Linear(low-free, high+free)
	const mostTicks = 6
	frame := plot.Frame{Scale: scale, Ticks: scale.Ticks(mostTicks), Height: lineHeight}
	if m != nil && m.FromS > 0 {
		out = append(out, version{"best " + shortSHA(m.From) + ", as stored", "stored", template.HTML(frame.Dot(plot.Mark{
			Value: m.FromS, Low: m.FromS, High: m.FromS, Class: "even", Label: unit.Duration(m.FromS), Title: "when it became the baseline: " + unit.Duration(m.FromS),
		}))})
	}
	for _, side := range sides {
		st := side.timing.Stats
		out = append(out, version{side.name, side.class, template.HTML(frame.Dot(plot.Mark{
			Value: st.Median, Low: st.Low, High: st.High, Class: side.class, Label: unit.Duration(st.Median),
			Title: fmt.Sprintf("%s: median %s, 95%% interval %s to %s", side.name, unit.Duration(st.Median), unit.Duration(st.Low), unit.Duration(st.High)),
		}))})
	}
	return template.HTML(frame.Axis(timeTick(scale))), out
}

// cells draws what each cell found, in the order they were played.
func cells(c checked, side *result.Side) cellsPanel {
	const most = 240 // a page is no place for more
	const height = 150
	change := side.Change
	shown := change.Cells[:min(most, len(change.Cells))]
	var medians []float64
	for _, cell := range shown {
		medians = append(medians, cell.Median)
	}
	slices.Sort(medians)
	low, high := focus(medians)
	low, high = min(low, change.Low, -c.gate.Improvement), max(high, change.High, c.gate.Regression)
	free := 0.06 * (high - low)
	scale := plot.Linear(low-free, high+free)
	const mostTicks = 7
	levels := plot.Levels{
		Scale: scale, Ticks: scale.Ticks(mostTicks), Height: height,
		Band: plot.Mark{Value: change.Median, Low: change.Low, High: change.High, Class: leaning(change)},
		Rules: []plot.Rule{
			{Value: 0, Class: "zero"},
			{Value: c.gate.Regression, Class: "gate", Label: percentTick(c.gate.Regression)},
			{Value: -c.gate.Improvement, Class: "gate", Label: percentTick(-c.gate.Improvement)},
		},
	}
	var points []plot.Point
	made := cellsPanel{Title: "each cell against " + sideName(side), Confirmed: change.Confirmed, Axis: template.HTML(levels.Axis(percentTick))}
	for i, cell := range shown {
		p := plot.Point{Value: cell.Median, Class: "first"}
		if cell.Set > 0 {
			p.Class = "second"
		}
		loaded := "candidate"
		if cell.First != "" {
			loaded = string(cell.First)
		}
		p.Title = fmt.Sprintf("cell %d: %s, %s, %s loaded first", i+1, unit.Percent(cell.Median), count(cell.Pairs, "pair"), loaded)
		points = append(points, p)
	}
	words := compared{change: change}
	about := fmt.Sprintf("%s against %s: %s, 95%% interval %s, of %s", c.row.Name(), sideName(side), words.changed(), words.interval(), count(len(change.Cells), "cell"))
	made.Picture = template.HTML(levels.Draw(points, about))
	made.Note = strings.Join(cellNotes(change, len(change.Cells)-len(shown)), ", ")
	return made
}

func cellNotes(change *result.Change, left int) []string {
	out := []string{count(len(change.Cells), "cell"), counted(change.Pairs, "pair")}
	switch change.Stopped {
	case "":
	case "interrupted":
		out = append(out, change.Stopped)
	default:
		out = append(out, "stopped by "+change.Stopped)
	}
	if change.Fastest != nil {
		out = append(out, "fastest samples "+unit.Percent(*change.Fastest))
	}
	if change.Tail != nil {
		out = append(out, "P90 "+unit.Percent(change.Tail.Change))
	}
	if left > 0 {
		out = append(out, counted(left, "more cell")+" in the JSON report")
	}
	return out
}

// spread draws the samples of all sides over each other: how they are distributed,
// and in the order they were taken.
func (d *duet) spread(sides []entrant) {
	const height = 96
	var lists [][]float64
	var all []float64
	low, high, fewest := math.Inf(1), math.Inf(-1), math.MaxInt
	var courses []plot.Course
	var tags []plot.Tag
	var taken []string
	for _, side := range sides {
		kept := side.timing.Samples.Kept()
		courses = append(courses, plot.Course{Values: kept, Class: side.class})
		sorted := slices.Clone(kept)
		slices.Sort(sorted)
		lists = append(lists, sorted)
		all = append(all, sorted...)
		if len(sorted) > 0 {
			from, to := bulk(sorted)
			low, high, fewest = math.Min(low, from), math.Max(high, to), min(fewest, len(sorted))
		}
		tags = append(tags, plot.Tag{Value: side.timing.Stats.Median, Class: "median " + side.class, Title: side.name + ": median " + unit.Duration(side.timing.Stats.Median)})
		taken = append(taken, unit.Count(len(kept))+" of "+side.name)
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	const share = 6 // samples in a column, or its median would be no better than one of them
	columns := min(fewest/share+1, mostColumns)
	var layers []plot.Layer
	for i, bins := range plot.BinTogether(lists, low, high, 2*mostBins) {
		layers = append(layers, plot.Layer{Bins: bins, Class: sides[i].class})
	}
	slices.Reverse(taken)
	d.Taken = strings.Join(taken, ", ")
	d.Low, d.High = unit.Duration(low), unit.Duration(high)
	d.Beyond = beyond(plot.Bin(all, low, high, 1), all)
	d.Spread = template.HTML(plot.Histograms(layers, tags, height, d.Name+", distribution of the samples: "+d.Taken))
	d.Course = template.HTML(plot.Courses(plot.Linear(low, high), courses, columns, height, d.Name+", samples in the order taken: "+d.Taken))
}

// bulk is the range of the sorted samples without their tails: a duet is judged by
// its middle, and is played where others may disturb one sample in ten.
func bulk(sorted []float64) (low, high float64) {
	const far = 4 // times the distance between the quartiles
	n := len(sorted)
	first, third := sorted[n/4], sorted[n*3/4]
	if spread := third - first; spread > 0 {
		return math.Max(sorted[0], first-far*spread), math.Min(sorted[n-1], third+far*spread)
	}
	return focus(sorted)
}

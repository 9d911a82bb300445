package dash

import (
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pawl/internal/plot"
	"pawl/internal/result"
	"pawl/internal/trend"
	"pawl/internal/unit"
)

// span is the part of a line that is drawn: places [From, To).
type span struct {
	From, To, All int
}

// Part reports whether places are left out.
func (s span) Part() bool { return s.To-s.From < s.All }

// findPlace returns the index of the first place whose commit begins with a text; -1: there is none.
func findPlace(line []place, sha string) int {
	return slices.IndexFunc(line, func(p place) bool { return strings.HasPrefix(p.Commit, sha) })
}

// spanOf reads from which commit to which a line is drawn. Commits that another config's line has are no error.
func spanOf(line []place, q url.Values) (span, error) {
	s := span{0, len(line), len(line)}
	if sha := q.Get("from"); sha != "" {
		s.From = max(0, findPlace(line, sha))
	}
	if sha := q.Get("to"); sha != "" {
		at := findPlace(line, sha)
		if at >= 0 && at < s.From {
			return s, &failure{http.StatusBadRequest, fmt.Sprintf("to=%.64s: expected from=%.64s or a later commit", sha, q.Get("from")), ""}
		}
		if at >= 0 {
			s.To = at + 1
		}
	}
	return s, nil
}

// frameOf maps a line onto a picture.
type frameOf struct {
	span  span
	index plot.Scale
	times plot.Scale
}

func (f *frameOf) x(i int) float64 {
	return 0.01 + 0.98*(float64(i-f.span.From)+0.5)/float64(max(f.span.To-f.span.From, 1))
}

// y is above for what is slower.
func (f *frameOf) y(v float64) float64 { return 0.95 - 0.9*f.index.At(v) }

func (f *frameOf) yTime(v float64) float64 { return 0.95 - 0.9*f.times.At(v) }

// mostDots is how many commits have a dot each. Where there are more, dots show only what somebody might
// look for: changes, baseline steps, doubts, notes.
const mostDots = 250

// columns is how many steps a line has at most.
const columns = 500

// trendChart draws a line of indices with its interval, the times faint behind it.
func trendChart(links site, line []place, s span, whole bool) template.HTML {
	f := frameOf{span: s}
	f.scales(line[s.From:s.To])
	var d drawing
	if whole {
		d.openLinks("trend", f.says(line))
	} else {
		d.open("trend small", f.says(line))
	}
	f.grid(&d, line, whole)
	f.curves(&d, line)
	f.dots(&d, links, line, whole)
	return d.close()
}

func (f *frameOf) scales(line []place) {
	low, high := math.Inf(1), math.Inf(-1)
	short, long := math.Inf(1), math.Inf(-1)
	for i := range line {
		if e := line[i].Index; e != nil {
			// A wide interval may leave the picture; the line may not.
			wide := max(0.03, 2*math.Abs(math.Log(e.Value)))
			low, high = min(low, e.Value, max(e.Low, e.Value*math.Exp(-wide))), max(high, e.Value, min(e.High, e.Value*math.Exp(wide)))
		}
		if t := line[i].Last().MedianS; t > 0 {
			short, long = min(short, t), max(long, t)
		}
	}
	if low > high {
		low, high = 0.98, 1.02
	}
	const least = 1.02
	low, high = min(low, 1/least), max(high, least)
	free := math.Pow(high/low, 0.06)
	f.index = plot.Log(low/free, high*free)
	if short > long {
		short, long = 1e-6, 1e-6
	}
	f.times = plot.Log(short/1.25, long*1.25)
}

// grid draws what is behind the line: the levels, and the days.
func (f *frameOf) grid(d *drawing, line []place, whole bool) {
	for _, tick := range changeTicks(f.index.Low(), f.index.High()) {
		class := "grid"
		if tick == 0 {
			class = "grid zero"
		}
		d.rule(class, 0, f.y(1+tick), 1, f.y(1+tick))
		d.text("tick", 0, f.y(1+tick), "start", changeName(tick))
	}
	if !whole {
		return
	}
	for _, t := range f.times.Ticks(4) {
		d.text("tick time", 1, f.yTime(t), "end", unit.Duration(t))
	}
	n := f.span.To - f.span.From
	started := func(at int) time.Time { return line[at].Points[0].Run.Started.UTC() }
	layout := time.DateOnly
	if n > 0 && started(f.span.From).Format(layout) == started(f.span.To-1).Format(layout) {
		layout = "15:04"
	}
	for i := range min(5, n) {
		at := f.span.From + i*(n-1)/max(min(5, n)-1, 1)
		anchor := []string{"start", "middle", "end"}[min(i, 1)+boolInt(i > 0 && i == min(5, n)-1)]
		x := f.x(at)
		if anchor == "start" {
			x = 0
		}
		if anchor == "end" {
			x = 1
		}
		d.text("tick day", x, 1, anchor, started(at).Format(layout))
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// changeTicks returns round changes within a range of ratios.
func changeTicks(low, high float64) []float64 {
	return slices.DeleteFunc(plot.Linear(low-1, high-1).Ticks(6), func(v float64) bool { return v <= -1 })
}

func changeName(v float64) string {
	if v == 0 {
		return "0"
	}
	text := short(math.Abs(100*v), 1) + "%"
	if v < 0 {
		return "−" + text
	}
	return "+" + text
}

// curves draws the line, its band and the times.
func (f *frameOf) curves(d *drawing, line []place) {
	s := f.span
	var course, bridge, times pen
	var band strings.Builder
	var highs, lows []string
	lift := func() {
		course.lift()
		if len(highs) > 0 {
			slices.Reverse(lows)
			band.WriteString("M" + strings.Join(highs, "L") + "L" + strings.Join(lows, "L") + "z")
		}
		highs, lows = nil, nil
	}
	stride := max(1, (s.To-s.From+columns-1)/columns)
	for at := s.From; at < s.To; at += stride {
		end := min(at+stride, s.To)
		e, gap := columnOf(line[max(at-1, s.From):end])
		if gap {
			lift()
			bridge.lift()
		}
		x := (f.x(at) + f.x(end-1)) / 2
		if e != nil {
			if stride == 1 {
				if line[at].Gap { // commits between were not measured
					course.lift()
					bridge.to(x, f.y(e.Value))
				}
				bridge.lift()
				bridge.to(x, f.y(e.Value))
				course.to(x, f.y(e.Value))
			} else { // the greatest and the least: a peak is not averaged away
				low, high := extremes(line[at:end])
				course.to(x, f.y(low))
				course.to(x, f.y(high))
				course.to(x, f.y(e.Value))
			}
			highs, lows = append(highs, pair(x, f.y(e.High))), append(lows, pair(x, f.y(e.Low)))
		}
		if t := medianOf(line[at:end]); t > 0 {
			times.to(x, f.yTime(t))
		}
	}
	lift()
	d.paths("times", times.String(), "band", band.String(), "bridge", bridge.String(), "course", course.String(), "best", f.best(line, stride))
}

// best draws where the best-known version is: the distance to it is main's debt.
func (f *frameOf) best(line []place, stride int) string {
	var p pen
	last := math.NaN()
	for i := f.span.From; i < f.span.To; i += stride {
		if line[i].Index == nil || line[i].Debt == nil || line[i].Debt.Value <= 0 {
			continue
		}
		level := f.y(line[i].Index.Value / line[i].Debt.Value)
		if p.down { // it moves at once, and between that stays
			p.to(f.x(i), last)
		}
		p.to(f.x(i), level)
		last = level
	}
	return p.String()
}

func pair(x, y float64) string {
	y = min(max(y, -0.05), 1.05)
	return short(1000*x, 1) + " " + short(1000*y, 1)
}

// columnOf returns the last index of some places; gap: the line is broken among them.
func columnOf(line []place) (e *trend.Estimate, gap bool) {
	for i := range line {
		gap = gap || i > 0 && line[i].breaks(&line[i-1])
	}
	return line[len(line)-1].Index, gap
}

func extremes(line []place) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range line {
		if e := line[i].Index; e != nil {
			low, high = min(low, e.Value), max(high, e.Value)
		}
	}
	return low, high
}

func medianOf(line []place) float64 {
	var all []float64
	for i := range line {
		if t := line[i].Last().MedianS; t > 0 {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// dots draws the commits that can be picked.
func (f *frameOf) dots(d *drawing, links site, line []place, whole bool) {
	if !whole {
		if last := &line[len(line)-1]; last.Index != nil {
			d.dot("dot "+markOf(last.Last().Verdict).Class, f.x(len(line)-1), f.y(last.Index.Value), "4", "", "")
		}
		return
	}
	all := f.span.To-f.span.From <= mostDots
	for i := f.span.From; i < f.span.To; i++ {
		p := &line[i]
		last := p.Last()
		m := markOf(last.Verdict)
		notable := p.Moved || p.Change != nil || len(last.Notes) > 0 || last.Fault != "" || last.Verdict == result.Regression || last.Verdict == result.Improvement
		if !all && !notable {
			continue
		}
		y := 0.97
		if p.Index != nil {
			y = f.y(p.Index.Value)
		}
		class, radius := "dot "+m.Class, "3"
		if notable {
			radius = "4.5"
		}
		if last.Invalid() {
			class = "dot invalid"
		}
		d.dot(class, f.x(i), y, radius, links.Run(last.Run.ID), f.title(p))
		if p.Moved {
			d.rule("step", f.x(i), 0.97, f.x(i), 1)
		}
	}
	f.changes(d, line)
}

// changes draws where the level moved.
func (f *frameOf) changes(d *drawing, line []place) {
	for i := f.span.From; i < f.span.To; i++ {
		c := line[i].Change
		if c == nil || i == f.span.From {
			continue
		}
		x := (f.x(i-1) + f.x(i)) / 2
		class := "change slower"
		if c.Size < 0 {
			class = "change faster"
		}
		if c.Provisional {
			class += " provisional"
		}
		d.rule(class, x, 0, x, 0.95)
		anchor := "start"
		if x > 0.85 {
			anchor = "end"
		}
		d.text(class, x, 0.03, anchor, " "+unit.Percent(c.Size)+" ")
	}
}

// title says what is known of a place.
func (f *frameOf) title(p *place) string {
	last := p.Last()
	parts := []string{shortSHA(last.Run.Commit) + " " + last.Run.Started.UTC().Format("2006-01-02 15:04"), markOf(last.Verdict).Word}
	if last.Base != nil {
		parts = append(parts, changeText(last.Base.Median, last.Base.Low, last.Base.High)+" against its base")
	}
	if last.MedianS > 0 {
		parts = append(parts, unit.Duration(last.MedianS))
	}
	if p.Change != nil {
		parts = append(parts, "the level moved: "+p.Change.Words())
	}
	if p.Moved {
		parts = append(parts, "the baseline moved here")
	}
	for _, n := range last.Notes {
		parts = append(parts, noteWord(n.Kind)+": "+shorten(n.Text, 80))
	}
	return strings.Join(parts, "\n")
}

func changeText(median, low, high float64) string {
	return fmt.Sprintf("%s [%s, %s]", unit.Percent(median), strings.TrimSuffix(unit.Percent(low), "%"), strings.TrimSuffix(unit.Percent(high), "%"))
}

// says describes the picture to those who cannot see it.
func (f *frameOf) says(line []place) string {
	first, last := &line[f.span.From], &line[f.span.To-1]
	text := fmt.Sprintf("%s, %s to %s", unit.Plural(f.span.To-f.span.From, "commit", "commits"),
		first.Points[0].Run.Started.UTC().Format("2006-01-02"), last.Points[0].Run.Started.UTC().Format("2006-01-02"))
	if first.Index != nil && last.Index != nil {
		text += fmt.Sprintf(": the time has changed by %s", unit.Percent(last.Index.Value/first.Index.Value-1))
	}
	return text
}

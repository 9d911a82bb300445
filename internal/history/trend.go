package history

import (
	"context"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/store"
	"pawl/internal/trend"
)

// Trend is how the times of one kernel on one config went along a branch.
type Trend struct {
	store.Series

	Branch string `json:"branch"`
	*trend.Line
	Times *trend.Times `json:"times"` // of separate runs, which wander: the line is made of duets
}

// OnLine are the kinds of runs that measure main's code as it is: what a search measures is other settings, a profiler
// slows kernels down, and fuzzing times nothing.
var OnLine = []result.Kind{result.KindCheck, result.KindBench}

// Trends returns the trends of the series that a filter selects, by their names. reference names a row,
// kernel/config, whose code never changes and that the same runs have measured: its times tell the machine from
// the kernel where duets do not; "": none.
func (h *History) Trends(ctx context.Context, f store.Filter, branch, reference string) ([]*Trend, error) {
	line, err := h.Line(ctx, branch)
	if err != nil {
		return nil, err
	}
	if len(line.Commits) == 0 {
		return nil, &diag.Problem{
			Message: "order the points: the project has no main branch", Hint: "a trend follows the commits of a branch: name one with --line, or clone the project with its history",
		}
	}
	if f.Kinds == nil {
		f.Kinds = OnLine
	}
	points, err := h.Points(ctx, f, line)
	if err != nil {
		return nil, err
	}
	times := map[string]*trend.Estimate{}
	if reference != "" {
		if times, err = h.reference(ctx, f, line, reference); err != nil {
			return nil, err
		}
	}
	of := map[store.Series][]trend.Point{}
	last := map[store.Series]int{}
	for i := range points {
		p := &points[i]
		s := store.Series{Kernel: p.Kernel, Config: p.Config, Class: p.Row.Class}
		// A gap is one place, however many commits it has.
		if was, there := last[s]; there && p.At > was+1 {
			of[s] = append(of[s], trend.Point{Commit: line.Commits[was+1]})
		}
		last[s] = p.At
		made := pointOf(p)
		made.Reference = times[p.Run.ID+" "+p.Row.Class]
		of[s] = append(of[s], made)
	}
	trends := make([]*Trend, 0, len(of))
	for s, points := range of {
		l := trend.NewLine(points)
		trends = append(trends, &Trend{Series: s, Branch: line.Branch, Line: l, Times: l.Times()})
	}
	slices.SortFunc(trends, func(a, b *Trend) int { return a.Series.Compare(b.Series) })
	return trends, nil
}

// pointOf is a point of the history as package trend wants it.
func pointOf(p *Point) trend.Point {
	made := trend.Point{
		Commit: p.Run.Commit, Run: p.Run.ID, Machine: p.Run.Machine, Identity: p.Identity, Moved: p.Moved, Invalid: p.Invalid(),
		PullRequest: p.Run.Pull != 0 || p.Run.Fork, Dirty: p.Run.Dirty,
		New: p.Verdict == result.New, Unchanged: p.Verdict == result.Unchanged,
		Median: timeOf(&p.Row),
	}
	if made.Unchanged {
		made.Base = p.Run.Base
	}
	if c := p.Row.Base; c != nil {
		made.Base, made.ToBase = c.Commit, ratioOf(c)
	}
	if c := p.Row.Best; c != nil {
		made.Best, made.ToBest = c.Commit, ratioOf(c)
	}
	return made
}

func ratioOf(c *store.Change) *trend.Estimate {
	return &trend.Estimate{Value: 1 + c.Median, Low: 1 + c.Low, High: 1 + c.High}
}

// timeOf returns a row's median; nil where it was not measured.
func timeOf(r *store.Row) *trend.Estimate {
	if r.MedianS <= 0 {
		return nil
	}
	e := &trend.Estimate{Value: r.MedianS, Low: r.LowS, High: r.HighS}
	if !(0 < e.Low && e.Low <= e.Value && e.Value <= e.High) { // other tools' files have no interval
		e.Low, e.High = e.Value, e.Value
	}
	return e
}

// reference returns the times of a row by run and device class.
func (h *History) reference(ctx context.Context, f store.Filter, line *Line, name string) (map[string]*trend.Estimate, error) {
	f.Kernel, f.Config, _ = strings.Cut(name, "/")
	points, err := h.Points(ctx, f, line)
	if err != nil {
		return nil, err
	}
	if len(points) == 0 {
		return nil, &diag.Problem{Message: "read the times of the reference " + name + ": no run on " + line.Branch + " has measured it", Hint: "expected kernel/config of a row whose code never changes, measured by the same runs"}
	}
	times := map[string]*trend.Estimate{}
	for i := range points {
		p := &points[i]
		if t := timeOf(&p.Row); t != nil && !p.Invalid() {
			times[p.Run.ID+" "+p.Row.Class] = t
		}
	}
	return times, nil
}

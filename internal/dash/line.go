package dash

import (
	"math"

	"pawl/internal/history"
	"pawl/internal/result"
)

// estimate is a number with its 95% interval.
type estimate struct{ Value, Low, High float64 }

// place is a commit on main's line, with all runs of it.
type place struct {
	Points []history.Point
	Index  *estimate // time over that of the first version; nil: nothing leads there
	Debt   *estimate // time over the best-known version's
	Moved  bool      // it became the best-known version
	Gap    bool      // it is compared with nothing before it
	Stretch int // places of different stretches cannot be compared
}

// Last returns the newest run of the commit that counts, or else the newest.
func (p *place) Last() *history.Point {
	for i := len(p.Points) - 1; i >= 0; i-- {
		if !p.Points[i].Invalid() {
			return &p.Points[i]
		}
	}
	return &p.Points[len(p.Points)-1]
}

// chain makes main's line of points in the order of commits: an index that each duet with the base
// carries on. Medians of separate runs are no part of it.
func chain(points []history.Point) []place {
	var line []place
	for i, p := range points {
		if i > 0 && p.Run.Commit != "" && p.Run.Commit == points[i-1].Run.Commit {
			last := &line[len(line)-1]
			last.Points = append(last.Points, p)
			continue
		}
		line = append(line, place{Points: []history.Point{p}})
	}
	level, variance, stretch := 0.0, 0.0, 0
	for i := range line {
		p := line[i].Last()
		if p.Invalid() {
			line[i].Gap = true
			continue
		}
		step, se, ok := stepOf(p)
		line[i].Gap = !ok && i > 0
		if line[i].Gap {
			stretch++
		}
		line[i].Stretch = stretch
		level, variance = level+step, variance+se*se
		half := 1.96 * math.Sqrt(variance)
		line[i].Index = &estimate{math.Exp(level), math.Exp(level - half), math.Exp(level + half)}
		if b := p.Best; b != nil {
			line[i].Debt = &estimate{1 + b.Median, 1 + b.Low, 1 + b.High}
		}
		line[i].Moved = p.Moved
	}
	return line
}

// stepOf returns the logarithm of a point's time over its base's, and its standard error.
func stepOf(p *history.Point) (step, se float64, ok bool) {
	switch {
	case p.Verdict == result.Unchanged:
		return 0, 0, true
	case p.Base == nil || p.Base.Low <= -1:
		return 0, 0, false
	}
	return math.Log1p(p.Base.Median), (math.Log1p(p.Base.High) - math.Log1p(p.Base.Low)) / 2 / 1.96, true
}

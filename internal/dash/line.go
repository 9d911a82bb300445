package dash

import (
	"pawl/internal/history"
	"pawl/internal/trend"
)

// place is a commit on main's line, with all runs of it.
type place struct {
	trend.Place
	Points []history.Point
	Change *trend.LineChange // of the level, which begins here; nil: none
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

// breaks reports whether nothing leads to a place from the one before it.
func (p *place) breaks(before *place) bool { return p.Index == nil || p.Stretch != before.Stretch }

// chain makes main's line of points in the order of commits. Commits that no run has measured are no
// places here: the next one has Gap.
func chain(points []history.Point, commits *history.Line) []place {
	line := history.Chain(points, commits)
	changes := map[int]*trend.LineChange{}
	for i := range line.Changes {
		changes[line.Changes[i].At] = &line.Changes[i]
	}
	made := make([]place, 0, len(line.Places))
	next := 0
	for i := range line.Places {
		p := place{Place: line.Places[i], Change: changes[i]}
		from := next
		for next < len(points) && nameOf(&points[next]) == p.Commit {
			next++
		}
		if p.Points = points[from:next]; len(p.Points) > 0 {
			made = append(made, p)
		}
	}
	return made
}

// nameOf names the place that a point belongs to, as history.Chain does.
func nameOf(p *history.Point) string {
	if p.Run.Commit == "" {
		return p.Run.ID
	}
	return p.Run.Commit
}

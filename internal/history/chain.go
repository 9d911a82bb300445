package history

import "pawl/internal/trend"

// Chain makes a line of the points of one series, which are in the order of a line. Commits that no run
// has measured are places without a run: one for each gap.
func Chain(points []Point, line *Line) *trend.Line {
	made := make([]trend.Point, 0, len(points))
	for i := range points {
		p := &points[i]
		if i > 0 && len(line.Commits) > 0 && p.At > points[i-1].At+1 {
			made = append(made, trend.Point{Commit: line.Commits[points[i-1].At+1]})
		}
		one := pointOf(p)
		if one.Commit == "" {
			one.Commit = one.Run // runs without a commit are not all of one
		}
		made = append(made, one)
	}
	return trend.NewLine(made)
}

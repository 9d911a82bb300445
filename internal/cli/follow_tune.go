package cli

import (
	"fmt"
	"slices"
	"strings"

	"pawl/internal/run"
	"pawl/internal/unit"
)

// tuneLine says how far a search has come, what matters most first: where the terminal is narrow, the end
// of the line is cut.
func tuneLine(event run.Event) string {
	s := event.Search
	if s == nil {
		s = &run.Search{}
	}
	parts := []string{"tune " + unit.Count(event.Done)}
	if event.Total > 0 {
		parts[0] += "/" + unit.Count(event.Total)
	}
	if event.MedianS > 0 {
		best := unit.Duration(event.MedianS)
		if s.Unit == "J" {
			best = unit.Energy(event.MedianS)
		}
		parts = append(parts, best+" "+unit.Percent(-s.Gain))
	}
	kinds, failed := failedKinds(s.Failed)
	if failed > 0 {
		parts = append(parts, unit.Count(failed)+" failed")
	}
	if s.LeftS > 0 {
		parts = append(parts, timeLeft(s.LeftS)+" left")
	}
	if s.Busy > 0 {
		parts = append(parts, fmt.Sprintf("busy %.0f%%", 100*s.Busy))
	}
	if len(kinds) > 0 {
		parts = append(parts, strings.Join(kinds, ", "))
	}
	if s.Params != "" {
		parts = append(parts, "best: "+s.Params)
	}
	return strings.Join(parts, "  ")
}

// failedKinds counts failures by their kind, the commonest first.
func failedKinds(failed map[string]int) (kinds []string, all int) {
	for kind, n := range failed {
		if n > 0 {
			kinds, all = append(kinds, kind), all+n
		}
	}
	slices.SortFunc(kinds, func(a, b string) int {
		if failed[a] != failed[b] {
			return failed[b] - failed[a]
		}
		return strings.Compare(a, b)
	})
	for i, kind := range kinds {
		kinds[i] = unit.Count(failed[kind]) + " " + kind
	}
	return kinds, all
}

// timeLeft writes the rest of a budget: to a minute while it is long, and then to a second.
func timeLeft(seconds float64) string {
	if seconds >= 100 {
		return fmt.Sprintf("%.0fm", seconds/60)
	}
	return fmt.Sprintf("%.0fs", seconds)
}

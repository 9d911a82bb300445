package verify

import "pawl/internal/result"

// Opponent is another version that took turns with the candidate.
type Opponent struct {
	Timing *result.Timing
	Change *result.Change // of the candidate against it; nil: not known
}

// OfTiming returns what a candidate's samples and clocks reveal besides its time. cache is the state
// of the caches that was asked for.
func OfTiming(t *result.Timing, cache string, others []Opponent) []result.Finding {
	var found []result.Finding
	if t.SetAside && cache != "hot" {
		found = append(found, SetAside()...)
	}
	found = append(found, Hidden(t)...)
	var timings []*result.Timing
	for _, o := range others {
		timings = append(timings, o.Timing)
	}
	beside := Skew(t, timings...)
	if len(beside) == 0 { // work that is hidden from one clock shows on the other, too
		beside = Helped(t, timings...)
	}
	found = append(found, beside...)
	for _, o := range others {
		claimed := 0.0
		if o.Change != nil {
			claimed = o.Change.Median
		}
		if remembers := Anew(t, o.Timing, claimed); len(remembers) > 0 {
			return append(found, remembers...)
		}
	}
	return found
}

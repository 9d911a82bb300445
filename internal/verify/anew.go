package verify

import (
	"fmt"
	"slices"

	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/unit"
)

const (
	anewLeast = 8   // samples on wholly new data, of either version
	anewPart  = 0.1 // of the other version's time that one may take longer there
	anewSure  = 1.5 // times as wide as the 95% intervals of the medians is what they are known to
)

// Anew compares what two versions take longer on wholly new data from what
// launches have seen with what they take on data that differs in a few elements. Both
// were timed in turns, and nothing was done between the two kinds of samples: a version
// that takes so much longer than the other that half of what it gains is gone, or that
// it is slower, lives on what it remembers.
func Anew(candidate, other *result.Timing) []result.Finding {
	if candidate == nil || other == nil {
		return nil
	}
	mine, theirs := longerAnew(&candidate.Samples), longerAnew(&other.Samples)
	if len(mine) < anewLeast || len(theirs) < anewLeast {
		return nil
	}
	usual := stat.Median(other.Samples.Kept())
	allowed := max((usual-stat.Median(candidate.Samples.Kept()))/2, anewPart*usual)
	least, _ := bounds(mine)
	if _, most := bounds(theirs); least-max(0, most) <= allowed { // new data may be quicker to fetch
		return nil
	}
	return []result.Finding{{
		Exploit: Incremental, Severity: result.Suspicious,
		Message: fmt.Sprintf("on data that it has not seen it takes %s more than on data that differs in a few elements from the last, the other version %s more: what it gains may be what it remembers",
			unit.Duration(max(0, stat.Median(mine))), unit.Duration(max(0, stat.Median(theirs)))),
	}}
}

// bounds are what a median surely lies between. How far single values scatter is another
// matter: a slower version's do so more.
func bounds(values []float64) (least, most float64) {
	median := stat.Median(values)
	low, high, _ := stat.MedianCI(values)
	return median - anewSure*(median-low), median + anewSure*(high-median)
}

// longerAnew is how many seconds longer samples on other data took than those of the
// same request. The first one of a request comes after a pause, and is like no other.
func longerAnew(s *result.Samples) []float64 {
	var out []float64
	for _, f := range s.Fresh {
		dropped := slices.ContainsFunc(s.Dropped, func(d result.Drop) bool { return f.At >= d.From && f.At < d.To })
		if dropped || f.At <= f.From || f.To-f.From < 3 {
			continue
		}
		others := slices.Concat(s.Seconds[f.From+1:f.At], s.Seconds[f.At+1:f.To])
		out = append(out, s.Seconds[f.At]-stat.Median(others))
	}
	return out
}

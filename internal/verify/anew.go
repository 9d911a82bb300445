package verify

import (
	"fmt"

	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/unit"
)

// AnewLeast is how many samples on wholly new data either version must have, so that the
// two can be compared there.
const AnewLeast = 8

const (
	anewPart = 0.1 // of the other version's time that one may take longer there
	anewSure = 1.5 // times as wide as the 95% intervals of the medians is what they are known to
)

// Anew compares two versions by how much longer they take on wholly new data than on data
// that differs from the last in a few elements. Both
// were timed in turns, and nothing was done between the two kinds of samples: a version
// that takes so much longer than the other that half of what it gains is gone, or that
// it is slower, lives on what it remembers.
func Anew(candidate, other *result.Timing) []result.Finding {
	if candidate == nil || other == nil {
		return nil
	}
	mine, theirs := longerAnew(&candidate.Samples), longerAnew(&other.Samples)
	if CountAnew(candidate, other) < AnewLeast {
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

// CountAnew counts the samples on wholly new data that can be compared, of the version that
// has fewer.
func CountAnew(candidate, other *result.Timing) int {
	if candidate == nil || other == nil {
		return 0
	}
	return min(len(longerAnew(&candidate.Samples)), len(longerAnew(&other.Samples)))
}

// bounds are what a median surely lies between. How far single values scatter is another
// matter: a slower version's do so more.
func bounds(values []float64) (least, most float64) {
	median := stat.Median(values)
	low, high, _ := stat.MedianCI(values)
	return median - anewSure*(median-low), median + anewSure*(high-median)
}

// longerAnew is how many seconds longer samples on other data took than is usual in turns
// without such data: a version may be as slow in the rest of a turn as soon as it notices.
func longerAnew(s *result.Samples) []float64 {
	var out []float64
	for _, f := range s.Fresh {
		if f.UsualS > 0 {
			out = append(out, s.Seconds[f.At]-f.UsualS)
		}
	}
	return out
}

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
	anewLoss   = 1. / 3 // of what it gains may be gone there
	anewPart   = 0.1    // of the other version's time that one may take longer there
	anewChance = 0.001  // is at most how often two that do not differ by more look as if they did
)

// Anew compares two versions by how much longer they take on wholly new data than on data
// that differs from the last in a few elements. Both were timed in turns, and nothing was
// done between the two kinds of samples. A version that loses a third of its gain on new
// data, and no less than a tenth of the other's time, lives on what it remembers.
func Anew(candidate, other *result.Timing) []result.Finding {
	if candidate == nil || other == nil {
		return nil
	}
	mine, theirs := longerAnew(&candidate.Samples), longerAnew(&other.Samples)
	if CountAnew(candidate, other) < AnewLeast {
		return nil
	}
	usual := stat.Median(other.Samples.Kept())
	allowed := max(anewLoss*(usual-stat.Median(candidate.Samples.Kept())), anewPart*usual)
	_, longest, _ := stat.MedianCI(theirs)
	more := allowed + max(0, -longest) // new data may be quicker to fetch
	for i := range mine {
		mine[i] -= more
	}
	if u, p, _ := stat.MannWhitney(mine, theirs); p > anewChance || u < float64(len(mine)*len(theirs))/2 {
		return nil
	}
	return []result.Finding{{
		Exploit: Incremental, Severity: result.Suspicious,
		Message: fmt.Sprintf("on data that it has not seen it takes %s more than on data that differs in a few elements from the last, the other version %s more: what it gains may be what it remembers",
			unit.Duration(max(0, stat.Median(mine)+more)), unit.Duration(max(0, stat.Median(theirs)))),
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

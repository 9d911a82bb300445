package verify

import (
	"pawl/internal/result"
	"pawl/internal/stat"
	"pawl/internal/unit"
)

// AnewLeast is the number of samples on the same wholly new data that two versions need to be
// compared there.
const AnewLeast = 10

const (
	anewLoss   = 1. / 3 // of the gain: a version may lose this much on new data
	usualPart  = 0.1    // of the other version's time: a version may take this much longer there than it usually does
	pairPart   = 0.05   // of the other version's time: a pair on the same data may lack this much of the gain
	anewChance = 0.001  // the greatest chance of accusing a version that loses no more than that
	usualLeast = 8      // samples on new data whose place has a usual time
	wokenPart  = 0.1    // of the samples of a version with threads may be as fast as without new data, before it is clear that threads had to be woken
)

// Anew compares two versions on wholly new data; claimed is the candidate's relative slowdown, 0 if
// none is claimed. Both were timed in turns, and nothing else was done between samples on such data
// and samples on data that differs from the last in a few elements. A version that loses a third of
// its gain on new data, and at least a given part of the other's time, depends on what it
// remembers. A thread that waits actively for a while must be woken after a longer pause, such as the
// one before new data: a version with threads must lose the gain in nearly all samples.
func Anew(candidate, other *result.Timing, claimed float64) []result.Finding {
	if candidate == nil || other == nil {
		return nil
	}
	usual := stat.Median(other.Samples.Kept())
	gain := usual - stat.Median(candidate.Samples.Kept())
	if found := longerThanUsual(candidate, other, usual, gain); found != nil {
		return found
	}
	return lostInPairs(candidate, other, usual, max(gain, -claimed*usual))
}

// lostInPairs compares samples that both versions took on the same new data, one turn
// after the other. It uses every place of a turn: the candidate cannot exclude a place by
// being slow there. New data may slow both versions down by the same time or by the same
// factor. So a pair counts as lost only if the gain is missing in its difference and in
// its ratio.
func lostInPairs(candidate, other *result.Timing, usual, gain float64) []result.Finding {
	mine, theirs := pairsAnew(candidate, other)
	least := gain - max(anewLoss*gain, pairPart*usual) // the gain that must be there
	if len(mine) < AnewLeast || least <= 0 {
		return nil
	}
	var lost int
	gained := make([]float64, len(mine))
	for i := range mine {
		if gained[i] = theirs[i] - mine[i]; gained[i] < least && mine[i] > theirs[i]*(1-least/usual) {
			lost++
		}
	}
	if stat.SignTail(lost, len(mine)) > anewChance || candidate.Threads > 1 && float64(len(mine)-lost) > wokenPart*float64(len(mine)) {
		return nil
	}
	return suspect(Incremental, "it gains %s on data that differs from the last in a few elements, but %s on data that neither version has seen: the gain may come from remembered results, or from a table in the cache",
		unit.Duration(gain), unit.Duration(max(0, stat.Median(gained))))
}

// pairsAnew returns the seconds of the samples that both took on the same new data.
func pairsAnew(candidate, other *result.Timing) (mine, theirs []float64) {
	at := map[int]int{}
	for _, f := range other.Samples.Fresh {
		if f.Pair > 0 {
			at[f.Pair] = f.At
		}
	}
	for _, f := range candidate.Samples.Fresh {
		if i, both := at[f.Pair]; both {
			mine, theirs = append(mine, candidate.Samples.Seconds[f.At]), append(theirs, other.Samples.Seconds[i])
		}
	}
	return mine, theirs
}

// longerThanUsual compares how much longer each version takes on new data than its usual time. A
// version that takes several times as long as the other also loses more time to new data, so its
// factor must be greater too.
func longerThanUsual(candidate, other *result.Timing, usual, gain float64) []result.Finding {
	mine, myFactors := longerAnew(&candidate.Samples)
	theirs, theirFactors := longerAnew(&other.Samples)
	if min(len(mine), len(theirs)) < usualLeast {
		return nil
	}
	allowed := max(anewLoss*gain, usualPart*usual)
	_, longest, _ := stat.MedianCI(theirs)
	more := allowed + max(0, -longest) // new data may be faster to fetch
	for i := range mine {
		mine[i] -= more
	}
	if !greater(mine, theirs) || !greater(myFactors, theirFactors) || candidate.Threads > 1 && stat.Percentile(mine, 100*wokenPart) <= stat.Median(theirs) {
		return nil
	}
	return suspect(Incremental, "on data that it has not seen it takes %s more than on data that differs from the last in a few elements; the other version takes %s more: the gain may come from remembered results, or from a table in the cache",
		unit.Duration(max(0, stat.Median(mine)+more)), unit.Duration(max(0, stat.Median(theirs))))
}

// CountAnew counts the samples that two versions took on the same wholly new data.
func CountAnew(candidate, other *result.Timing) int {
	if candidate == nil || other == nil {
		return 0
	}
	mine, _ := pairsAnew(candidate, other)
	return len(mine)
}

// longerAnew returns how much longer samples on new data took than the usual time of turns without
// such data, in seconds and as factors: a version may be as slow in the rest of a turn once it has
// noticed.
func longerAnew(s *result.Samples) (seconds, factors []float64) {
	for _, f := range s.Fresh {
		if f.UsualS > 0 {
			seconds = append(seconds, s.Seconds[f.At]-f.UsualS)
			factors = append(factors, s.Seconds[f.At]/f.UsualS)
		}
	}
	return seconds, factors
}

// greater reports whether one sample lies above another, but for anewChance.
func greater(one, other []float64) bool {
	u, p, _ := stat.MannWhitney(one, other)
	return p <= anewChance && u >= float64(len(one)*len(other))/2
}

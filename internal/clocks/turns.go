package clocks

import (
	"cmp"
	"math"
	"slices"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// HidesInTurns compares the time of a launch beyond its claim with that of other versions. It
// returns the median seconds that are hidden, whichever version it is compared with, 0 if none are,
// and the claim. A version without such readings is not used.
func HidesInTurns(c *result.TurnClocks, others ...*result.TurnClocks) (seconds, claimed float64) {
	return leastOf(c, others, func(c *result.TurnClocks) []float64 { return c.Beyond },
		func(c *result.TurnClocks) []float64 { return sums(c.Beyond, c.Waited) }, allowedInTurns(turnsPart, c)), median(c)
}

// HasHelpInTurns does the same for CPU time beyond that of the threads that are timed.
func HasHelpInTurns(c *result.TurnClocks, others ...*result.TurnClocks) (seconds, claimed float64) {
	return leastOf(c, others, func(c *result.TurnClocks) []float64 { return c.Helped },
		func(c *result.TurnClocks) []float64 { return sums(c.Helped, c.Waited) }, allowedInTurns(helpedPart, c)), median(c)
}

// HasCompanyInTurns does the same for threads that work while nothing is launched.
func HasCompanyInTurns(c *result.TurnClocks, others ...*result.TurnClocks) (threads float64) {
	readings := func(c *result.TurnClocks) []float64 { return c.Beside }
	return leastOf(c, others, readings, readings, besideLeast)
}

// allowedInTurns returns how many seconds a launch may take longer in any round.
func allowedInTurns(part float64, c *result.TurnClocks) float64 {
	if c == nil {
		return 0
	}
	return allowance(part, median(c), c.CachesS)
}

// median returns the median of the claims.
func median(c *result.TurnClocks) float64 {
	if c == nil || len(c.Claimed) == 0 {
		return 0
	}
	return stat.Median(c.Claimed)
}

// leastOf compares readings with those of each of the others and returns the smallest difference.
func leastOf(c *result.TurnClocks, others []*result.TurnClocks, own, readings func(*result.TurnClocks) []float64, allowed float64) float64 {
	more := math.Inf(1)
	for _, o := range others {
		if c != nil && o != nil && len(readings(o)) > 0 {
			if farther(median(c), median(o)) {
				return 0
			}
			more = min(more, inMost(claims(c.Claimed, o.Claimed), c.Fresh, own(c), readings(o), allowed))
		}
	}
	if math.IsInf(more, 1) {
		return 0
	}
	return more
}

// claims returns the sum of both versions' claims, round by round.
func claims(mine, others []float64) []float64 {
	sums := make([]float64, min(len(mine), len(others)))
	for i := range sums {
		sums[i] = mine[i] + others[i]
	}
	return sums
}

// inMost returns by how much values are larger than others of the same moment, if they exceed the
// allowance in more rounds than by chance, both relative to the others and by themselves. It tests
// three sets of rounds. The first is all rounds. The second is the half with the lowest claims of
// both, since a version that hides something in most of its turns claims least there (by the claims
// of one alone, rounds would be selected in which noise has made these too low). The third is the
// rounds with wholly new data, which a version that depends on what it remembers must compute, too.
func inMost(claimed []float64, fresh []bool, mine, others []float64, allowed float64) float64 {
	rounds := make([]int, min(len(claimed), len(mine), len(others)))
	for i := range rounds {
		rounds[i] = i
	}
	slices.SortStableFunc(rounds, func(a, b int) int { return cmp.Compare(claimed[a], claimed[b]) })
	anew := slices.DeleteFunc(slices.Clone(rounds), func(i int) bool { return i >= len(fresh) || !fresh[i] })
	more := 0.0
	for _, group := range []struct {
		rounds []int
		fewest int
	}{{rounds, hidingFewest}, {rounds[:len(rounds)/2], hidingFewest}, {anew, freshFewest}} {
		if len(group.rounds) < group.fewest {
			continue
		}
		var itself, beside []float64
		for _, i := range group.rounds {
			itself, beside = append(itself, mine[i]), append(beside, mine[i]-others[i])
		}
		if inMoreThanHalf(itself, allowed) && inMoreThanHalf(beside, allowed) {
			more = max(more, stat.Median(beside))
		}
	}
	return more
}

// inMoreThanHalf reports whether more values exceed the allowance than by chance.
func inMoreThanHalf(values []float64, allowed float64) bool {
	above := 0
	for _, v := range values {
		if v > allowed {
			above++
		}
	}
	return stat.SignTail(above, len(values)) < math.Exp(-hidingCertain)
}

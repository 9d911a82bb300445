package clocks

import (
	"cmp"
	"math"
	"slices"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// HidesInTurns compares what a launch takes beyond its claim with what other versions' do. It
// returns the seconds that are hidden in the middle of them, whichever version it is compared with,
// 0 if none are, and what it claims. A version without such readings is no witness.
func HidesInTurns(c *result.TurnClocks, others ...*result.TurnClocks) (seconds, claimed float64) {
	return leastOf(c, others, func(c *result.TurnClocks) []float64 { return c.Beyond }, allowedInTurns(turnsPart, c)), median(c)
}

// HasHelpInTurns does the same for what processors work beside the threads that are there to be
// timed.
func HasHelpInTurns(c *result.TurnClocks, others ...*result.TurnClocks) (seconds, claimed float64) {
	return leastOf(c, others, func(c *result.TurnClocks) []float64 { return c.Helped }, allowedInTurns(helpedPart, c)), median(c)
}

// HasCompanyInTurns does the same for threads that work while nothing is launched.
func HasCompanyInTurns(c *result.TurnClocks, others ...*result.TurnClocks) (threads float64) {
	return leastOf(c, others, func(c *result.TurnClocks) []float64 { return c.Beside }, besideLeast)
}

// allowedInTurns is how many seconds a launch may take longer in any round.
func allowedInTurns(part float64, c *result.TurnClocks) float64 {
	if c == nil {
		return 0
	}
	return allowance(part, median(c), c.CachesS)
}

// median is that of the claims.
func median(c *result.TurnClocks) float64 {
	if c == nil || len(c.Claimed) == 0 {
		return 0
	}
	return stat.Median(c.Claimed)
}

// leastOf holds readings against those of each of the others and returns the smallest
// difference.
func leastOf(c *result.TurnClocks, others []*result.TurnClocks, readings func(*result.TurnClocks) []float64, allowed float64) float64 {
	more := math.Inf(1)
	for _, o := range others {
		if c != nil && o != nil && len(readings(o)) > 0 {
			more = min(more, inMost(claims(c.Claimed, o.Claimed), c.Fresh, readings(c), readings(o), allowed))
		}
	}
	if math.IsInf(more, 1) {
		return 0
	}
	return more
}

// claims are those of both versions together, round by round.
func claims(mine, others []float64) []float64 {
	sums := make([]float64, min(len(mine), len(others)))
	for i := range sums {
		sums[i] = mine[i] + others[i]
	}
	return sums
}

// inMost is by how much values are larger than others of the same moment, where they are
// by more than they may in more rounds than by chance, and more than that themselves: of
// all rounds; of the half with the lowest claims of both, since a version that hides
// something in most of its turns claims least there (by the claims of one alone, rounds
// would be chosen in which noise happens to have made these too low); or of those with
// wholly new data, which a version that lives on what it remembers must compute, too.
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

// inMoreThanHalf reports whether more values than by chance are larger than they may be.
func inMoreThanHalf(values []float64, allowed float64) bool {
	above := 0
	for _, v := range values {
		if v > allowed {
			above++
		}
	}
	return stat.SignTail(above, len(values)) < math.Exp(-hidingCertain)
}

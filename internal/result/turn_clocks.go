package result

import (
	"cmp"
	"math"
	"slices"
)

// TurnClocks is other clocks beside the one that samples are taken by, in turns of a match
// drawn at random. Versions that are compared take turns: values of the same index are of
// one moment. Beyond, Helped, Beside and CachesS are those of a ClockCheck.
type TurnClocks struct {
	Claimed []float64 `json:"claimed_s"` // per launch, by the cell
	Beyond  []float64 `json:"beyond_s"`
	Helped  []float64 `json:"helped_s"`
	Beside  []float64 `json:"beside"`
	CachesS float64   `json:"caches_s,omitempty"`
}

// Hides compares what a launch takes beyond its claim with what other versions' do. It
// returns the seconds that are hidden in most turns, whichever version it is compared with,
// 0 if none are, and what it claims. A version without such readings is no witness.
func (c *TurnClocks) Hides(others ...*TurnClocks) (seconds, claimed float64) {
	return c.leastOf(others, func(c *TurnClocks) []float64 { return c.Beyond }, c.allowed()), c.median()
}

// HasHelp does the same for what processors work beside the threads that are there to be
// timed.
func (c *TurnClocks) HasHelp(others ...*TurnClocks) (seconds, claimed float64) {
	return c.leastOf(others, func(c *TurnClocks) []float64 { return c.Helped }, c.allowed()), c.median()
}

// HasCompany does the same for threads that work while nothing is launched.
func (c *TurnClocks) HasCompany(others ...*TurnClocks) (threads float64) {
	return c.leastOf(others, func(c *TurnClocks) []float64 { return c.Beside }, besideLeast)
}

// allowed is how many seconds a launch may take longer in any round.
func (c *TurnClocks) allowed() float64 {
	if c == nil {
		return 0
	}
	return allowance(c.median(), c.CachesS)
}

// median is that of the claims.
func (c *TurnClocks) median() float64 {
	if c == nil || len(c.Claimed) == 0 {
		return 0
	}
	ascending := slices.Sorted(slices.Values(c.Claimed))
	return (ascending[len(ascending)/2] + ascending[(len(ascending)-1)/2]) / 2
}

// leastOf holds readings against those of each of the others and returns the smallest
// difference.
func (c *TurnClocks) leastOf(others []*TurnClocks, readings func(*TurnClocks) []float64, allowed float64) float64 {
	more := math.Inf(1)
	for _, o := range others {
		if c != nil && o != nil && len(readings(o)) > 0 {
			more = min(more, inMost(claims(c.Claimed, o.Claimed), readings(c), readings(o), allowed))
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

// inMost is by how much values are larger than others of the same moment, by more than they
// may be, in all but a quarter of the rounds. A version that hides something in most
// of its turns does so where it claims least: only half of the rounds count, those with
// the lowest claims of both, or as many as are needed. By the claims of one alone, rounds
// would be chosen in which noise happens to have made these too low.
func inMost(claimed, mine, others []float64, allowed float64) float64 {
	rounds := make([]int, min(len(claimed), len(mine), len(others)))
	if len(rounds) < hidingRounds {
		return 0
	}
	for i := range rounds {
		rounds[i] = i
	}
	slices.SortStableFunc(rounds, func(a, b int) int { return cmp.Compare(claimed[a], claimed[b]) })
	var beyond []float64
	for _, i := range rounds[:max(hidingRounds, len(rounds)/2)] {
		beyond = append(beyond, mine[i]-max(0, others[i]))
	}
	slices.Sort(beyond)
	if least := beyond[len(beyond)/4]; least > allowed { // hidingExceptions of hidingRounds
		return least
	}
	return 0
}

// Package clocks decides whether a version of a kernel takes longer than it claims, or uses helpers
// that nobody asked for. It uses clocks that the kernel cannot reach: the time that launches take
// beyond their claims is compared with the same excess of other versions. Package measure asks it
// when enough has been seen, package verify what was found.
package clocks

import (
	"math"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// When a version takes longer beyond its claims than another, by more than it may. Of
// honest versions that is so in half of all rounds at most, however much the machine
// varies. Rounds that are made for this are asked for until Wald's sequential test of one
// half against two thirds can tell, by odds of e^hidingCertain; those of a match, of which
// there are as many as there are, are held to one chance in e^hidingCertain. A row has
// twelve such comparisons, nine of them in turns, so that one of 1,800 honest rows is
// accused at most.
const (
	hidingPart    = 0.08   // of its claim that a launch may take longer in a round that is made for this
	turnsPart     = 0.12   // in one of a match, where an honest version has been seen to by 12% in the middle
	helpedPart    = 0.16   // that its processors may work longer in either: by 13% there, of memory that is taken and given back
	hidingLeast   = 2e-6   // seconds that it may in any case
	besideLeast   = 0.08   // of a thread that may work beside what is timed
	hidingShare   = 2. / 3 // of the rounds, of one that hides something
	hidingCertain = 10     // nats, which is 22,000 to 1
	hidingCleared = -2.5   // nats, until it is let go: one that hides in two thirds is in one of 12 cases, in three quarters in one of 200
	hidingMost    = 240    // rounds that are made for this
	hidingFewest  = 60     // rounds of a match that tell anything
	freshFewest   = 20     // the same of rounds with wholly new data, of which there are fewer
)

// Hides compares what a launch takes beyond its claim with what other versions' do. It
// returns the seconds that are hidden in the middle of the rounds, whichever version it is
// compared with, 0 if none are, and whether further rounds could tell. A version without
// such readings is no witness.
func Hides(c *result.ClockCheck, others ...*result.ClockCheck) (seconds float64, open bool) {
	return least(others, func(o *result.ClockCheck) []float64 { return o.Beyond }, c.Beyond, allowance(hidingPart, c.ClaimedS, c.CachesS))
}

// HasHelp does the same for what processors work beside the threads that are there to
// be timed.
func HasHelp(c *result.ClockCheck, others ...*result.ClockCheck) (seconds float64, open bool) {
	return least(others, func(o *result.ClockCheck) []float64 { return o.Helped }, c.Helped, allowance(helpedPart, c.ClaimedS, c.CachesS))
}

// HasCompany does the same for threads that work while nothing is launched.
func HasCompany(c *result.ClockCheck, others ...*result.ClockCheck) (threads float64, open bool) {
	return least(others, func(o *result.ClockCheck) []float64 { return o.Beside }, c.Beside, besideLeast)
}

// allowance is how many seconds a launch that claims so much may take longer in any round.
func allowance(part, claimed, caches float64) float64 { return max(hidingLeast, part*claimed) + caches }

// least holds values against each of the others and returns the smallest difference: a
// version with the same readings clears a candidate.
func least(others []*result.ClockCheck, readings func(*result.ClockCheck) []float64, mine []float64, allowed float64) (more float64, open bool) {
	more, open = math.Inf(1), false
	for _, o := range others {
		if len(readings(o)) == 0 {
			continue
		}
		by, undecided := inSequence(mine, readings(o), allowed)
		if by == 0 && !undecided {
			return 0, false
		}
		more, open = min(more, by), open || undecided
	}
	if math.IsInf(more, 1) { // nobody has readings yet
		return 0, true
	}
	return more, open
}

// inSequence is by how much values are larger than others of the same moment, where they
// are by more than they may in far more than half of the rounds, and more than that
// themselves: that the others are below 0 is not their fault.
func inSequence(mine, others []float64, allowed float64) (more float64, open bool) {
	rounds := min(len(mine), len(others), hidingMost)
	beyond := make([]float64, rounds)
	itself, beside := 0.0, 0.0 // the odds, in nats
	for i := range beyond {
		beyond[i] = mine[i] - others[i]
		itself += evidence(mine[i] > allowed)
		beside += evidence(beyond[i] > allowed)
		switch odds := min(itself, beside); {
		case odds <= hidingCleared:
			return 0, false
		case odds >= hidingCertain:
			return stat.Median(beyond[:i+1]), false
		}
	}
	return 0, rounds < hidingMost
}

// What a round adds to the odds.
var evidenceFor, evidenceAgainst = math.Log(hidingShare / 0.5), math.Log((1 - hidingShare) / 0.5)

func evidence(hides bool) float64 {
	if hides {
		return evidenceFor
	}
	return evidenceAgainst
}

// Package clocks decides whether a version of a kernel takes longer than it claims, or uses helpers
// that nobody asked for. It uses clocks that the kernel cannot reach: the time that launches take
// beyond their claims is compared with the same excess of other versions. Package measure asks it
// when enough has been seen, package verify what was found.
package clocks

import (
	"math"
	"slices"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// A version is accused when it takes longer beyond its claims than another, by more than the
// allowance, in too many rounds. For honest versions that happens in at most half of all rounds,
// however much the machine varies. Rounds that are made for this comparison are requested until
// Wald's sequential test of one half against two thirds decides, by odds of e^hidingCertain. The
// number of rounds in a match is given, so they are tested at a level of one in e^hidingCertain. A
// row has twelve such comparisons, nine of them in turns, so that at most one of 1,800 honest rows
// is accused.
const (
	hidingPart    = 0.08   // allowance as a part of the claim, in a round that is made for this
	turnsPart     = 0.12   // the same in a match, where an honest version has exceeded its claim by 12% in the median
	helpedPart    = 0.16   // allowance for CPU time in either: 13% was seen with memory that is allocated and freed
	hidingLeast   = 2e-6   // smallest allowance in seconds
	besideLeast   = 0.08   // part of a thread that may work beside the timed launches
	hidingShare   = 2. / 3 // share of the rounds in which a hiding version exceeds the allowance
	hidingCertain = 10     // nats, which is 22,000 to 1
	hidingCleared = -2.5   // nats at which a version is cleared: one that hides in two thirds is cleared in one of 12 cases, in three quarters in one of 200
	hidingMost    = 240    // most rounds that are made for this
	hidingFewest  = 60     // fewest rounds of a match that decide anything
	freshFewest   = 20     // the same for rounds with wholly new data, of which there are fewer
	farSlower     = 1.5    // claims of so many times another version's are not compared with its
)

// farther reports whether a version claims so much more than another that hiding gains it nothing.
// On a busy machine its launches are also interrupted more often than the other's, in proportion to
// their time, and so exceed their claims in most rounds.
func farther(mine, others float64) bool { return mine > farSlower*others }

// Hides compares the time of a launch beyond its claim with that of other versions. It returns the
// median seconds that are hidden, whichever version it is compared with, 0 if none are, and whether
// further rounds could decide. A version without such readings is not used. The time of the others
// counts with that in which they waited for a CPU: on a busy machine a version that takes longer waits
// in its launches, and seems to take less than it claims.
func Hides(c *result.ClockCheck, others ...*result.ClockCheck) (seconds float64, open bool) {
	return least(c, others, func(o *result.ClockCheck) []float64 { return o.Beyond },
		func(o *result.ClockCheck) []float64 { return sums(o.Beyond, o.Waited) }, allowance(hidingPart, c.ClaimedS, c.CachesS))
}

// HasHelp does the same for CPU time beyond that of the threads that are timed.
func HasHelp(c *result.ClockCheck, others ...*result.ClockCheck) (seconds float64, open bool) {
	return least(c, others, func(o *result.ClockCheck) []float64 { return o.Helped },
		func(o *result.ClockCheck) []float64 { return sums(o.Helped, o.Waited) }, allowance(helpedPart, c.ClaimedS, c.CachesS))
}

// HasCompany does the same for threads that work while nothing is launched.
func HasCompany(c *result.ClockCheck, others ...*result.ClockCheck) (threads float64, open bool) {
	readings := func(o *result.ClockCheck) []float64 { return o.Beside }
	return least(c, others, readings, readings, besideLeast)
}

// allowance returns how many seconds a launch with this claim may take longer in any round.
func allowance(part, claimed, caches float64) float64 { return max(hidingLeast, part*claimed) + caches }

// least compares readings with those of each of the others and returns the smallest difference: one
// version with the same readings clears a candidate, and so does one that is far faster.
func least(c *result.ClockCheck, others []*result.ClockCheck, own, readings func(*result.ClockCheck) []float64, allowed float64) (more float64, open bool) {
	more, open = math.Inf(1), false
	for _, o := range others {
		if len(readings(o)) == 0 {
			continue
		}
		if farther(c.ClaimedS, o.ClaimedS) {
			return 0, false
		}
		by, undecided := inSequence(own(c), readings(o), allowed)
		if by == 0 && !undecided {
			return 0, false
		}
		more, open = min(more, by), open || undecided
	}
	if math.IsInf(more, 1) { // no version has readings yet
		return 0, true
	}
	return more, open
}

// sums returns the sums of readings and of others of the same moment, as far as these are there.
func sums(readings, others []float64) []float64 {
	out := slices.Clone(readings)
	for i := range out[:min(len(out), len(others))] {
		out[i] += others[i]
	}
	return out
}

// inSequence returns by how much values are larger than others of the same moment. It is not 0 only
// if they exceed the allowance in far more than half of the rounds, both relative to the others and
// by themselves: a candidate is not to blame if the others are below 0.
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

// The change of the odds by one round.
var evidenceFor, evidenceAgainst = math.Log(hidingShare / 0.5), math.Log((1 - hidingShare) / 0.5)

func evidence(hides bool) float64 {
	if hides {
		return evidenceFor
	}
	return evidenceAgainst
}

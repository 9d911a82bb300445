package result

import (
	"math"
	"slices"
)

// ClockCheck is other clocks beside the one that samples are taken by.
type ClockCheck struct {
	ClaimedS float64 `json:"claimed_s"` // per launch, by the cell

	// Per launch back to back, by the worker, less what other work of the machine took.
	// 0: unknown.
	WorkerS   float64 `json:"worker_s,omitempty"`
	Disturbed bool    `json:"disturbed,omitempty"` // other work took all of that, or too much to tell

	HostS float64 `json:"host_s,omitempty"` // per launch with the host's part in it, where that alone explains what the worker says

	// Per launch on average, where samples are so uneven that only their mean explains
	// what the worker says: a few take far longer than the rest.
	MeanS float64 `json:"mean_s,omitempty"`

	// Seconds that making the arguments ready again may take longer after a launch, because
	// of what it has left in the caches. Nobody is accused of these.
	CachesS float64 `json:"caches_s,omitempty"`

	// What a launch of a sample takes longer by the worker's clock than it claims to,
	// less what the same request takes without launches. Versions that are compared
	// take turns: values of the same index are of one moment.
	Beyond []float64 `json:"beyond_s,omitempty"`

	// What the cell's processors work longer for such a launch than the threads that it
	// may compute with have time for. On a processor.
	Helped []float64 `json:"helped_s,omitempty"`

	// How many more of its threads than those work at a time while nothing is launched.
	Beside []float64 `json:"beside,omitempty"`

	EventsS float64 `json:"events_s,omitempty"` // per sample, by CUDA's events, over all samples
	TimerS  float64 `json:"timer_s,omitempty"`  // per sample, by the GPU's global timer, from before the first event until after the second
}

// Rounds in which one version took longer beyond its claims than the other, by more
// than it may, until it hides time. Of honest versions that is so in half of the rounds
// at most, however much the machine varies, and then by chance of all but
// hidingExceptions in one of 14,000 cases. A row has six such comparisons, three of them in
// turns, so that one errs in fewer than one of 2,400.
const (
	hidingRounds     = 60
	hidingExceptions = 15
	hidingPart       = 0.08 // of its claim that a launch may take longer in any round
	hidingLeast      = 2e-6 // seconds that it may in any case
	besideLeast      = 0.08 // of a thread that may work beside what is timed
)

// Hides compares what a launch takes beyond its claim with what other versions' do. It
// returns the seconds that are hidden in all but a few rounds, whichever version it is
// compared with, 0 if none are, and whether further rounds could tell. A version without
// such readings is no witness.
func (c *ClockCheck) Hides(others ...*ClockCheck) (seconds float64, open bool) {
	return least(others, func(o *ClockCheck) []float64 { return o.Beyond }, c.Beyond, c.allowed())
}

// HasHelp does the same for what processors work beside the threads that are there to
// be timed.
func (c *ClockCheck) HasHelp(others ...*ClockCheck) (seconds float64, open bool) {
	return least(others, func(o *ClockCheck) []float64 { return o.Helped }, c.Helped, c.allowed())
}

// HasCompany does the same for threads that work while nothing is launched.
func (c *ClockCheck) HasCompany(others ...*ClockCheck) (threads float64, open bool) {
	return least(others, func(o *ClockCheck) []float64 { return o.Beside }, c.Beside, besideLeast)
}

// allowed is how many seconds a launch may take longer in any round.
func (c *ClockCheck) allowed() float64 { return allowance(c.ClaimedS, c.CachesS) }

// allowance is the same for one that claims so much.
func allowance(claimed, caches float64) float64 { return max(hidingLeast, hidingPart*claimed) + caches }

// least holds values against each of the others and returns the smallest difference: a
// version with the same readings clears a candidate.
func least(others []*ClockCheck, readings func(*ClockCheck) []float64, mine []float64, allowed float64) (more float64, open bool) {
	more, open = math.Inf(1), false
	for _, o := range others {
		if len(readings(o)) == 0 {
			continue
		}
		by, undecided := inAllBut(mine, readings(o), allowed)
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

// inAllBut is by how much values are larger than others of the same moment, by more than
// they may be, in all rounds but a few.
func inAllBut(mine, others []float64, allowed float64) (more float64, open bool) {
	rounds := min(len(mine), len(others), hidingRounds)
	beyond := make([]float64, rounds)
	exceptions := 0
	for i := range beyond {
		beyond[i] = mine[i] - max(0, others[i])
		if beyond[i] <= allowed {
			exceptions++
		}
		if exceptions > hidingExceptions || exceptions > 2 && 2*exceptions > i+1 {
			return 0, false
		}
	}
	if rounds < hidingRounds {
		return 0, true
	}
	slices.Sort(beyond)
	return beyond[hidingExceptions], false
}

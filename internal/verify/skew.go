package verify

import (
	"fmt"

	"pawl/internal/clocks"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// ClockMismatch marks a kernel whose samples take longer than they claim.
const ClockMismatch = "clock-mismatch"

// Hidden finds launches that take far longer back to back than samples claim. On a GPU only work
// outside of samples explains that; elsewhere a few samples have taken all of that time, which the
// median does not show.
func Hidden(t *result.Timing) []result.Finding {
	switch {
	case t.Clock == nil:
		return nil
	case t.Clock.MeanS > 0:
		return suspect(ClockMismatch, "half of its launches claim at most %s; on average they take %s, and back to back %s by the worker's clock: a few launches take far longer than the rest, so the median is misleading", unit.Duration(t.Clock.ClaimedS), unit.Duration(t.Clock.MeanS), unit.Duration(t.Clock.WorkerS))
	case t.Clock.HostS == 0:
		return nil
	}
	return suspect(ClockMismatch, "its launches claim %s; back to back each takes %s by the worker's clock, and just as long by its own clock when the host's work is not hidden: the host has become slower, or some work is not timed", unit.Duration(t.Clock.ClaimedS), unit.Duration(t.Clock.WorkerS))
}

// InflatedWork marks a kernel that is faster than the machine allows for the work in pawl.yaml.
const InflatedWork = "inflated-work"

// OverRoof returns the finding about a CPU kernel that claims more work than its cores can do.
func OverRoof(message string) result.Finding {
	return result.Finding{Exploit: InflatedWork, Severity: result.Suspicious, Message: message}
}

// Skew compares how long the samples of versions take beyond their claims, by a clock that none of
// them can reach. pawl's own work around a launch is the same for all. So a version that takes far
// more beyond its claims than every other, in nearly every one of many rounds in which they took
// turns, hides some of its time: in rounds that were made for this, or in those of the match.
func Skew(candidate *result.Timing, others ...*result.Timing) []result.Finding {
	if candidate == nil {
		return nil
	}
	apart, inTurns := clocksOf(others)
	hidden, claimed := 0.0, 0.0
	if candidate.Clock != nil && len(apart) > 0 {
		hidden, _ = clocks.Hides(candidate.Clock, apart...)
		claimed = candidate.Clock.ClaimedS
	}
	if hidden <= 0 {
		hidden, claimed = clocks.HidesInTurns(candidate.InTurns, inTurns...)
	}
	if hidden <= 0 {
		return nil
	}
	return suspect(ClockMismatch, "its launches claim %s; by the worker's clock each takes %s more, unlike those of the other versions", unit.Duration(claimed), unit.Duration(hidden))
}

// clocksOf returns the clocks of the versions that were compared with another clock: in separate
// rounds, and in turns.
func clocksOf(versions []*result.Timing) (apart []*result.ClockCheck, inTurns []*result.TurnClocks) {
	for _, t := range versions {
		if t != nil && t.Clock != nil {
			apart = append(apart, t.Clock)
		}
		if t != nil && t.InTurns != nil {
			inTurns = append(inTurns, t.InTurns)
		}
	}
	return apart, inTurns
}

// HelperThread marks a kernel that computes with more threads than it declares.
const HelperThread = "helper-thread"

// Helped compares the CPU time of versions with the time that their launches claim, on as many
// threads as pawl.yaml says: a version that works for longer than every other, in nearly every one
// of many rounds, also computes on other cores.
func Helped(candidate *result.Timing, others ...*result.Timing) []result.Finding {
	if candidate == nil {
		return nil
	}
	apart, inTurns := clocksOf(others)
	helped, claimed, company := 0.0, 0.0, 0.0
	if candidate.Clock != nil && len(apart) > 0 {
		helped, _ = clocks.HasHelp(candidate.Clock, apart...)
		company, _ = clocks.HasCompany(candidate.Clock, apart...)
		claimed = candidate.Clock.ClaimedS
	}
	if helped <= 0 {
		helped, claimed = clocks.HasHelpInTurns(candidate.InTurns, inTurns...)
	}
	if company <= 0 {
		company = clocks.HasCompanyInTurns(candidate.InTurns, inTurns...)
	}
	message := ""
	switch {
	case helped > 0:
		message = fmt.Sprintf("its launches claim %s, but each uses %s more CPU time than its threads can in that time, unlike those of the other versions", unit.Duration(claimed), unit.Duration(helped))
	case company > 0:
		message = fmt.Sprintf("%.2g more of its threads than declared work all the time, even while nothing is launched, unlike those of the other versions", company)
	default:
		return nil
	}
	return suspect(HelperThread, "%s; declare the threads that compute with launch: {threads: N}", message)
}

package verify

import (
	"fmt"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// ClockMismatch is a kernel whose samples take longer than they claim to.
const ClockMismatch = "clock-mismatch"

const (
	skewPart  = 0.2  // of what a launch takes that its claim may leave out
	skewLeast = 2e-6 // seconds that it may leave out in any case
)

// Hidden is a kernel on a GPU whose launches take far longer back to back than its
// samples claim, which only what happens outside of them explains.
func Hidden(t *result.Timing) []result.Finding {
	if t.Clock == nil || t.Clock.HostS == 0 {
		return nil
	}
	return []result.Finding{{
		Exploit: ClockMismatch, Severity: result.Suspicious,
		Message: fmt.Sprintf("its launches claim %s; back to back each takes %s by the worker's clock, and as long by its own where nothing hides what the host does: that has become slower, or more is done than is timed", unit.Duration(t.Clock.ClaimedS), unit.Duration(t.Clock.WorkerS)),
	}}
}

// InflatedWork is a kernel that is faster than the machine, by what pawl.yaml says it does.
const InflatedWork = "inflated-work"

// OverRoof is a kernel on a processor that claims more work than its cores can do.
func OverRoof(message string) result.Finding {
	return result.Finding{Exploit: InflatedWork, Severity: result.Suspicious, Message: message}
}

// Skew compares what the samples of two versions take beyond their claims, by a clock
// that neither reaches. What pawl itself does around a launch is the same for both:
// one that takes far more beyond its claims than the other hides some of its time.
// The least of the one is held against the most of the other, and the gap against how
// far apart the requests of either are, so that noise accuses nobody; of five or more
// a quarter at either end does not count, so that noise excuses nobody either.
func Skew(candidate, other *result.Timing) []result.Finding {
	if candidate == nil || other == nil || candidate.Clock == nil || other.Clock == nil {
		return nil
	}
	mine, theirs := inner(candidate.Clock.Beyond), inner(other.Clock.Beyond)
	if len(mine) < 2 || len(theirs) < 2 {
		return nil
	}
	mineLeast, mineMost := mine[0], mine[len(mine)-1]
	theirLeast, theirMost := theirs[0], theirs[len(theirs)-1]
	hidden, claimed := mineLeast-max(0, theirMost), candidate.Clock.ClaimedS
	apart := max(mineMost-mineLeast, theirMost-theirLeast)
	if hidden < max(skewLeast, skewPart*(claimed+hidden), apart/2) {
		return nil
	}
	return []result.Finding{{
		Exploit: ClockMismatch, Severity: result.Suspicious,
		Message: fmt.Sprintf("its launches claim %s; by the worker's clock each takes %s more than that, which the other version's do not", unit.Duration(claimed), unit.Duration(hidden)),
	}}
}

func inner(ascending []float64) []float64 {
	cut := 0
	if len(ascending) >= 5 {
		cut = len(ascending) / 4
	}
	return ascending[cut : len(ascending)-cut]
}

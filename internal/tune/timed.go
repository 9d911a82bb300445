package tune

import (
	"context"
	"math/rand/v2"
	"time"

	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/verify"
	"pawl/internal/worker/wire"
)

// Timed samples of a finalist whose answers are verified.
const (
	keptSamples   = 6  // of its duets,
	inspectMost   = 35 // and of a longer run after them, as in a check;
	inspectLeast  = 5  // fewer where the budget has ended
	samplesOfLook = 9  // that are taken for each of these, on average
)

// verifyTimed verifies answers that a finalist gave while it was timed: one that is right when it is
// verified may be wrong, or remember answers, when only time counts.
func (t *tune) verifyTimed(ctx context.Context, m *match, found *result.Verification, bench *verify.Bench) error {
	var kept []measure.Kept
	if m.Match != nil {
		if timings := m.Timings(); len(timings) > 1 {
			found.Suspect(verify.OfTiming(timings[0], t.Duet.Cache, []verify.Opponent{{Timing: timings[1], Change: m.change}})...)
		}
		kept = append(kept, m.Kept()...)
	}
	began := time.Now()
	if wrong := t.verifyKept(ctx, kept, found, m.jobs[0].Config, bench.Timed); wrong {
		return nil
	}
	looks := inspectLeast
	if each := time.Since(began).Seconds()/float64(max(1, len(kept))) + samplesOfLook*m.seconds(); each > 0 {
		looks = max(looks, min(inspectMost, int(time.Until(t.began.Add(t.Budget)).Seconds()/each)))
	}
	findings, err := bench.Inspect(ctx, verify.Inspection{
		Looks: looks, Cache: t.Duet.Cache,
		Case:  func() *result.Case { return lab.NewCase(result.TimedLane, m.jobs[0].Config, t.run.Seed, 0) },
		After: func(one *result.Case) { found.Cases = append(found.Cases, one) },
	})
	found.Findings = append(found.Findings, findings...)
	return err
}

// verifyKept verifies some of the kept samples, and reports whether one was wrong. A sample whose
// outputs are gone is skipped: a worker keeps only so many bytes of them. The samples that are timed
// after these say what became of a cell that has failed.
func (t *tune) verifyKept(ctx context.Context, kept []measure.Kept, found *result.Verification, config *spec.Config, timed func(context.Context, *result.Case, []wire.Buffer, int) ([]result.Finding, error)) (wrong bool) {
	rand.Shuffle(len(kept), func(a, b int) { kept[a], kept[b] = kept[b], kept[a] })
	for _, sample := range kept[:min(len(kept), keptSamples)] {
		one := lab.NewCase(result.TimedLane, config, t.run.Seed, sample.Batch)
		found.Cases = append(found.Cases, one)
		findings, err := timed(ctx, one, sample.Outputs, sample.Steps)
		found.Findings = append(found.Findings, findings...)
		if one.Reason != "" {
			return true
		}
		if err != nil {
			one.Skipped = err.Error()
			found.Skipped++
		}
	}
	return false
}

// seconds returns how long a finalist's sample takes; 0: its energy was measured.
func (m *match) seconds() float64 {
	if m.Match == nil {
		return 0
	}
	if timings := m.Timings(); len(timings) > 0 {
		return timings[0].Median()
	}
	return 0
}

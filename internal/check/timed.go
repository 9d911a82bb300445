package check

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/verify"
)

const (
	timedSamples     = 6 // timed samples per row whose answers are verified,
	minTimedSamples  = 2 // fewer if that takes longer than timedSpan,
	timedSpan        = 2 * time.Second
	minDeviceSamples = 1 // and for device code, which cannot tell one launch from another
	deviceSpan       = 100 * time.Millisecond

	// Timed samples that are verified before a faster version becomes the baseline. Of the kernels
	// that are wrong in one launch of eight, fewer than one in a hundred pass this.
	inspectedSamples = 35
)

// checkTiming records what the samples reveal besides their time.
func (c *check) checkTiming(j *judged) {
	v, t := j.verification, j.timing
	if v == nil || t == nil {
		return
	}
	var others []verify.Opponent
	for _, o := range j.playing() {
		others = append(others, verify.Opponent{Timing: o.timing, Change: o.change})
	}
	v.Suspect(verify.OfTiming(t, c.Duet.Cache, others)...)
}

// verifyTimedSamples verifies the answers of timed samples, drawn at random: a kernel that is right
// when it is verified must also be right when it is timed.
func (c *check) verifyTimedSamples(ctx context.Context, j *judged, room *examRoom) {
	v, x := j.verification, j.exam
	if v == nil || x == nil || v.Passed == 0 || j.fault != nil || ctx.Err() != nil {
		return
	}
	if len(j.kept) == 0 {
		if c.Duet.Keep && j.timing != nil {
			v.Limits = append(v.Limits, "no timed sample was verified: none was kept")
		}
		return
	}
	kept := slices.Clone(j.kept)
	rand.Shuffle(len(kept), func(a, b int) { kept[a], kept[b] = kept[b], kept[a] })
	if last := slices.IndexFunc(kept, func(one measure.Kept) bool { return one.Last }); last > 0 {
		kept[0], kept[last] = kept[last], kept[0]
	}
	examiner := room.examiner(ctx, c, j.verified, nil)
	bench, err := examiner.Bench(ctx, x.Instances(j.candidate.Instance))
	if err == nil {
		bench.Candidate.Instance, bench.Candidate.Symbols = j.candidate.Instance, j.candidate.Artifact.Symbols
	}
	began, verified, least, span := time.Now(), 0, minTimedSamples, timedSpan
	late := "none was kept" // why no timed sample was verified
	if j.candidate.Variant.Kernel.DeviceCode() {
		least, span, late = minDeviceSamples, deviceSpan, ""
	}
	for i, sample := range kept[:min(len(kept), timedSamples)] {
		if i >= least && time.Since(began) > span {
			break
		}
		one := lab.NewCase(result.TimedLane, j.candidate.Config, c.Duet.Seed, sample.Batch)
		err := err
		if err == nil {
			var found []result.Finding
			if found, err = bench.Timed(ctx, one, sample.Outputs, sample.Steps); err == nil {
				found, err = c.unlessMistaken(ctx, j, one, found)
			}
			v.Findings = append(v.Findings, found...)
		}
		v.Cases = append(v.Cases, one)
		switch {
		case verify.Unsteady(err) != nil:
			j.unverify(verify.Unsteady(err))
			j.convict()
			return
		case err != nil:
			one.Skipped = err.Error()
			v.Skipped++
			defer func() { _ = room.close(ctx) }() // a cell may have ended
		case one.Reason != "":
			v.Failed++
			j.notes = append(j.notes, c.noteRounding(j.verified, one)...)
		default:
			v.Passed++
			verified++
		}
		if sample.Last {
			late = one.Skipped
		}
		if one.Reason != "" {
			break
		}
	}
	if verified == 0 && len(v.Findings) == 0 {
		v.Limits = append(v.Limits, "no timed sample could be verified: "+v.Cases[len(v.Cases)-1].Skipped)
	} else if late != "" {
		v.Limits = append(v.Limits, "no late timed sample was verified: "+late)
	}
	j.convict()
}

// convict rejects a candidate that was caught cheating.
func (j *judged) convict() {
	if cheat := j.verification.Convict(); cheat != nil {
		j.fail("verify", cheat)
	}
}

// unlessMistaken drops the finding that a case is wrong only when timed, if a new cell is also
// wrong on the same data without a clock. That is a mistake which the data of the examination does
// not reveal, not a cheat. The error is a verify.UnsteadyError.
func (c *check) unlessMistaken(ctx context.Context, j *judged, one *result.Case, found []result.Finding) ([]result.Finding, error) {
	at := slices.IndexFunc(found, func(f result.Finding) bool { return f.Exploit == verify.TimedOnly })
	if at < 0 || ctx.Err() != nil {
		return found, nil
	}
	mistaken := slices.Delete(slices.Clone(found), at, at+1)
	x := j.exam
	examiner := c.lab.NewExaminer(x.Exam, j.candidate, j.candidate.Instance.Footprint, c.Duet.Seed)
	defer func() { _ = examiner.Close(context.WithoutCancel(ctx)) }()
	bench, err := examiner.Bench(ctx, x.Instances(j.candidate.Instance))
	if err != nil {
		return found, nil
	}
	wrong, err := bench.Untimed(ctx, one)
	if unsteady := verify.Unsteady(err); unsteady != nil {
		return mistaken, unsteady
	}
	if err != nil || !wrong {
		return found, nil
	}
	j.incorrect = true
	j.notes = append(j.notes, c.noteJudge(j.built, x)...)
	return mistaken, nil
}

// inspects reports whether a row is to be inspected longer.
func (c *check) inspects(verdict result.Verdict) bool {
	return c.Duet.Keep && verdict == result.Improvement
}

// inspect verifies more samples of a version that is faster: it may become the baseline, which all
// later versions are compared with. It reports whether it did.
func (c *check) inspect(ctx context.Context, j *judged, room *examRoom) bool {
	v, x := j.verification, j.exam
	if !c.inspects(j.verdict) || v == nil || x == nil || v.Passed == 0 || j.fault != nil || ctx.Err() != nil {
		return false
	}
	verified := rightTimedSamples(v)
	bench, err := room.examiner(ctx, c, j.verified, j.candidate).Bench(ctx, x.Instances(j.candidate.Instance))
	if err == nil {
		var found []result.Finding
		found, err = bench.Inspect(ctx, verify.Inspection{
			Looks: max(0, inspectedSamples-verified), Cache: c.Duet.Cache,
			Case: func() *result.Case { return lab.NewCase(result.TimedLane, j.candidate.Config, c.Duet.Seed, 0) },
			After: func(one *result.Case) {
				v.Cases = append(v.Cases, one)
				if one.Reason != "" {
					v.Failed++
					return
				}
				c.run.Emit(run.Event{Kind: run.Verify, Row: j.candidate.Name(), Text: "a faster version is verified longer", Done: verified, Total: inspectedSamples})
				v.Passed++
				verified++
			},
		})
		if last := len(v.Cases) - 1; err == nil && last >= 0 && v.Cases[last].Reason != "" {
			found, err = c.unlessMistaken(ctx, j, v.Cases[last], found)
		}
		v.Findings = append(v.Findings, found...)
	}
	if left := room.leave(ctx, j.candidate, err != nil || len(v.Findings) > 0); err == nil {
		err = left
	}
	if unsteady := verify.Unsteady(err); unsteady != nil {
		j.unverify(unsteady)
		err = nil
	}
	if err != nil && ctx.Err() == nil {
		v.Limits = append(v.Limits, fmt.Sprintf("%d of %d timed samples were verified: %v", verified, inspectedSamples, err))
		if _, own := errors.AsType[*verify.OracleError](err); !own {
			j.fail("verify", err)
		}
	}
	if why := c.tooFewAnew(j); why != "" && j.fault == nil && !j.incorrect && !j.unsteady {
		v.Limits = append(v.Limits, why)
	}
	j.convict()
	return true
}

// tooFewAnew says that a faster row was timed too seldom on wholly new data, on which its gain must
// also show; "" where it was timed often enough. Device code and launchers get new data with every
// request.
func (c *check) tooFewAnew(j *judged) string {
	if !c.inspects(j.verdict) || j.candidate.Cell() == spec.CellCUDA {
		return ""
	}
	for _, o := range j.playing() {
		if o.absent() {
			continue
		}
		if n := verify.CountAnew(j.timing, o.timing); n < verify.AnewLeast {
			return fmt.Sprintf("%d timed samples on entirely new data could be compared with the %s version's; at least %d are needed", n, o.role, verify.AnewLeast)
		}
	}
	return ""
}

// rightTimedSamples counts the timed samples whose answers were right.
func rightTimedSamples(v *result.Verification) int {
	right := 0
	for _, one := range v.Cases {
		if one.Lane == result.TimedLane && one.Skipped == "" && one.Reason == "" {
			right++
		}
	}
	return right
}

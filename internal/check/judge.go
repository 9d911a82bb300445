package check

import (
	"context"
	"slices"

	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/verify"
)

// judged is a row with its verdict.
type judged struct {
	*played
	state
	verdict result.Verdict
	reasons []result.Reason
	needs   *result.Needs // nil: it is decided, or nothing would
}

// judge gives the rows of a group their verdicts.
func (c *check) judge(ctx context.Context, group []*played) []*judged {
	var out []*judged
	var largest int64
	for _, p := range group {
		largest = max(largest, c.largest[p.candidate.Variant.Kernel.Name])
		j := &judged{played: p, state: p.state}
		j.verification = copied(p.verification)
		out = append(out, j)
	}
	lookAtAll(ctx, out, looks(out, c.lab.Examiners(largest)), c.lookAt)
	var room examRoom
	defer func() { _ = room.close(ctx) }()
	for _, j := range out {
		c.judgeRow(ctx, j, &room)
		done := int(c.done.Load())
		if j.verified.isMeasured() {
			done = int(c.done.Add(1))
		}
		c.run.Emit(run.Event{Kind: run.RowDone, Row: j.candidate.Name(), Fault: j.fault, MedianS: j.timing.Median(), Done: done, Total: c.total})
	}
	return out
}

// rowsPerLook is how many rows of device code are worth cells of their own: opening them takes as
// long as verifying the timed samples of that many.
const rowsPerLook = 3

// looks returns how many rows are looked at, at a time. Only rows of device code are looked at
// beside each other; the number of examiners limits them.
func looks(rows []*judged, examiners int) int {
	if slices.ContainsFunc(rows, func(j *judged) bool { return !j.candidate.Variant.Kernel.DeviceCode() }) {
		return 1
	}
	return max(1, min(examiners, len(rows)/rowsPerLook))
}

// lookAtAll looks at what was measured, several rows at a time: whoever is free takes the next.
func lookAtAll(ctx context.Context, rows []*judged, looks int, lookAt func(context.Context, *judged, *examRoom)) {
	waiting := make(chan *judged, len(rows))
	for _, j := range rows {
		waiting <- j
	}
	close(waiting)
	lab.AtATime(looks, min(looks, len(rows)), func(int) {
		var room examRoom
		defer func() { _ = room.close(ctx) }()
		for j := range waiting {
			lookAt(ctx, j, &room)
		}
	})
}

// lookAt records what the samples of a row reveal, and verifies some of them.
func (c *check) lookAt(ctx context.Context, j *judged, room *examRoom) {
	if j.tried {
		c.checkTiming(j)
		c.verifyTimedSamples(ctx, j, room)
	}
}

// judgeRow judges what was measured. A faster version is inspected longer. A version that the change
// is slower than must itself be right.
func (c *check) judgeRow(ctx context.Context, j *judged, room *examRoom) {
	decide := func() { j.verdict, j.reasons = judge.Verdict(j.evidence(j.state, c.gate)) }
	if !j.tried {
		decide()
		return
	}
	c.holdAgainstRoof(j)
	decide()
	if c.inspect(ctx, j, room) {
		decide()
	}
	if j.verdict == result.Regression {
		c.excuse(ctx, j)
		decide()
	}
	j.needs = c.needs(j)
	j.notes = append(j.notes, c.lab.Doubts(j.candidate, j.timing, c.gate.CV)...)
}

// hear judges rows anew whose fault came to light when their last cell was closed: Python cells are
// kept for the next row.
func (c *check) hear(rows []*judged) []*judged {
	out := slices.Clone(rows)
	for i, before := range rows {
		late := before.candidate.Record.Fault
		if late == nil || before.fault != nil {
			continue
		}
		j := *before
		j.fault, j.incorrect, j.needs = late, false, nil
		j.verdict, j.reasons = judge.Verdict(j.evidence(j.state, c.gate))
		out[i] = &j
	}
	return out
}

// copied returns a copy of the verification that later stages may add to.
func copied(v *result.Verification) *result.Verification {
	if v == nil {
		return nil
	}
	out := *v
	out.Cases, out.Findings, out.Limits = slices.Clip(v.Cases), slices.Clip(v.Findings), slices.Clip(v.Limits)
	return &out
}

// fail records why a candidate has no (trustworthy) number.
func (j *judged) fail(stage string, err error) {
	j.fault, j.incorrect = j.candidate.FaultOf(stage, err), false
}

// holdAgainstRoof records the percentage of the device's peak that the row and its opponents
// reached.
func (c *check) holdAgainstRoof(j *judged) {
	if j.fault == nil {
		roofed := c.lab.HoldAgainstRoof(j.candidate, j.timing)
		j.timing = roofed.Timing
		j.notes = append(j.notes, roofed.Warnings...)
		if j.verification != nil {
			j.verification.Suspect(roofed.Findings...)
		}
		if roofed.Fault != nil {
			j.fail("measure", roofed.Fault)
		}
	}
	j.sides = j.each(func(before *side) *side {
		if before.job == nil || before.fault != nil {
			return before
		}
		o := *before
		roofed := c.lab.HoldAgainstRoof(o.job, o.timing)
		o.timing, o.notes = roofed.Timing, append(slices.Clip(o.notes), roofed.Warnings...)
		if roofed.Fault != nil {
			o.fault = o.job.FaultOf("measure", roofed.Fault)
		}
		return &o
	})
}

// excuse verifies the answers of the versions that a change is slower than: the speed of a wrong
// version is no standard.
func (c *check) excuse(ctx context.Context, j *judged) {
	x := j.exam
	if x == nil || x.err != nil || x.Oracle == nil {
		return
	}
	j.sides = j.each(func(o *side) *side {
		if !o.plays || o.change == nil {
			return o
		}
		if reason := c.wrong(ctx, x, o.job); reason != "" && ctx.Err() == nil {
			o = o.with("the " + string(o.role) + " version gives wrong answers: " + reason)
			o.change = nil
		}
		return o
	})
}

// wrong says what is wrong with a version's answers; "": nothing, or nobody can say.
func (c *check) wrong(ctx context.Context, x *exam, job *lab.Job) string {
	examiner := c.lab.NewExaminer(x.Exam, job, job.Instance.Footprint, c.Duet.Seed)
	defer func() { _ = examiner.Close(context.WithoutCancel(ctx)) }()
	one := lab.NewCase("config", job.Config, c.Duet.Seed, lab.VerifyBatch)
	bench, err := examiner.Bench(ctx, x.Instances(job.Instance))
	if err == nil {
		_, err = bench.Try(ctx, one, verify.Trial{})
	}
	if err != nil {
		return ""
	}
	return one.Reason
}

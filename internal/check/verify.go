package check

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"pawl/internal/measure"
	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/lab"
	"pawl/internal/verify"
)

// Data that answers are looked at on, and data that is timed, are never the same:
// their batches are far apart.
const (
	verifyBatch = 1 << 20
	timedLooks  = 6 // timed samples of a row whose answers are looked at,
	timedLeast  = 2 // fewer where that takes longer than timedSpan,
	timedSpan   = 2 * time.Second
	deviceLeast = 1 // and of device code, which does not know one launch from another
	deviceSpan  = 100 * time.Millisecond

	// Looks at timed samples of what becomes the baseline for being faster. Of a kernel
	// that is wrong in one launch of eight, fewer than one in a hundred get past them.
	inspectLooks = 35
	besideSpan   = 3 * time.Second // for the neighbours of a kernel's first config,
	besideMore   = time.Second     // and after so long one neighbour of each of the others will do
)

// verify looks at the answers of every candidate that is to be measured. One whose
// answers are wrong is not.
func (c *check) verify(ctx context.Context) {
	var waiting []*contest
	var jobs []*lab.Job
	for _, k := range c.contests {
		if k.row.Fault != nil || k.row.Verdict == result.Unchanged && !k.alone || k.candidate.Artifact == nil {
			continue
		}
		k.exam = c.examOf(k)
		waiting = append(waiting, k)
		for _, job := range []*lab.Job{k.exam.reference, k.exam.rival} {
			if job != nil && job.Artifact == nil {
				jobs = append(jobs, job)
			}
		}
	}
	if err := c.lab.Build(ctx, jobs); err != nil {
		return // the worker is gone; measuring says so
	}
	var room examRoom
	for i, k := range waiting {
		if ctx.Err() != nil {
			break
		}
		c.run.Emit(run.Event{Kind: run.Verify, Row: k.row.Name(), Done: i, Total: len(waiting)})
		c.examine(ctx, k, &room)
	}
	_ = room.close(ctx)
}

// examine looks at one contest's answers.
func (c *check) examine(ctx context.Context, k *contest, room *examRoom) {
	v := &result.Verification{Integrity: result.Clean, Seed: c.Duet.Seed}
	k.row.Verification = v
	x := k.exam
	if x.err != nil {
		k.candidate.Fail("verify", x.err)
		return
	}
	v.Oracle = x.answers.String()
	if x.answers.Oracle == nil {
		if x.reference == nil {
			v.Limits = append(v.Limits, "nobody knows the right answers: the kernel has no oracle and there is no earlier version")
			return
		}
		v.Oracle = "the base version"
		v.Limits = append(v.Limits, "the kernel has no oracle: its answers are those of the base version, which nobody has proven")
	}
	for _, job := range []*lab.Job{x.reference, x.rival} {
		if job != nil && job.Row.Fault != nil {
			k.candidate.Fail("verify", x.unbuilt(v.Oracle, job.Row.Fault))
			return
		}
	}
	examiner := room.examiner(ctx, c, k, k.candidate)
	one := lab.NewCase("config", k.candidate.Instance.Config, c.Duet.Seed)
	one.Batch = verifyBatch
	v.Cases = append(v.Cases, one)
	bench, err := examiner.Bench(ctx, x.instances(k))
	if err == nil {
		trial := verify.Trial{Fresh: true, Repeats: 2}
		if x.varies {
			trial.Repeats = 1
		}
		v.Findings, err = bench.Try(ctx, one, trial)
		c.remembers(k, bench.Retained)
	}
	failed := err != nil || one.Fault != nil || one.Reason != ""
	if !failed && one.Skipped == "" {
		var found []result.Finding
		var near error
		found, near, err = x.beside(ctx, room, bench, k.candidate.Instance, c.Duet.Seed)
		v.Findings = append(v.Findings, found...)
		if near != nil { // it says nothing of this config, and the cells may be gone
			_ = room.close(ctx)
			examiner = room.examiner(ctx, c, k, k.candidate)
		}
	}
	if !failed && err == nil && one.Skipped == "" && len(v.Findings) == 0 {
		err = c.listKernels(ctx, k, examiner)
	}
	if !failed && err == nil && one.Skipped == "" && len(v.Findings) == 0 {
		err = c.novel(ctx, k, examiner)
	}
	if closing := room.leave(ctx, k, failed || err != nil); err == nil && one.Fault == nil && closing != nil {
		k.candidate.Fail("verify", closing)
		return
	}
	c.settleExam(ctx, k, one, err)
}

// remembers says what it means that launches leave something behind. Before every
// sample it is taken back; within one there are several launches on the same data
// only where these are to find it in the cache.
func (c *check) remembers(k *contest, retained bool) {
	switch {
	case !retained:
	case c.Duet.Cache == "hot":
		k.row.Verification.Findings = append(k.row.Verification.Findings, verify.Remembers())
	default:
		k.row.Warnings = append(k.row.Warnings, result.Warning{
			Code: "retained", Message: "launches leave something in __device__ variables; no sample finds what the one before it left",
			Hint: "in your program the next launch will: pass it as an argument if that matters",
		})
	}
}

// novel looks whether code that could remember its last data and answers lives on
// them. What runs on a GPU has other data with every request.
func (c *check) novel(ctx context.Context, k *contest, examiner *lab.Examiner) error {
	if k.candidate.GPU() {
		return nil
	}
	bench, err := examiner.Bench(ctx, k.exam.instances(k))
	if err == nil {
		err = bench.Prepare(ctx)
	}
	if err != nil {
		return err
	}
	found, err := bench.Novel(ctx)
	k.row.Verification.Findings = append(k.row.Verification.Findings, found...)
	return err
}

// listKernels takes down what runs on the device when code launches by itself.
func (c *check) listKernels(ctx context.Context, k *contest, examiner *lab.Examiner) error {
	if !k.candidate.GPU() || k.candidate.Variant.Kernel.DeviceCode() {
		return nil
	}
	v := k.row.Verification
	bench, err := examiner.Bench(ctx, k.exam.instances(k))
	if err == nil {
		err = bench.Prepare(ctx)
	}
	if err != nil || !bench.Candidate.Cell.OnDevice {
		return err
	}
	traced, err := bench.Trace(ctx, verifyBatch)
	if err != nil {
		return err
	}
	v.Kernels = traced.Kernels
	v.Findings = append(v.Findings, verify.Outside(traced.Outside)...)
	if len(v.Kernels) == 0 {
		v.Limits = append(v.Limits, "which kernels ran is not known: "+cmp.Or(traced.NoKernels, "the profiler lists none"))
		return nil
	}
	if k.row.Cell != spec.CellCUDA {
		return nil // a Python function is made of other people's kernels
	}
	own, err := cuda.KernelNames(k.candidate.Artifact.Bytes)
	if err != nil {
		v.Limits = append(v.Limits, "which kernels are its own is not known: "+err.Error())
		return nil
	}
	v.Findings = append(v.Findings, verify.Foreign(v.Kernels, own, k.candidate.Variant.Kernel.Flags)...)
	return nil
}

// beside looks whether the kernel is as right and as fast at the sizes next to its
// own. What it cannot do there at all is no finding: failed says what that was. An
// answer that its code has forged is an error.
func (x *exam) beside(ctx context.Context, room *examRoom, bench *verify.Bench, here *spec.Instance, seed uint64) (found []result.Finding, failed, err error) {
	near := verify.Neighbours(here)
	if len(near) == 0 {
		return nil, nil, nil
	}
	rand.Shuffle(len(near), func(i, j int) { near[i], near[j] = near[j], near[i] })
	began := time.Now()
	enough := besideSpan
	if room.beside > 0 {
		enough = besideMore
	}
	defer func() { room.beside += time.Since(began) }()
	seconds, err := bench.Quick(ctx)
	for i, next := range near {
		if err != nil || i > 0 && room.beside+time.Since(began) > enough {
			break
		}
		if found, err = x.besideAt(ctx, room.open, bench, next, seconds, seed); found != nil {
			return found, err, nil
		}
	}
	var fault *result.Fault
	if errors.As(err, &fault) && fault.Cause == result.CauseForged {
		return nil, nil, err
	}
	return nil, err, nil
}

// besideAt looks at one of the sizes next to that of here, where a launch takes so many
// seconds.
func (x *exam) besideAt(ctx context.Context, examiner *lab.Examiner, here *verify.Bench, next *spec.Instance, seconds float64, seed uint64) ([]result.Finding, error) {
	instances := [3]*spec.Instance{next}
	for i, job := range []*lab.Job{x.reference, x.rival} {
		if job == nil {
			continue
		}
		var err error
		if instances[i+1], err = nextTo(job, next); err != nil {
			return nil, err
		}
	}
	bench, err := examiner.Bench(ctx, instances)
	if err != nil {
		return nil, err
	}
	one := lab.NewCase("neighbour", next.Config, seed)
	one.Batch = verifyBatch
	if _, err := bench.Try(ctx, one, verify.Trial{}); err != nil || one.Skipped != "" {
		return nil, err
	}
	if one.Fault != nil {
		return nil, one.Fault
	}
	if one.Reason != "" {
		return []result.Finding{verify.Special(here.Candidate.Instance, next, one.Reason)}, nil
	}
	return here.Cliff(ctx, bench, seconds)
}

// nextTo is another implementation at a size next to the candidate's: by that config or,
// where it does not know its names, by the one next to its own that is the same problem.
func nextTo(job *lab.Job, next *spec.Instance) (*spec.Instance, error) {
	in, err := job.Variant.At(next.Config)
	if err == nil {
		return in, nil
	}
	for _, in := range verify.Neighbours(job.Instance) {
		if verify.Answers(in, next) == nil {
			return in, nil
		}
	}
	return nil, err
}

// settleExam turns what was found into the row's state.
func (c *check) settleExam(ctx context.Context, k *contest, one *result.Case, err error) {
	v := k.row.Verification
	var own *verify.OracleError
	switch {
	case ctx.Err() != nil:
		k.candidate.Fail("verify", context.Canceled)
	case errors.As(err, &own):
		fault := c.unanswered(k, own)
		one.Skipped = own.Error()
		v.Skipped++
		k.candidate.Fail("verify", fault)
	case err != nil:
		k.candidate.Fail("verify", err)
	case one.Skipped != "":
		v.Skipped++
		v.Limits = append(v.Limits, one.Skipped)
	case one.Fault != nil:
		v.Failed++
		k.candidate.Fail("verify", one.Fault)
	case one.Reason != "":
		v.Failed++
		k.row.Verdict = result.Incorrect
		c.noteJudge(k)
	default:
		v.Passed++
	}
	c.convict(k)
}

// convict rejects a candidate that was caught cheating.
func (c *check) convict(k *contest) {
	v := k.row.Verification
	for _, f := range v.Findings {
		if f.Severity == result.Cheated {
			v.Integrity = result.Cheated
			k.candidate.Fail("verify", &result.Fault{Cause: result.CauseCheat, Message: f.Exploit + ": " + f.Message, Hint: "docs/integrity.md says how this is found"})
			return
		}
		v.Integrity = result.Suspicious
	}
}

// lookAtTiming takes down what samples have given away besides their time.
func (c *check) lookAtTiming(k *contest) {
	v, t := k.row.Verification, k.row.Timing
	if v == nil || t == nil {
		return
	}
	found := len(v.Findings)
	if t.SetAside && c.Duet.Cache != "hot" {
		v.Findings = append(v.Findings, verify.SetAside())
	}
	v.Findings = append(v.Findings, verify.Hidden(t)...)
	var others []*result.Timing
	for _, o := range k.playing {
		others = append(others, o.job.Row.Timing)
	}
	beside := verify.Skew(t, others...)
	if len(beside) == 0 { // what is hidden from one clock is on the other, too
		beside = verify.Helped(t, others...)
	}
	v.Findings = append(v.Findings, beside...)
	for i, other := range others {
		claimed := 0.0
		if change := k.playing[i].side.Change; change != nil {
			claimed = change.Median
		}
		if remembers := verify.Anew(t, other, claimed); len(remembers) > 0 {
			v.Findings = append(v.Findings, remembers...)
			break
		}
	}
	if len(v.Findings) > found && v.Integrity == result.Clean {
		v.Integrity = result.Suspicious
	}
}

// lookAtTimed judges the answers of timed samples, drawn at random: a kernel that
// is right when it is looked at must be right when it is timed.
func (c *check) lookAtTimed(ctx context.Context, k *contest, kept []measure.Kept, room *examRoom) {
	v, x := k.row.Verification, k.exam
	if v == nil || x == nil || v.Passed == 0 || k.row.Fault != nil || ctx.Err() != nil {
		return
	}
	if len(kept) == 0 {
		if c.Duet.Keep && k.row.Timing != nil {
			v.Limits = append(v.Limits, "no timed sample was looked at: none was kept")
		}
		return
	}
	rand.Shuffle(len(kept), func(i, j int) { kept[i], kept[j] = kept[j], kept[i] })
	if last := slices.IndexFunc(kept, func(one measure.Kept) bool { return one.Last }); last > 0 {
		kept[0], kept[last] = kept[last], kept[0]
	}
	examiner := room.examiner(ctx, c, k, nil)
	bench, err := examiner.Bench(ctx, x.instances(k))
	if err == nil {
		bench.Candidate.Instance, bench.Candidate.Symbols = k.candidate.Instance, k.candidate.Artifact.Symbols
	}
	began, looked, least, span := time.Now(), 0, timedLeast, timedSpan
	late := "none was kept" // why none of those was looked at that came last
	if k.candidate.Variant.Kernel.DeviceCode() {
		least, span, late = deviceLeast, deviceSpan, ""
	}
	for i, sample := range kept[:min(len(kept), timedLooks)] {
		if i >= least && time.Since(began) > span {
			break
		}
		one := lab.NewCase(result.TimedLane, k.candidate.Instance.Config, c.Duet.Seed)
		one.Batch = sample.Batch
		err := err
		if err == nil {
			var found []result.Finding
			found, err = bench.Timed(ctx, one, sample.Outputs, sample.Steps)
			v.Findings = append(v.Findings, c.unlessMistaken(ctx, k, one, found)...)
		}
		v.Cases = append(v.Cases, one)
		switch {
		case err != nil:
			one.Skipped = err.Error()
			v.Skipped++
			defer func() { _ = room.close(ctx) }() // a cell may be gone
		case one.Reason != "":
			v.Failed++
		default:
			v.Passed++
			looked++
		}
		if sample.Last {
			late = one.Skipped
		}
		if one.Reason != "" {
			break
		}
	}
	if looked == 0 && len(v.Findings) == 0 {
		v.Limits = append(v.Limits, "no timed sample could be looked at: "+v.Cases[len(v.Cases)-1].Skipped)
	} else if late != "" {
		v.Limits = append(v.Limits, "none of the samples was looked at that came when all were timed: "+late)
	}
	c.convict(k)
}

// unlessMistaken drops the finding that a case is wrong only when it is timed, where a new
// cell is wrong on the same data without a clock, too: that is a mistake which the data of
// the examination does not show, and no cheat.
func (c *check) unlessMistaken(ctx context.Context, k *contest, one *result.Case, found []result.Finding) []result.Finding {
	at := slices.IndexFunc(found, func(f result.Finding) bool { return f.Exploit == verify.TimedOnly })
	if at < 0 || ctx.Err() != nil {
		return found
	}
	x := k.exam
	examiner := c.lab.NewExaminer(x.answers, k.candidate, x.reference, x.rival, k.candidate.Instance.Footprint, c.Duet.Seed)
	defer func() { _ = examiner.Close(context.WithoutCancel(ctx)) }()
	bench, err := examiner.Bench(ctx, x.instances(k))
	if err != nil {
		return found
	}
	if wrong, err := bench.Untimed(ctx, one); err != nil || !wrong {
		return found
	}
	k.row.Verdict = result.Incorrect
	c.noteJudge(k)
	return slices.Delete(slices.Clone(found), at, at+1)
}

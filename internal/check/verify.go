package check

import (
	"cmp"
	"context"
	"errors"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/verify"
)

// Answers are never verified on the data that is timed: the batches are far apart.
const verifyBatch = 1 << 20

// verified is a row whose answers were compared with the oracle's before it is measured.
type verified struct {
	*built
	exam         *exam                // nil: its answers are not verified
	verification *result.Verification // nil: they could not be verified
	fault        *result.Fault        // the candidate's so far
	incorrect    bool
	notes        []result.Warning
}

// verify compares the answers of every candidate that is to be measured. A candidate with wrong
// answers is not measured.
func (c *check) verify(ctx context.Context, rows []*built) []*verified {
	var out, waiting []*verified
	var jobs []*lab.Job
	for _, b := range rows {
		v := &verified{built: b, fault: b.candidate.Record.Fault}
		out = append(out, v)
		if v.fault != nil || b.unchanged && !b.alone || b.candidate.Artifact == nil {
			continue
		}
		v.exam = c.examOf(b)
		v.notes = v.exam.notes
		waiting = append(waiting, v)
		for _, job := range v.exam.jobs() {
			if job.Artifact == nil {
				jobs = append(jobs, job)
			}
		}
	}
	if err := c.lab.Build(ctx, jobs); err != nil {
		return out // the worker has ended; the measurement reports it
	}
	var room examRoom
	for i, v := range waiting {
		if ctx.Err() != nil {
			break
		}
		c.run.Emit(run.Event{Kind: run.Verify, Row: v.candidate.Name(), Done: i, Total: len(waiting)})
		c.examine(ctx, v, &room)
	}
	_ = room.close(ctx)
	return out
}

// examine compares one row's answers and completes its value.
func (c *check) examine(ctx context.Context, v *verified, room *examRoom) {
	found := &result.Verification{Integrity: result.Clean, Seed: c.Duet.Seed}
	v.verification = found
	x := v.exam
	if x.err != nil {
		v.fault = v.candidate.FaultOf("verify", x.err)
		return
	}
	found.Oracle = x.answers.String()
	if x.answers.Oracle == nil {
		if x.reference == nil {
			found.Limits = append(found.Limits, "nobody knows the right answers: the kernel has no oracle and there is no earlier version")
			return
		}
		found.Oracle = "the base version"
		found.Limits = append(found.Limits, "the kernel has no oracle: its answers are those of the base version, which nobody has proven")
	}
	for _, job := range x.jobs() {
		if job.Record.Fault != nil {
			v.fault = v.candidate.FaultOf("verify", x.unbuilt(found.Oracle, job.Record.Fault))
			return
		}
	}
	examiner := room.examiner(ctx, c, v, v.candidate)
	one := lab.NewCase("config", v.candidate.Config, c.Duet.Seed)
	one.Batch = verifyBatch
	found.Cases = append(found.Cases, one)
	bench, err := examiner.Bench(ctx, x.instances(v.candidate.Instance))
	if err == nil {
		trial := verify.Trial{Fresh: true, Repeats: 2}
		if x.varies {
			trial.Repeats = 1
		}
		found.Findings, err = bench.Try(ctx, one, trial)
		c.noteRetained(v, bench.Retained)
	}
	failed := err != nil || one.Fault != nil || one.Reason != ""
	if !failed && one.Skipped == "" {
		var beside []result.Finding
		var near error
		beside, near, err = x.beside(ctx, room, bench, v.candidate.Instance, c.Duet.Seed)
		found.Findings = append(found.Findings, beside...)
		if near != nil { // the neighbour says nothing of this config, and the cells may have ended
			_ = room.close(ctx)
			examiner = room.examiner(ctx, c, v, v.candidate)
		}
	}
	for _, more := range []func(context.Context, *verified, *lab.Examiner) error{listKernels, findMemory} {
		if !failed && err == nil && one.Skipped == "" && len(found.Findings) == 0 {
			err = more(ctx, v, examiner)
		}
	}
	if closing := room.leave(ctx, v.candidate, failed || err != nil); err == nil && one.Fault == nil && closing != nil {
		v.fault = v.candidate.FaultOf("verify", closing)
		return
	}
	c.conclude(ctx, v, one, err)
}

// noteRetained explains what it means that launches keep state in memory. That state is reset
// before every sample. Within a sample there are several launches on the same data only where they
// are meant to find it in the cache.
func (c *check) noteRetained(v *verified, retained bool) {
	switch {
	case !retained:
	case c.Duet.Cache == "hot":
		v.verification.Findings = append(v.verification.Findings, verify.Remembers()...)
	default:
		v.notes = append(v.notes, result.Warning{
			Code: "retained", Message: "launches leave something in __device__ variables; no sample finds what the one before it left",
			Hint: "in your program the next launch will: pass it as an argument if that matters",
		})
	}
}

// prepared returns the bench of a row's problem, with the arguments in place.
func (v *verified) prepared(ctx context.Context, examiner *lab.Examiner) (*verify.Bench, error) {
	bench, err := examiner.Bench(ctx, v.exam.instances(v.candidate.Instance))
	if err == nil {
		err = bench.Prepare(ctx)
	}
	return bench, err
}

// findMemory finds out whether code that could remember its last data and answers depends on them.
// Code on a GPU gets new data with every request.
func findMemory(ctx context.Context, v *verified, examiner *lab.Examiner) error {
	if v.candidate.GPU() {
		return nil
	}
	bench, err := v.prepared(ctx, examiner)
	if err != nil {
		return err
	}
	found, err := bench.Novel(ctx)
	v.verification.Findings = append(v.verification.Findings, found...)
	return err
}

// listKernels records the kernels that run on the device when code launches by itself.
func listKernels(ctx context.Context, v *verified, examiner *lab.Examiner) error {
	job, found := v.candidate, v.verification
	if !job.GPU() || job.Variant.Kernel.DeviceCode() {
		return nil
	}
	bench, err := v.prepared(ctx, examiner)
	if err != nil || !bench.Candidate.Cell.OnDevice {
		return err
	}
	traced, err := bench.Trace(ctx, verifyBatch)
	if err != nil {
		return err
	}
	found.Kernels = traced.Kernels
	found.Findings = append(found.Findings, verify.Outside(traced.Outside)...)
	if len(found.Kernels) == 0 {
		found.Limits = append(found.Limits, "which kernels ran is not known: "+cmp.Or(traced.NoKernels, "the profiler lists none"))
		return nil
	}
	if job.Cell() != spec.CellCUDA {
		return nil // a Python function consists of other people's kernels
	}
	own, err := job.Artifact.Kernels()
	if err != nil {
		found.Limits = append(found.Limits, "which kernels are its own is not known: "+err.Error())
		return nil
	}
	found.Findings = append(found.Findings, verify.Foreign(found.Kernels, own, job.Variant.Kernel.Flags)...)
	return nil
}

// conclude turns the findings into the row's state.
func (c *check) conclude(ctx context.Context, v *verified, one *result.Case, err error) {
	found := v.verification
	var own *verify.OracleError
	switch {
	case ctx.Err() != nil:
		v.fault = v.candidate.FaultOf("verify", context.Canceled)
	case errors.As(err, &own):
		fault := v.exam.unanswered(v.built, own)
		one.Skipped = own.Error()
		found.Skipped++
		v.fault = v.candidate.FaultOf("verify", fault)
	case err != nil:
		v.fault = v.candidate.FaultOf("verify", err)
	case one.Skipped != "":
		found.Skipped++
		found.Limits = append(found.Limits, one.Skipped)
	case one.Fault != nil:
		found.Failed++
		v.fault = v.candidate.FaultOf("verify", one.Fault)
	case one.Reason != "":
		found.Failed++
		v.incorrect = true
		v.notes = append(v.notes, c.noteJudge(v.built, v.exam)...)
	default:
		found.Passed++
	}
	if cheat := convict(found); cheat != nil {
		v.fault, v.incorrect = v.candidate.FaultOf("verify", cheat), false
	}
}

// convict sets the integrity that follows from the findings, and returns the fault of a candidate
// that was caught cheating.
func convict(v *result.Verification) error {
	for _, f := range v.Findings {
		if f.Severity == result.Cheated {
			v.Integrity = result.Cheated
			return &result.Fault{Cause: result.CauseCheat, Message: f.Exploit + ": " + f.Message, Hint: "docs/integrity.md says how this is found"}
		}
		v.Integrity = result.Suspicious
	}
	return nil
}

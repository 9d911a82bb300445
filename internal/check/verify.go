package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/verify"
)

// verified is a row whose answers were compared with the oracle's before it is measured.
type verified struct {
	*built
	state
	exam  *exam         // nil: its answers are not verified
	first *result.Fault // of a first examination beside other kernels; nil: it had none
}

// verify compares the answers of every candidate that is to be measured. A candidate with wrong
// answers is not measured.
func (c *check) verify(ctx context.Context, rows []*built) []*verified {
	var out, waiting []*verified
	var jobs []*lab.Job
	for _, b := range rows {
		v := &verified{built: b, state: b.state}
		out = append(out, v)
		if v.fault != nil || b.unchanged && !b.alone || b.candidate.Artifact == nil {
			continue
		}
		v.exam = c.examOf(b)
		v.exam.answers = c.Spec.OnlyAnswers(b.candidate.Variant.Kernel)
		v.notes = append(v.notes, v.exam.notes...)
		waiting = append(waiting, v)
		for _, job := range v.exam.Jobs() {
			if job.Artifact == nil {
				jobs = append(jobs, job)
			}
		}
	}
	if err := c.lab.Build(ctx, jobs); err != nil { // the worker has ended
		for _, v := range waiting {
			v.fault = v.candidate.FaultOf("verify", err)
		}
		return out
	}
	shareNeighbours(waiting)
	var largest int64
	for _, v := range waiting {
		if v.candidate.GPU() {
			largest = max(largest, c.largest[v.candidate.Variant.Kernel.Name])
		}
	}
	parts := [][]*verified{waiting}
	if c.Options.Lab.Workers > 1 {
		parts = grouped(waiting, func(v *verified) string { return v.candidate.Variant.Kernel.Name })
	}
	if len(waiting) == 0 {
		return out
	}
	err := c.lab.Share(ctx, lab.Work{Pieces: len(parts), Devices: []int{c.lab.Device}}, func(lane *lab.Lab, pieces iter.Seq[lab.Piece]) {
		own := *c
		own.lab = lane
		for piece := range pieces {
			part := parts[piece.N]
			if piece.Again {
				for _, v := range part {
					v.forget()
				}
			}
			own.examineAll(ctx, part, lane.Examiners(largest), own.examine)
			for _, v := range part {
				v.fault = piece.Explain(lane, v.fault)
			}
		}
	})
	if err != nil { // there is no such GPU
		for _, v := range waiting {
			v.fault = v.candidate.FaultOf("verify", err)
		}
	}
	return out
}

// examineAll examines rows, several GPU rows at a time. Rows of one kernel stay together, since they
// share cells, unless there are examiners for more. A row without verified answers, if other kernels
// may be the reason, is examined again alone.
func (c *check) examineAll(ctx context.Context, rows []*verified, examiners int, examine func(context.Context, *verified, *examRoom)) {
	device := &lab.SharedDevice{}
	var begun atomic.Int64
	all := func(some []*verified, room *examRoom) {
		for _, v := range some {
			if ctx.Err() != nil {
				return
			}
			done := min(int(begun.Add(1)), len(rows)) - 1
			c.run.Emit(run.Event{Kind: run.Verify, Row: v.candidate.Name(), Done: done, Total: len(rows)})
			examine(ctx, v, room)
			if room.used && v.doubtful() && ctx.Err() == nil { // another kernel's launches may be the reason
				_ = room.close(ctx)
				v.reset()
				examine(ctx, v, room)
			}
		}
	}
	leave := func(room *examRoom) {
		device.Share()
		defer device.Leave()
		_ = room.close(ctx)
	}
	var together [][]*verified
	var alone []*verified
	for _, v := range rows {
		if examiners == 1 || !v.candidate.GPU() {
			alone = append(alone, v)
		}
	}
	shared := len(rows) - len(alone)
	for _, group := range grouped(rows, func(v *verified) string { return v.candidate.Variant.Kernel.Name }) {
		if examiners == 1 || !group[0].candidate.GPU() {
			continue
		}
		size := len(group)
		if group[0].candidate.Variant.Kernel.DeviceCode() && size*examiners > shared {
			size = 1 // whoever is free takes the next, the longest first
			slices.SortStableFunc(group, func(a, b *verified) int { return cmp.Compare(work(b), work(a)) })
		}
		together = slices.AppendSeq(together, slices.Chunk(group, size))
	}
	room := &examRoom{device: device}
	all(alone, room)
	leave(room)
	waiting := make(chan []*verified, len(together))
	for _, part := range together {
		waiting <- part
	}
	close(waiting)
	lab.AtATime(examiners, min(examiners, len(together)), func(int) {
		room := &examRoom{device: device}
		defer leave(room) // while others go on
		for part := range waiting {
			all(part, room)
		}
	})
	var again []*verified
	for _, v := range rows {
		if len(together) > 1 && v.candidate.GPU() && v.crowded() && ctx.Err() == nil {
			v.first = v.fault
			v.reset()
			if v.first != nil {
				v.notes = append(v.notes, result.Warning{
					Code: "crowded", Message: fmt.Sprintf("it was verified again, alone: beside other kernels it failed (%s: %s)", v.first.Cause, v.first.Message),
					Hint: "if it fails from time to time, check it by itself: pawl check " + v.candidate.Name(),
				})
			}
			again = append(again, v)
		}
	}
	room = &examRoom{device: device, fresh: true}
	all(again, room)
	leave(room)
}

// work returns a measure of how long a row's answers take, to compare rows of one kernel.
func work(v *verified) float64 {
	in := v.candidate.Instance
	if in == nil {
		return 0
	}
	return cmp.Or(in.Flops, float64(in.Footprint))
}

// forget drops what was found with a worker that was lost.
func (v *verified) forget() {
	v.first = nil
	v.reset()
}

// reset takes back what an examination found.
func (v *verified) reset() {
	v.state, v.candidate.Record.Log = v.built.state, ""
	v.notes = append(slices.Clone(v.notes), v.exam.notes...)
}

// doubtful reports whether an examination found anything against the row.
func (v *verified) doubtful() bool {
	return v.fault != nil || v.incorrect || v.verification != nil && (len(v.verification.Findings) > 0 || v.verification.Skipped > 0)
}

// crowded reports whether other examinations on the GPU may be the reason that a row has no
// verified answers: they take memory and time, and outputs are kept only for a while.
func (v *verified) crowded() bool {
	if v.fault == nil {
		return v.verification != nil && v.verification.Skipped > 0 && !v.unsteady
	}
	causes := []result.Cause{
		result.CauseMemory, result.CauseTimeout, result.CauseKilled, result.CauseOracle, result.CauseProtocol, result.CauseInternal,
	}
	return slices.Contains(causes, v.fault.Cause)
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
	found.Oracle = x.Answers.String()
	if x.Oracle == nil {
		missing, _ := c.noOracle(v.built)
		if x.Reference == nil {
			if !x.answers {
				found.Limits = append(found.Limits, "the right answers are unknown: "+missing+" and there is no earlier version")
			}
			return
		}
		found.Oracle = result.BaseVersion
		if !x.answers {
			found.Limits = append(found.Limits, missing+comparedWithBase)
		}
	}
	for _, job := range x.Jobs() {
		if job.Record.Fault != nil {
			v.fault = v.candidate.FaultOf("verify", x.unbuilt(found.Oracle, job.Record.Fault))
			return
		}
	}
	room.device.Share()
	defer room.device.Leave()
	examiner := room.examiner(ctx, c, v, v.candidate)
	one := lab.NewCase("config", v.candidate.Config, c.Duet.Seed, lab.VerifyBatch)
	found.Cases = append(found.Cases, one)
	bench, err := examiner.Bench(ctx, x.Instances(v.candidate.Instance))
	if err == nil {
		trial := verify.Trial{Fresh: true, Repeats: 2}
		if x.varies {
			trial.Repeats = 1
		}
		found.Findings, err = bench.Try(ctx, one, trial)
		c.noteRetained(v, bench.Retained)
	}
	unsteady := verify.Unsteady(err)
	if unsteady != nil {
		err = nil // what does not depend on answers is still examined
	}
	failed := err != nil || one.Fault != nil || one.Reason != ""
	if !failed && one.Skipped == "" && unsteady == nil {
		var broken *result.Case
		var near error
		if broken, near, err = c.beside(ctx, v, room, bench); broken != nil {
			found.Passed++ // at its own size
			found.Cases = append(found.Cases, broken)
			one, failed = broken, true
		}
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
	if err == nil && unsteady != nil {
		err = unsteady
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
			Code: "retained", Message: "launches leave data in __device__ variables, which pawl resets before every sample",
			Hint: "your program does not reset them: if that matters, pass the data as an argument",
		})
	}
}

// prepared returns the bench of a row's problem, with the arguments in place.
func (v *verified) prepared(ctx context.Context, examiner *lab.Examiner) (*verify.Bench, error) {
	bench, err := examiner.Bench(ctx, v.exam.Instances(v.candidate.Instance))
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
	traced, err := bench.Trace(ctx, lab.VerifyBatch)
	if err != nil {
		return err
	}
	found.Kernels = traced.Kernels
	found.Findings = append(found.Findings, verify.Outside(traced.Outside)...)
	if len(found.Kernels) == 0 {
		found.Limits = append(found.Limits, "the kernels that ran are unknown: "+cmp.Or(traced.NoKernels, "the profiler lists none"))
		return nil
	}
	if job.Cell() != spec.CellCUDA {
		return nil // a Python function consists of other people's kernels
	}
	own, err := job.Artifact.Kernels()
	if err != nil {
		found.Limits = append(found.Limits, "the list of its own kernels is unknown: "+err.Error())
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
	case verify.Unsteady(err) != nil:
		v.unverify(verify.Unsteady(err))
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
		v.notes = append(v.notes, c.noteRounding(v, one)...)
	default:
		found.Passed++
		v.notes = append(v.notes, c.noteTolerance(v.built, v.exam)...)
	}
	if cheat := found.Convict(); cheat != nil {
		v.fault, v.incorrect = v.candidate.FaultOf("verify", cheat), false
	}
}

// examRoom keeps the cells of an examination open for the next one, because starting them takes
// longer than the examination. Nothing is measured meanwhile.
type examRoom struct {
	device *lab.SharedDevice
	open   *lab.Examiner
	used   bool // a cell of it was another kernel's before
	fresh  bool // cells of another kernel are not used
	kernel *spec.Kernel
}

// examiner returns the examiner that compares the answers of a row's candidate. With a nil
// candidate it compares outputs that were produced before. Device code is loaded into the cells of
// the kernel before it, but not a stranger's.
func (r *examRoom) examiner(ctx context.Context, c *check, v *verified, candidate *lab.Job) *lab.Examiner {
	x := v.exam
	if r.open != nil && r.open.Fits(x.Exam, candidate) {
		r.open.SwitchTo(candidate)
		return r.open
	}
	r.kernel = v.candidate.Variant.Kernel
	next := c.lab.NewExaminer(x.Exam, candidate, c.largest[r.kernel.Name], c.Duet.Seed)
	used := r.open != nil && !c.Fork && !r.fresh && next.Inherit(r.open)
	_ = r.close(ctx) // the candidates' cells have already reported their faults
	r.open, r.used = next, used
	return next
}

// leave ends a row's examination, and returns the error that only closing its cell reveals. Device
// code may use the same cell for the next row, since it keeps nothing; a failure in any of the
// cells closes them all.
func (r *examRoom) leave(ctx context.Context, candidate *lab.Job, failed bool) error {
	if failed {
		return r.close(ctx)
	}
	if candidate.Variant.Kernel.DeviceCode() {
		return nil
	}
	return r.open.Renew(context.WithoutCancel(ctx), nil)
}

// close ends all cells, and returns the error that only closing the candidate's cell reveals.
func (r *examRoom) close(ctx context.Context) error {
	if r.open == nil {
		return nil
	}
	err := r.open.Close(context.WithoutCancel(ctx))
	r.open, r.used = nil, false
	return err
}

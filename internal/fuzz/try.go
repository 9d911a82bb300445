package fuzz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/trial"
	"pawl/internal/unit"
	"pawl/internal/verify"
)

// try makes all trials of a kernel.
func (f *fuzzing) try(ctx context.Context, s *subject) {
	v := s.verification
	for _, job := range s.exam.Jobs() {
		if job.Record.Fault != nil && s.fault == nil {
			s.fail("verify", result.Faultf(result.CauseOracle, "the oracle %s is not available: %s", v.Oracle, job.Record.Fault.Message).
				WithHint(job.Record.Fault.Hint))
		}
	}
	defer func() { f.progress.done.Add(int64(max(0, len(s.trials)-s.tried))) }()
	if s.fault != nil {
		s.withoutNotes()
		return
	}
	largest := int64(0)
	for _, t := range s.trials {
		largest = max(largest, s.plan.Footprint(t))
	}
	s.examiner = f.lab.NewExaminer(s.exam, s.candidate, largest, f.Seed)
	if f.trials(ctx, s) {
		f.repeatElsewhere(ctx, s)
	}
	for _, skip := range s.plan.Skipped {
		f.skip(s, skip.Trial, skip.Reason)
	}
	if err := s.examiner.Close(context.WithoutCancel(ctx)); err != nil && s.fault == nil && (ctx.Err() == nil || forged(err)) {
		s.fail("verify", err) // forged answers that only closing reveals
	}
	f.verdict(s)
	s.withoutNotes()
}

// withoutNotes removes the notes on cases of a kernel that nobody can judge: without a judge they
// mean nothing.
func (s *subject) withoutNotes() {
	if v := s.verification; s.fault != nil && (s.fault.Cause == result.CauseOracle || s.fault.Cause == result.CauseNoOracle) && v.Passed+v.Failed == 0 {
		v.Limits = v.Limits[min(len(v.Limits), len(s.plan.Notes)):]
	}
}

// forged reports whether an error says that answers were forged. After an interrupt no other error
// of closing counts: a worker that is shutting down reports exits of its cells that would be
// misread.
func forged(err error) bool {
	fault, ok := errors.AsType[*result.Fault](err)
	return ok && fault.Cause == result.CauseForged
}

// trials makes one trial after the other; false: not all were made, for a reason that prevents
// further ones.
func (f *fuzzing) trials(ctx context.Context, s *subject) bool {
	v := s.verification
	fresh := true // true for the first trial whose data is not a stored one's
	for i, t := range s.trials {
		one, ok := f.next(ctx, s, t, fresh && t.Stored == "")
		fresh = fresh && t.Stored != ""
		if !ok {
			return false
		}
		v.Cases = append(v.Cases, one)
		f.count(ctx, s, t, one)
		if f.Brief && (v.Failed > 0 || len(v.Findings) > 0) {
			return false
		}
		if rest := s.trials[i+1:]; hung(one) {
			f.giveUp(s, t, rest)
			return false
		}
	}
	return true
}

// next makes a trial; false ends the trials of the kernel.
func (f *fuzzing) next(ctx context.Context, s *subject, t trial.Trial, fresh bool) (*result.Case, bool) {
	if ctx.Err() != nil {
		return nil, false
	}
	f.emit(s, t.Name(), f.progress.done.Add(1)-1)
	s.tried++
	one, findings, err := f.one(ctx, s, t, fresh)
	switch {
	case ctx.Err() != nil && (err != nil || one.Fault != nil):
		return nil, false // it ended because the run ends
	case err != nil:
		if own, ok := errors.AsType[*verify.OracleError](err); ok {
			err = own.Fault()
		}
		s.fail("verify", err)
		return nil, false
	case one.Fault != nil && one.Fault.Cause == result.CauseNoEntry: // it is the same at every size
		s.fail("verify", one.Fault)
		return nil, false
	}
	s.verification.Findings = append(s.verification.Findings, findings...)
	return one, true
}

func hung(one *result.Case) bool { return one.Fault != nil && one.Fault.Cause == result.CauseTimeout }

// giveUp skips the remaining trials of a kernel that hangs: every case would take as long as a
// launch may.
func (f *fuzzing) giveUp(s *subject, t trial.Trial, rest []trial.Trial) {
	if len(rest) == 0 {
		return
	}
	for _, other := range rest {
		f.skip(s, other, fmt.Sprintf("not tried after %s, which ran out of time", t.Name()))
	}
	cases := "the case after it is"
	if len(rest) > 1 {
		cases = unit.Count(len(rest)) + " cases after it are"
	}
	v := s.verification
	v.Limits = append(v.Limits, fmt.Sprintf("%s ran out of time (--timeout %v): %s not tried, and the case was not made smaller", t.Name(), f.Timeout, cases))
}

func (f *fuzzing) skip(s *subject, t trial.Trial, why string) {
	one := f.newCase(t)
	one.Skipped = why
	s.verification.Cases = append(s.verification.Cases, one)
	s.verification.Skipped++
}

// repeatElsewhere repeats the largest case that could be tried, if the case that was to be repeated
// did not fit into memory.
func (f *fuzzing) repeatElsewhere(ctx context.Context, s *subject) {
	v := s.verification
	missed := slices.IndexFunc(s.trials, func(t trial.Trial) bool { return t.Repeats > 1 && t.Stored == "" })
	if missed < 0 || v.Cases[missed].Skipped == "" {
		return
	}
	var passed []int
	for i, t := range s.trials {
		if one := v.Cases[i]; t.Stored == "" && one.Skipped == "" && one.Reason == "" {
			passed = append(passed, i)
		}
	}
	slices.SortStableFunc(passed, func(a, b int) int {
		return cmp.Compare(s.plan.Footprint(s.trials[b]), s.plan.Footprint(s.trials[a]))
	})
	for _, i := range passed {
		t := s.trials[i]
		t.Repeats = s.trials[missed].Repeats
		f.progress.total.Add(1)
		one, ok := f.next(ctx, s, t, false)
		if !ok {
			return
		}
		if one.Skipped != "" {
			continue
		}
		v.Passed-- // it is counted again
		v.Cases[i] = one
		f.count(ctx, s, t, one)
		return
	}
}

// one makes one trial. The error means that no other trial can be made either.
func (f *fuzzing) one(ctx context.Context, s *subject, t trial.Trial, fresh bool) (*result.Case, []result.Finding, error) {
	t, err := s.plan.Settle(t, false)
	one := f.newCase(t)
	var problem *trial.Problem
	if err == nil {
		problem, err = s.plan.Resolve(t)
	}
	if err != nil {
		one.Skipped = err.Error()
		return one, nil, nil
	}
	one.Fill = problem.Fill
	instances := [3]*spec.Instance{problem.Instance}
	for i, job := range []*lab.Job{s.exam.Reference, s.exam.Rival} {
		if job == nil {
			continue
		}
		if instances[i+1], err = job.Variant.At(t.Config()); err != nil {
			one.Skipped = "the oracle does not support this problem: " + err.Error()
			return one, nil, nil
		}
	}
	bench, err := s.examiner.Bench(ctx, instances)
	if err != nil {
		return nil, nil, err
	}
	bench.Seed, bench.Tolerance = t.Seed, oracle.Tolerance{Abs: problem.Atol, Rel: problem.Rtol}
	findings, err := bench.Try(ctx, one, verify.Trial{Exact: t.Exact, Repeats: t.Repeats, Fresh: fresh})
	if one.Fault != nil {
		if closing := s.examiner.Renew(ctx, one.Fault); closing != nil && ctx.Err() == nil {
			one.Reason = one.Fault.Message
		}
	}
	return one, findings, err
}

func (f *fuzzing) newCase(t trial.Trial) *result.Case {
	one := lab.NewCase(t.Lane, t.Config(), t.Seed, t.Batch)
	one.Replay = t.Stored != ""
	return one
}

// count records the outcome of a trial; a failed one is shrunk and stored.
func (f *fuzzing) count(ctx context.Context, s *subject, t trial.Trial, one *result.Case) {
	v := s.verification
	switch {
	case one.Skipped != "":
		v.Skipped++
	case one.Reason == "":
		v.Passed++
		if t.Stored != "" {
			s.warn(f.store.Fixed(t))
		}
	default:
		v.Failed++
		if !f.Brief {
			f.keep(ctx, s, t, one)
		}
	}
}

// keep stores the smallest trial that fails in the same way. Three trials are not shrunk or not
// stored. A launch that hangs is not tried at smaller sizes, where it would hang as well. A trial
// that was stored before was shrunk then, and shrinking it again would add a file with every run.
// After an interrupted search nothing is stored, since another run would store something else.
func (f *fuzzing) keep(ctx context.Context, s *subject, t trial.Trial, one *result.Case) {
	smallest, why := t, one.Reason
	if !hung(one) && t.Stored == "" {
		began := time.Now()
		if smallest, one.Shrunk = f.shrink(ctx, s, t, one); one.Shrunk != nil {
			why = one.Shrunk.Reason
		}
		one.WallS += time.Since(began).Seconds()
	}
	if ctx.Err() != nil {
		one.Shrunk = nil
		return
	}
	commit := ""
	if f.report.Commit != nil {
		commit = f.report.Commit.SHA
	}
	path, err := f.store.Keep(s.kernel, smallest, why, commit, time.Now().UTC())
	s.warn(err)
	one.Stored = path
}

// shrink looks for the smallest trial that still fails, and stops when a trial hangs.
func (f *fuzzing) shrink(ctx context.Context, s *subject, t trial.Trial, one *result.Case) (smallest trial.Trial, last *result.Case) {
	patience, end := context.WithCancel(ctx)
	defer end()
	smallest = trial.Shrink(patience, t, s.plan.Free, func(smaller trial.Trial) bool {
		f.emit(s, "smaller: "+smaller.Name(), f.progress.done.Load()-1)
		tried, _, err := f.one(ctx, s, smaller, false)
		if err != nil || ctx.Err() != nil || hung(tried) {
			end()
			return false
		}
		if tried.Reason == "" || (tried.Fault == nil) != (one.Fault == nil) {
			return false
		}
		last = tried
		return true
	}, shrinkTries)
	return smallest, last
}

func (s *subject) warn(err error) {
	if err != nil {
		s.warnings = append(s.warnings, result.Warning{Code: "failures", Message: err.Error()})
	}
}

func (f *fuzzing) emit(s *subject, text string, done int64) {
	f.run.Emit(run.Event{Kind: run.Verify, Row: s.kernel.Name, Text: text, Done: int(done), Total: int(f.progress.total.Load())})
}

// verdict derives the kernel's verdict from all its cases.
func (f *fuzzing) verdict(s *subject) {
	v := s.verification
	if cheat := v.Convict(); cheat != nil && s.fault == nil {
		s.fail("verify", cheat)
	}
	if s.fault != nil {
		return
	}
	if s.verdict = judge.OfCases(v, s.unasked()); s.verdict == result.Inconclusive {
		v.Limits = append(v.Limits, fmt.Sprintf("no requested case was tried: every case of the %s was skipped", s.plan.Trials[0].Lane))
	}
}

// unasked reports whether all cases that the file asks for were skipped. The cases that were tried
// are pawl's own choice and do not replace them.
func (s *subject) unasked() bool {
	asked := slices.DeleteFunc(slices.Clone(s.verification.Cases), func(c *result.Case) bool {
		return c.Lane != trial.LaneMatrix && c.Lane != trial.LaneConfig || c.Replay
	})
	return len(asked) > 0 && !slices.ContainsFunc(asked, func(c *result.Case) bool { return c.Skipped == "" })
}

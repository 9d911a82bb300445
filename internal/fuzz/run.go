package fuzz

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pawl/internal/measure"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/stand"
	"pawl/internal/verify"
)

// Order is what a run of pawl fuzz is asked for.
type Order struct {
	Options
	Tool       result.Tool
	Command    []string
	Spec       *spec.Spec
	Selections []spec.Selection
	Chosen     bool // configs were selected by name: try those instead of the matrix
	Stand      stand.Options
	Timeout    time.Duration // of one launch
	Sanitize   bool          // GPU kernels also under compute-sanitizer
	Brief      bool          // the first failure of a kernel is enough: it is neither shrunk nor kept
}

// shrinkTries is how many smaller trials a failure is tried at.
const shrinkTries = 40

// fuzzing is a run under way.
type fuzzing struct {
	Order
	run    *run.Run
	report *result.Report
	stand  *stand.Stand
	store  *Store

	done, total int // trials
}

// subject is one kernel that is tried.
type subject struct {
	kernel    *spec.Kernel
	row       *result.Row
	plan      *Plan
	trials    []Trial
	answers   *stand.Answers
	candidate *stand.Job
	reference *stand.Job
	rival     *stand.Job
	examiner  *stand.Examiner
}

// Run tries the selected kernels and reports every case. What goes wrong with one
// kernel is in its row; an error that wraps ErrNoCase says that there was nothing
// to try at all.
func Run(ctx context.Context, r *run.Run, order Order) (*result.Report, error) {
	opts := measure.Default()
	opts.Seed, opts.Timeout = order.Seed, order.Timeout
	f := &fuzzing{Order: order, run: r, report: stand.NewReport(r, result.KindFuzz, order.Tool, order.Command, order.Spec, opts), store: OpenStore(order.Spec.Dir)}
	place := order.Stand
	place.Class, place.Timeout = order.Spec.DeviceClass, order.Timeout
	f.stand = stand.New(r, f.report, place)
	subjects, err := f.plan()
	if err != nil {
		return nil, err
	}
	var jobs []*stand.Job
	for _, s := range subjects {
		for _, job := range []*stand.Job{s.candidate, s.reference, s.rival} {
			if job != nil {
				jobs = append(jobs, job)
			}
		}
	}
	startErr := f.stand.Build(ctx, jobs)
	defer f.stand.Close()
	for _, s := range subjects {
		if startErr != nil && s.row.Fault == nil {
			s.candidate.Fail("load", startErr)
		}
		f.try(ctx, s)
	}
	f.sanitize(ctx, subjects)
	f.report.Interrupted = ctx.Err() != nil
	f.report.Finished = time.Now().UTC()
	return f.report, nil
}

// plan lists every kernel's trials. Kernels without an oracle have none.
func (f *fuzzing) plan() ([]*subject, error) {
	var subjects []*subject
	var empty error
	for _, selected := range f.Selections {
		opts := f.Options
		if f.Chosen {
			opts.Configs = selected.Configs
		}
		s := &subject{kernel: selected.Kernel}
		variant := selected.Kernel.Default()
		plan, err := NewPlan(f.Spec, variant, opts)
		if errors.Is(err, ErrNoCase) {
			empty = errors.Join(empty, fmt.Errorf("%s: %w", selected.Kernel.Name, err))
			f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "nothing to try", Message: fmt.Sprintf("%s: %v", selected.Kernel.Name, err)})
			continue
		}
		if err != nil {
			return nil, err
		}
		s.plan = plan
		replays, problems := f.store.Replays(selected.Kernel)
		for _, problem := range problems {
			f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "failures", Message: problem.Error(), Hint: "mend or delete the file; the others are tried"})
		}
		s.trials = append(replays, plan.Trials...)
		first := selected.Kernel.Configs[0]
		s.candidate = stand.NewJob(f.Spec.Dir, variant, first)
		s.row = s.candidate.Row
		s.row.Config, s.row.Vars = "", nil
		s.row.Verification = &result.Verification{Integrity: result.Clean, Seed: f.Seed, Limits: plan.Notes}
		f.report.Rows = append(f.report.Rows, s.row)
		if s.answers, err = stand.FindAnswers(f.Spec, selected.Kernel); err == nil && s.answers.Oracle == nil {
			err = &result.Fault{
				Stage: "verify", Cause: result.CauseOracle, Message: stand.ErrNoOracle.Error(),
				Hint: "add oracle: to the kernel in pawl.yaml: a built-in one, {elementwise: formula}, {kernel: name} or {python: \"module:function\"}",
			}
		}
		if err != nil {
			s.candidate.Fail("verify", err)
			subjects = append(subjects, s)
			continue
		}
		s.row.Verification.Oracle = s.answers.String()
		s.reference, s.rival = s.answers.Jobs(first)
		subjects = append(subjects, s)
		f.total += len(s.trials)
	}
	if len(subjects) == 0 {
		return nil, empty
	}
	return subjects, nil
}

// try makes all trials of a kernel.
func (f *fuzzing) try(ctx context.Context, s *subject) {
	v := s.row.Verification
	for _, job := range []*stand.Job{s.reference, s.rival} {
		if job != nil && job.Row.Fault != nil && s.row.Fault == nil {
			s.candidate.Fail("verify", &result.Fault{
				Cause: result.CauseOracle, Message: fmt.Sprintf("the oracle %s cannot be had: %s", v.Oracle, job.Row.Fault.Message), Hint: job.Row.Fault.Hint,
			})
		}
	}
	if s.row.Fault != nil {
		return
	}
	largest := int64(0)
	for _, t := range s.trials {
		if p, err := s.plan.Resolve(t); err == nil {
			largest = max(largest, p.Instance.Footprint)
		}
	}
	s.examiner = f.stand.NewExaminer(s.answers, s.candidate, s.reference, s.rival, largest, f.Seed)
	fresh := true // of the first whose data is not a stored one's
	for _, t := range s.trials {
		if ctx.Err() != nil {
			break
		}
		f.run.Emit(run.Event{Kind: run.Verify, Row: s.kernel.Name, Text: t.Name(), Done: f.done, Total: f.total})
		f.done++
		one, findings, err := f.one(ctx, s, t, fresh && t.Stored == "")
		fresh = fresh && t.Stored != ""
		if err != nil {
			var own *verify.OracleError
			if errors.As(err, &own) {
				err = own.Fault()
			}
			if ctx.Err() == nil {
				s.candidate.Fail("verify", err)
			}
			break
		}
		v.Cases = append(v.Cases, one)
		v.Findings = append(v.Findings, findings...)
		f.count(ctx, s, t, one)
		if f.Brief && (v.Failed > 0 || len(v.Findings) > 0) {
			break
		}
	}
	for _, skip := range s.plan.Skipped {
		one := f.newCase(skip.Trial)
		one.Skipped = skip.Reason
		v.Cases = append(v.Cases, one)
		v.Skipped++
	}
	if err := s.examiner.Close(context.WithoutCancel(ctx)); err != nil && s.row.Fault == nil {
		s.candidate.Fail("verify", err) // answers that only closing shows to be forged
	}
	f.verdict(s)
}

// one makes one trial. The error is for what keeps all others from being made too.
func (f *fuzzing) one(ctx context.Context, s *subject, t Trial, fresh bool) (*result.Case, []result.Finding, error) {
	one := f.newCase(t)
	problem, err := s.plan.Resolve(t)
	if err != nil {
		one.Skipped = err.Error()
		return one, nil, nil
	}
	one.Fill = problem.Fill
	instances := [3]*spec.Instance{problem.Instance}
	for i, job := range []*stand.Job{s.reference, s.rival} {
		if job == nil {
			continue
		}
		if instances[i+1], err = job.Variant.At(t.Config()); err != nil {
			one.Skipped = "the oracle has no such problem: " + err.Error()
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

func (f *fuzzing) newCase(t Trial) *result.Case {
	one := stand.NewCase(t.Lane, t.Config(), t.Seed)
	one.Batch, one.Replay = t.Batch, t.Stored != ""
	return one
}

// count takes note of how a trial went; one that failed is shrunk and kept.
func (f *fuzzing) count(ctx context.Context, s *subject, t Trial, one *result.Case) {
	v := s.row.Verification
	switch {
	case one.Skipped != "":
		v.Skipped++
	case one.Reason == "":
		v.Passed++
		if t.Stored != "" {
			f.warn(f.store.Fixed(t))
		}
	default:
		v.Failed++
		if !f.Brief {
			f.shrink(ctx, s, t, one)
		}
	}
}

// shrink looks for the smallest trial that still fails, and keeps it.
func (f *fuzzing) shrink(ctx context.Context, s *subject, t Trial, one *result.Case) {
	var last *result.Case
	smallest := Shrink(ctx, t, s.plan.Free, func(smaller Trial) bool {
		f.run.Emit(run.Event{Kind: run.Verify, Row: s.kernel.Name, Text: "smaller: " + smaller.Name(), Done: f.done, Total: f.total})
		tried, _, err := f.one(ctx, s, smaller, false)
		if err != nil || tried.Reason == "" || (tried.Fault == nil) != (one.Fault == nil) {
			return false
		}
		last = tried
		return true
	}, shrinkTries)
	why := one.Reason
	if last != nil {
		one.Shrunk, why = last, last.Reason
	}
	commit := ""
	if f.report.Commit != nil {
		commit = f.report.Commit.SHA
	}
	path, err := f.store.Keep(s.kernel, smallest, why, commit, time.Now().UTC())
	f.warn(err)
	one.Stored = path
}

func (f *fuzzing) warn(err error) {
	if err != nil {
		f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "failures", Message: err.Error()})
	}
}

// verdict is what all cases of a kernel come to.
func (f *fuzzing) verdict(s *subject) {
	v := s.row.Verification
	for _, found := range v.Findings {
		if found.Severity == result.Cheated {
			v.Integrity = result.Cheated
			if s.row.Fault == nil {
				s.candidate.Fail("verify", &result.Fault{Cause: result.CauseCheat, Message: found.Exploit + ": " + found.Message, Hint: "docs/integrity.md says how this is found"})
			}
		} else if v.Integrity == result.Clean {
			v.Integrity = result.Suspicious
		}
	}
	if s.row.Fault == nil && v.Failed > 0 {
		s.row.Verdict = result.Incorrect
	}
}

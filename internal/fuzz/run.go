package fuzz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pawl/internal/diag"
	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/trial"
)

// Order holds the options of a run of pawl fuzz.
type Order struct {
	trial.Options
	Lab      lab.Options
	Timeout  time.Duration // of one launch
	Sanitize bool          // GPU kernels also under compute-sanitizer
	Brief    bool          // stop at the first failure of a kernel, and neither shrink nor store it
}

// DefaultOrder returns the options of a plain `pawl fuzz`.
func DefaultOrder() Order {
	return Order{Lab: lab.Options{Peaks: roof.Folder()}, Timeout: measure.Default().Timeout}
}

// Check refuses settings that make no sense.
func (o Order) Check() error {
	switch {
	case o.Sample < 0:
		return &diag.SettingError{Setting: "sample", Value: o.Sample, Expected: "at least 1"}
	case o.Timeout <= 0:
		return &diag.SettingError{Setting: "timeout", Value: o.Timeout, Expected: "more than 0"}
	}
	return o.Lab.Check()
}

// All is the Sample of an order that tries the whole matrix.
const All = trial.All

// ErrNoCase means that there was nothing to try.
var ErrNoCase = trial.ErrNoCase

// shrinkTries is the number of smaller trials that a failure is tried at.
const shrinkTries = 40

// fuzzing is a run in progress.
type fuzzing struct {
	Order
	run    *run.Run
	report *result.Report
	lab    *lab.Lab
	store  *Store

	progress *progress
}

// progress counts trials; several lanes do.
type progress struct{ done, total atomic.Int64 }

// subject is one kernel that is tried.
type subject struct {
	kernel    *spec.Kernel
	plan      *trial.Plan
	trials    []trial.Trial
	candidate *lab.Job
	exam      lab.Exam
	examiner  *lab.Examiner

	tried        int // trials
	warnings     []result.Warning
	verification *result.Verification
	fault        *result.Fault  // why its answers are not known, or not trusted
	verdict      result.Verdict // of its cases
}

// fail records why a kernel's answers are not known, or not trusted.
func (s *subject) fail(stage string, err error) {
	s.fault = s.candidate.FaultOf(stage, err)
	s.verdict = judge.OfFault(s.fault)
}

// forget drops what was found with a worker that was lost.
func (f *fuzzing) forget(s *subject) {
	f.progress.done.Add(-int64(len(s.trials)))
	s.fault, s.verdict, s.tried, s.warnings = nil, "", 0, nil
	s.verification = &result.Verification{Integrity: result.Clean, Seed: f.Seed, Limits: s.plan.Notes, Oracle: s.verification.Oracle}
}

// row returns what the report says of a kernel.
func (s *subject) row() *result.Row {
	row := s.candidate.Row()
	row.Config, row.Vars = "", nil
	row.Verification, row.Fault, row.Verdict = s.verification, s.fault, s.verdict
	return row
}

// Run tries the selected kernels and reports every case. Errors of one kernel are in its row; an
// error that wraps ErrNoCase means that there was nothing to try at all.
func Run(ctx context.Context, r *run.Run, order Order) (*result.Report, error) {
	if err := cmp.Or(r.Of(result.KindFuzz), order.Check()); err != nil {
		return nil, err
	}
	opts := measure.Default()
	order.Seed = r.Seed
	opts.Seed, opts.Timeout = order.Seed, order.Timeout
	f := &fuzzing{Order: order, run: r, report: r.NewReport(ctx, opts.Method()), store: OpenStore(r.Spec.Dir), progress: &progress{}}
	place := order.Lab
	place.Class, place.Timeout = r.Spec.DeviceClass, order.Timeout
	f.lab = lab.New(r, f.report, place)
	subjects, err := f.plan()
	if err != nil {
		return nil, err
	}
	var jobs []*lab.Job
	for _, s := range subjects {
		jobs = append(append(jobs, s.candidate), s.exam.Jobs()...)
	}
	r.Stage("build")
	startErr := f.lab.Build(ctx, jobs)
	defer f.lab.Close()
	if startErr != nil && order.Lab.Workers > 0 && ctx.Err() == nil { // a pool without workers
		return nil, startErr
	}
	r.Stage("verify")
	for _, s := range subjects {
		if fault := s.candidate.Record.Fault; fault != nil && s.fault == nil {
			s.fail(fault.Stage, fault)
		} else if startErr != nil && s.fault == nil {
			s.fail("load", startErr)
		}
	}
	err = f.lab.Share(ctx, lab.Work{Pieces: len(subjects), Devices: []int{f.lab.Device}}, func(lane *lab.Lab, pieces iter.Seq[lab.Piece]) {
		own := *f
		own.lab = lane
		for piece := range pieces {
			s := subjects[piece.N]
			if piece.Again {
				own.forget(s)
			}
			own.try(ctx, s)
			s.fault = piece.Explain(lane, s.fault)
		}
	})
	if err != nil {
		return nil, err
	}
	if f.Sanitize {
		r.Stage("sanitize")
		f.sanitize(ctx, subjects)
	}
	for _, s := range subjects {
		f.report.Rows = append(f.report.Rows, s.row())
		f.report.Warnings = append(f.report.Warnings, s.warnings...)
	}
	r.Finish(ctx, f.report, f.lab.Held())
	return f.report, nil
}

// chosen reports whether configs were selected by name: these are tried instead of the matrix.
func (f *fuzzing) chosen() bool {
	return slices.ContainsFunc(f.run.Patterns, func(p string) bool { return strings.Contains(p, "/") })
}

// asked returns the selections without the kernels that are there for others, unless the user names
// them, or selects nothing else.
func (f *fuzzing) asked() []spec.Selection {
	return spec.Without(f.run.Selections, f.run.Patterns, f.run.Spec.OnlyAnswers)
}

// plan lists every kernel's trials. Kernels without an oracle have none.
func (f *fuzzing) plan() ([]*subject, error) {
	var subjects []*subject
	var empty diag.Errors
	for _, selected := range f.asked() {
		opts := f.Options
		if f.chosen() {
			opts.Configs = selected.Configs
		}
		s := &subject{kernel: selected.Kernel}
		variant := selected.Kernel.Default()
		plan, err := trial.NewPlan(f.run.Spec, variant, opts)
		if errors.Is(err, trial.ErrNoCase) {
			for _, problem := range diag.Problems(err) {
				message := problem.Message
				if !strings.Contains(message, selected.Kernel.Name) {
					message = selected.Kernel.Name + ": " + message
				}
				f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "nothing to try", Message: message, Hint: problem.Hint})
				if !slices.ContainsFunc(empty, func(known *diag.Problem) bool { return *known == *problem }) {
					empty = append(empty, problem) // an empty matrix empties all kernels alike
				}
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		s.plan = plan
		replays, problems := f.store.Replays(selected.Kernel)
		for _, problem := range problems {
			f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "failures", Message: problem.Error(), Hint: "fix or delete the file; the other cases are tried"})
		}
		s.trials = append(replays, plan.Trials...)
		f.progress.total.Add(int64(len(s.trials)))
		first := selected.Kernel.Configs[0]
		s.candidate = lab.NewJob(f.run.Spec.Dir, variant, first)
		s.verification = &result.Verification{Integrity: result.Clean, Seed: f.Seed, Limits: plan.Notes}
		answers, err := lab.FindAnswers(f.run.Spec, selected.Kernel)
		if err == nil && answers.Oracle == nil {
			err = &result.Fault{
				Stage: "verify", Cause: result.CauseNoOracle, Message: lab.ErrNoOracle.Error(),
				Hint: "add oracle: to the kernel in pawl.yaml: a built-in one, {elementwise: formula}, {kernel: name} or {python: \"module:function\"}",
			}
		}
		subjects = append(subjects, s)
		if err != nil {
			s.fail("verify", err)
			s.candidate.Record.Fault = s.fault // it is not built either
			continue
		}
		s.verification.Oracle = answers.String()
		s.exam = answers.On(first)
	}
	if len(subjects) == 0 {
		return nil, fmt.Errorf("%w: %w", trial.ErrNoCase, empty)
	}
	return subjects, nil
}

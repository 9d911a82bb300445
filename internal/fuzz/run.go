package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/diag"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/stand"
)

// Order is what a run of pawl fuzz is asked for.
type Order struct {
	Options
	Stand    stand.Options
	Timeout  time.Duration // of one launch
	Sanitize bool          // GPU kernels also under compute-sanitizer
	Brief    bool          // the first failure of a kernel is enough: it is neither shrunk nor kept
}

// DefaultOrder is what a plain `pawl fuzz` asks for.
func DefaultOrder() Order {
	return Order{Stand: stand.Options{Peaks: roof.Folder()}, Timeout: measure.Default().Timeout}
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
	order.Seed = r.Seed
	opts.Seed, opts.Timeout = order.Seed, order.Timeout
	f := &fuzzing{Order: order, run: r, report: r.NewReport(opts.Method()), store: OpenStore(r.Spec.Dir)}
	place := order.Stand
	place.Class, place.Timeout = r.Spec.DeviceClass, order.Timeout
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
	run.Finish(ctx, f.report)
	return f.report, nil
}

// chosen reports whether configs were selected by name: those are tried instead of the
// matrix.
func (f *fuzzing) chosen() bool {
	return slices.ContainsFunc(f.run.Patterns, func(p string) bool { return strings.Contains(p, "/") })
}

// plan lists every kernel's trials. Kernels without an oracle have none.
func (f *fuzzing) plan() ([]*subject, error) {
	var subjects []*subject
	var empty diag.Errors
	for _, selected := range f.run.Selections {
		opts := f.Options
		if f.chosen() {
			opts.Configs = selected.Configs
		}
		s := &subject{kernel: selected.Kernel}
		variant := selected.Kernel.Default()
		plan, err := NewPlan(f.run.Spec, variant, opts)
		if errors.Is(err, ErrNoCase) {
			for _, problem := range diag.Problems(err) {
				message := problem.Message
				if !strings.Contains(message, selected.Kernel.Name) {
					message = selected.Kernel.Name + ": " + message
				}
				f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "nothing to try", Message: message, Hint: problem.Hint})
				if !slices.ContainsFunc(empty, func(known *diag.Problem) bool { return *known == *problem }) {
					empty = append(empty, problem) // an empty matrix is one of all kernels
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
			f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "failures", Message: problem.Error(), Hint: "mend or delete the file; the others are tried"})
		}
		s.trials = append(replays, plan.Trials...)
		f.total += len(s.trials)
		first := selected.Kernel.Configs[0]
		s.candidate = stand.NewJob(f.run.Spec.Dir, variant, first)
		s.row = s.candidate.Row
		s.row.Config, s.row.Vars = "", nil
		s.row.Verification = &result.Verification{Integrity: result.Clean, Seed: f.Seed, Limits: plan.Notes}
		f.report.Rows = append(f.report.Rows, s.row)
		if s.answers, err = stand.FindAnswers(f.run.Spec, selected.Kernel); err == nil && s.answers.Oracle == nil {
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
	}
	if len(subjects) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrNoCase, empty)
	}
	return subjects, nil
}

package fuzz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/sanitizer"
	"pawl/internal/trial"
)

// sanitize runs the kernels of a GPU under compute-sanitizer.
func (f *fuzzing) sanitize(ctx context.Context, subjects []*subject) {
	looked := false
	for _, s := range subjects {
		if s.candidate.GPU() && f.unfit(s) == "" {
			f.progress.total.Add(int64(len(sanitizer.Tools)))
		}
	}
	for _, s := range subjects {
		if !s.candidate.GPU() {
			continue
		}
		looked = true
		if why := f.unfit(s); why != "" {
			f.doubtSanitizer(fmt.Sprintf("%s was not checked by compute-sanitizer: %s", s.kernel.Name, why), "")
			continue
		}
		for _, tool := range sanitizer.Tools {
			if ctx.Err() != nil {
				return
			}
			f.emit(s, tool, f.progress.done.Add(1)-1)
			one, err := f.sanitizeWith(ctx, s, tool)
			if err != nil {
				if ctx.Err() == nil {
					f.doubtSanitizer("compute-sanitizer checked nothing: "+err.Error(), hintOf(err))
				}
				return // it would be the same with every kernel
			}
			s.verification.Sanitizer = append(s.verification.Sanitizer, *one)
		}
		f.judgeSanitizer(s)
	}
	if !looked {
		f.doubtSanitizer("compute-sanitizer checked nothing: no kernel of this run runs on a GPU", "")
	}
}

func (f *fuzzing) doubtSanitizer(message, hint string) {
	f.report.Warnings = append(f.report.Warnings, result.Warning{Code: "sanitizer", Message: message, Hint: hint})
}

func hintOf(err error) string {
	if fault, ok := errors.AsType[*result.Fault](err); ok {
		return fault.Hint
	}
	return ""
}

// unfit says why a kernel cannot be launched under a sanitizer. A kernel that crashes can be: a
// sanitizer shows best where.
func (f *fuzzing) unfit(s *subject) string {
	fault := s.fault
	switch {
	case fault != nil && (s.candidate.Artifact == nil || fault.Cause == result.CauseUnsupported):
		return fault.Message
	case s.candidate.Artifact == nil:
		return "it was not built"
	case len(s.trials) == 0:
		return "there is no case to launch it on"
	case len(f.lab.Devices()) == 0:
		return "there is no GPU here"
	}
	return ""
}

// sanitizeWith runs one tool. The error means that no tool can run.
func (f *fuzzing) sanitizeWith(ctx context.Context, s *subject, tool string) (*result.SanitizerRun, error) {
	began := time.Now()
	cases, names := smallCases(s, f.everything(s))
	made, err := f.lab.Sanitize(ctx, s.candidate, tool, f.Lab.Sandbox, cases)
	one, out := readSanitizer(s, tool, made, err)
	// Device code alone reaches nothing that the sandbox protects.
	harmless := s.kernel.DeviceCode() && (f.Lab.Sandbox == "" || f.Lab.Sandbox == "auto")
	if !out.Summed && made != nil && harmless && ctx.Err() == nil {
		if again, retryErr := f.lab.Sanitize(ctx, s.candidate, tool, "off", cases); again != nil {
			if retried, second := readSanitizer(s, tool, again, retryErr); second.Summed {
				one, err = retried, retryErr
				f.doubtOnce("compute-sanitizer does not work in this machine's sandbox: device code was checked outside the sandbox")
			}
		}
	}
	if one == nil {
		return nil, err
	}
	one.Cases, one.WallS = names, time.Since(began).Seconds()
	return one, nil
}

func (f *fuzzing) doubtOnce(message string) {
	if !slices.ContainsFunc(f.report.Warnings, func(w result.Warning) bool { return w.Message == message }) {
		f.doubtSanitizer(message, "")
	}
}

// readSanitizer records the tool's output. Output that is not fully understood is kept verbatim.
func readSanitizer(s *subject, tool string, made *lab.Sanitized, err error) (*result.SanitizerRun, *sanitizer.Output) {
	if made == nil {
		return nil, &sanitizer.Output{}
	}
	out := sanitizer.Parse(tool, made.Text, s.kernel.Source)
	one := &result.SanitizerRun{Tool: tool, Errors: out.Errors, Findings: out.Findings, Sandbox: &made.Sandbox}
	for i := range one.Findings {
		found := &one.Findings[i]
		found.File = ownFile(found.File, s.kernel.Source)
		if strings.HasPrefix(found.Kernel, "pawl_") { // pawl's own kernels, which fill and inspect the arguments
			found.Severity = sanitizer.Warning
		}
	}
	if out.Understood() && made.Err == nil {
		return one, out
	}
	one.Raw = strings.TrimSpace(made.Text + "\n" + made.Log)
	switch {
	case out.Worst() != nil: // this finding explains the rest of the output
	case !out.Summed:
		one.Skipped = strings.Join(append([]string{"the tool did not finish"}, out.Problems...), "; ")
	case len(out.Problems) > 0:
		one.Skipped = strings.Join(out.Problems, "; ")
	case out.Errors > 0 && len(out.Findings) == 0:
		one.Skipped = fmt.Sprintf("the tool counted %d errors, but its messages about them were not understood", out.Errors)
	}
	if cause := cmp.Or(made.Err, err); cause != nil && out.Worst() == nil {
		one.Skipped = strings.TrimPrefix(one.Skipped+"; the launch ended: "+cause.Error(), "; ")
	}
	return one, out
}

// ownFile returns a file's path as the project names it: some versions of the tool print the name
// alone, others the whole path.
func ownFile(file, source string) string {
	if file != "" && filepath.Base(file) == filepath.Base(source) {
		return source
	}
	return file
}

// everything returns all trials that the kernel could be tried at, whichever were sampled.
func (f *fuzzing) everything(s *subject) []trial.Trial {
	opts := f.Options
	opts.Sample = trial.All
	if f.chosen() {
		return nil // nothing was sampled
	}
	plan, err := trial.NewPlan(f.run.Spec, s.candidate.Variant, opts)
	if err != nil {
		return nil // then only the sampled trials remain
	}
	return plan.Trials
}

// smallCases returns the smallest trial, the smallest of those that the file asks for, and the
// smallest that failed: small, because a launch takes a hundred times as long.
func smallCases(s *subject, others []trial.Trial) (cases []lab.SanitizedCase, names []string) {
	v := s.verification
	trials := slices.Concat(s.trials, others)
	wanted := []func(i int) bool{
		func(int) bool { return true },
		func(i int) bool { return trials[i].Lane == trial.LaneMatrix || trials[i].Lane == trial.LaneConfig },
		func(i int) bool { return i < len(v.Cases) && v.Cases[i].Reason != "" },
	}
	var taken []int
	for _, fits := range wanted {
		best, bytes := -1, int64(0)
		for i, t := range trials {
			problem, err := s.plan.Resolve(t)
			if err == nil && fits(i) && (best < 0 || problem.Instance.Footprint < bytes) {
				best, bytes = i, problem.Instance.Footprint
			}
		}
		if best >= 0 && !slices.Contains(taken, best) {
			taken = append(taken, best)
		}
	}
	for _, i := range taken {
		t := trials[i]
		problem, _ := s.plan.Resolve(t) // as above
		cases = append(cases, lab.SanitizedCase{Instance: problem.Instance, Seed: t.Seed, Batch: t.Batch})
		names = append(names, t.Name())
	}
	return cases, names
}

// judgeSanitizer fails a kernel that a tool found an error in. The verdict on its answers stands.
func (f *fuzzing) judgeSanitizer(s *subject) {
	for _, one := range s.verification.Sanitizer {
		at := slices.IndexFunc(one.Findings, func(found result.SanitizerFinding) bool { return found.Severity == sanitizer.Error })
		if at < 0 {
			continue
		}
		found := one.Findings[at]
		message := fmt.Sprintf("%s: %s", one.Tool, found.Kind)
		if found.File != "" {
			message += fmt.Sprintf(" at %s:%d", found.File, found.Line)
		}
		if s.fault == nil && s.verdict != result.Incorrect {
			s.fail("sanitize", &result.Fault{Cause: result.CauseSanitizer, Message: message, Hint: found.Note})
		}
		return
	}
}

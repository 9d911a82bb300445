package cli

import (
	"context"
	"errors"

	"pawl/internal/result"
)

// Exit codes are an API; the root command's help lists them.
const (
	exitOK          = 0
	exitFailed      = 1 // regression, incorrect, rejected, or a broken candidate
	exitUndecided   = 2
	exitUnjudged    = 3 // bad input, no device, nothing could be judged
	exitInterrupted = 130
)

// outcomeError is a run that was carried out and did not end well. Its message is
// the last line on stderr.
type outcomeError struct {
	code    int
	message string
}

func (e *outcomeError) Error() string { return e.message }

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// exitCode is the one switch from errors to exit codes.
func exitCode(err error) int {
	var outcome *outcomeError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &outcome):
		return outcome.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitUnjudged
}

// judge turns a report into the command's outcome.
func judge(r *result.Report) error {
	if r.Kind == result.KindCompare {
		return judgeComparison(r)
	}
	failed, unjudged, measured := 0, 0, 0
	for _, row := range r.Rows {
		switch row.Verdict {
		case result.Regression, result.Incorrect, result.Rejected, result.Broken:
			failed++
		default:
			if row.Fault != nil {
				unjudged++
			} else {
				measured++
			}
		}
	}
	switch {
	case r.Interrupted:
		return &outcomeError{exitInterrupted, "interrupted: what was measured until then is kept"}
	case failed > 0:
		return &outcomeError{exitFailed, plural(failed, "kernel config", "kernel configs") + " failed"}
	case measured == 0 || unjudged > 0:
		return &outcomeError{exitUnjudged, plural(unjudged, "kernel config", "kernel configs") + " could not be measured"}
	}
	return nil
}

// judgeComparison is judge for two files: what is undecided is an outcome of its
// own, and benchmarks that only one file has are not judged.
func judgeComparison(r *result.Report) error {
	verdicts := map[result.Verdict]int{}
	for _, row := range r.Rows {
		verdicts[row.Verdict]++
	}
	undecided := verdicts[result.Inconclusive] + verdicts[result.Incomparable]
	judged := undecided + verdicts[result.Regression] + verdicts[result.Improvement] + verdicts[result.Maintained] + verdicts[result.Unchanged]
	switch {
	case verdicts[result.Regression] > 0:
		return &outcomeError{exitFailed, plural(verdicts[result.Regression], "regression", "regressions")}
	case judged == 0:
		return &outcomeError{exitUnjudged, "the files have no benchmark in common"}
	case verdicts[result.Incomparable] > 0:
		return &outcomeError{exitUndecided, plural(undecided, "benchmark", "benchmarks") + " undecided, " + plural(verdicts[result.Incomparable], "of them", "of them") + " incomparable"}
	case undecided > 0:
		return &outcomeError{exitUndecided, "no significant difference in " + plural(undecided, "benchmark", "benchmarks")}
	}
	return nil
}

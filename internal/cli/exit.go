package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

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

// outcomeError is a run that finished but did not pass. Its message is the last line on stderr.
type outcomeError struct {
	code    int
	message string
}

func (e *outcomeError) Error() string { return e.message }

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// exitCode maps errors to exit codes; no other function does.
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

var resultCodes = map[result.Ending]int{result.Failed: exitFailed, result.Undecided: exitUndecided, result.Interrupted: exitInterrupted}

// outcomeOf turns a report into the command's outcome.
func outcomeOf(r *result.Report) error {
	if r.Passes() {
		return nil
	}
	code := cmp.Or(resultCodes[r.Outcome.Result], exitUnjudged)
	return &outcomeError{code, strings.Join(r.Outcome.Reasons, "; ")}
}

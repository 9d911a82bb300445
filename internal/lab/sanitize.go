package lab

import (
	"cmp"
	"context"
	"errors"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// A launch under compute-sanitizer takes many times as long as without.
const (
	sanitizedFactor = 50
	sanitizedLeast  = 3 * time.Minute // of a request
)

// Sanitized is the outcome of launches under a tool of compute-sanitizer.
type Sanitized struct {
	Text    string // the tool's own
	Log     string // what the cell printed
	Sandbox result.Sandbox
	Err     error // the error that ended the launches: often the one that the tool found
}

// SanitizedCase is a problem to launch on.
type SanitizedCase struct {
	Instance *spec.Instance
	Seed     uint64
	Batch    int
}

// Sanitize launches a job once on each problem, in its own cell under a tool of compute-sanitizer.
// It takes no samples, and nothing else runs on the device but the kernels that fill and inspect
// the arguments. The error says why there was no such cell.
func (l *Lab) Sanitize(ctx context.Context, job *Job, tool, sandbox string, cases []SanitizedCase) (*Sanitized, error) {
	deadline := max(sanitizedLeast, sanitizedFactor*l.Timeout)
	lease, err := l.Lease(ctx, job, Purpose{Tool: tool, Sandbox: sandbox, Deadline: deadline})
	var unloaded *unloadedError
	switch {
	case errors.As(err, &unloaded):
		return sanitized(unloaded.end)
	case err != nil:
		return sanitizedEnd(err), err
	}
	cell := lease.Cell
	for _, one := range cases {
		if err != nil {
			break
		}
		problem := worker.Problem(one.Instance, job.Artifact.Symbols)
		problem.Seed, problem.Batch, problem.Pin, problem.Copies, problem.DeadlineS = one.Seed, one.Batch, false, 1, deadline.Seconds()
		if _, err = cell.Prepare(ctx, problem); err == nil {
			_, err = cell.Produce(ctx, wire.Produce{Batch: one.Batch, DeadlineS: deadline.Seconds()})
		}
	}
	return sanitized(endCell(ctx, cell, err))
}

// sanitized returns the outcome of launches whose cell ended this way.
func sanitized(end cellEnd) (*Sanitized, error) {
	if end.reply != nil {
		return &Sanitized{Text: end.reply.Sanitizer, Log: end.reply.Log, Sandbox: end.reply.Sandbox, Err: end.err}, nil
	}
	found := sanitizedEnd(cmp.Or(end.closing, end.err))
	if found == nil {
		return nil, end.err
	}
	found.Err = end.err
	return found, nil
}

// sanitizedEnd returns what an ended cell has left; nil: it has not ended.
func sanitizedEnd(err error) *Sanitized {
	failed, ok := errors.AsType[*worker.Failed](err)
	if !ok || !failed.CellEnded {
		return nil
	}
	s := &Sanitized{Text: failed.Sanitizer, Log: failed.Log, Err: err}
	if failed.Sandbox != nil {
		s.Sandbox = *failed.Sandbox
	}
	return s
}

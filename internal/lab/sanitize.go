package lab

import (
	"context"
	"errors"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// A launch under compute-sanitizer takes many times as long as without.
const (
	sanitizedFactor = 50
	sanitizedLeast  = 180 // seconds of a request
)

// Sanitized is what came of launches under a tool of compute-sanitizer.
type Sanitized struct {
	Text    string // the tool's own
	Log     string // what the cell printed
	Sandbox result.Sandbox
	Err     error // what ended the launches: often what the tool found
}

// SanitizedCase is a problem to launch on.
type SanitizedCase struct {
	Instance *spec.Instance
	Seed     uint64
	Batch    int
}

// Sanitize launches a job once on each problem, in a cell of its own under a tool of
// compute-sanitizer: no sample, nothing else on the device but what fills and looks
// at the arguments. The error says why there was no such cell.
func (b *Lab) Sanitize(ctx context.Context, job *Job, tool, sandbox string, cases []SanitizedCase) (*Sanitized, error) {
	client, err := b.Living(ctx)
	if err != nil {
		return nil, err
	}
	sha, err := client.Upload(ctx, job.Artifact.Bytes)
	if err != nil {
		return nil, err
	}
	open, load := b.requests(job, sha)
	// The process that the worker would limit is the tool.
	open.Sanitizer, open.Sandbox, open.Memory, open.Threads, open.LockMHz = tool, sandbox, 0, 0, 0
	cell, err := client.Open(ctx, open)
	if err != nil {
		return sanitizedEnd(err), err
	}
	deadline := max(sanitizedLeast, sanitizedFactor*b.Timeout.Seconds())
	load.DeadlineS = deadline
	_, err = cell.Load(ctx, load)
	for _, one := range cases {
		if err != nil {
			break
		}
		problem := worker.Problem(one.Instance, job.Artifact.Symbols)
		problem.Seed, problem.Batch, problem.Pin, problem.Copies, problem.DeadlineS = one.Seed, one.Batch, false, 1, deadline
		if _, err = cell.Prepare(ctx, problem); err == nil {
			_, err = cell.Produce(ctx, wire.Produce{Batch: one.Batch, DeadlineS: deadline})
		}
	}
	if found := sanitizedEnd(err); found != nil {
		return found, nil
	}
	closed, closing := cell.Close(ctx)
	if closing != nil {
		if err == nil {
			err = closing
		}
		if found := sanitizedEnd(closing); found != nil {
			found.Err = err
			return found, nil
		}
		return nil, err
	}
	return &Sanitized{Text: closed.Sanitizer, Log: closed.Log, Sandbox: closed.Sandbox, Err: err}, nil
}

// sanitizedEnd is what a cell that is gone has left; nil: it is not.
func sanitizedEnd(err error) *Sanitized {
	var failed *worker.Failed
	if !errors.As(err, &failed) || !failed.CellEnded {
		return nil
	}
	s := &Sanitized{Text: failed.Sanitizer, Log: failed.Log, Err: err}
	if failed.Sandbox != nil {
		s.Sandbox = *failed.Sandbox
	}
	return s
}

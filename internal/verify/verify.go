// Package verify finds out whether a variant's answers are right. The candidate produces its
// answers in its own cell and the oracle in another; a third cell, which runs no code but pawl's,
// compares the two. Outputs stay with the worker; this package sees only their hashes and errors.
package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Side is a variant on one problem, loaded into a cell.
type Side struct {
	Cell     *worker.Cell
	Instance *spec.Instance
	Symbols  []string // of the launches, in the artifact
}

// Oracle gives the right answers: exactly one of its first three fields is set.
type Oracle struct {
	Builtin     string
	Elementwise string
	Reference   *Side // a kernel or a Python function
	Earlier     bool  // the reference is an earlier version of the kernel, which counts as right
}

// Bench verifies the answers to one problem.
type Bench struct {
	Candidate Side
	Oracle    Oracle
	Judge     *worker.Cell
	Rival     *Side // of the candidate's precision; its error is the yardstick for the candidate's; may be nil
	Factor    float64
	Tolerance oracle.Tolerance
	Usual     float64 // the absolute part of the tolerance, where it is the types' default; scaled data scales the tolerance, not this
	Seed      uint64
	Timeout   time.Duration // of one launch

	Retained bool // a launch has left something in its module's variables

	prepared  bool
	problem   wire.Prepare
	reference *answerer
	rival     *answerer
}

// suspect returns the finding that a kernel may cheat; an honest kernel may look the same.
func suspect(exploit, format string, args ...any) []result.Finding {
	return []result.Finding{{Exploit: exploit, Severity: result.Suspicious, Message: fmt.Sprintf(format, args...)}}
}

// Follow takes over the answers that reference and rival have just given on another bench: where
// several kernels have the same problem, each would ask for the same again.
func (b *Bench) Follow(before *Bench) {
	if b.Oracle.Reference != nil {
		b.reference = &answerer{side: *b.Oracle.Reference, bench: b, before: before.reference.answered()}
	}
	if b.Rival != nil {
		b.rival = &answerer{side: *b.Rival, bench: b, rival: true, before: before.rival.answered()}
	}
}

// Prepare gives the candidate its arguments.
func (b *Bench) Prepare(ctx context.Context) error {
	b.problem = b.describe()
	_, err := b.Candidate.Cell.Prepare(ctx, b.problem)
	b.prepared = err == nil
	return err
}

func (b *Bench) describe() wire.Prepare {
	m := worker.Problem(b.Candidate.Instance, b.Candidate.Symbols)
	// One copy at one address, so that other data comes at the same address.
	m.Seed, m.Pin, m.Copies, m.DeadlineS = b.Seed, false, 1, b.deadline(b.Candidate)
	m.Spare = b.Candidate.Instance.Variant.Kernel.Cell != spec.CellCUDA // as in a match, so that code cannot tell where it runs
	return m
}

// deadline returns the seconds that filling and copying a problem's arguments may take.
func (b *Bench) deadline(s Side) float64 {
	return b.Timeout.Seconds() + 5 + float64(s.Instance.Footprint)/50e6
}

// Produce launches the candidate once on the data of a batch.
func (b *Bench) Produce(ctx context.Context, batch int) ([]wire.Buffer, error) {
	reply, err := b.Candidate.Cell.Produce(ctx, wire.Produce{Batch: batch, DeadlineS: b.deadline(b.Candidate)})
	if err != nil {
		return nil, err
	}
	b.Retained = b.Retained || reply.Retained
	return reply.Outputs, nil
}

// Compare judges outputs of the candidate on the data of a batch, after steps of
// oracle.Mutate. An *OracleError says nothing of the candidate.
func (b *Bench) Compare(ctx context.Context, got []wire.Buffer, batch, steps int, tol oracle.Tolerance) ([]result.OutputError, error) {
	m := b.question(got, batch, steps, tol)
	var err error
	if m.Want, err = b.want(ctx, batch, steps); err != nil {
		return nil, err
	}
	return b.compare(ctx, m)
}

// compare has outputs compared with answers that are known, unless the oracle computes them.
func (b *Bench) compare(ctx context.Context, m wire.Judge) ([]result.OutputError, error) {
	reply, err := b.Judge.Judge(ctx, m)
	if err != nil {
		return nil, &OracleError{Err: err}
	}
	if b.Rival == nil || m.Atol == 0 && m.Rtol == 0 {
		return reply.Outputs, nil
	}
	return reply.Outputs, b.againstRival(ctx, m, reply.Outputs)
}

// want returns a reference's answers to the data of a batch; none where there is no reference.
func (b *Bench) want(ctx context.Context, batch, steps int) ([]wire.Buffer, error) {
	if b.Oracle.Reference == nil {
		return nil, nil
	}
	if b.reference == nil {
		b.reference = &answerer{side: *b.Oracle.Reference, bench: b}
	}
	out, err := b.reference.answer(ctx, batch, steps)
	if err != nil {
		return nil, &OracleError{Err: err}
	}
	return out, nil
}

func (b *Bench) question(got []wire.Buffer, batch, steps int, tol oracle.Tolerance) wire.Judge {
	return wire.Judge{
		Oracle: b.Oracle.Builtin, Elementwise: b.Oracle.Elementwise, Args: b.problem.Args, Seed: b.Seed, Batch: batch, Steps: steps,
		Got: got, Atol: tol.Abs, Rtol: tol.Rel, Usual: b.Usual, DeadlineS: b.patience(),
	}
}

// patience returns the seconds that a reference on the CPU may take: some do as much work in double
// precision as a GPU does in milliseconds.
func (b *Bench) patience() float64 {
	in := b.Candidate.Instance
	return b.Timeout.Seconds() + 30 + float64(in.Footprint)/20e6 + in.Flops/0.5e9
}

// againstRival measures the error of a rival of the same precision and records it beside the
// candidate's.
func (b *Bench) againstRival(ctx context.Context, m wire.Judge, errs []result.OutputError) error {
	if b.rival == nil {
		b.rival = &answerer{side: *b.Rival, bench: b, rival: true}
	}
	theirs, err := b.rival.answer(ctx, m.Batch, m.Steps)
	if err != nil {
		return &OracleError{Err: fmt.Errorf("the rival that sets the allowed error: %w", err)}
	}
	m.Got = nil
	for _, t := range theirs {
		m.Got = append(m.Got, wire.Buffer{Arg: t.Arg, SHA256: t.SHA256})
	}
	m.Args = b.rival.argsAs(m.Args)
	reply, err := b.Judge.Judge(ctx, m)
	if err != nil {
		return &OracleError{Err: err}
	}
	for i := range errs {
		for _, other := range reply.Outputs {
			if other.Name == errs[i].Name {
				errs[i].RivalMaxAbs, errs[i].RivalRMS = other.MaxAbs, other.RMS
			}
		}
	}
	return nil
}

// outOfMemory reports whether an error means that memory ran out.
func outOfMemory(err error) bool {
	fault, ok := errors.AsType[*result.Fault](err)
	return ok && fault.Cause == result.CauseMemory
}

package verify

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// Inspection is a long verification of a version before others are compared with it. It makes far
// more launches than a match has in one cell, since code may count them.
type Inspection struct {
	Looks int    // answers of timed samples to verify
	Cache string // as in the match
	Case  func() *result.Case
	After func(*result.Case) // called after each verification
}

const (
	runUpMost = 1000 // launches before the first verification,
	runUpSpan = time.Second
	askedMost = 16 // samples of a request
	askedAnew = 2  // one in this many requests turns to wholly new data
	anewKept  = 4  // all but one in this many keep the output of the sample on new data
)

// Inspect lets the candidate take samples as in a match, with other data each time. It verifies one
// sample of every request, and at an unpredictable moment it finds out whether the candidate
// depends on what it remembers. It ends with the first wrong answer. The error is an *OracleError,
// or the candidate's.
func (b *Bench) Inspect(ctx context.Context, in Inspection) ([]result.Finding, error) {
	if err := b.Prepare(ctx); err != nil {
		return nil, err
	}
	t := &timedTurns{bench: b, cache: in.Cache}
	if err := t.runUp(ctx); err != nil {
		return nil, err
	}
	var findings []result.Finding
	moment := (in.Looks + rand.IntN(max(1, in.Looks))) / 2 // not before half of them
	for i := range in.Looks {
		if i == moment && !b.Candidate.Instance.Variant.Kernel.DeviceCode() { // device code remembers nothing
			found, err := b.Novel(ctx)
			if err != nil {
				return findings, err
			}
			findings = append(findings, found...)
			t.batch, t.step = t.batch+1, 0
		}
		c := in.Case()
		found, err := t.look(ctx, c)
		if err != nil {
			return findings, err
		}
		findings = append(findings, found...)
		in.After(c)
		if c.Reason != "" {
			break
		}
	}
	return append(findings, t.watched.findings()...), nil
}

// timedTurns makes requests for timed samples, one after the other.
type timedTurns struct {
	bench       *Bench
	cache       string
	batch, step int
	watched     watched
}

// runUp brings the candidate as far as a match does, unless that takes long.
func (t *timedTurns) runUp(ctx context.Context) error {
	if t.bench.Candidate.Instance.Variant.Kernel.DeviceCode() {
		return nil
	}
	began := time.Now()
	for left := rand.IntN(runUpMost); left > 0 && time.Since(began) < runUpSpan; {
		m := t.request()
		if _, err := t.take(ctx, m); err != nil {
			return err
		}
		left -= m.Count
	}
	return nil
}

// request asks for a few samples, on data that no launch has seen: for code that shares its cell's
// address space a few elements differ from sample to sample.
func (t *timedTurns) request() wire.Sample {
	m := wire.Sample{Count: 1 + rand.IntN(askedMost), Repeat: 1, Cache: t.cache}
	m.DeadlineS = t.bench.deadline(t.bench.Candidate) + float64(m.Count)*t.bench.Timeout.Seconds()
	switch k := t.bench.Candidate.Instance.Variant.Kernel; {
	case k.DeviceCode():
		t.batch++
		m.Batch = t.batch
	case k.Launcher:
		t.batch++
		m.Batch, m.Step = t.batch, 1
	default:
		if m.Batch, m.Step = t.batch, t.step+1; rand.IntN(askedAnew) == 0 {
			m.Fresh, m.FreshBatch = 1+rand.IntN(m.Count), t.batch+1
		}
	}
	return m
}

// take makes a request and notes which data it ends on.
func (t *timedTurns) take(ctx context.Context, m wire.Sample) (*wire.SampleReply, error) {
	got, err := t.bench.Candidate.Cell.Sample(ctx, m)
	switch {
	case err != nil:
	case got.Fresh > 0:
		t.batch, t.step = m.FreshBatch, got.Count-got.Fresh+1
	case m.Step > 0:
		t.step = m.Step + got.Count - 1
	}
	return got, err
}

// look verifies the outputs of one sample of a request.
func (t *timedTurns) look(ctx context.Context, c *result.Case) ([]result.Finding, error) {
	m := t.request()
	if m.Keep = 1 + rand.IntN(m.Count); m.Fresh > 0 && rand.IntN(anewKept) > 0 {
		m.Keep = m.Fresh
	}
	got, err := t.take(ctx, m)
	if err != nil {
		return nil, err
	}
	if side := t.bench.Candidate; side.Instance.Variant.Kernel.Cell != spec.CellCUDA && !side.Cell.OnDevice {
		t.watched.add(m, got.Seconds)
	}
	batch, step := got.KeptOn(m)
	c.Batch = batch
	found, err := t.bench.Timed(ctx, c, got.Kept, step)
	if _, own := errors.AsType[*OracleError](err); err != nil && !own {
		err = &OracleError{Err: err} // the candidate has answered
	}
	return found, err
}

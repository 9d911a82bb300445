package verify

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// Inspection is a long look at a version before others are held against it: at far more
// launches than a match has in one cell, since code may count them.
type Inspection struct {
	Looks int    // at answers of timed samples
	Cache string // as in the match
	Case  func() *result.Case
	After func(*result.Case) // a look
}

const (
	runUpMost = 1000 // launches before the first look,
	runUpSpan = time.Second
	askedMost = 16 // samples of a request
	askedAnew = 2  // one in this many requests turns to wholly new data
	anewKept  = 4  // all but one in this many keep the output of the sample on new data
)

// Inspect has the candidate take samples as it does in a match, with other data each
// time. It looks at one of every request, and at a moment that nobody can foresee it
// finds out whether the candidate lives on what it remembers. It ends with the first
// answer that is wrong. The error is an *OracleError, or the candidate's.
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
		if i == moment && !b.Candidate.Instance.Variant.Kernel.DeviceCode() { // which remembers nothing
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
	return findings, nil
}

// timedTurns are requests for timed samples, one after the other.
type timedTurns struct {
	bench       *Bench
	cache       string
	batch, step int
}

// runUp brings the candidate as far as a match does, where that does not take long.
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

// request is for a few samples, on data that no launch has seen: of code that shares
// its cell's address space a few elements differ from sample to sample.
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

// took are the outputs of one timed sample, and the data that it worked on.
type took struct {
	outputs     []wire.Buffer
	batch, step int
}

func (t *timedTurns) take(ctx context.Context, m wire.Sample) (took, error) {
	got, err := t.bench.Candidate.Cell.Sample(ctx, m)
	if err != nil {
		return took{}, err
	}
	switch {
	case got.Fresh > 0:
		t.batch, t.step = m.FreshBatch, got.Count-got.Fresh+1
	case m.Step > 0:
		t.step = m.Step + got.Count - 1
	}
	batch, step := got.KeptOn(m)
	return took{got.Kept, batch, step}, nil
}

// look judges the outputs of one sample of a request.
func (t *timedTurns) look(ctx context.Context, c *result.Case) ([]result.Finding, error) {
	m := t.request()
	if m.Keep = 1 + rand.IntN(m.Count); m.Fresh > 0 && rand.IntN(anewKept) > 0 {
		m.Keep = m.Fresh
	}
	kept, err := t.take(ctx, m)
	if err != nil {
		return nil, err
	}
	c.Batch = kept.batch
	found, err := t.bench.Timed(ctx, c, kept.outputs, kept.step)
	var own *OracleError
	if err != nil && !errors.As(err, &own) {
		err = &OracleError{Err: err} // the candidate has answered
	}
	return found, err
}

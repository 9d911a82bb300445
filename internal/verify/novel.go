package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pawl/internal/result"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

// Incremental is a kernel that keeps its last data and answers, and computes only
// what has changed since: among samples hardly anything has.
const Incremental = "incremental"

const (
	novelPairs  = 8
	novelLeast  = 4 // pairs that a set needs, however long they take
	novelSpan   = time.Second
	novelSets   = 3    // that must agree, so that noise accuses nobody
	novelFactor = 1.25 // by which data never seen takes longer than the last once more
	novelBeyond = 2    // by which no luck of caches and branches explains it
	novelGap    = 2e-6 // seconds that it takes longer at least
	novelBatch  = 1 << 21
)

// Novel compares how long launches take on data that nobody has seen with how long
// they take on nearly the same data again. Both are generated, all of it, right
// before: to code that remembers nothing there is no difference.
func (b *Bench) Novel(ctx context.Context) ([]result.Finding, error) {
	if !b.drawn(1) {
		return nil, nil // there is no other data
	}
	var seen, unseen float64
	batch := novelBatch
	if _, err := b.onceOn(ctx, batch, 2); err != nil { // a first launch is like no other
		return nil, err
	}
	for range novelSets {
		fresh, again, err := b.novelSet(ctx, &batch)
		if err != nil {
			return nil, err
		}
		if seen, unseen = slices.Min(again), slices.Min(fresh); unseen < novelFactor*seen || unseen-seen < novelGap {
			return nil, nil
		}
	}
	severity := result.Suspicious
	if unseen > novelBeyond*seen {
		severity = result.Cheated
	}
	return []result.Finding{{
		Exploit: Incremental, Severity: severity,
		Message: fmt.Sprintf("%s on data that it has not seen before, %s on the same data again: it lives on what it remembers, and samples differ little", unit.Duration(unseen), unit.Duration(seen)),
	}}, nil
}

// novelSet times a few launches on new data, each followed by one on nearly the same:
// a step back makes a cell generate it once more.
func (b *Bench) novelSet(ctx context.Context, batch *int) (fresh, again []float64, err error) {
	for began := time.Now(); len(again) < novelPairs && (len(again) < novelLeast || time.Since(began) < novelSpan); {
		*batch++
		first, err := b.onceOn(ctx, *batch, 2)
		if err != nil {
			return nil, nil, err
		}
		second, err := b.onceOn(ctx, *batch, 1)
		if err != nil {
			return nil, nil, err
		}
		fresh, again = append(fresh, first), append(again, second)
	}
	return fresh, again, nil
}

// onceOn times one launch on the data of a batch, so many steps of oracle.Mutate on.
func (b *Bench) onceOn(ctx context.Context, batch, steps int) (float64, error) {
	got, err := b.Candidate.Cell.Sample(ctx, wire.Sample{Count: 1, Repeat: 1, Batch: batch, Step: steps, Cache: "cold", DeadlineS: b.deadline(b.Candidate)})
	if err != nil {
		return 0, err
	}
	return got.Seconds[0], nil
}

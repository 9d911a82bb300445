package verify

import (
	"context"
	"math"
	"time"

	"pawl/internal/result"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

// Incremental marks a kernel that keeps its last data and answers, and computes only what has
// changed since: between samples hardly anything has.
const Incremental = "incremental"

const (
	novelRounds  = 4
	novelLeast   = 2 // rounds that a set needs, however long they take
	novelSpan    = time.Second
	novelSets    = 3    // sets that must agree, so that noise accuses nobody
	novelFactor  = 1.5  // new data must take this many times as long as the same data again,
	novelGap     = 2e-6 // at least this many seconds longer,
	novelElement = 2e-9 // plus this for each element of the inputs: the branch predictor and caches of a CPU save less
	novelForget  = 10   // seconds that clearing the CPU's state may take on a busy machine, besides the time of a launch
	novelBatch   = 1 << 21
)

// Novel compares the time of launches on data that no launch has seen with their time on nearly the
// same data again. Both data sets are generated completely right before, and the CPU has forgotten
// its caches and predictions: code that remembers nothing sees no difference. Honest code may
// remember, so the finding is never more than suspicious.
func (b *Bench) Novel(ctx context.Context) ([]result.Finding, error) {
	if !b.drawn() {
		return nil, nil // there is no other data
	}
	n := &novelty{bench: b, batch: novelBatch}
	if _, _, err := n.onceOn(ctx, 1); err != nil { // the first launch is not representative
		return nil, err
	}
	for try := range 1 + novelSets {
		n.forget = try > 0 // forgetting takes long: only code that is faster on the same data is tested with it
		if differs, err := n.set(ctx); err != nil || !differs {
			return nil, err
		}
	}
	return suspect(Incremental, "it takes %s on data that it has not seen before, %s on the same data again: it may reuse remembered results, and the data of samples differs little", unit.Duration(n.fresh), unit.Duration(n.again)), nil
}

// novelty is one test whether new data makes a difference.
type novelty struct {
	bench        *Bench
	batch        int
	forget       bool
	fresh, again float64 // the fastest launches of the last set
}

// novelRound lists the steps of consecutive launches. The greatest begins a new batch of data; a
// step back makes a cell generate the whole last batch again. So neither kind is always the first.
var novelRound = []int{3, 2, 1, 3}

// set times launches on new data and on the same data again, and reports whether they differ by
// more than those of honest code.
func (n *novelty) set(ctx context.Context) (bool, error) {
	n.fresh, n.again = math.Inf(1), math.Inf(1)
	began := time.Now()
	for round := 0; round < novelRounds && (round < novelLeast || time.Since(began) < novelSpan); round++ {
		for _, step := range novelRound {
			least := &n.again
			if step == novelRound[0] {
				least = &n.fresh
				n.batch++
			}
			seconds, forgot, err := n.onceOn(ctx, step)
			if err != nil || n.forget && !forgot {
				return false, err
			}
			*least = min(*least, seconds)
		}
	}
	return differ(n.fresh, n.again, n.bench.elements()), nil
}

// differ reports whether new data takes so much longer that the code remembers more than a CPU
// keeps, whatever the CPU is made to forget.
func differ(fresh, again float64, elements int64) bool {
	return fresh >= novelFactor*again && fresh-again >= max(novelGap, novelElement*float64(elements))
}

// elements returns the number of elements of all inputs.
func (b *Bench) elements() int64 {
	total := int64(0)
	for _, a := range b.problem.Args {
		if read(a) {
			total += a.Count
		}
	}
	return total
}

// onceOn times one launch on the data of the batch after the given number of steps of
// oracle.Mutate.
func (n *novelty) onceOn(ctx context.Context, step int) (seconds float64, forgot bool, err error) {
	got, err := n.bench.Candidate.Cell.Sample(ctx, wire.Sample{
		Count: 1, Repeat: 1, Batch: n.batch, Step: step, Cache: "cold", Forget: n.forget, DeadlineS: n.bench.deadline(n.bench.Candidate) + novelForget,
	})
	if err != nil {
		return 0, false, err
	}
	return got.Seconds[0], got.Forgot, nil
}

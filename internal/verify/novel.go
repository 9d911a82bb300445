package verify

import (
	"context"
	"math"
	"time"

	"pawl/internal/result"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

// Incremental is a kernel that keeps its last data and answers, and computes only
// what has changed since: among samples hardly anything has.
const Incremental = "incremental"

const (
	novelRounds  = 4
	novelLeast   = 2 // rounds that a set needs, however long they take
	novelSpan    = time.Second
	novelSets    = 3    // that must agree, so that noise accuses nobody
	novelFactor  = 1.5  // by which data never seen takes longer than the last once more,
	novelGap     = 2e-6 // seconds that it takes longer at least,
	novelElement = 2e-9 // and for each element of the inputs: what a processor still knows of tables and branches saves less
	novelForget  = 10   // seconds that forgetting may take on a busy machine, besides what a launch may
	novelBatch   = 1 << 21
)

// Novel compares how long launches take on data that nobody has seen with how long
// they take on nearly the same data again. Both are generated, all of it, right
// before, and the processor has forgotten its caches and predictions: to code that
// remembers nothing there is no difference. Honest code may remember, so this is
// never more than suspicious.
func (b *Bench) Novel(ctx context.Context) ([]result.Finding, error) {
	if !b.drawn() {
		return nil, nil // there is no other data
	}
	n := &novelty{bench: b, batch: novelBatch}
	if _, _, err := n.onceOn(ctx, 1); err != nil { // a first launch is like no other
		return nil, err
	}
	for try := range 1 + novelSets {
		n.forget = try > 0 // which takes long: only who is quicker on the same data anyway is put to it
		if differs, err := n.set(ctx); err != nil || !differs {
			return nil, err
		}
	}
	return suspect(Incremental, "%s on data that it has not seen before, %s on the same data again: it may live on what it remembers, and samples differ little", unit.Duration(n.fresh), unit.Duration(n.again)), nil
}

// novelty is one look whether new data makes a difference.
type novelty struct {
	bench        *Bench
	batch        int
	forget       bool
	fresh, again float64 // the quickest launches of the last set
}

// novelRound are the steps of launches that follow each other. The greatest begins a
// new batch of data; a step back makes a cell generate all of the last once more. So
// neither kind is always the first.
var novelRound = []int{3, 2, 1, 3}

// set times launches on new data and on the same again, and reports whether they differ
// by more than honest ones do.
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

// differ reports whether new data takes so much longer that more is remembered than
// what a processor keeps, whatever it is asked to forget.
func differ(fresh, again float64, elements int64) bool {
	return fresh >= novelFactor*again && fresh-again >= max(novelGap, novelElement*float64(elements))
}

// elements are those of all inputs.
func (b *Bench) elements() int64 {
	total := int64(0)
	for _, a := range b.problem.Args {
		if read(a) {
			total += a.Count
		}
	}
	return total
}

// onceOn times one launch on the data of the batch, this many steps of oracle.Mutate on.
func (n *novelty) onceOn(ctx context.Context, step int) (seconds float64, forgot bool, err error) {
	b := n.bench
	got, err := b.Candidate.Cell.Sample(ctx, wire.Sample{
		Count: 1, Repeat: 1, Batch: n.batch, Step: step, Cache: "cold", Forget: n.forget, DeadlineS: b.deadline(b.Candidate) + novelForget,
	})
	if err != nil {
		return 0, false, err
	}
	return got.Seconds[0], got.Forgot, nil
}

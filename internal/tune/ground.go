package tune

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"

	"pawl/internal/search"
	"pawl/internal/space"
)

// fitting is the part of a space that the device can run, as formulas alone show: threads and shared
// memory of a block, the memory of the arguments. What only a compiler or a device finds out is a
// trial.
type fitting struct {
	*space.Space
	fits func(space.Point) bool
	over func() bool // nobody waits for an answer: looking for points that fit ends

	mu    sync.Mutex
	known map[string]bool
}

// ground returns what is searched. Who asks it holds the lock.
func (t *tune) ground(ctx context.Context) search.Ground {
	if !t.defaults.jobs[0].GPU() {
		return t.space
	}
	return &fitting{Space: t.space, known: map[string]bool{}, fits: func(p space.Point) bool {
		jobs := t.candidate(t.kernel.At(p)).jobs
		return t.compiler.Fits(jobs)
	}, over: func() bool { return t.over(ctx) }}
}

// drawsMost is how many points in a row may not fit before a space counts as empty.
const drawsMost = 100_000

func (f *fitting) fit(p space.Point) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := p.Key()
	fits, known := f.known[key]
	if !known {
		fits = f.fits(p)
		f.known[key] = fits
	}
	return fits
}

// Exact reports that Size is an upper bound: nobody has tried which points fit.
func (f *fitting) Exact() bool { return false }

func (f *fitting) Contains(p space.Point) bool { return f.Space.Contains(p) && f.fit(p) }

func (f *fitting) Sample(r *rand.Rand) space.Point {
	for range drawsMost {
		p := f.Space.Sample(r)
		if p == nil || f.fit(p) {
			return p
		}
		if f.over() {
			break
		}
	}
	return nil
}

func (f *fitting) All() iter.Seq[space.Point] {
	return func(yield func(space.Point) bool) {
		for p := range f.Space.All() {
			if f.over() || f.fit(p) && !yield(p) {
				return
			}
		}
	}
}

func (f *fitting) Neighbours(p space.Point) []space.Point {
	return slices.DeleteFunc(f.Space.Neighbours(p), func(p space.Point) bool { return !f.fit(p) })
}

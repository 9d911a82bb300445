package cell

import (
	"bytes"
	"testing"

	"pawl/internal/native/core"
	"pawl/internal/worker/wire"
)

// Where nothing is launched inputs are read, and outputs written to if launches leave them in
// a cache.
func TestTouch(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{})
	for _, cached := range []int{mostlyCached - 1, mostlyCached} {
		w.host.cached = cached
		var before [][]byte
		for _, b := range w.host.buffers {
			before = append(before, bytes.Clone(b.data()))
		}
		w.host.touch()
		for i, b := range w.host.buffers {
			want := written(b.arg) && cached == mostlyCached
			for at := range before[i] {
				if changed := b.data()[at] != before[i][at]; changed != (want && at%64 == 0) {
					t.Fatalf("%d looks have found outputs in a cache: byte %d of %s has changed: %v", cached, at, b.arg.Name, changed)
				}
			}
		}
	}
	if err := w.host.trespass(); err != nil {
		t.Error(err)
	}
}

// The first launches of a problem are looked at; plain stores leave outputs in a cache, and
// what was flushed after them is in none.
func TestLookAtCaches(t *testing.T) {
	if core.How() == "" {
		t.Skip("nothing can be flushed here")
	}
	most, least := 0, cacheLooks
	for range 20 { // other work of the machine empties caches, too
		w := newWitness(t)
		w.prepare(wire.Prepare{})
		w.mustSample(wire.Sample{Count: 2 * cacheLooks, Repeat: 1, Cache: "cold"})
		if w.host.looks != cacheLooks {
			t.Fatalf("%d looks", w.host.looks)
		}
		most = max(most, w.host.cached)
		w.host.cached, w.host.flush = 0, core.Flush // not the witness's, which flushes nothing
		for range cacheLooks {
			w.host.settle(true)
			w.host.lookAtCaches()
		}
		if least = min(least, w.host.cached); most >= mostlyCached && least < mostlyCached {
			return
		}
	}
	t.Errorf("in a cache after launches in %d of %d looks, after flushes in %d", most, cacheLooks, least)
}

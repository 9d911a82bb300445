package cell

import (
	"bytes"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/native/core"
	"pawl/internal/worker/wire"
)

// Where nothing is launched inputs are read, and outputs are written if launches leave them in a
// cache.
func TestTouch(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{})
	for _, cached := range []int{mostlyCached - 1, mostlyCached} {
		w.host.cached = cached
		var before [][]byte
		for _, b := range w.host.buffers {
			before = append(before, bytes.Clone(b.data()))
		}
		sum := w.host.touched
		for _, b := range w.host.buffers {
			for at := 0; b.arg.Role == "in" && at < b.size; at += 64 {
				sum += b.data()[at]
			}
		}
		if w.host.touch(); w.host.touched != sum || sum == 0 {
			t.Errorf("the lines of the inputs add up to %d, want %d", w.host.touched, sum)
		}
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

// The first launches of a problem are checked; plain stores leave outputs in a cache, and
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

// Lines are drawn from all over the selected arguments, none of them twice.
func TestLines(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{})
	for range 100 {
		seen := map[uintptr]bool{}
		lines := w.host.lines(written)
		for _, line := range lines {
			if seen[line/lineBytes] {
				t.Fatalf("line %#x comes twice", line)
			}
			seen[line/lineBytes] = true
			if !slices.ContainsFunc(w.host.buffers, func(b *buffer) bool {
				return written(b.arg) && b.address() <= line && line < b.address()+uintptr(b.size)
			}) {
				t.Fatalf("line %#x is no output's", line)
			}
		}
		if len(lines) == 0 || len(lines) > probeLines {
			t.Fatalf("%d lines", len(lines))
		}
	}
}

// With and without launches a counted request does the same besides them, so that what it counts
// can be subtracted: nothing is touched in their place, and caches are flushed behind them, too.
func TestCounted(t *testing.T) {
	w := newWitness(t)
	prepared := w.prepare(wire.Prepare{})
	flushed := 0
	w.host.flush = func(uintptr, int) { flushed++ }
	flushes := func(m wire.Sample) int {
		flushed = 0
		w.mustSample(m)
		return flushed
	}
	usual := flushes(wire.Sample{Count: 3, Repeat: 1, Cache: "cold", Dry: true})
	touched, looks, launches := w.host.touched, w.host.looks, w.launches()
	for _, dry := range []bool{false, true} {
		if got := flushes(wire.Sample{Count: 3, Repeat: 1, Cache: "cold", Dry: dry, Counted: true}); got != 2*usual || usual == 0 {
			t.Errorf("dry %t: %d flushes, and %d where it is not counted", dry, got, usual)
		}
		if got := flushes(wire.Sample{Count: 1, Repeat: 3, Cache: "hot", Dry: dry, Counted: true}); got != 0 {
			t.Errorf("dry %t: %d flushes of hot caches", dry, got)
		}
	}
	if w.host.touched != touched || w.host.looks != looks || w.launches() != launches+4 {
		t.Errorf("touched %d and %d, %d looks, %d launches", touched, w.host.touched, w.host.looks-looks, w.launches()-launches)
	}
	self, _ := answer(w, func(int) (int, error) { return unix.Gettid(), nil }, 0)
	if all := ownThreads(); len(prepared.Own) == 0 || slices.Contains(prepared.Own, self) || !slices.Contains(all, prepared.Own[0]) {
		t.Errorf("its own threads are %v of %v; %d launches", prepared.Own, all, self)
	}
}

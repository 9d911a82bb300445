package cell

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"pawl/internal/native/core"
	"pawl/internal/worker/wire"
)

// touch is timed in place of a launch. It leaves memory in the caches as launches do, so that the
// work after a sample takes as long as after a real launch. Most launches traverse all of their
// arguments in parallel.
func (h *host) touch() {
	longest := 0
	for _, b := range h.buffers {
		longest = max(longest, b.size)
	}
	for from := 0; from < longest; from += touchSpan {
		for _, b := range h.buffers {
			data := b.data()[min(from, b.size):min(from+touchSpan, b.size)]
			switch {
			case b.arg.Role == "in":
				for at := 0; at < len(data); at += 64 {
					h.touched += data[at]
				}
			case written(b.arg) && h.cached >= mostlyCached:
				for at := 0; at < len(data); at += 64 {
					data[at]++
				}
			}
		}
	}
}

// touchSpan is the number of bytes of an argument that are touched before the next argument is.
const touchSpan = 4096

const (
	cacheLooks   = 5 // after one launch each
	mostlyCached = 3 // checks that must find outputs in a cache
)

// lookAtCaches finds out whether a launch has left its outputs in a cache: it may have written past
// the caches.
func (h *host) lookAtCaches() {
	lines := h.lines(written)
	if h.looks++; len(lines) < probeLeast {
		return
	}
	after := core.Walk(lines)
	for _, line := range lines {
		core.Flush(line, 1)
	}
	if 2*after < core.Walk(lines) {
		h.cached++
	}
}

const (
	probeLines = 64
	probeLeast = 8 // with fewer the clock says little
	probeTries = 3 // tries, of which the fastest cold read counts
)

// lines returns random cache lines of the arguments, each at most once.
func (h *host) lines(of func(wire.Arg) bool) []uintptr {
	var lines []uintptr
	for _, i := range rand.Perm(probeLines * len(h.buffers)) {
		if b := h.buffers[i%len(h.buffers)]; b.size > 0 && of(b.arg) {
			lines = append(lines, b.address()+uintptr(rand.Uint64N(uint64(b.size))))
		}
	}
	slices.SortFunc(lines, func(a, b uintptr) int { return cmp.Compare(a/lineBytes, b/lineBytes) })
	lines = slices.CompactFunc(lines, func(a, b uintptr) bool { return a/lineBytes == b/lineBytes })
	rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return lines[:min(len(lines), probeLines)]
}

// probe reads random lines of the arguments, flushes, and reads them again, and once more after
// evicting exactly these lines: both reads take the same time if the flush worked.
func (h *host) probe() (flushed, cold float64) {
	lines := h.lines(func(wire.Arg) bool { return true })
	if len(lines) < probeLeast || core.How() == "" {
		return 0, 0
	}
	core.Walk(lines) // otherwise other work may have evicted them
	h.settle(true)
	flushed, cold = core.Walk(lines).Seconds(), math.Inf(1)
	for range probeTries {
		for _, line := range lines {
			core.Flush(line, 1)
		}
		cold = min(cold, core.Walk(lines).Seconds())
	}
	return max(flushed-h.reading, 1e-9), max(cold-h.reading, 1e-9)
}

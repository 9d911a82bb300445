package cell

import (
	"runtime"
	"runtime/metrics"
)

const (
	garbageMost  = 8 << 20 // bytes of garbage that are tolerated
	garbageEvery = 64      // samples between two calls of collectGarbage, which takes a microsecond
)

// allocations counts the bytes that Go has allocated in this process. Only the working thread uses
// it.
var allocations = struct {
	read      [1]metrics.Sample
	collected uint64 // bytes at the last collection
}{read: [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}}

// collectGarbage runs the collector if much was allocated since its last run. The collector is off
// while the cell works, so that it never runs during a launch: code that allocates per sample or
// per request must call this now and then.
func collectGarbage() {
	a := &allocations
	metrics.Read(a.read[:])
	if total := a.read[0].Value.Uint64(); total-a.collected > garbageMost {
		runtime.GC()
		a.collected = total
	}
}

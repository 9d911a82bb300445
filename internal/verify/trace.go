package verify

import (
	"context"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// Exploits in what launches do besides answering.
const (
	RetainedState  = "retained-state"  // state that the next launch finds
	ForeignKernels = "foreign-kernels" // device code that is not part of the candidate
	PersistingL2   = "persisting-l2"   // cache lines that a flush does not evict
	SideStream     = "side-stream"     // work outside the stream that is timed
)

// SetAside returns the finding about a launcher that sets aside a part of the L2 that no flush
// reaches.
func SetAside() []result.Finding {
	return suspect(PersistingL2, "it sets a part of the L2 aside, where the flush before a launch does not reach; --cache hot is the way to measure what finds its arguments there")
}

// Remembers returns the finding about a kernel whose launches find state of the last one.
func Remembers() []result.Finding {
	return suspect(RetainedState, "it leaves something in __device__ variables, and hot samples have several launches on the same data: all but the first may have found their answer there")
}

// Trace launches once more and lists the kernels that ran. It is the last request to a cell: the
// profiler stays active in it.
func (b *Bench) Trace(ctx context.Context, batch int) (*wire.ProduceReply, error) {
	return b.Candidate.Cell.Produce(ctx, wire.Produce{Batch: batch, Trace: true, DeadlineS: b.deadline(b.Candidate)})
}

// Outside returns the finding about work outside the stream that is timed.
func Outside(kernels []string) []result.Finding {
	if len(kernels) == 0 {
		return nil
	}
	return suspect(SideStream, "kernels ran before the stream that it is timed on had begun, or after it was done: %s; work on another stream waits for the caller's stream, which waits for it in turn (wait_stream)", strings.Join(kernels, ", "))
}

// Foreign returns the finding about kernels that ran and are not the candidate's own. A candidate
// that declares a library may call it.
func Foreign(ran, own, flags []string) []result.Finding {
	foreign := slices.DeleteFunc(slices.Clone(ran), func(name string) bool { return slices.Contains(own, name) })
	if len(foreign) == 0 || slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-l") }) {
		return nil
	}
	return suspect(ForeignKernels, "kernels ran that its source does not have: %s; a library that may be called is named in flags: (-lcublas)", strings.Join(foreign, ", "))
}

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
	return suspect(PersistingL2, "it sets aside a part of the L2 that the flush before a launch does not reach; use --cache hot to measure a kernel whose arguments stay in the cache")
}

// Remembers returns the finding about a kernel whose launches find state of the last one.
func Remembers() []result.Finding {
	return suspect(RetainedState, "it leaves data in __device__ variables, and a hot sample has several launches on the same data: all but the first launch may have found the answer there")
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
	return suspect(SideStream, "kernels ran before the timed stream began, or after it was done: %s; make other streams wait for the caller's stream, and the caller's stream wait for them (wait_stream)", strings.Join(kernels, ", "))
}

// Foreign returns the finding about kernels that ran and are not the candidate's own. A candidate
// that declares a library may call it.
func Foreign(ran, own, flags []string) []result.Finding {
	foreign := slices.DeleteFunc(slices.Clone(ran), func(name string) bool { return slices.Contains(own, name) })
	if len(foreign) == 0 || slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-l") }) {
		return nil
	}
	return suspect(ForeignKernels, "kernels ran that are not in its source: %s; if it calls a library, name it in flags: (-lcublas)", strings.Join(foreign, ", "))
}

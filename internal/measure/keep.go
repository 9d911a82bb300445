package measure

import (
	"context"
	"math/rand/v2"

	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// Kept holds the outputs of one timed sample, stored by the worker, and the data of that sample.
type Kept struct {
	Outputs []wire.Buffer
	Batch   int
	Steps   int  // of oracle.Mutate
	Last    bool // taken after all timed samples of its cell, from code that may count launches
}

// keeper draws the samples whose outputs are kept: one of nearly every request at first, then of
// fewer and fewer, so that a cheat that counts launches is never safe.
type keeper struct {
	requests int
	here     int  // kept in this cell
	last     bool // the next request keeps one
	kept     []Kept
}

// Outputs are kept for this many samples, for more where they are small.
const (
	keptBytes = 32 << 20
	keptLeast = 2
	keptMost  = 8
	keptHere  = 2 // in one cell, for device code
)

// due reports whether this request is to keep an output.
func (s *series) due() bool {
	if !s.opts.Keep {
		return false
	}
	size := int64(1)
	for _, arg := range s.Instance.Args {
		if arg.Role == spec.RoleOut || arg.Role == spec.RoleInOut {
			size += arg.Bytes
		}
	}
	s.draw.requests++
	few := int(max(keptLeast, min(keptMost, keptBytes/size)))
	if s.draw.last {
		return true
	}
	if s.Instance.Variant.Kernel.DeviceCode() {
		// Device code remembers nothing, so one sample is as good as another.
		return len(s.draw.kept) == 0 || s.draw.here < keptHere && len(s.draw.kept) < few && rand.IntN(2) == 0
	}
	return rand.IntN(few+s.draw.requests-1) < few
}

// drawn draws the sample of a request that is kept, among those that the cell takes before it
// stops. It stops most seconds after its start.
func (s *series) drawn(count int, most float64) int {
	if s.perItem > 0 {
		count = max(1, min(count, int(most/s.perItem)))
	}
	return 1 + rand.IntN(count)
}

// freshen makes sure that no launch works on the contents of the last: code on a GPU gets other
// data with every request, and for code that shares the cell's address space a few elements change
// with every sample.
func (s *series) freshen(m *wire.Sample) {
	s.data++
	switch {
	case s.launches():
		m.Batch, m.Step = s.data, 1 // steps are counted within a batch
	case s.cuda():
		m.Batch = s.data
	default:
		m.Batch, m.Step = s.stepping, s.steps+1
	}
}

// wanted makes a request for this many samples, on other data than the last.
func (s *series) wanted(count int) wire.Sample {
	m := wire.Sample{Side: s.Index, Count: count, Repeat: s.perSample, Cache: s.opts.Cache, DeadlineS: s.deadline(count)}
	s.freshen(&m)
	return m
}

// take sends a request to the cell.
func (s *series) take(ctx context.Context, m wire.Sample) (*wire.SampleReply, error) {
	got, err := s.Cell.Sample(ctx, m)
	if err == nil {
		s.keep(m, got)
	}
	return got, err
}

// keep records the outputs that a request has kept.
func (s *series) keep(m wire.Sample, got *wire.SampleReply) {
	switch {
	case got.Fresh > 0:
		s.stepping, s.steps = m.FreshBatch, got.Count-got.Fresh+1
	case m.Step > 0:
		s.steps += got.Count
	}
	if m.Keep == 0 || len(got.Kept) == 0 {
		return
	}
	k := Kept{Outputs: got.Kept, Last: s.draw.last}
	k.Batch, k.Steps = got.KeptOn(m)
	s.draw.kept = append(s.draw.kept, k)
	s.draw.here++
}

// keepLastOutput keeps one more output of code that may count its launches, once enough samples are
// timed, a moment that the code cannot know: being right only at first is not enough. The
// statistics leave these samples out.
func (s *series) keepLastOutput(ctx context.Context) error {
	if !s.opts.Keep || s.opts.Sustain || s.Instance.Variant.Kernel.DeviceCode() || len(s.samples.Seconds) == 0 {
		return nil
	}
	s.draw.last = true
	defer func(perItem float64) { // perItem now includes the time of keeping
		s.draw.last, s.perItem = false, perItem
	}(s.perItem)
	return s.beside(ctx, warmWindow, "last look")
}

// Kept returns the candidate's kept outputs, from all cells.
func (m *Match) Kept() []Kept {
	if len(m.series) == 0 {
		return nil
	}
	return m.series[0].draw.kept
}

package worker

import (
	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// counting reads the processor's counters of a cell during one request; its zero value reads none.
// The worker opens them from outside: a cell's sandbox refuses perf events, and the kernel counts,
// so candidate code cannot forge a value. Which threads are the cell's own the cell says itself: one
// that lies hides its work from an explanation, and from nothing else.
type counting struct{ *machine.Counting }

// count starts the counters that a request asks for, and tells the cell that it is counted. The
// cell is stopped between requests: nothing of the last one is counted.
func (c *child) count(m *wire.Sample) (counting, error) {
	names := m.Counters
	m.Counters, m.Counted = nil, len(names) > 0
	switch {
	case len(names) == 0:
		return counting{}, nil
	case c.onGPU():
		return counting{}, result.Faultf(result.CauseUnsupported, "the processor's counters say nothing of a kernel on a GPU").WithHint("profile it with ncu")
	}
	return counting{machine.Count(c.proc.Pid(), names, c.own...)}, nil
}

func (c counting) read() *result.Counts {
	if c.Counting == nil {
		return nil
	}
	return new(c.Counting.Read())
}

// Close stops counting.
func (c counting) Close() {
	if c.Counting != nil {
		c.Counting.Close()
	}
}

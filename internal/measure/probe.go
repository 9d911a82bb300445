package measure

import (
	"fmt"

	"pawl/internal/result"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

const (
	probeOneIn = 8   // one request in this many reads flushed memory
	coldShare  = 0.6 // the least share of a cold read's time that a read after a flush may take
	warmReads  = 5   // consecutive warm reads before somebody is blamed
)

// probed records what the read after a flush revealed.
func (s *series) probed(got *wire.SampleReply) error {
	switch {
	case got.ColdS == 0:
		return nil
	case got.FlushedS >= coldShare*got.ColdS:
		s.warmReads = 0
		return nil
	}
	if s.warmReads++; s.warmReads < warmReads {
		return nil
	}
	return &result.Fault{
		Cause:   result.CauseForged,
		Message: fmt.Sprintf("patched-flush: reading arguments that were flushed takes %s, and %s when they really were", unit.Duration(got.FlushedS), unit.Duration(got.ColdS)),
		Hint:    "candidate code shares the cell's address space and keeps its arguments in the caches",
	}
}

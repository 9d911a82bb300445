package measure

import (
	"fmt"

	"pawl/internal/result"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

const (
	probeOneIn = 8   // requests reads what was flushed
	coldShare  = 0.6 // of what a cold read takes is the least that one after a flush may take
	warmReads  = 5   // in a row, until it is somebody's doing
)

// probed takes down what that has brought to light.
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

package measure

import (
	"context"
	"math"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// A stretch is a series of launches back to back, long enough for a power-limited GPU to settle at
// the clock it can sustain under this kernel. Its beginning still runs at the clock, and at the
// temperature, of the work before: it is not counted.
const (
	stretchSpan  = 100 * time.Millisecond
	stretchRamp  = 30 * time.Millisecond
	stretchLeast = 8 // stretches, whatever the budget says
)

// stretch adds one sample: the time of a launch among many.
func (s *series) stretch(ctx context.Context) error {
	for _, arg := range s.Instance.Args {
		if arg.Buffer && arg.Role == spec.RoleInOut {
			return &result.Fault{
				Cause: result.CauseUnsupported, Message: "sustained launches do not restore what they change, and argument " + arg.Name + " has role: inout",
				Hint: "measure it without --sustain",
			}
		}
	}
	each := s.samples.Seconds[len(s.samples.Seconds)-1]
	for _, span := range []time.Duration{stretchRamp, stretchSpan} {
		launches := int64(max(1, math.Ceil(span.Seconds()/each)))
		began := time.Now()
		reply, err := s.Cell.Run(ctx, wire.Run{
			Side: s.Index, Launches: launches, DeadlineS: s.opts.Timeout.Seconds() + 10*span.Seconds(),
			State: span == stretchSpan, // reading the state before it would let the device rest
		})
		if err != nil {
			return err
		}
		if each = reply.CellS / float64(launches); span == stretchRamp {
			continue
		}
		s.add([]float64{each}, []float64{reply.GHz})
		s.perItem = time.Since(began).Seconds()
		s.note(reply.State)
	}
	return nil
}

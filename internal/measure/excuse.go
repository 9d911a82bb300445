package measure

import "pawl/internal/worker/wire"

// stealTick is how exactly stolen time is counted, in seconds.
const stealTick = 0.01

// An excused time is what a clock has run on for no fault of the cell's.
type excused struct {
	seconds float64
	unsure  float64 // more that may be: stolen time is counted in ticks
}

// excuse is what other work of the machine adds to a request by the worker's clock:
// what was stolen, of which the processor's time knows nothing, and where that clock
// is the wall's also what the cell waited for its core. Where nothing was stolen there
// is nothing to be unsure of: an honest request that is contradicted has lost more
// than a tick.
func excuse(t wire.Toll, wall bool) excused {
	e := excused{seconds: t.StolenS}
	if t.StolenS > 0 {
		e.unsure = stealTick
	}
	if wall {
		e.seconds += t.WaitedS
	}
	return e
}

// most is what it may be at most.
func (e excused) most() float64 { return e.seconds + e.unsure }

package measure

import "pawl/internal/worker/wire"

// stealTick is the unit in which the kernel counts stolen time, in seconds.
const stealTick = 0.01

// excused is the part of a request's time that other work of the machine explains.
type excused struct {
	seconds float64
	unsure  float64 // that may come on top: stolen time is counted in ticks
}

// excuse computes how much of a request's time other work of the machine explains:
// stolen time, which processor time may include, and, if the request was timed by the wall
// clock, the time that the cell waited for its core. Where nothing was stolen nothing is
// unsure: an honest request that seems contradicted has lost more than a tick.
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

// most returns the longest time that may be excused.
func (e excused) most() float64 { return e.seconds + e.unsure }

package measure

import "pawl/internal/worker/wire"

// excused is the part of a request's time that other work of the machine explains.
type excused struct {
	seconds float64
	unsure  float64 // uncertainty on top: stolen time is counted in ticks
}

// excuse computes how much of a request's time other work of the machine explains. Where no time
// was stolen nothing is uncertain: an honest request that seems contradicted has lost more than a
// tick.
func excuse(t wire.Toll) excused {
	e := excused{seconds: t.StolenS + t.WaitedS}
	if t.StolenS > 0 {
		e.unsure = wire.StealTick.Seconds()
	}
	return e
}

// most returns the longest time that may be excused.
func (e excused) most() float64 { return e.seconds + e.unsure }

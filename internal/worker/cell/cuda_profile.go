package cell

import (
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// mostProfiled bounds the launches of a request: each is replayed dozens of times.
const mostProfiled = 1000

// profile launches where a profiler looks. Between the start and the stop there is nothing but the
// side's own launches: a launch that is queued behind a kernel that waits for the host would never
// return, because the profiler runs every kernel alone.
func (c *cudaCell) profile(m *wire.ProfileLaunches) (*wire.Profiled, error) {
	side, err := c.side(m.Side, true)
	if err != nil {
		return nil, err
	}
	if m.Repeats < 1 || m.Repeats > mostProfiled {
		return nil, result.Faultf(result.CauseProtocol, "%d launches to profile; at most %d", m.Repeats, mostProfiled)
	}
	for range m.Repeats {
		if err = c.profileOnce(side); err != nil {
			return nil, faultOf(err)
		}
	}
	reply := &wire.Profiled{Launches: -1}
	if side.launcher == 0 {
		reply.Launches = m.Repeats * len(side.launches)
	}
	return reply, faultOf(c.trespass())
}

func (c *cudaCell) profileOnce(side *cudaSide) error {
	err := c.restore(side, 1)
	if err == nil {
		err = c.driver.Synchronize() // what fills the arguments must not run while the profiler looks
	}
	if err == nil {
		err = c.driver.StartProfiler()
	}
	if err != nil {
		return err
	}
	err = c.launch(side)
	if err == nil {
		err = c.driver.Synchronize() // also for work that a launcher left on other streams
	}
	if stopped := c.driver.StopProfiler(); err == nil {
		err = stopped
	}
	return err
}

package cell

import (
	"slices"
	"time"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

const (
	maxBatch     = 512         // samples per request: their stamps stay on the device until its end
	blockerLimit = uint64(2e9) // nanoseconds after which the blocker gives up
	flagWord     = 0           // of the mapped page: the last launch that may run
	expiredWord  = 64 / 4      // on another cache line: the launch the blocker gave up on
)

func (c *cudaCell) sample(m *wire.Sample) (*wire.Sampled, error) {
	order := m.Order
	if len(order) == 0 {
		order = []int{m.Side}
	}
	if m.Count < 1 || m.Count > wire.MaxBlob/16 || m.Repeat < 1 || m.Count%len(order) != 0 {
		return nil, result.Faultf(result.CauseProtocol, "%d samples of %d launches, in turns of %d", m.Count, m.Repeat, len(order))
	}
	sides := make([]*cudaSide, len(order))
	for i, number := range order {
		var err error
		if sides[i], err = c.side(number, true); err != nil {
			return nil, err
		}
	}
	reply := &wire.Sampled{}
	err := c.samples(m, sides, reply)
	if err == nil {
		reply.GHz, reply.GlobalS, err = c.clocks(len(reply.Seconds))
	}
	if err != nil {
		return nil, faultOf(err)
	}
	reply.Count, reply.OverheadS, reply.PairS = len(reply.Seconds), c.overhead, c.pair
	for i, side := range sides {
		reply.GapS = max(reply.GapS, side.gap)
		if !m.Dry && !slices.Contains(sides[:i], side) {
			side.lingers(reply.Count)
		}
		reply.OtherStreams = reply.OtherStreams || side.strays || side.lingered >= strayRequests
		reply.DeviceBytes = max(reply.DeviceBytes, int64(side.problem.bytes+side.extra))
		if side.setAside && !slices.Contains(reply.SetAside, order[i]) {
			reply.SetAside = append(reply.SetAside, order[i])
		}
	}
	return reply, faultOf(c.trespass())
}

// samples takes samples of the sides in turns, in whole rounds.
func (c *cudaCell) samples(m *wire.Sample, sides []*cudaSide, reply *wire.Sampled) error {
	if err := c.ready(m, sides); err != nil {
		return err
	}
	most := max(len(sides), min(m.Count, maxBatch/len(sides)*len(sides)))
	if err := c.driver.MemsetD8(c.stamps, 0, uint64(most*c.stampBytes()), c.stream); err != nil {
		return err
	}
	begin := time.Now()
	for i := range most {
		side := sides[i%len(sides)]
		if m.Step > 0 {
			if err := c.advance(side.problem, m.Step+i); err != nil {
				return err
			}
		}
		set := side.anyOf(m.Repeat)
		took, err := c.timed(side, i, m)
		if err == nil && i+1 == m.Keep && set >= 0 && !m.Dry {
			err = c.keep(side, side.problem.sets[set], m, reply)
		}
		if err != nil {
			return err
		}
		if err := c.setBack(side); err != nil {
			return err
		}
		if !side.strays { // its time includes no events
			took -= c.pair
		}
		reply.Seconds = append(reply.Seconds, max(took, 1e-9)/float64(m.Repeat))
		if whole := (i+1)%len(sides) == 0; whole && m.MaxS > 0 && time.Since(begin).Seconds() > m.MaxS {
			break
		}
	}
	return nil
}

// ready brings the sides of a request into the state that samples start from.
func (c *cudaCell) ready(m *wire.Sample, sides []*cudaSide) error {
	for i, side := range sides {
		if !slices.Contains(sides[:i], side) {
			if err := c.renew(side); err != nil {
				return err
			}
		}
		if err := c.refresh(side.problem, m.Batch, max(0, m.Step-1)); err != nil {
			return err
		}
		if hot := m.Cache == "hot"; side.hot != hot {
			side.hot, side.repeat, side.next = hot, 0, 0
		}
		side.strayed, side.setAside = 0, false
		if err := c.settleDown(side, m.Repeat); err != nil {
			return err
		}
		if side.hot { // a hot launch must not find new data, or another side's
			if err := c.launch(side); err != nil {
				return err
			}
		}
		if err := c.setBack(side); err != nil {
			return err
		}
	}
	_ = c.driver.ResetPersistingL2() // where the device has none there is nothing to reset
	return nil
}

// timed takes one sample of a side.
func (c *cudaCell) timed(side *cudaSide, index int, m *wire.Sample) (float64, error) {
	if side.strays {
		return c.exposed(side, m)
	}
	section := side.several
	if m.Repeat == 1 {
		section.launch = func() error { return c.launch(side) }
	}
	if section.launches = m.Repeat; m.Dry {
		section.launch = func() error { return nil }
	}
	section.unhidden = m.Unhidden
	took, err := c.once(side, index, m.Cache == "cold", section)
	if err != nil || side.launcher == 0 {
		return took, err
	}
	stray, err := c.joinStreams(side)
	return took + stray, err
}

// exposed times a side that works on its own streams: a blocked stream would not hold it back, and
// events in that stream would not see it. Only the host's clock remains, from the call until the
// device is idle again.
func (c *cudaCell) exposed(side *cudaSide, m *wire.Sample) (float64, error) {
	if err := c.restore(side, m.Repeat); err != nil {
		return 0, err
	}
	if m.Cache == "cold" {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	if err := c.driver.Synchronize(); err != nil {
		return 0, err
	}
	start := time.Now()
	for range m.Repeat {
		if m.Dry {
			break
		}
		if err := c.launch(side); err != nil {
			return 0, err
		}
	}
	err := c.driver.Synchronize()
	return time.Since(start).Seconds(), err
}

// section is the timed part of a sample: one launch in the stream, or a graph of several.
type section struct {
	graph    *cuda.GraphExec // that launch launches; nil: none
	launch   func() error
	launches int
	unhidden bool // on an idle device, so that its time includes the host's part
}

// fire queues a section between the two events.
func (c *cudaCell) fire(s section) error {
	if err := c.before.Record(c.stream); err != nil {
		return err
	}
	if err := s.launch(); err != nil {
		return err
	}
	return c.after.Record(c.stream)
}

// capture makes a graph of count launches.
func (c *cudaCell) capture(count int, launch func() error) (section, error) {
	if err := c.stream.BeginCapture(); err != nil {
		return section{}, err
	}
	var err error
	for range count {
		if err = launch(); err != nil {
			break
		}
	}
	graph, ended := c.stream.EndCapture()
	if err == nil {
		err = ended
	}
	if err != nil {
		return section{}, err
	}
	defer func() { _ = graph.Destroy() }()
	exec, err := graph.Instantiate()
	if err != nil {
		return section{}, err
	}
	return section{graph: &exec, launch: func() error { return exec.Launch(c.stream) }}, exec.Upload(c.stream)
}

func (s section) drop() {
	if s.graph != nil {
		_ = s.graph.Destroy()
	}
}

// once takes one sample, in the order that docs/measuring.md explains: restore, poison, flush,
// block, stamp, event, launch, event, stamp, release.
func (c *cudaCell) once(side *cudaSide, index int, cold bool, timed section) (float64, error) {
	if side != nil {
		if err := c.restore(side, timed.launches); err != nil {
			return 0, err
		}
	}
	if cold {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	begin := c.block
	if timed.unhidden {
		begin = c.stream.Synchronize // until the device is idle
	}
	err := begin()
	if err == nil {
		err = c.stamp(index, 0)
	}
	if err == nil {
		err = c.fire(timed)
	}
	if err == nil {
		err = c.stamp(index, 1)
	}
	c.unblock() // also after a failure: nothing may wait for ever
	if err != nil {
		return 0, err
	}
	if err := c.stream.Synchronize(); err != nil {
		return 0, err
	}
	if err := c.expired(); err != nil && !timed.unhidden { // otherwise nothing was held
		return 0, err
	}
	milliseconds, err := cuda.Elapsed(c.before, c.after)
	return max(float64(milliseconds)*1e-3, 1e-9), err
}

// block holds the stream until unblock.
func (c *cudaCell) block() error {
	c.released++
	if err := c.calls.block.Set(1, cuda.Param(c.released)); err != nil {
		return err
	}
	return c.calls.block.Launch(c.stream)
}

func (c *cudaCell) unblock() { c.flag.Word(flagWord).Store(c.released) }

// expired returns an error if the blocking kernel gave up.
func (c *cudaCell) expired() error {
	if c.flag.Word(expiredWord).Load() != c.released {
		return nil
	}
	return result.Faultf(result.CauseTimeout, "queueing the launch took longer than the blocking kernel waits").
		WithHint("host code that waits for the device cannot be queued behind it")
}

// An idle device usually takes less than strayLeast to report that it is idle. A host that is late
// now and then, or for a while, is not the launcher's fault.
const (
	strayLeast    = 50 * time.Microsecond
	strayRequests = 3 // in a row, each of straySamples at least
	straySamples  = 5
)

// lingers records whether the device goes on working after the side's launches, at the end of a
// request for this many samples.
func (s *cudaSide) lingers(samples int) {
	switch {
	case samples < straySamples:
	case 2*s.strayed > samples:
		s.lingered++
	default:
		s.lingered = 0
	}
}

// joinStreams waits for all other work on the device. A launcher that left work on another stream
// has not finished when its own stream has: that time is its time too.
func (c *cudaCell) joinStreams(side *cudaSide) (float64, error) {
	start := time.Now()
	if err := c.driver.Synchronize(); err != nil {
		return 0, err
	}
	extra := time.Since(start)
	if extra < strayLeast {
		return 0, nil
	}
	side.strayed++
	return extra.Seconds(), nil
}

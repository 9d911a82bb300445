package cell

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

const (
	maxBatch     = 512         // samples of one request: their stamps lie on the device until its end
	blockerLimit = uint64(2e9) // nanoseconds after which the blocker lets go by itself
	flagWord     = 0           // of the mapped page: the last launch that may run
	expiredWord  = 64 / 4      // on another line: the launch the blocker gave up on
)

// stampBytes is what the two stamps of a sample take: a clock and a time per SM.
func (c *cudaCell) stampBytes() int { return 2 * c.sms * 16 }

func (c *cudaCell) sample(m *wire.Sample) (*wire.SampleReply, []byte, error) {
	order := m.Order
	if len(order) == 0 {
		order = []int{m.Side}
	}
	if m.Count < 1 || m.Count > wire.MaxBlob/16 || m.Repeat < 1 || m.Count%len(order) != 0 {
		return nil, nil, &result.Fault{Cause: result.CauseProtocol, Message: fmt.Sprintf("%d samples of %d launches, in turns of %d", m.Count, m.Repeat, len(order))}
	}
	sides := make([]*cudaSide, len(order))
	for i, number := range order {
		var err error
		if sides[i], err = c.side(number, true); err != nil {
			return nil, nil, err
		}
	}
	seconds, kept, err := c.samples(m, sides)
	if err != nil {
		return nil, nil, faultOf(err)
	}
	ghz, err := c.clocks(len(seconds))
	if err != nil {
		return nil, nil, faultOf(err)
	}
	reply := &wire.SampleReply{Count: len(seconds), OverheadS: c.overhead, PairS: c.pair}
	if reply.Kept, err = kept.leave(m.Outputs); err != nil {
		return nil, nil, err
	}
	for _, side := range sides {
		reply.GapS = max(reply.GapS, side.gap)
		reply.OtherStreams = reply.OtherStreams || side.strays || side.strayed > len(seconds)/2
		reply.DeviceBytes = max(reply.DeviceBytes, int64(side.problem.bytes+side.extra))
	}
	return reply, wire.PackSamples(seconds, ghz), faultOf(c.trespass())
}

// samples takes turns among the sides, whole rounds of them.
func (c *cudaCell) samples(m *wire.Sample, sides []*cudaSide) ([]float64, snapshot, error) {
	if err := c.ready(m, sides); err != nil {
		return nil, nil, err
	}
	most := max(len(sides), min(m.Count, maxBatch/len(sides)*len(sides)))
	if err := c.driver.MemsetD8(c.stamps, 0, uint64(most*c.stampBytes()), c.stream); err != nil {
		return nil, nil, err
	}
	var seconds []float64
	var kept snapshot
	begin := time.Now()
	for i := range most {
		side := sides[i%len(sides)]
		set := side.next
		if i+1 == m.Keep && side.repeat > 1 { // the first that a graph works on, which is not the next one's
			set = 0
			if err := c.restoreSet(side.problem.sets[set]); err != nil {
				return nil, nil, err
			}
		}
		took, err := c.timed(side, i, m)
		if err == nil && i+1 == m.Keep {
			kept, err = c.snapshot(side.problem.sets[set])
		}
		if err != nil {
			return nil, nil, err
		}
		if !side.strays { // its time has no events in it
			took -= c.pair
		}
		seconds = append(seconds, max(took, 1e-9)/float64(m.Repeat))
		if whole := (i+1)%len(sides) == 0; whole && m.MaxS > 0 && time.Since(begin).Seconds() > m.MaxS {
			break
		}
	}
	return seconds, kept, nil
}

// ready brings the sides of a request into the state that samples start from.
func (c *cudaCell) ready(m *wire.Sample, sides []*cudaSide) error {
	for _, side := range sides {
		if err := c.refresh(side.problem, m.Batch); err != nil {
			return err
		}
		if hot := m.Cache == "hot"; side.hot != hot {
			side.hot, side.repeat, side.next = hot, 0, 0
		}
		if err := c.settleDown(side, m.Repeat); err != nil {
			return err
		}
		side.strayed = 0
		if side.hot { // new data, or another side's, is not what a hot launch finds
			if err := c.launch(side); err != nil {
				return err
			}
		}
	}
	_ = c.driver.ResetPersistingL2() // where the device has none there is nothing to reset
	return nil
}

// timed is one sample of a side.
func (c *cudaCell) timed(side *cudaSide, index int, m *wire.Sample) (float64, error) {
	if side.strays {
		return c.exposed(side, m.Cache == "cold", m.Repeat)
	}
	section := side.several
	if m.Repeat == 1 {
		section.launch = func() error { return c.launch(side) }
		section.graph = nil
	}
	took, err := c.once(side, index, m.Cache == "cold", section)
	if err != nil || side.launcher == 0 {
		return took, err
	}
	stray, err := c.joinStreams(side)
	return took + stray, err
}

// exposed times a side that works on streams of its own: a blocked stream would
// not hold it back, and events in that stream would not see it. What is left is
// the host's clock, from the call to the device being idle again.
func (c *cudaCell) exposed(side *cudaSide, cold bool, repeat int) (float64, error) {
	if err := c.restore(side); err != nil {
		return 0, err
	}
	if cold {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	if err := c.driver.Synchronize(); err != nil {
		return 0, err
	}
	start := time.Now()
	for range repeat {
		if err := c.launch(side); err != nil {
			return 0, err
		}
	}
	err := c.driver.Synchronize()
	return time.Since(start).Seconds(), err
}

// section is what a sample times: one launch in the stream, or a graph of several.
type section struct {
	graph  *cuda.GraphExec
	launch func() error
}

// fire queues a section between the two events.
func (c *cudaCell) fire(s section) error {
	if err := c.before.Record(c.stream); err != nil {
		return err
	}
	var err error
	if s.graph != nil {
		err = s.graph.Launch(c.stream)
	} else {
		err = s.launch()
	}
	if err != nil {
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
	return section{graph: &exec}, exec.Upload(c.stream)
}

func (s section) drop() {
	if s.graph != nil {
		_ = s.graph.Destroy()
	}
}

// settleDown makes the first launch of a problem outside any sample, since it may
// load code lazily; measures what timing itself costs; and makes the graph that
// samples of several launches run.
func (c *cudaCell) settleDown(side *cudaSide, repeat int) error {
	if c.pair == 0 {
		var err error
		if c.pair, err = c.typical(section{launch: func() error { return nil }}); err != nil {
			return err
		}
		empty, err := c.typical(section{launch: func() error { return c.calls.empty.Launch(c.stream) }})
		if err != nil {
			return err
		}
		c.overhead = empty - c.pair
	}
	if !side.settled {
		if err := c.firstLaunch(side); err != nil {
			return err
		}
		side.settled = true
	}
	if repeat == 1 || side.repeat == repeat || side.strays {
		return nil
	}
	side.several.drop()
	side.repeat = 0
	var err error
	side.next = 0 // the graphs of all sides go over the same sets
	if side.several, err = c.capture(repeat, func() error { return c.launch(side) }); err != nil {
		return err
	}
	side.repeat = repeat
	empty, err := c.capture(repeat, func() error { return c.calls.empty.Launch(c.stream) })
	if err != nil {
		return err
	}
	defer empty.drop()
	whole, err := c.typical(empty)
	side.gap = (whole - c.pair) / float64(repeat)
	return err
}

// typical is the median event time of a section that does no work.
func (c *cudaCell) typical(idle section) (float64, error) {
	const tries = 31
	times := make([]float64, tries)
	for i := range times {
		var err error
		if times[i], err = c.once(nil, 0, true, idle); err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[tries/2], nil
}

// firstLaunch launches once, outside any sample, and looks whether that wrote
// anything at all: a launcher that launches nothing would be very fast.
func (c *cudaCell) firstLaunch(side *cudaSide) error {
	set := side.problem.sets[side.next]
	free, _, err := c.driver.MemInfo()
	if err != nil {
		return err
	}
	if err := c.restore(side); err != nil {
		return err
	}
	before, outputs, err := c.hashOutputs(set, c.stream)
	if err != nil {
		return err
	}
	if err := c.launch(side); err != nil {
		return err
	}
	if err := c.driver.Synchronize(); err != nil {
		return err
	}
	after, _, err := c.hashOutputs(set, c.stream)
	if err != nil {
		return err
	}
	if outputs > 0 && before == after {
		return &result.Fault{
			Cause: result.CauseNoEffect, Message: "the launch wrote none of its outputs",
			Hint: "does it launch anything, and on the stream it is given?",
		}
	}
	if side.launcher != 0 && outputs > 0 {
		if err := c.findStrays(side); err != nil {
			return err
		}
	}
	if left, _, err := c.driver.MemInfo(); err == nil && left < free {
		side.extra = free - left
	}
	return nil
}

// strayWait is how long work on another stream is given to show itself.
const strayWait = 20 * time.Millisecond

// findStrays calls a launcher while its stream is held: what is written all the
// same was not queued there.
func (c *cudaCell) findStrays(side *cudaSide) error {
	watch, err := c.driver.NewStream()
	if err != nil {
		return err
	}
	defer func() { _ = watch.Destroy() }()
	if err := c.restore(side); err != nil {
		return err
	}
	set := side.problem.sets[side.next]
	before, _, err := c.hashOutputs(set, c.stream)
	if err != nil {
		return err
	}
	if err := c.block(); err != nil {
		return err
	}
	err = c.launch(side)
	var after uint64
	if err == nil {
		time.Sleep(strayWait)
		after, _, err = c.hashOutputs(set, watch)
	}
	c.unblock()
	if err != nil {
		return err
	}
	if err := c.driver.Synchronize(); err != nil {
		return err
	}
	side.strays = after != before
	return c.expired()
}

// hashOutputs hashes what the problem's launches must write.
func (c *cudaCell) hashOutputs(set *argSet, on cuda.Stream) (sum uint64, outputs int, err error) {
	if err := c.driver.MemsetD8(c.sink, 0, 8, on); err != nil {
		return 0, 0, err
	}
	for _, b := range set.buffers {
		if b == nil || b.arg.Role != "out" {
			continue
		}
		outputs++
		if err := c.helpers.hash.Launch(on, c.helpers.wide(), cuda.Param(b.data()), cuda.Param(b.size), cuda.Param(c.sink)); err != nil {
			return 0, 0, err
		}
	}
	var raw [8]byte
	if err := c.driver.CopyToHost(raw[:], c.sink, on); err != nil {
		return 0, 0, err
	}
	return binary.LittleEndian.Uint64(raw[:]), outputs, nil
}

// once is one sample, in the order that docs/measuring.md explains: restore,
// poison, flush, block, stamp, event, launch, event, stamp, release.
func (c *cudaCell) once(side *cudaSide, index int, cold bool, timed section) (float64, error) {
	if side != nil {
		if err := c.restore(side); err != nil {
			return 0, err
		}
	}
	if cold {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	err := c.block()
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
	if err := c.expired(); err != nil {
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

// expired tells whether the blocking kernel gave up.
func (c *cudaCell) expired() error {
	if c.flag.Word(expiredWord).Load() != c.released {
		return nil
	}
	return &result.Fault{
		Cause: result.CauseTimeout, Message: "queueing the launch took longer than the blocking kernel waits",
		Hint: "host code that waits for the device cannot be queued behind it",
	}
}

// strayLeast is more than an idle device takes to say that it is.
const strayLeast = 30 * time.Microsecond

// joinStreams waits for whatever else runs on the device. A launcher that left
// work on another stream has not finished when its own stream has: that time is
// its time too.
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

// restore brings the arguments of a side's next launch into the state it starts from.
func (c *cudaCell) restore(side *cudaSide) error { return c.restoreSet(side.problem.sets[side.next]) }

func (c *cudaCell) restoreSet(set *argSet) error {
	for _, b := range set.buffers {
		if b == nil {
			continue
		}
		var err error
		switch {
		case b.pristine != 0:
			err = c.driver.Copy(b.data(), b.pristine, b.size, c.stream)
		case b.arg.Role == "out":
			err = b.poison.Launch(c.stream)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flush replaces the L2's lines by clean ones: writing alone leaves dirty lines,
// and a memory-bound kernel would pay for writing them back.
func (c *cudaCell) flush() error {
	if err := c.driver.MemsetD32(c.flushed[0], c.released, uint64(2*c.l2)/4, c.stream); err != nil {
		return err
	}
	return c.calls.read.Launch(c.stream)
}

// stamp notes every SM's clock before (0) or after (1) a launch.
func (c *cudaCell) stamp(index, which int) error {
	to := c.stamps + cuda.DevicePtr(index*c.stampBytes()+which*c.sms*16)
	if err := c.calls.stamp.Set(0, cuda.Param(to)); err != nil {
		return err
	}
	return c.calls.stamp.Launch(c.stream)
}

// clocks computes the SM clock of each sample from its stamps, in GHz.
func (c *cudaCell) clocks(count int) ([]float64, error) {
	raw := make([]byte, count*c.stampBytes())
	if err := c.driver.CopyToHost(raw, c.stamps, c.stream); err != nil {
		return nil, err
	}
	ghz := make([]float64, count)
	for i := range ghz {
		ghz[i] = clockOf(raw[i*c.stampBytes():(i+1)*c.stampBytes()], c.sms)
	}
	return ghz, nil
}

// clockOf is the mean clock of the SMs that both stamps reached: cycles over
// nanoseconds. 0 when there is none.
func clockOf(stamps []byte, sms int) float64 {
	word := func(which, sm, field int) uint64 {
		return binary.LittleEndian.Uint64(stamps[(which*sms+sm)*16+8*field:])
	}
	cycles, nanoseconds := 0.0, 0.0
	for sm := range sms {
		start, end := word(0, sm, 1), word(1, sm, 1)
		if start == 0 || end <= start || word(1, sm, 0) <= word(0, sm, 0) {
			continue
		}
		cycles += float64(word(1, sm, 0) - word(0, sm, 0))
		nanoseconds += float64(end - start)
	}
	if nanoseconds == 0 {
		return 0
	}
	return cycles / nanoseconds
}

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
	if len(c.sets) == 0 {
		return nil, nil, &result.Fault{Cause: result.CauseProtocol, Message: "launch before prepare"}
	}
	if m.Count < 1 || m.Count > wire.MaxBlob/16 || m.Repeat < 1 {
		return nil, nil, &result.Fault{Cause: result.CauseProtocol, Message: fmt.Sprintf("%d samples of %d launches", m.Count, m.Repeat)}
	}
	seconds, err := c.samples(m)
	if err != nil {
		return nil, nil, faultOf(err)
	}
	ghz, err := c.clocks(len(seconds))
	if err != nil {
		return nil, nil, faultOf(err)
	}
	reply := &wire.SampleReply{Count: len(seconds), OverheadS: c.overhead, PairS: c.pair, GapS: c.gap, OtherStreams: c.strayed > len(seconds)/2}
	return reply, wire.PackSamples(seconds, ghz), faultOf(c.trespass())
}

func (c *cudaCell) samples(m *wire.Sample) ([]float64, error) {
	if err := c.settleDown(m.Repeat); err != nil {
		return nil, err
	}
	_ = c.driver.ResetPersistingL2() // where the device has none there is nothing to reset
	if err := c.driver.MemsetD8(c.stamps, 0, uint64(min(m.Count, maxBatch)*c.stampBytes()), c.stream); err != nil {
		return nil, err
	}
	var seconds []float64
	begin := time.Now()
	c.strayed = 0
	for i := range min(m.Count, maxBatch) {
		timed := c.several
		if m.Repeat == 1 {
			timed = section{launch: c.launch}
		}
		took, err := c.once(i, m.Cache == "cold", timed)
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, max(took-c.pair, 1e-9)/float64(m.Repeat))
		if m.MaxS > 0 && time.Since(begin).Seconds() > m.MaxS {
			break
		}
	}
	return seconds, nil
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
func (c *cudaCell) settleDown(repeat int) error {
	if !c.settled {
		if err := c.firstLaunch(); err != nil {
			return err
		}
		var err error
		if c.pair, err = c.typical(section{launch: func() error { return nil }}); err != nil {
			return err
		}
		empty, err := c.typical(section{launch: func() error { return c.calls.empty.Launch(c.stream) }})
		if err != nil {
			return err
		}
		c.overhead = empty - c.pair
		c.settled = true
	}
	if repeat == 1 || c.repeat == repeat {
		return nil
	}
	c.several.drop()
	c.repeat = 0
	var err error
	if c.several, err = c.capture(repeat, c.launch); err != nil {
		return err
	}
	c.repeat = repeat
	empty, err := c.capture(repeat, func() error { return c.calls.empty.Launch(c.stream) })
	if err != nil {
		return err
	}
	defer empty.drop()
	whole, err := c.typical(empty)
	c.gap = (whole - c.pair) / float64(repeat)
	return err
}

// typical is the median event time of a section that does no work.
func (c *cudaCell) typical(idle section) (float64, error) {
	const tries = 31
	times := make([]float64, tries)
	for i := range times {
		var err error
		if times[i], err = c.once(0, true, idle); err != nil {
			return 0, err
		}
	}
	slices.Sort(times)
	return times[tries/2], nil
}

// firstLaunch launches once, outside any sample, and looks whether that wrote
// anything at all: a launcher that launches nothing would be very fast.
func (c *cudaCell) firstLaunch() error {
	set := c.sets[c.next]
	if err := c.restore(); err != nil {
		return err
	}
	before, outputs, err := c.hashOutputs(set)
	if err != nil {
		return err
	}
	if err := c.launch(); err != nil {
		return err
	}
	if err := c.driver.Synchronize(); err != nil {
		return err
	}
	after, _, err := c.hashOutputs(set)
	if err != nil {
		return err
	}
	if outputs > 0 && before == after {
		return &result.Fault{
			Cause: result.CauseNoEffect, Message: "the launch wrote none of its outputs",
			Hint: "does it launch anything, and on the stream it is given?",
		}
	}
	return nil
}

// hashOutputs hashes what the problem's launches must write.
func (c *cudaCell) hashOutputs(set *argSet) (sum uint64, outputs int, err error) {
	if err := c.driver.MemsetD8(c.sink, 0, 8, c.stream); err != nil {
		return 0, 0, err
	}
	for _, b := range set.buffers {
		if b == nil || b.arg.Role != "out" {
			continue
		}
		outputs++
		if err := c.helpers.hash.Launch(c.stream, c.helpers.wide(), cuda.Param(b.data()), cuda.Param(b.size), cuda.Param(c.sink)); err != nil {
			return 0, 0, err
		}
	}
	var raw [8]byte
	if err := c.driver.CopyToHost(raw[:], c.sink, c.stream); err != nil {
		return 0, 0, err
	}
	return binary.LittleEndian.Uint64(raw[:]), outputs, nil
}

// once is one sample, in the order that docs/measuring.md explains: restore,
// poison, flush, block, stamp, event, launch, event, stamp, release.
func (c *cudaCell) once(index int, cold bool, timed section) (float64, error) {
	if err := c.restore(); err != nil {
		return 0, err
	}
	if cold {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	c.released++
	err := c.calls.block.Set(1, cuda.Param(c.released))
	if err == nil {
		err = c.calls.block.Launch(c.stream)
	}
	if err == nil {
		err = c.stamp(index, 0)
	}
	if err == nil {
		err = c.fire(timed)
	}
	if err == nil {
		err = c.stamp(index, 1)
	}
	c.flag.Word(flagWord).Store(c.released) // also after a failure: nothing may wait for ever
	if err != nil {
		return 0, err
	}
	if err := c.stream.Synchronize(); err != nil {
		return 0, err
	}
	if c.flag.Word(expiredWord).Load() == c.released {
		return 0, &result.Fault{
			Cause: result.CauseTimeout, Message: "queueing the launch took longer than the blocking kernel waits",
			Hint: "host code that waits for the device cannot be queued behind it",
		}
	}
	milliseconds, err := cuda.Elapsed(c.before, c.after)
	if err != nil {
		return 0, err
	}
	stray := 0.0
	if c.launcher != 0 {
		if stray, err = c.joinStreams(); err != nil {
			return 0, err
		}
	}
	return max(float64(milliseconds)*1e-3+stray, 1e-9), nil
}

// strayLeast is more than an idle device takes to say that it is.
const strayLeast = 30 * time.Microsecond

// joinStreams waits for whatever else runs on the device. A launcher that left
// work on another stream has not finished when its own stream has: that time is
// its time too.
func (c *cudaCell) joinStreams() (float64, error) {
	start := time.Now()
	if err := c.driver.Synchronize(); err != nil {
		return 0, err
	}
	extra := time.Since(start)
	if extra < strayLeast {
		return 0, nil
	}
	c.strayed++
	return extra.Seconds(), nil
}

// restore brings the arguments of the next launch into the state it starts from.
func (c *cudaCell) restore() error {
	for _, b := range c.sets[c.next].buffers {
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

package cell

import (
	"encoding/binary"
	"slices"
	"time"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
)

// settleDown makes the first launch of a problem outside any sample, since it may load code lazily.
// It also measures the cost of timing itself, and makes the graph for samples of several launches.
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
	side.next = 0 // the graphs of all sides use the same sets
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

// typical returns the median event time of a section that does no work.
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

// firstLaunch launches once, outside any sample, and checks that the launch wrote anything at all:
// a launcher that launches nothing would be very fast.
func (c *cudaCell) firstLaunch(side *cudaSide) error {
	set := side.problem.sets[side.next]
	free, _, err := c.driver.MemInfo()
	if err != nil {
		return err
	}
	if err := c.restore(side, 1); err != nil {
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
	if err := c.collectSymbols(side, set); err != nil {
		return err
	}
	after, _, err := c.hashOutputs(set, c.stream)
	if err != nil {
		return err
	}
	if outputs > 0 && before == after {
		return result.Faultf(result.CauseNoEffect, "the launch wrote none of its outputs").
			WithHint("check that it launches something, and on the given stream")
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

// strayWait is how long work on another stream has to show itself.
const strayWait = 20 * time.Millisecond

// findStrays calls a launcher while its stream is held: anything that is written meanwhile was
// queued elsewhere.
func (c *cudaCell) findStrays(side *cudaSide) error {
	watch, err := c.driver.NewStream()
	if err != nil {
		return err
	}
	defer func() { _ = watch.Destroy() }()
	if err := c.restore(side, 1); err != nil {
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

// hashOutputs hashes the outputs of the problem's launches.
func (c *cudaCell) hashOutputs(set *argSet, on cuda.Stream) (sum uint64, outputs int, err error) {
	if err := c.driver.MemsetD8(c.sink, 0, 8, on); err != nil {
		return 0, 0, err
	}
	for _, b := range set.present {
		if b.arg.Role != "out" {
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

package cell

import (
	"math/rand/v2"
	"os"
	"slices"

	"pawl/internal/native/cuda"
	"pawl/internal/worker/wire"
)

// leave copies the outputs of a launch on a set of arguments to where the worker will take them
// from.
func (c *cudaCell) leave(side *cudaSide, set *argSet, folder string) ([]wire.Left, error) {
	if err := c.collectSymbols(side, set); err != nil {
		return nil, err
	}
	var out []wire.Left
	for _, b := range set.present {
		if !written(b.arg) {
			continue
		}
		left, err := leave(folder, b.number, func(path string) error { return c.write(path, b.data(), b.size) })
		if err != nil {
			return nil, err
		}
		out = append(out, left)
	}
	return out, nil
}

// stagingBytes is the size of the page-locked buffer for outputs on their way to a file. It is
// small enough to stay in the CPU's cache, and many times as fast as letting the driver copy into
// pageable memory.
const stagingBytes = 4 << 20

// write copies device memory to a file.
func (c *cudaCell) write(path string, from cuda.DevicePtr, size uint64) error {
	if c.staging == nil {
		c.staging = make([]byte, stagingBytes)
		if locked, err := c.driver.HostAlloc(stagingBytes, 0); err == nil {
			c.staging = locked.Bytes()
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	for at := uint64(0); at < size && err == nil; at += stagingBytes {
		part := c.staging[:min(stagingBytes, size-at)]
		if err = c.driver.CopyToHost(part, from+cuda.DevicePtr(at), c.stream); err == nil {
			_, err = file.Write(part)
		}
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// anyOf returns a random one of the sets that a side's next sample works on: a launch must not know
// which one will be verified. It is -1 where launches work on each other's results.
func (s *cudaSide) anyOf(launches int) int {
	first, count := s.upcoming(launches)
	if launches > count && s.problem.inPlace() {
		return -1
	}
	return (first + rand.IntN(count)) % len(s.problem.sets)
}

// inPlace reports whether a launch changes its inputs.
func (p *problem) inPlace() bool {
	return slices.ContainsFunc(p.args, func(a wire.Arg) bool { return a.Buffer && a.Role == "inout" })
}

// keep leaves the outputs of a sample, and records their data.
func (c *cudaCell) keep(side *cudaSide, set *argSet, m *wire.Sample, reply *wire.Sampled) error {
	var err error
	if reply.Kept, err = c.leave(side, set, m.Outputs); err != nil {
		return err
	}
	if set.batch != m.Batch {
		reply.Batch = set.batch
	}
	return nil
}

// produce launches once, outside any sample, and leaves the outputs.
func (c *cudaCell) produce(m *wire.Produce) (*wire.Produced, error) {
	side, err := c.side(m.Side, true)
	if err != nil {
		return nil, err
	}
	reply := &wire.Produced{}
	set, err := c.launchOnce(side, m, reply)
	if err == nil {
		err = c.trespass()
	}
	if err == nil {
		reply.Retained, err = c.retained(side)
	}
	if err == nil {
		reply.Outputs, err = c.leave(side, set, m.Outputs)
	}
	if err != nil {
		return nil, faultOf(err)
	}
	return reply, nil
}

// launchOnce launches on the data that a request names.
func (c *cudaCell) launchOnce(side *cudaSide, m *wire.Produce, reply *wire.Produced) (*argSet, error) {
	if err := c.renew(side); err != nil {
		return nil, err
	}
	set := side.problem.sets[side.next]
	there, err := c.bring(side.problem, set, m.Batch, m.Steps)
	if err == nil && !there {
		err = c.look(side.problem)
	}
	if err == nil {
		err = c.restore(side, 1)
	}
	if err != nil {
		return nil, err
	}
	if m.Trace && side.launcher != 0 {
		reply.Kernels, reply.NoKernels, err = c.traced(func() error { return c.launch(side) })
		return set, err
	}
	if err := c.launch(side); err != nil {
		return nil, err
	}
	return set, c.driver.Synchronize() // also for work that a launcher left on other streams
}

package cell

import (
	"pawl/internal/worker/wire"
)

// snapshot is the outputs of a launch, by argument.
type snapshot map[int][]byte

// snapshot copies what a launch on a set of arguments has written.
func (c *cudaCell) snapshot(set *argSet) (snapshot, error) {
	out := snapshot{}
	for i, b := range set.buffers {
		if b == nil || !written(b.arg) {
			continue
		}
		out[i] = make([]byte, b.size)
		if err := c.driver.CopyToHost(out[i], b.data(), c.stream); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// leave writes the outputs where the worker will take them from.
func (s snapshot) leave(folder string) ([]wire.Buffer, error) {
	var out []wire.Buffer
	for arg, data := range s {
		b, err := leave(folder, arg, data)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// advance takes the inputs through steps of oracle.Mutate. What follows generates
// them anew.
func (c *cudaCell) advance(p *problem, steps int) error {
	for _, b := range p.inputs() {
		key := keyOf(p.seed, b.number, b.arg, p.batch)
		for step := range steps {
			if err := c.helpers.mutate(c.stream, b.data(), b.arg.Count, b.dtype, fillOf(b.arg), key, step+1); err != nil {
				return err
			}
		}
	}
	p.batch = -1
	var err error
	p.want, err = c.hashInputs(p)
	return err
}

// produce launches once, outside any sample, and leaves what that wrote.
func (c *cudaCell) produce(m *wire.Produce) (*wire.ProduceReply, error) {
	side, err := c.side(m.Side, true)
	if err != nil {
		return nil, err
	}
	set := side.problem.sets[side.next]
	err = c.refresh(side.problem, m.Batch)
	if err == nil && m.Steps > 0 {
		err = c.advance(side.problem, m.Steps)
	}
	if err == nil {
		err = c.restoreSet(set)
	}
	if err == nil {
		err = c.launch(side)
	}
	if err == nil {
		err = c.driver.Synchronize() // also what a launcher left on other streams
	}
	if err == nil {
		err = c.trespass()
	}
	var found snapshot
	if err == nil {
		found, err = c.snapshot(set)
	}
	if err != nil {
		return nil, faultOf(err)
	}
	outputs, err := found.leave(m.Outputs)
	return &wire.ProduceReply{Outputs: outputs}, err
}

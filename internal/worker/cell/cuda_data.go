package cell

import "cmp"

// generate fills a set with the data of its batch.
func (c *cudaCell) generate(p *problem, set *argSet) error {
	set.steps = 0
	for _, b := range set.present {
		b.key = keyOf(p.seed, b.number, b.arg, set.batch)
		if err := c.fillBuffer(b); err != nil {
			return err
		}
	}
	return nil
}

// refresh brings all sets to the data of another batch and step: the same addresses with other
// contents, so that anything remembered is useless.
func (c *cudaCell) refresh(p *problem, batch, steps int) error {
	fresh := true
	for i, set := range p.sets {
		there, err := c.bring(p, set, batchOf(batch, i), steps)
		if err != nil {
			return err
		}
		fresh = fresh && there
	}
	if fresh {
		return nil
	}
	return c.look(p)
}

// bring takes one set to a batch and a step, and reports whether it was already there.
func (c *cudaCell) bring(p *problem, set *argSet, batch, steps int) (bool, error) {
	if set.batch == batch && set.steps == steps {
		return true, nil
	}
	if set.batch != batch || set.steps > steps {
		set.batch = batch
		if err := c.generate(p, set); err != nil {
			return false, err
		}
	}
	return false, c.step(set, steps)
}

// step applies steps of oracle.Mutate to the inputs of a set, up to the given one. For an argument
// that a launch also writes, it changes the pristine contents.
func (c *cudaCell) step(set *argSet, to int) error {
	for _, b := range set.present {
		if b.arg.Role != "in" && b.pristine == 0 {
			continue
		}
		at := cmp.Or(b.pristine, b.data())
		if err := c.helpers.mutate(c.stream, at, b.arg.Count, b.dtype, fillOf(b.arg), b.key, set.steps+1, to); err != nil {
			return err
		}
	}
	set.steps = to
	return nil
}

// advance takes all sets to a step between two samples. The expected hashes of the inputs are
// computed at the end of the request.
func (c *cudaCell) advance(p *problem, to int) error {
	for _, set := range p.sets {
		if set.steps >= to {
			continue
		}
		p.moved = true
		if err := c.step(set, to); err != nil {
			return err
		}
	}
	return nil
}

// look records the hashes of the inputs, which must not change.
func (c *cudaCell) look(p *problem) error {
	var err error
	p.want, err = c.hashInputs(p)
	p.moved = false
	return err
}

// replay generates the inputs again and repeats their steps: their contents then are the expected
// ones if nobody else has written to them.
func (c *cudaCell) replay(p *problem) error {
	for _, b := range p.inputs() {
		if err := c.fillBuffer(b); err != nil {
			return err
		}
	}
	for _, set := range p.sets {
		steps := set.steps
		set.steps = 0
		if err := c.step(set, steps); err != nil {
			return err
		}
	}
	return c.look(p)
}

package cell

import "pawl/internal/native/cuda"

// restore brings memory into the state that a side's next launches start from: the variables of its
// module, the arguments that they will work on, and those of them that are symbols.
func (c *cudaCell) restore(side *cudaSide, launches int) error {
	if err := c.restoreGlobals(&side.cudaCode); err != nil {
		return err
	}
	first, count := side.upcoming(launches)
	for i := range count {
		if err := c.restoreSet(side.problem.sets[(first+i)%len(side.problem.sets)]); err != nil {
			return err
		}
	}
	return c.fillSymbols(side, side.problem.sets[first])
}

// upcoming returns the sets of arguments that the next sample of this many launches works on.
// Graphs start at the first set.
func (s *cudaSide) upcoming(launches int) (first, count int) {
	switch {
	case s.hot:
		return s.next, 1
	case launches > 1 && !s.strays:
		return 0, min(launches, len(s.problem.sets))
	}
	return s.next, min(max(1, launches), len(s.problem.sets))
}

func (c *cudaCell) restoreSet(set *argSet) error {
	for _, b := range set.present {
		var err error
		switch {
		case b.pristine != 0:
			err = c.driver.Copy(b.data(), b.pristine, b.size, c.stream)
		case b.poison != nil:
			err = c.poison(b)
		case b.arg.Role == "scratch": // no place to remember anything
			err = c.fillBuffer(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flush replaces the L2's lines by clean ones: writing alone leaves dirty lines, and a memory-bound
// kernel would pay for writing them back.
func (c *cudaCell) flush() error {
	if err := c.driver.MemsetD32(c.flushed[0], c.released, uint64(2*c.l2)/4, c.stream); err != nil {
		return err
	}
	return c.calls.read.Launch(c.stream)
}

// setBack undoes what a launcher did to the L2: lines that it set aside would survive the flush
// before its next launch.
func (c *cudaCell) setBack(side *cudaSide) error {
	if side.launcher == 0 {
		return nil
	}
	if kept, err := c.stream.Persists(); err == nil && kept > 0 {
		side.setAside = true
		if err := c.stream.ForgetWindow(); err != nil {
			return err
		}
	}
	if now, err := c.driver.Limit(cuda.LimitPersistingL2); err == nil && now > c.aside {
		side.setAside = true
		if err := c.driver.SetLimit(cuda.LimitPersistingL2, c.aside); err != nil {
			return err
		}
		if now, err = c.driver.Limit(cuda.LimitPersistingL2); err == nil {
			c.aside = max(c.aside, now) // the driver may round
		}
	}
	if !side.setAside {
		return nil
	}
	return c.driver.ResetPersistingL2()
}

package worker

// A cell whose process runs candidate code is stopped between requests, with all that it
// has started. Its threads could otherwise work while another cell is timed: they would
// slow that one down, or get a start on what they are asked for next.

// wake lets the cell run.
func (c *child) wake() {
	if c.stopped {
		c.stopped = c.proc.Continue() != nil
	}
}

// still stops the cell until the next request.
func (c *child) still() {
	c.mu.Lock()
	trusted := !c.loaded || c.alone || c.kind == "oracle" || c.sanitizer != ""
	c.mu.Unlock()
	if !trusted {
		c.stopped = c.proc.Stop() == nil
	}
}

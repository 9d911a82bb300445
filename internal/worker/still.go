package worker

import (
	"fmt"
	"time"
)

// A cell whose process runs candidate code is stopped between requests, with all that it
// has started. Its threads could otherwise work while another cell is timed: they would
// slow that one down, or get a start on what they are asked for next.

// A timer of the candidate's own can wake a cell that is stopped, and the cell can stop
// itself again: what it worked meanwhile is still on its processor's clock.
const (
	haltMost  = 20 * time.Millisecond // that its threads may take to come to a halt
	restMost  = 100 * time.Microsecond
	neverHalt = 5 * time.Millisecond // the same, where nobody has seen it come to one
	restless  = 3                    // pauses
)

// wake lets the cell run. The error is that it has been running all along.
func (c *child) wake() error {
	if !c.stopped {
		return nil
	}
	most := restMost
	if !c.halted {
		most = neverHalt
	}
	if worked, known := processTime(c.proc.Pid()); known && c.restKnown && worked-c.rest > most {
		if c.restless++; c.restless == restless {
			return c.fail(c.forged(fmt.Sprintf("worked for %v while it was stopped: something has woken it", (worked - c.rest).Round(time.Microsecond))))
		}
	}
	c.stopped = c.proc.Continue() != nil
	return nil
}

// still stops the cell until the next request, and waits until it has come to a halt: what
// is asked of another cell next is not to be disturbed.
func (c *child) still() {
	c.mu.Lock()
	trusted := !c.loaded || c.alone || c.kind == "oracle" || c.sanitizer != ""
	c.mu.Unlock()
	if trusted {
		return
	}
	if c.stopped, c.halted = c.proc.Stop() == nil, false; !c.stopped {
		return
	}
	c.rest, c.restKnown = processTime(c.proc.Pid())
	for began := time.Now(); !c.halted && time.Since(began) < haltMost; {
		if c.halted = c.proc.Stopped(); !c.halted {
			time.Sleep(20 * time.Microsecond)
		}
	}
	if c.halted {
		c.rest, c.restKnown = processTime(c.proc.Pid())
	}
}

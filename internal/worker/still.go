package worker

import (
	"fmt"
	"time"
)

// A cell whose process runs candidate code is stopped between requests, with all that it
// has started. Its threads could otherwise work while another cell is timed: they would
// slow that one down, or get a start on what they are asked for next.

// pause is what is known of a cell between two requests. A timer of the candidate's own
// can wake a cell that is stopped, and the cell can stop itself again: what it worked
// meanwhile is still on its processor's clock.
type pause struct {
	stopped  bool
	halted   bool          // all of its threads were seen to have come to a halt
	known    bool          // worked is
	worked   time.Duration // by its processor until then
	all      int           // pauses so far
	restless int           // of these, in which it went on
}

const (
	haltMost  = 20 * time.Millisecond // that threads may take to come to a halt
	restMost  = 100 * time.Microsecond
	neverHalt = 5 * time.Millisecond // the same, where nobody has seen it come to one

	// This many pauses, and no fewer than one in this many: a machine that is busy charges a
	// thread with more than that once in thousands.
	restless      = 3
	restlessShare = 20
)

// isRestless reports whether it went on too often for that to be the machine's doing.
func (p *pause) isRestless() bool { return p.restless >= restless && p.restless*restlessShare >= p.all }

// wake lets the cell run. The error is that it has been running all along.
func (c *child) wake() error {
	p := &c.pause
	if !p.stopped {
		return nil
	}
	most := restMost
	if !p.halted {
		most = neverHalt
	}
	if now, known := processTime(c.proc.Pid()); known && p.known && now-p.worked > most {
		if p.restless++; p.isRestless() {
			return c.fail(c.forged(fmt.Sprintf("worked for %v while it was stopped: something has woken it", (now - p.worked).Round(time.Microsecond))))
		}
	}
	p.stopped = c.proc.Continue() != nil
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
	p := &c.pause
	if p.stopped, p.halted = c.proc.Stop() == nil, false; !p.stopped {
		return
	}
	p.all++
	p.worked, p.known = processTime(c.proc.Pid())
	for began := time.Now(); !p.halted && time.Since(began) < haltMost; {
		if p.halted = c.proc.Stopped(); !p.halted {
			time.Sleep(20 * time.Microsecond)
		}
	}
	if p.halted {
		p.worked, p.known = processTime(c.proc.Pid())
	}
}

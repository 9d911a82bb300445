package worker

import (
	"fmt"
	"time"
)

// A cell whose process runs candidate code is stopped between requests, with all processes that it
// has started. Its threads could otherwise work while another cell is timed: they would slow that
// one down, or start early on their next request.

// pause is what is known of a cell between two requests. A timer of the candidate's own can wake a
// stopped cell, and the cell can stop itself again: its work meanwhile still shows in its CPU time.
type pause struct {
	stopped  bool
	halted   bool          // all of its threads were seen stopped
	known    bool          // worked is known
	worked   time.Duration // CPU time until then
	all      int           // pauses so far
	restless int           // pauses in which it went on
}

const (
	haltMost  = 20 * time.Millisecond // time that threads may take to stop
	restMost  = 100 * time.Microsecond
	neverHalt = 5 * time.Millisecond // the same, where nobody has seen it stop

	// At least this many pauses, and at least one in this many: a busy machine charges a thread
	// with more than that only once in thousands.
	restless      = 3
	restlessShare = 20
)

// isRestless reports whether the cell went on too often for the machine to be the cause.
func (p *pause) isRestless() bool { return p.restless >= restless && p.restless*restlessShare >= p.all }

// wake lets the cell run. The error means that it has been running all along.
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
			return c.fail(c.forged(fmt.Sprintf("worked for %v while it was stopped: another process resumed it", (now - p.worked).Round(time.Microsecond))))
		}
	}
	p.stopped = c.proc.Continue() != nil
	return nil
}

// still stops the cell until the next request, and waits until it has stopped: the next request to
// another cell must not be disturbed.
func (c *child) still() {
	if !c.loaded || c.alone || c.kind == "oracle" || c.tooled() { // no candidate code to stop, or a tool that must go on
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

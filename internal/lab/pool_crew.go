package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/unit"
	"pawl/internal/worker"
)

// startsPerWorker bounds how many workers a crew starts, for every one that it may have: a node can
// fail and a job be cancelled, but workers that are always lost are lost for a reason.
const startsPerWorker = 3

// startPause is how long a lane waits after a worker that did not start; then twice as long.
var startPause = 2 * time.Second

// errUnneeded means that a worker was not waited for, since no work was left.
var errUnneeded = errors.New("no work is left")

// poolCrew is a crew of a pool's workers.
type poolCrew struct {
	lab  *Lab
	opts CrewOptions
	do   func(context.Context, *Lab) error

	mu       sync.Mutex
	starts   int             // that are left
	starting map[*Lab]func() // cancels the start of a lane's worker
	joined   int             // lanes that had a worker
	finished bool            // a do has returned nil
	owed     error           // why nobody does the work that may be left
	failed   []error         // of starts, each text once
	lost     []error         // of the workers that were lost
}

func (l *Lab) poolCrew(ctx context.Context, opts CrewOptions, do func(context.Context, *Lab) error) error {
	most := l.Workers
	if opts.Most > 0 {
		most = min(most, opts.Most)
	}
	c := &poolCrew{lab: l, opts: opts, do: do, starts: most * startsPerWorker, starting: map[*Lab]func(){}}
	lanes := []*Lab{l}
	for _, lane := range l.shared.recall() {
		switch {
		case lane == l:
		case len(lanes) < most:
			lanes = append(lanes, lane)
		default:
			lane.end()
		}
	}
	for len(lanes) < most {
		lanes = append(lanes, l.another(l.Device))
	}
	for n, lane := range lanes {
		lane.lane, lane.several, lane.crewed, lane.mixed, lane.absent = n, most > 1, true, opts.Mixed, nil
		lane.processor = l.processor
	}
	defer func() { l.several, l.crewed, l.mixed, l.absent = false, false, false, nil }()
	atOnce(most, func(n int) { c.serve(ctx, lanes[n]) })
	c.report(most)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.owed
}

// serve gives a lane workers until there is no work left.
func (c *poolCrew) serve(ctx context.Context, lane *Lab) {
	defer c.lab.shared.park(lane)
	for again := false; ; again = true {
		if err := c.man(ctx, lane, again); err != nil {
			if !errors.Is(err, errUnneeded) {
				c.settle(again, err)
			}
			return
		}
		err := c.do(ctx, lane)
		if err == nil {
			c.finish()
			return
		}
		if lane.Lost() == nil || ctx.Err() != nil {
			c.settle(true, err)
			return
		}
		c.mu.Lock()
		c.lost = append(c.lost, err)
		c.mu.Unlock()
		c.lab.run.Emit(run.Event{Kind: run.Note, Text: fmt.Sprintf("lost a worker of the pool, whose work is done elsewhere: %v", err)})
	}
}

// finish records that a do has found no work: nobody needs to join any more.
func (c *poolCrew) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished, c.owed = true, nil
	for _, cancel := range c.starting {
		cancel()
	}
}

// settle records that a lane has ended before there was no work left; owes: it has put some back.
func (c *poolCrew) settle(owes bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if owes || !c.finished {
		c.owed = err
	}
}

// man sees to it that a lane has a worker; again: it has lost one.
func (c *poolCrew) man(ctx context.Context, lane *Lab, again bool) error {
	var err error
	if again || !lane.manned() {
		err = c.start(ctx, lane, again)
		for errors.Is(err, errUnneeded) && again && c.opts.left != nil && c.opts.left() { // it was put back meanwhile
			err = c.start(ctx, lane, again)
		}
	}
	if err == nil && !again {
		c.mu.Lock()
		c.joined++
		c.mu.Unlock()
	}
	return err
}

// start starts a worker for a lane, and another if that fails, until nobody needs one.
func (c *poolCrew) start(ctx context.Context, lane *Lab, again bool) error {
	needed, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	unneeded := c.finished && !again
	c.starting[lane] = cancel
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.starting, lane)
		c.mu.Unlock()
	}()
	if unneeded {
		return errUnneeded
	}
	err := lane.Lost()
	for pause := startPause; c.mayStart(); pause *= 2 {
		if err = lane.replace(needed); err == nil {
			return nil
		}
		if needed.Err() == nil {
			c.fail(err)
			select {
			case <-time.After(pause):
			case <-needed.Done():
			}
		}
		if ctx.Err() == nil && needed.Err() != nil {
			return errUnneeded
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// mayStart takes one of the starts that are left.
func (c *poolCrew) mayStart() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts--
	return c.starts >= 0
}

// fail records why a worker did not start.
func (c *poolCrew) fail(err error) {
	c.mu.Lock()
	known := slices.ContainsFunc(c.failed, func(other error) bool { return other.Error() == err.Error() })
	if !known {
		c.failed = append(c.failed, err)
	}
	c.mu.Unlock()
	if !known {
		c.lab.run.Emit(run.Event{Kind: run.Note, Text: "a worker of the pool did not start; the report says why, and the others go on"})
	}
}

// report says in the report which workers were missed.
func (c *poolCrew) report(most int) {
	add := func(err error, format string, args ...any) {
		c.lab.note(func(r *result.Report) {
			warning := result.Warning{Code: "pool", Message: fmt.Sprintf(format, args...), Hint: hintOf(err)}
			if !slices.Contains(r.Warnings, warning) {
				r.Warnings = append(r.Warnings, warning)
			}
		})
	}
	for n, err := range c.failed {
		if n == 0 {
			add(err, "%d of the pool's %d workers took part: %v", c.joined, most, err)
		} else {
			add(err, "a worker of the pool did not start: %v", err)
		}
	}
	if len(c.lost) > 0 {
		add(c.lost[0], "%s lost while the run went on, and their work was done elsewhere; the first: %v", unit.Plural(len(c.lost), "worker of the pool was", "workers of the pool were"), c.lost[0])
	}
}

// park keeps a lane whose worker has nothing to do: the run may have work for it again, and a queue
// would have to be waited in. When a lane waits for a device that another run or lane has locked,
// workers are ended instead: several workers of a pool may share a machine.
func (s *shared) park(lane *Lab) {
	s.Lock()
	ends := s.waits
	if !ends {
		s.idle = append(s.idle, lane)
	}
	s.Unlock()
	if ends {
		lane.end()
	}
}

// recall returns the lanes that are parked, for their caller.
func (s *shared) recall() []*Lab {
	s.Lock()
	defer s.Unlock()
	idle := s.idle
	s.idle = nil
	return idle
}

// hear takes a worker's note: one that waits for a device must not wait for a lane that is parked.
func (s *shared) hear(note string) {
	if !strings.Contains(note, worker.Waiting) {
		return
	}
	s.Lock()
	s.waits = true
	s.Unlock()
	go func() { // the worker has more to say
		for _, lane := range s.recall() {
			lane.end()
		}
	}()
}

// manned reports whether the lab has a worker that runs.
func (l *Lab) manned() bool {
	l.starting.Lock()
	defer l.starting.Unlock()
	return l.worker != nil && !hasEnded(l.worker)
}

// replace starts a worker for a lab that has none.
func (l *Lab) replace(ctx context.Context) error {
	started, err := l.launch(ctx) // without the lock: it may take a queue's time
	l.starting.Lock()
	defer l.starting.Unlock()
	if l.absent = err; err == nil {
		l.worker, l.said = started, started.Hello()
	}
	return err
}

// hintOf returns the hint of the fault that an error is about; "": there is none.
func hintOf(err error) string {
	if fault, ok := errors.AsType[*result.Fault](err); ok {
		return fault.Hint
	}
	return ""
}

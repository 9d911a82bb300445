package tune

import (
	"context"
	"errors"
	"sync"

	"pawl/internal/result"
)

// lanes lets all devices work on the search. Today's defaults come first, alone: everything is
// measured against them.
func (t *tune) lanes(ctx context.Context) error {
	most := t.Most
	if most == 0 {
		most = 1 << 20
	}
	lanes, err := t.lab.Lanes(ctx, t.Devices, most)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.tuning.Workers = len(lanes)
	t.mu.Unlock()
	first := &station{tune: t, lane: t.lab}
	if err := t.tryDefaults(ctx, first); err != nil {
		return err
	}
	for range t.Compilers {
		t.mu.Lock()
		t.building++
		t.mu.Unlock()
		go t.compile(ctx)
	}
	errs := make([]error, len(lanes))
	var busy sync.WaitGroup
	for i, lane := range lanes {
		busy.Go(func() {
			s := first
			if i > 0 {
				s = &station{tune: t, lane: lane, n: i}
				defer lane.Close()
			}
			errs[i] = s.work(ctx)
		})
	}
	busy.Wait()
	for _, err := range errs {
		if err == nil || ctx.Err() != nil {
			return nil // those that were left did the work
		}
	}
	return errs[0]
}

// tryDefaults tries today's defaults before anything else.
func (t *tune) tryDefaults(ctx context.Context, s *station) error {
	c := t.defaults
	if fault := firstFault(c); fault != nil {
		t.begun()
		t.record(c, &result.Trial{Status: statusOf(fault), Fault: fault})
		return nil
	}
	for _, job := range c.jobs {
		c.identity += job.Identity() + " "
	}
	t.mu.Lock()
	t.claims[c.identity] = &claim{}
	t.mu.Unlock()
	trial, err := s.try(ctx, c)
	if err != nil {
		if _, again := t.lab.Client(ctx); again != nil {
			return errors.Join(err, again)
		}
		if trial, err = s.try(ctx, c); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if fault := trial.Fault; fault != nil && fault.Cause == result.CauseUnsupported {
		return fault // nor will any other setting run, or have its energy measured
	}
	t.begun()
	t.record(c, trial)
	t.mu.Lock()
	t.defaultsWork = trial.Status == result.TrialOK
	t.mu.Unlock()
	return nil
}

// begun counts a point that the strategy did not ask for.
func (t *tune) begun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	t.inFlight++
}

package tune

import (
	"context"
	"errors"
	"time"

	"pawl/internal/lab"
	"pawl/internal/result"
)

// lanes lets all devices work on the search.
func (t *tune) lanes(ctx context.Context) error {
	tried := time.Now()
	t.mu.Lock()
	for range t.Compilers {
		t.building++
		go t.compile(ctx)
	}
	t.mu.Unlock()
	opts := lab.CrewOptions{Devices: t.Devices, Most: t.Most}
	err := t.lab.Crew(ctx, opts, func(ctx context.Context, lane *lab.Lab) error {
		s := &station{tune: t, lane: lane, n: lane.Lane()}
		if lane == t.lab {
			s.anchorsAt = tried // here today's defaults have just been tried
		}
		t.join(s)
		return s.work(ctx)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// join counts the devices that work on the search.
func (t *tune) join(s *station) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tuning.Workers = max(t.tuning.Workers, s.n+1)
}

// tryDefaults tries today's defaults before anything else.
func (t *tune) tryDefaults(ctx context.Context, s *station) error {
	c := t.defaults
	if fault := firstFault(c); fault != nil {
		t.begun()
		t.record(c, &result.Trial{Status: statusOf(fault), Fault: explained(fault, faultLog(c))})
		return nil
	}
	c.identify()
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
	if trial.Status == result.TrialLost {
		return trial.Fault // no other setting would fare better
	}
	t.begun()
	t.record(c, trial)
	t.mu.Lock()
	t.defaultsWork = trial.Status == result.TrialOK
	t.mu.Unlock()
	if t.defaultsWork {
		t.shortenTimeout()
	} else {
		t.rescale()
	}
	return nil
}

// rescale takes the scale of the search that this one goes on from, where today's defaults fail: costs
// of both are compared.
func (t *tune) rescale() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, trial := range t.journal.known {
		unit := trial.Status == result.TrialOK && len(trial.On) == len(t.configs)
		for _, on := range trial.On {
			unit = unit && on.Ratio == 1
		}
		if unit && t.scale == nil {
			for _, on := range trial.On {
				t.scale, t.joules = append(t.scale, on.MedianS), append(t.joules, on.Joules)
			}
		}
	}
}

// What a launch of a trial may take: many times what today's defaults take, so that one that hangs
// does not cost as much as a hundred others.
const (
	timeoutTimes = 200
	timeoutLeast = 2 * time.Second
)

// shortenTimeout ends trials that hang earlier than the user's bound, before the devices start to work.
func (t *tune) shortenTimeout() {
	longest := 0.0
	for _, seconds := range t.scale {
		longest = max(longest, seconds)
	}
	t.lab.Timeout = min(t.lab.Timeout, max(timeoutLeast, time.Duration(timeoutTimes*longest*float64(time.Second))))
	t.Measure.Timeout = t.lab.Timeout
}

// begun counts a point that the strategy did not ask for.
func (t *tune) begun() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	t.inFlight++
}

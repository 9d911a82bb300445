package lab

import (
	"context"
	"strings"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Held returns how long the workers of the run have held their devices, added up.
func (l *Lab) Held() time.Duration {
	l.shared.Lock()
	defer l.shared.Unlock()
	var total time.Duration
	for _, client := range l.shared.workers {
		total += client.Held()
	}
	return total
}

// Close ends the run's workers, gives the devices to whoever waits for them, and cleans up the pool. A
// lab that is used afterwards starts another worker.
func (l *Lab) Close() {
	idle := append(l.shared.recall(), l)
	atOnce(len(idle), func(i int) { idle[i].end() })
	if warning := l.shared.pool.leave(context.Background()); warning != nil {
		l.warn(*warning)
	}
}

// end ends the worker.
func (l *Lab) end() {
	l.starting.Lock()
	defer l.starting.Unlock()
	if l.worker != nil {
		l.worker.Close()
	}
}

// Client returns a running worker, and starts another if the last one died, unless the lab is in the
// crew of a pool. Several goroutines may call it.
func (l *Lab) Client(ctx context.Context) (*worker.Client, error) {
	l.starting.Lock()
	defer l.starting.Unlock()
	switch {
	case l.worker != nil && !hasEnded(l.worker):
		return l.worker, nil
	case l.crewed && l.absent != nil:
		return nil, l.absent
	case l.crewed && l.worker != nil:
		return nil, l.worker.Lost()
	}
	started, err := l.launch(ctx)
	if err != nil {
		return nil, err
	}
	l.worker, l.said = started, started.Hello()
	return started, nil
}

// queueTime is how long a pool's scheduler may take to start a worker.
const queueTime = 24 * time.Hour

// warn adds a warning about the whole run, and tells whoever follows it.
func (l *Lab) warn(w result.Warning) {
	l.note(func(r *result.Report) { r.Warnings = append(r.Warnings, w) })
	l.run.Emit(run.Event{Kind: run.Note, Text: w.Message + "; " + w.Hint})
}

// launch starts a worker of the kind that the run began on.
func (l *Lab) launch(ctx context.Context) (*worker.Client, error) {
	opts := worker.Options{Command: l.Worker, OnNote: func(text string) {
		l.run.Emit(run.Event{Kind: run.Note, Text: text})
		if l.OnWait != nil && strings.Contains(text, worker.Waiting) {
			l.OnWait()
		}
		if l.pooled() {
			l.shared.hear(text)
		}
	}}
	if l.pooled() {
		opts.Env, opts.Patience = environment(l.run.ID), queueTime
		for _, warning := range l.shared.pool.enter(ctx) {
			l.warn(warning)
		}
	}
	started, err := worker.Start(ctx, opts)
	if err != nil {
		return nil, err
	}
	if err := l.sameDevice(started.Hello()); err != nil {
		started.Close()
		return nil, err
	}
	l.note(func(*result.Report) { l.shared.workers = append(l.shared.workers, started) })
	return started, nil
}

// hello returns what the last worker said of its machine; empty before there was one.
func (l *Lab) hello() wire.Hello {
	l.starting.Lock()
	defer l.starting.Unlock()
	return l.said
}

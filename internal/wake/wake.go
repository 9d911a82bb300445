// Package wake starts machines for jobs that wait, and stops them when nobody needs them. It asks
// GitHub for a runner that takes one job, hands its config to the user's start command, and stops the
// machine by the user's stop command. The token that may register runners stays in this process.
//
// Everything is decided from three things: what GitHub says now, the state on the disk, and the time.
// A webhook only says when to look. So a replayed, forged, late or lost one changes nothing, a restart
// continues where the last process ended, and cron can do what the service does (Once).
package wake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pawl/internal/disk"
	"pawl/internal/forge"
)

// Options are what a service needs beside its config.
type Options struct {
	Config *Config
	Forge  forge.Options // with the token
	Secret string        // of the webhook
	Log    func(line string)

	now func() time.Time // for tests
}

// Wake is the service.
type Wake struct {
	config *Config
	forge  *forge.Runners
	log    func(line string)
	now    func() time.Time
	getenv func(string) (string, bool)
	run    func(context.Context, command) error
	secret string

	state  *State
	ledger *ledger
	inbox  *inbox // nil: there are no webhooks
	lock   *os.File

	ended   chan ended
	running int // commands
}

// ended is a command that has ended.
type ended struct {
	command
	err error
}

// New opens the service's state. Only one service at a time may have it: Close gives it back.
func New(opts Options) (*Wake, error) {
	opts.Forge.Repo, opts.Forge.URL = opts.Config.Repository, opts.Config.API
	opts.Forge.Patience = 10 * time.Second // the next look comes soon
	runners, err := forge.NewRunners(opts.Forge)
	if err != nil {
		return nil, err
	}
	w := &Wake{
		config: opts.Config, forge: runners, secret: opts.Secret, log: opts.Log, now: time.Now, getenv: os.LookupEnv, run: func(ctx context.Context, c command) error { return c.run(ctx) },
		ended: make(chan ended),
	}
	if opts.now != nil {
		w.now = opts.now
	}
	if w.log == nil {
		w.log = func(string) {}
	}
	return w, w.open()
}

func (w *Wake) open() (err error) {
	folder := w.config.State
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	lock := filepath.Join(folder, "lock")
	if w.lock, err = disk.TryLock(lock, syscall.LOCK_EX); err != nil {
		return err
	}
	if w.lock == nil {
		return fmt.Errorf("%s: another pawl ci wake has this state: expected one at a time", folder)
	}
	if w.ledger, err = openLedger(folder, w.now()); err == nil {
		w.state, err = readState(folder)
	}
	if err == nil {
		err = w.state.adopt(w.config)
	}
	if err != nil {
		w.Close()
	}
	return err
}

// Close gives the state back.
func (w *Wake) Close() { w.lock.Close() }

func (w *Wake) logf(format string, args ...any) { w.log(fmt.Sprintf(format, args...)) }

// Once looks for jobs, does what is due, waits for the commands that it started, and returns what failed.
func (w *Wake) Once(ctx context.Context) error {
	failed := []error{w.step(ctx, true)}
	for w.running > 0 {
		e := <-w.ended
		failed = append(failed, e.err, w.finish(ctx, e))
		if ctx.Err() == nil {
			failed = append(failed, w.step(ctx, false))
		}
	}
	return errors.Join(failed...)
}

// secretLength is that of a secret that nobody guesses.
const secretLength = 16

// Serve takes webhooks from a listener (nil: there are none) and polls, until ctx is done.
func (w *Wake) Serve(ctx context.Context, listener net.Listener) error {
	news := make(chan struct{})
	failed := make(chan error, 1)
	if listener != nil {
		if len(w.secret) < secretLength {
			return fmt.Errorf("PAWL_WEBHOOK_SECRET: expected at least %d characters, as the webhook has them (make one with openssl rand -hex 32)", secretLength)
		}
		in, err := newInbox(w.config, w.secret)
		if err != nil {
			return err
		}
		w.inbox, news = in, in.news
		server := &http.Server{
			Handler: in, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second,
			IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		}
		go func() { failed <- server.Serve(listener) }()
		defer server.Close()
	}
	poll := time.NewTicker(w.config.Poll.Duration)
	defer poll.Stop()
	w.report(w.step(ctx, true))
	for {
		select {
		case <-ctx.Done():
			for w.running > 0 {
				_ = w.finish(ctx, <-w.ended)
			}
			return nil
		case err := <-failed:
			return err
		case <-poll.C:
			w.report(w.step(ctx, true))
		case <-news:
			w.report(w.step(ctx, false))
		case e := <-w.ended:
			w.report(errors.Join(w.finish(ctx, e), w.step(ctx, false)))
		}
	}
}

// report logs an error of a step. The next step tries again.
func (w *Wake) report(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		w.logf("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// step looks at jobs and runners, and does what is due. With full it lists all jobs; otherwise it looks
// at those that webhooks told of.
func (w *Wake) step(ctx context.Context, full bool) error {
	now := w.now()
	err := w.look(ctx, full || w.idleDue(now), now)
	if err == nil { // else it is not known what GitHub would say, so nothing is started or stopped
		err = w.act(ctx, now)
	}
	if w.state.Problem = ""; err != nil && ctx.Err() == nil {
		w.state.Problem = err.Error()
	}
	w.stopAgain(ctx, now)
	return errors.Join(err, w.save())
}

func (w *Wake) save() error { return w.state.save(w.config.State, w.now()) }

// idleDue reports whether a machine may have to be stopped: jobs that nobody told of must be known then.
func (w *Wake) idleDue(now time.Time) bool {
	return slices.ContainsFunc(w.state.Machines, func(m *Machine) bool {
		return m.Phase == Up && !m.Busy && now.Sub(m.Since) >= w.config.kind(m.Kind).Idle.Duration
	})
}

// look asks GitHub for the jobs and for the runners of this service.
func (w *Wake) look(ctx context.Context, full bool, now time.Time) error {
	ask := w.inbox.takeHints()
	if full {
		jobs, all, err := w.forge.Active(ctx)
		if err != nil {
			return err
		}
		if !all {
			w.logf("the repository has more active runs than one look reads; the others are known by their webhooks")
		}
		listed := map[int64]bool{}
		for _, job := range jobs {
			listed[job.ID] = true
			if err := w.note(&job, now); err != nil {
				return err
			}
		}
		for id := range w.state.Jobs {
			if !listed[id] {
				ask = append(ask, id)
			}
		}
	}
	for _, id := range ask {
		if err := w.lookAt(ctx, id, now); err != nil {
			return err
		}
	}
	for _, m := range w.state.Machines {
		if m.Runner != "" {
			if err := w.lookAtRunner(ctx, m, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAt asks for one job.
func (w *Wake) lookAt(ctx context.Context, id int64, now time.Time) error {
	job, err := w.forge.Job(ctx, id)
	if err != nil {
		return err
	}
	if job == nil {
		return w.forget(id, now)
	}
	return w.note(job, now)
}

// forget drops a job that does not wait or run here any more. One that a machine was started for counts
// for its author although it never ran: otherwise somebody could start machines without end, and
// cancel each job in time. The ledger has one entry for a job, so that one that ran counts once.
func (w *Wake) forget(id int64, now time.Time) error {
	job := w.state.Jobs[id]
	if job == nil {
		return nil
	}
	if kind := w.config.kindFor(job.Labels); !job.Woken.IsZero() && kind != nil {
		job.Started = job.Woken
		if err := w.ledger.add(jobEntry(&job.Job, kind, job.Woken), now); err != nil {
			return err
		}
	}
	delete(w.state.Jobs, id)
	return nil
}

// note remembers a job that waits for a machine or runs on one, and forgets any other. A job that ran
// here and has ended goes into the ledger.
func (w *Wake) note(job *forge.Job, now time.Time) error {
	for _, m := range w.state.Machines {
		if m.Runner != "" && m.Runner == job.Runner {
			m.appeared()
		}
	}
	own := w.config.kindOf(job.Runner)
	keep := job.Status == forge.JobQueued && w.config.kindFor(job.Labels) != nil || job.Status == forge.JobRunning && own != nil
	if !keep {
		if job.Status == forge.JobCompleted && own != nil && !job.Started.IsZero() {
			entry := jobEntry(job, own, later(job.Completed, job.Started))
			if err := w.ledger.add(entry, now); err != nil {
				return err
			}
			w.logf("job %d of %s ran %s on %s and cost %.2f", job.ID, job.Author, time.Duration(entry.Seconds*1e9).Round(time.Second), job.Runner, entry.Cost)
		}
		return w.forget(job.ID, now)
	}
	if known := w.state.Jobs[job.ID]; known != nil {
		known.Job = *job
	} else {
		w.state.Jobs[job.ID] = &Waiting{Job: *job, Seen: now}
	}
	return nil
}

// lookAtRunner asks for the runner of a machine.
func (w *Wake) lookAtRunner(ctx context.Context, m *Machine, now time.Time) error {
	if m.RunnerID == 0 { // a process ended between asking for it and hearing of it
		found, err := w.forge.RunnerNamed(ctx, m.Runner)
		if err == nil && found != nil {
			err = w.forge.Remove(ctx, found.ID)
		}
		if err != nil {
			return err
		}
		m.removed(now)
		m.Phase = Up
		if m.On.IsZero() {
			m.Phase = Off
		}
		return nil
	}
	runner, err := w.forge.Runner(ctx, m.RunnerID)
	switch {
	case err != nil:
		return err
	case runner == nil:
		return w.vanished(ctx, m, now)
	case runner.Online() || runner.Busy:
		m.appeared()
	}
	if m.Busy = runner.Busy; m.Busy {
		m.Since = now
	}
	return nil
}

// vanishing is how long after its start a runner may be unknown to the forge and still be on its way.
const vanishing = time.Minute

// vanished takes note of a runner that is no longer registered. If it has been online or has run a job, it
// had its job. If not, the start was in vain: without a pause, it would be repeated for ever.
func (w *Wake) vanished(ctx context.Context, m *Machine, now time.Time) error {
	for id, job := range w.state.Jobs {
		if m.Online {
			break
		}
		if job.Status == forge.JobQueued { // or was, when it was last asked for
			if err := w.lookAt(ctx, id, now); err != nil {
				return err
			}
		}
	}
	switch {
	case m.Online:
		m.removed(now)
	case m.Phase == Up && !m.Failed && now.Sub(m.Since) >= vanishing:
		m.Failed = true
		m.fail(now, "its runner is not registered any more, and was never seen online")
		w.logf("%s: %s", m.Name, m.Error)
	}
	return nil
}

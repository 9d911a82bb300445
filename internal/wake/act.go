package wake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pawl/internal/forge"
)

// act stops and starts what is due.
func (w *Wake) act(ctx context.Context, now time.Time) error {
	var failed []error
	for _, m := range w.state.Machines { // before anything is started: a machine without idle time is not used again
		if why := w.broken(m, now); why != "" {
			if !m.Failed {
				m.fail(now, why)
				w.logf("%s: %s", m.Name, why)
			}
			failed = append(failed, w.stop(ctx, m, now))
		} else if m.Phase == Up && m.Runner == "" && w.config.kind(m.Kind).Idle.Duration == 0 {
			failed = append(failed, w.stop(ctx, m, now))
		}
	}
	for _, g := range w.plan(now) {
		failed = append(failed, w.start(ctx, g.machine, g.job, now))
	}
	for _, m := range w.state.Machines {
		if w.idle(m, now) {
			w.logf("%s: idle since %s", m.Name, m.Since.UTC().Format(time.DateTime))
			failed = append(failed, w.stop(ctx, m, now))
		}
	}
	return errors.Join(failed...)
}

// broken says why a machine that was started is of no use; "": it is, or may still be.
func (w *Wake) broken(m *Machine, now time.Time) string {
	limit := w.config.kind(m.Kind).Register.Duration
	switch {
	case m.Phase != Up || m.Runner == "" || m.Busy:
		return ""
	case m.Failed:
		return m.Error
	case now.Sub(m.Since) < limit:
		return ""
	case !m.Online:
		return fmt.Sprintf("its runner was not online within %s of its start", limit)
	case w.jobsWait(m.Kind, now.Add(-limit)):
		return fmt.Sprintf("its runner was online for %s and got no job, though one waits: may its runner group serve this repository?", limit)
	}
	return ""
}

// idle reports whether a machine must be stopped because nobody needs it.
func (w *Wake) idle(m *Machine, now time.Time) bool {
	if m.Phase != Up || m.Busy || w.jobsWait(m.Kind, now) {
		return false
	}
	kind := w.config.kind(m.Kind)
	limit := kind.Idle.Duration
	if m.Runner != "" { // its job may need a moment to get there
		limit = max(limit, kind.Register.Duration)
	}
	return now.Sub(m.Since) >= limit
}

// jobsWait reports whether a job has been waiting for a kind of machine since then, and its author may use one.
func (w *Wake) jobsWait(kind string, since time.Time) bool {
	for _, job := range w.state.Jobs {
		if job.Status == forge.JobQueued && !job.Held && !job.Seen.After(since) && w.config.kindFor(job.Labels).Name == kind {
			return true
		}
	}
	return false
}

// grant is a machine for a job.
type grant struct {
	machine *Machine
	job     *Waiting
}

// plan decides which machines to start, and writes to every job that waits why it does. Jobs are served
// in the order in which they came. GitHub gives a runner to any job with its labels, so runners and
// jobs are counted, and not paired.
func (w *Wake) plan(now time.Time) []grant {
	var queued []*Waiting
	for _, job := range w.state.Jobs {
		job.Reason, job.Held = "", false
		if job.Status == forge.JobQueued {
			queued = append(queued, job)
		}
	}
	slices.SortFunc(queued, func(a, b *Waiting) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	pending := map[string]int{} // runners that wait for a job, by kind
	for _, m := range w.state.Machines {
		if m.Runner != "" && !m.Busy && !m.Failed && m.Phase != Stopping {
			pending[m.Kind]++
		}
	}
	used := w.ledger.used(w.runningEntries(now), now)
	var grants []grant
	taken := map[*Machine]bool{}
	for _, job := range queued {
		kind := w.config.kindFor(job.Labels)
		u := cmp.Or(used[job.Author], &Used{})
		if job.Reason = w.config.Daily.reached(job.Author, u); job.Reason != "" {
			job.Held = true
			continue
		}
		used[job.Author] = &Used{Jobs: u.Jobs + 1, Minutes: u.Minutes, Cost: u.Cost}
		if pending[kind.Name] > 0 {
			pending[kind.Name]--
			job.Reason = "a runner is on its way"
			continue
		}
		m, why := w.free(kind, taken, now)
		if job.Reason = why; m != nil {
			taken[m] = true
			grants = append(grants, grant{m, job})
		}
	}
	w.tell(queued)
	return grants
}

// tell logs why jobs are left in the queue, when that changes.
func (w *Wake) tell(queued []*Waiting) {
	for _, job := range queued {
		if job.Held && job.Told != job.Reason {
			w.logf("job %d of %s is left in the queue: %s", job.ID, job.Author, job.Reason)
		}
		if job.Told = ""; job.Held {
			job.Told = job.Reason
		}
	}
}

// reached says which cap an author has reached; "": none.
func (d Daily) reached(author string, u *Used) string {
	author = cmp.Or(author, "an unknown author")
	switch {
	case d.Jobs > 0 && u.Jobs >= d.Jobs:
		return fmt.Sprintf("%s has used %d of %d jobs of this day (UTC)", author, u.Jobs, d.Jobs)
	case d.Minutes > 0 && u.Minutes >= float64(d.Minutes):
		return fmt.Sprintf("%s has used %.0f of %d minutes of this day (UTC)", author, u.Minutes, d.Minutes)
	}
	return ""
}

// runningEntries returns what the jobs that run here have used so far.
func (w *Wake) runningEntries(now time.Time) (entries []Entry) {
	for _, job := range w.state.Jobs {
		if kind := w.config.kindOf(job.Runner); job.Status == forge.JobRunning && kind != nil {
			entries = append(entries, jobEntry(&job.Job, kind, later(now, job.Started)))
		}
	}
	return entries
}

// free returns a machine that can have a new runner, a warm one first; nil: there is none, and why.
func (w *Wake) free(kind *Kind, taken map[*Machine]bool, now time.Time) (found *Machine, why string) {
	for _, m := range w.state.Machines {
		if m.Kind != kind.Name || taken[m] {
			continue
		}
		switch usable := m.Phase == Off || m.Phase == Up && m.Runner == ""; {
		case m.Stops > 0:
			why = fmt.Sprintf("%s could not be stopped, %d times: %s", m.Name, m.Stops, m.Error)
		case usable && now.Before(m.Retry):
			why = fmt.Sprintf("%s could not be started, %d times: %s; the next attempt is at %s UTC", m.Name, m.Failures, m.Error, m.Retry.UTC().Format(time.TimeOnly))
		case usable && (found == nil || m.Phase == Up && found.Phase == Off):
			found = m
		}
	}
	if found != nil {
		return found, "a machine is being started"
	}
	return nil, cmp.Or(why, fmt.Sprintf("all %d machines are in use", kind.Count))
}

// start gives a machine a new runner. The job is asked for once more: it may have been cancelled.
func (w *Wake) start(ctx context.Context, m *Machine, job *Waiting, now time.Time) error {
	if err := w.lookAt(ctx, job.ID, now); err != nil {
		return err
	}
	if left := w.state.Jobs[job.ID]; left == nil || left.Status != forge.JobQueued {
		w.logf("job %d no longer waits", job.ID)
		return nil
	}
	w.state.Jobs[job.ID].Reason = job.Reason
	if w.state.Jobs[job.ID].Woken.IsZero() {
		w.state.Jobs[job.ID].Woken = now
	}
	before := m.Phase
	m.Phase, m.Runner, m.Since = Registering, runnerName(m), now
	if err := w.save(); err != nil {
		m.Phase, m.Runner = before, ""
		return err
	}
	kind := w.config.kind(m.Kind)
	id, config, err := w.forge.Register(ctx, m.Runner, kind.Labels)
	if err != nil { // the next look removes what may have been registered
		m.fail(now, err.Error())
		return fmt.Errorf("%s: register a runner: %w", m.Name, err)
	}
	m.RunnerID, m.Phase, m.Online, m.Failed = id, Starting, false, false
	if m.On.IsZero() {
		m.On = now
	}
	if err := w.save(); err != nil { // without it a restart would not know of the machine
		err = errors.Join(err, w.forge.Remove(ctx, id))
		m.removed(now)
		if m.Phase = before; before == Off {
			m.On = time.Time{}
		}
		return err
	}
	w.logf("%s: start for job %d of %s, as runner %s", m.Name, job.ID, job.Author, m.Runner)
	w.launch(ctx, w.config.commandFor(m, true, config, w.getenv))
	return nil
}

// stop stops a machine. Its runner's registration ends first: GitHub refuses that while the runner has a
// job, and gives it none afterwards. So no job is ever cut off.
func (w *Wake) stop(ctx context.Context, m *Machine, now time.Time) error {
	if m.RunnerID != 0 {
		err := w.forge.Remove(ctx, m.RunnerID)
		if errors.Is(err, forge.ErrBusy) {
			m.Busy, m.Online, m.Failed, m.Since = true, true, false, now
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: remove its runner before it is stopped: %w", m.Name, err)
		}
	}
	m.removed(now)
	m.Phase, m.Failed = Stopping, false
	if err := w.save(); err != nil {
		return err
	}
	w.launchStop(ctx, m)
	return nil
}

func (w *Wake) launchStop(ctx context.Context, m *Machine) {
	w.logf("%s: stop", m.Name)
	m.StopRuns = true
	w.launch(ctx, w.config.commandFor(m, false, "", w.getenv))
}

// stopAgain runs the stop commands that failed, or that a restart cut off. GitHub need not be asked: the
// runners of these machines are removed.
func (w *Wake) stopAgain(ctx context.Context, now time.Time) {
	for _, m := range w.state.Machines {
		if m.Phase == Stopping && !m.StopRuns && !now.Before(m.Retry) {
			w.launchStop(ctx, m)
		}
	}
}

func (w *Wake) launch(ctx context.Context, c command) {
	w.running++
	go func() { w.ended <- ended{c, w.run(ctx, c)} }()
}

// finish takes the end of a command. One that the end of this process has cut off is no failure: the
// next process continues.
func (w *Wake) finish(ctx context.Context, e ended) error {
	if w.running--; ctx.Err() != nil {
		return ctx.Err()
	}
	m, now := w.state.machine(e.machine), w.now()
	switch {
	case e.start && e.err != nil && m.Runner != "" && !m.Online:
		m.Phase, m.Failed = Up, true
		m.fail(now, e.err.Error())
		w.logf("%s: start failed, %d in a row: %v", m.Name, m.Failures, e.err)
	case e.start:
		w.logf("%s: started", m.Name)
		if m.Phase = Up; e.err != nil {
			w.logf("%s: the start command failed, but the runner was online: %v", m.Name, e.err)
		}
		if !m.Busy && m.Runner != "" {
			m.Since = now
		}
	case e.err != nil:
		m.StopRuns = false
		m.Stops++
		m.Error, m.Retry = e.err.Error(), now.Add(backoff(m.Stops))
		w.logf("%s: stop failed, %d in a row; the machine may still run: %v", m.Name, m.Stops, e.err)
	default:
		w.logf("%s: stopped", m.Name)
		m.StopRuns, m.Stops, m.Phase = false, 0, Off
		err := w.ledger.add(newEntry(m.Name, m.On, now, w.config.kind(m.Kind).Price), now)
		m.On = time.Time{}
		return errors.Join(err, w.save())
	}
	return w.save()
}

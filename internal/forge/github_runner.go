package forge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Runners are the jobs and the self-hosted runners of a repository on GitHub.
type Runners struct{ *github }

// runnerPermissions are those that an App needs to read jobs and to register runners.
var runnerPermissions = map[string]string{"actions": "read", "administration": "write"}

// NewRunners returns the jobs and runners of a repository. It sends nothing yet.
func NewRunners(opts Options) (*Runners, error) {
	opts.Kind = GitHub
	g, err := newRepository(opts)
	if err != nil {
		return nil, err
	}
	if g.app != nil {
		g.app.permissions = runnerPermissions
	}
	return &Runners{g}, nil
}

// JobStatus says how far a job is.
type JobStatus string

// The states of a job that matter here; GitHub has more.
const (
	JobQueued    JobStatus = "queued" // nothing but a runner is missing
	JobRunning   JobStatus = "in_progress"
	JobCompleted JobStatus = "completed"
)

// Job is a job of a workflow.
type Job struct {
	ID        int64     `json:"id"`
	Run       int64     `json:"run_id"`
	Status    JobStatus `json:"status"`
	Labels    []string  `json:"labels"`      // of the runner that it waits for
	Runner    string    `json:"runner_name"` // that runs it, or has run it
	Created   time.Time `json:"created_at"`
	Started   time.Time `json:"started_at"`
	Completed time.Time `json:"completed_at"`
	Author    string    `json:"author"` // who started the run; GitHub says it of the run
}

// workflowRun is a run of a workflow in GitHub's words.
type workflowRun struct {
	ID      int64 `json:"id"`
	Actor   *user `json:"actor"`
	Trigger *user `json:"triggering_actor"` // who ran it again, where somebody did
}

type user struct {
	Login string `json:"login"`
}

// author returns who started a run; "": GitHub does not say.
func (w workflowRun) author() string { return cmp.Or(w.Trigger, w.Actor, &user{}).Login }

// mostRuns bounds the requests of one poll. GitHub lists new runs first.
const mostRuns = 50

// Active returns the jobs of runs that are not over. It reads the newest runs of each state; all says
// whether these are all.
func (r *Runners) Active(ctx context.Context) (jobs []Job, all bool, err error) {
	all = true
	var runs []workflowRun
	for _, status := range []string{"queued", "in_progress", "waiting"} {
		query := url.Values{"status": {status}, "per_page": {strconv.Itoa(mostRuns)}, "exclude_pull_requests": {"true"}}
		var list struct {
			Total int           `json:"total_count"`
			Runs  []workflowRun `json:"workflow_runs"`
		}
		if _, err := r.call(ctx, request{method: http.MethodGet, path: r.at + "/actions/runs", query: query}, &list); err != nil {
			return nil, false, err
		}
		all = all && list.Total <= len(list.Runs)
		for _, run := range list.Runs { // a run may go on from one list to another meanwhile
			if !slices.ContainsFunc(runs, func(known workflowRun) bool { return known.ID == run.ID }) {
				runs = append(runs, run)
			}
		}
	}
	for _, run := range runs {
		const perPage = 100
		query := url.Values{"filter": {"latest"}, "per_page": {strconv.Itoa(perPage)}}
		for page, listed := 1, perPage; listed == perPage && page <= mostPages; page++ {
			query.Set("page", strconv.Itoa(page))
			var list struct {
				Jobs []Job `json:"jobs"`
			}
			if _, err := r.call(ctx, request{method: http.MethodGet, path: fmt.Sprintf("%s/actions/runs/%d/jobs", r.at, run.ID), query: query}, &list); err != nil && status(err) != http.StatusNotFound { // the run may have been deleted
				return nil, false, err
			}
			listed = len(list.Jobs)
			for _, job := range list.Jobs {
				job.Author = run.author()
				jobs = append(jobs, job)
			}
		}
	}
	return jobs, all, nil
}

// Job returns a job as it is now; nil: there is none.
func (r *Runners) Job(ctx context.Context, id int64) (*Job, error) {
	var job Job
	_, err := r.call(ctx, request{method: http.MethodGet, path: fmt.Sprintf("%s/actions/jobs/%d", r.at, id)}, &job)
	if status(err) == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var run workflowRun
	if _, err = r.call(ctx, request{method: http.MethodGet, path: fmt.Sprintf("%s/actions/runs/%d", r.at, job.Run)}, &run); err != nil {
		return nil, err
	}
	job.Author = run.author()
	return &job, nil
}

// Runner is a self-hosted runner.
type Runner struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Busy   bool   `json:"busy"`
}

// Online reports whether the runner is connected to GitHub.
func (r Runner) Online() bool { return r.Status == "online" }

// Register registers a runner that takes one job. The config is a secret: with it a machine is that
// runner.
func (r *Runners) Register(ctx context.Context, name string, labels []string) (id int64, config string, err error) {
	const defaultGroup = 1
	var made struct {
		Runner Runner `json:"runner"`
		Config string `json:"encoded_jit_config"`
	}
	_, err = r.call(ctx, request{
		method: http.MethodPost, path: r.at + "/actions/runners/generate-jitconfig", once: true,
		body: map[string]any{"name": name, "runner_group_id": defaultGroup, "labels": labels},
	}, &made)
	if err == nil && (made.Runner.ID == 0 || made.Config == "") {
		err = errors.New("the forge registered a runner without saying which")
	}
	return made.Runner.ID, made.Config, err
}

// Runner returns a runner as it is now; nil: it is not registered, or no longer. A runner that takes
// one job is gone after it.
func (r *Runners) Runner(ctx context.Context, id int64) (*Runner, error) {
	var found Runner
	_, err := r.call(ctx, request{method: http.MethodGet, path: fmt.Sprintf("%s/actions/runners/%d", r.at, id)}, &found)
	if status(err) == http.StatusNotFound {
		return nil, nil
	}
	return &found, err
}

// RunnerNamed returns the runner with a name; nil: there is none.
func (r *Runners) RunnerNamed(ctx context.Context, name string) (*Runner, error) {
	var list struct {
		Runners []Runner `json:"runners"`
	}
	_, err := r.call(ctx, request{method: http.MethodGet, path: r.at + "/actions/runners", query: url.Values{"name": {name}}}, &list)
	for _, found := range list.Runners {
		if found.Name == name {
			return &found, err
		}
	}
	return nil, err
}

// ErrBusy says that a runner has a job.
var ErrBusy = errors.New("the runner has a job")

// Remove ends a runner's registration: from then on it gets no job. A runner that has one stays, and
// the error is ErrBusy. One that is gone already is no error.
func (r *Runners) Remove(ctx context.Context, id int64) error {
	_, err := r.call(ctx, request{method: http.MethodDelete, path: fmt.Sprintf("%s/actions/runners/%d", r.at, id)}, nil)
	switch status(err) {
	case http.StatusNotFound:
		return nil
	case http.StatusUnprocessableEntity:
		return ErrBusy
	}
	return err
}

// WebhookJob returns the job that a workflow_job webhook is about, and its repository. Whatever else
// the webhook says is asked from the API.
func WebhookJob(payload []byte) (repo string, id int64, labels []string, err error) {
	var event struct {
		Job struct {
			ID     int64    `json:"id"`
			Labels []string `json:"labels"`
		} `json:"workflow_job"`
		Repository struct {
			Name string `json:"full_name"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return "", 0, nil, fmt.Errorf("workflow_job: %w", err)
	}
	if event.Job.ID <= 0 || !IsRepo(event.Repository.Name) {
		return "", 0, nil, errors.New("workflow_job: expected a job and its repository")
	}
	return event.Repository.Name, event.Job.ID, event.Job.Labels, nil
}

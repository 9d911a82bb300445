package forgetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Token is the one that the server admits.
const Token = "github_pat_thatMayRegisterRunners"

// Actions is GitHub on loopback with jobs and runners of the repository o/r. Every request and every
// reply is validated against GitHub's description. Its runners are moved by the test.
type Actions struct {
	URL  string
	Now  func() time.Time
	Fail func(request string) int // called before each request: the status of a failure; 0: none

	t        testing.TB
	api      *Description
	mu       sync.Mutex
	requests []string
	jobs     map[int64]*Job
	runners  map[int64]*Runner
	nextID   int64
}

// Job is a job of the server. Each is a run of its own.
type Job struct {
	ID                          int64
	Author, Status, Runner      string
	Labels                      []string
	Created, Started, Completed time.Time
}

// Runner is a runner of the server.
type Runner struct {
	ID     int64
	Name   string
	Labels []string
	Online bool
	Busy   bool
}

// NewActions starts a server.
func NewActions(t testing.TB) *Actions {
	t.Helper()
	api, err := GitHub()
	if err != nil {
		t.Fatal(err)
	}
	a := &Actions{t: t, api: api, Now: time.Now, jobs: map[int64]*Job{}, runners: map[int64]*Runner{}, nextID: 100}
	server := httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(server.Close)
	a.URL = server.URL
	return a
}

// Queue adds a job that waits for a runner.
func (a *Actions) Queue(id int64, author string, labels ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs[id] = &Job{ID: id, Author: author, Status: "queued", Labels: labels, Created: a.Now()}
}

// Cancel ends a job that no runner has.
func (a *Actions) Cancel(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs[id].Status, a.jobs[id].Completed = "completed", a.Now()
}

// SetStatus gives a job a status.
func (a *Actions) SetStatus(id int64, status string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs[id].Status = status
}

// Connect brings a runner online, as the machine does that has its config.
func (a *Actions) Connect(name string) { a.change(name, func(r *Runner) { r.Online = true }) }

// Disconnect takes a runner offline, as a crash of its machine does.
func (a *Actions) Disconnect(name string) { a.change(name, func(r *Runner) { r.Online = false }) }

// Take lets a runner take a job.
func (a *Actions) Take(name string, id int64) {
	a.change(name, func(r *Runner) {
		r.Online, r.Busy = true, true
		a.jobs[id].Status, a.jobs[id].Runner, a.jobs[id].Started = "in_progress", name, a.Now()
	})
}

// Complete ends a job. Its runner, which takes one job, is gone afterwards.
func (a *Actions) Complete(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	job := a.jobs[id]
	job.Status, job.Completed = "completed", a.Now()
	maps.DeleteFunc(a.runners, func(_ int64, r *Runner) bool { return r.Name == job.Runner })
}

func (a *Actions) change(name string, how func(*Runner)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.runners {
		if r.Name == name {
			how(r)
			return
		}
	}
	a.t.Errorf("no runner is named %q", name)
}

// Runners returns the names of the registered runners.
func (a *Actions) Runners() []string { return a.named(func(*Runner) bool { return true }) }

// Busy returns the names of the runners that have a job.
func (a *Actions) Busy() []string { return a.named(func(r *Runner) bool { return r.Busy }) }

func (a *Actions) named(which func(*Runner) bool) (names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.runners {
		if which(r) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Count returns how many requests began with a text such as "GET /repos/o/r/actions/jobs".
func (a *Actions) Count(request string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, one := range a.requests {
		if strings.HasPrefix(one, request) {
			n++
		}
	}
	return n
}

// ConfigOf returns the config that the server gives to a runner.
func ConfigOf(name string) string {
	return base64.StdEncoding.EncodeToString([]byte("secret config of " + name))
}

func (a *Actions) serve(w http.ResponseWriter, r *http.Request) {
	name, code := r.Method+" "+r.URL.Path, 0
	if a.Fail != nil {
		code = a.Fail(name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, name)
	o, body, err := a.api.Request(r)
	if err != nil {
		a.t.Errorf("request: %v", err)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	if given := r.Header.Get("Authorization"); given != "Bearer "+Token {
		a.t.Errorf("%s: authorization %q", name, given)
	}
	if code != 0 {
		w.WriteHeader(code)
		fmt.Fprint(w, `{"message":"a failure that the test wants"}`)
		return
	}
	code, reply := a.act(r, o, body)
	if code == http.StatusNotFound { // GitHub does not describe it, and gives it
		w.WriteHeader(code)
		return
	}
	var raw []byte
	if reply != nil {
		if raw, err = json.Marshal(reply); err != nil {
			a.t.Error(err)
		}
	}
	if err := a.api.Reply(o, code, raw); err != nil {
		a.t.Errorf("reply: %v", err)
	}
	w.WriteHeader(code)
	_, _ = w.Write(raw)
}

func (a *Actions) act(r *http.Request, o *Operation, body map[string]any) (int, any) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/repos/o/r/actions/"), "/")
	var id int64
	if len(parts) > 1 {
		id, _ = strconv.ParseInt(parts[1], 10, 64)
	}
	switch r.Method + " " + strings.TrimPrefix(o.Path, "/repos/{owner}/{repo}/actions") {
	case "GET /runs":
		runs := []any{}
		for _, id := range slices.Sorted(maps.Keys(a.jobs)) {
			if a.jobs[id].Status == r.URL.Query().Get("status") {
				runs = append(runs, a.runLike(a.example("/runs", "workflow_runs"), a.jobs[id]))
			}
		}
		return http.StatusOK, map[string]any{"total_count": len(runs), "workflow_runs": runs}
	case "GET /runs/{run_id}":
		if job := a.jobs[id]; job != nil {
			return http.StatusOK, a.runLike(o.Like(a.t, nil), job)
		}
	case "GET /runs/{run_id}/jobs":
		if job := a.jobs[id]; job != nil {
			return http.StatusOK, map[string]any{"total_count": 1, "jobs": []any{jobLike(a.example("/runs/1/jobs", "jobs"), job)}}
		}
	case "GET /jobs/{job_id}":
		if job := a.jobs[id]; job != nil {
			return http.StatusOK, jobLike(o.Like(a.t, nil), job)
		}
	case "GET /runners":
		found := []any{}
		for _, r2 := range a.runners {
			if name := r.URL.Query().Get("name"); name == "" || r2.Name == name {
				found = append(found, runnerLike(r2))
			}
		}
		return http.StatusOK, map[string]any{"total_count": len(found), "runners": found}
	case "GET /runners/{runner_id}":
		if runner := a.runners[id]; runner != nil {
			return http.StatusOK, runnerLike(runner)
		}
	case "DELETE /runners/{runner_id}":
		runner := a.runners[id]
		if runner != nil && runner.Busy {
			return http.StatusUnprocessableEntity, map[string]any{"message": "Runner is currently running a job and cannot be deleted.", "documentation_url": "https://docs.github.com"}
		}
		if runner != nil {
			delete(a.runners, id)
			return http.StatusNoContent, nil
		}
	case "POST /runners/generate-jitconfig":
		a.nextID++
		runner := &Runner{ID: a.nextID, Name: body["name"].(string)}
		for _, label := range body["labels"].([]any) {
			runner.Labels = append(runner.Labels, label.(string))
		}
		a.runners[runner.ID] = runner
		return http.StatusCreated, map[string]any{"runner": runnerLike(runner), "encoded_jit_config": ConfigOf(runner.Name)}
	default:
		a.t.Errorf("%s %s: the server does not know it", r.Method, r.URL.Path)
	}
	return http.StatusNotFound, nil
}

// example returns the first item of a list in GitHub's own example.
func (a *Actions) example(path, list string) map[string]any {
	whole := a.api.Find(http.MethodGet, "/repos/o/r/actions"+path).Like(a.t, nil)
	return whole[list].([]any)[0].(map[string]any)
}

func (a *Actions) runLike(run map[string]any, job *Job) map[string]any {
	run["id"], run["status"] = job.ID, job.Status
	for _, name := range []string{"actor", "triggering_actor"} {
		actor, is := run[name].(map[string]any)
		if !is {
			a.t.Fatalf("the example has no %s", name)
		}
		actor["login"] = job.Author
	}
	return run
}

func jobLike(out map[string]any, job *Job) map[string]any {
	at := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return t.UTC().Format(time.RFC3339)
	}
	var runner any
	if job.Runner != "" {
		runner = job.Runner
	}
	began := job.Started
	if began.IsZero() { // GitHub says so of a job that waits
		began = job.Created
	}
	maps.Copy(out, map[string]any{
		"id": job.ID, "run_id": job.ID, "status": job.Status, "labels": job.Labels, "runner_name": runner, "conclusion": nil,
		"created_at": at(job.Created), "started_at": at(began), "completed_at": at(job.Completed),
	})
	return out
}

func runnerLike(r *Runner) map[string]any {
	labels := []any{}
	for _, label := range r.Labels {
		labels = append(labels, map[string]any{"name": label})
	}
	return map[string]any{
		"id": r.ID, "name": r.Name, "os": "linux", "status": map[bool]string{true: "online", false: "offline"}[r.Online], "busy": r.Busy, "labels": labels,
	}
}

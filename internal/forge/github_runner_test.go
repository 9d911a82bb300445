package forge

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pawl/internal/forge/forgetest"
)

func newRunners(t *testing.T) (*forgetest.Actions, *Runners) {
	t.Helper()
	api := forgetest.NewActions(t)
	r, err := NewRunners(Options{URL: api.URL, Repo: "o/r", Token: forgetest.Token, Agent: "pawl/test"})
	if err != nil {
		t.Fatal(err)
	}
	return api, r
}

func TestJobs(t *testing.T) {
	api, r := newRunners(t)
	api.Queue(1, "ada", "gpu")
	api.Queue(2, "ben", "self-hosted", "gpu")
	api.SetStatus(2, "waiting")
	api.Queue(3, "eve", "gpu")
	api.Cancel(3)
	jobs, all, err := r.Active(t.Context())
	if err != nil || !all || len(jobs) != 2 {
		t.Fatalf("%v jobs, all %v: %v", jobs, all, err)
	}
	if j := jobs[0]; j.ID != 1 || j.Run != 1 || j.Status != JobQueued || j.Author != "ada" || !slices.Equal(j.Labels, []string{"gpu"}) || j.Created.IsZero() || j.Runner != "" || !j.Completed.IsZero() {
		t.Errorf("%+v", j)
	}
	job, err := r.Job(t.Context(), 3)
	if err != nil || job.Status != JobCompleted || job.Author != "eve" {
		t.Errorf("%+v: %v", job, err)
	}
	if job, err := r.Job(t.Context(), 9); job != nil || err != nil {
		t.Errorf("a job that does not exist: %+v: %v", job, err)
	}
}

// A run that goes on from one list to another while both are read is read once.
func TestRunOfTwoLists(t *testing.T) {
	api, r := newRunners(t)
	api.Queue(1, "ada", "gpu")
	lists := 0
	api.Fail = func(request string) int {
		if strings.HasPrefix(request, "GET /repos/o/r/actions/runs") && !strings.Contains(request, "/jobs") {
			if lists++; lists == 2 {
				api.SetStatus(1, "in_progress")
			}
		}
		return 0
	}
	if jobs, _, err := r.Active(t.Context()); err != nil || len(jobs) != 1 || lists != 3 {
		t.Errorf("%v after %d lists: %v", jobs, lists, err)
	}
}

// A runner is registered, takes its one job, and is gone. While it has the job it cannot be removed.
func TestRunnerLife(t *testing.T) {
	api, r := newRunners(t)
	api.Queue(1, "ada", "gpu")
	id, config, err := r.Register(t.Context(), "pawl-gpu-1", []string{"gpu"})
	if err != nil || config != forgetest.ConfigOf("pawl-gpu-1") {
		t.Fatalf("%q: %v", config, err)
	}
	if found, err := r.Runner(t.Context(), id); err != nil || found.Online() || found.Busy {
		t.Errorf("%+v: %v", found, err)
	}
	api.Take("pawl-gpu-1", 1)
	if found, err := r.Runner(t.Context(), id); err != nil || !found.Online() || !found.Busy {
		t.Errorf("%+v: %v", found, err)
	}
	if err := r.Remove(t.Context(), id); !errors.Is(err, ErrBusy) {
		t.Errorf("removed while it had a job: %v", err)
	}
	api.Complete(1)
	if found, err := r.Runner(t.Context(), id); found != nil || err != nil {
		t.Errorf("%+v: %v", found, err)
	}
	if err := r.Remove(t.Context(), id); err != nil {
		t.Error(err)
	}
	if found, err := r.RunnerNamed(t.Context(), "pawl-gpu-1"); found != nil || err != nil {
		t.Errorf("%+v: %v", found, err)
	}
	if _, _, err := r.Register(t.Context(), "other", []string{"gpu"}); err != nil {
		t.Fatal(err)
	}
	if found, err := r.RunnerNamed(t.Context(), "other"); err != nil || found == nil {
		t.Errorf("%+v: %v", found, err)
	}
}

// An App's token may read jobs and register runners, and nothing else.
func TestRunnersOfApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := newGitHubServer(t)
	s.admits = func(string, string) bool { return true }
	s.faults = []fault{{request: "GET /repos/o/r/actions/jobs/1", answer: answer(http.StatusNotFound, "{}")}}
	opts := s.options(GitHub)
	opts.Token, opts.App = "", &App{ID: "1", Key: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})}
	r, err := NewRunners(opts)
	if err != nil {
		t.Fatal(err)
	}
	if job, err := r.Job(t.Context(), 1); job != nil || err != nil {
		t.Errorf("%+v: %v", job, err)
	}
	if got := fmt.Sprint(s.may); got != "map[actions:read administration:write]" {
		t.Error(got)
	}
}

// A registration whose answer was lost is not repeated: it would be a second runner.
func TestRegisterOnce(t *testing.T) {
	api, r := newRunners(t)
	api.Fail = func(string) int { return http.StatusBadGateway }
	if _, _, err := r.Register(t.Context(), "x", []string{"gpu"}); err == nil || strings.Contains(err.Error(), forgetest.Token) {
		t.Error(err)
	}
	if n := api.Count("POST "); n != 1 {
		t.Errorf("%d requests", n)
	}
}

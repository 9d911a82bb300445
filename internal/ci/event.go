package ci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pawl/internal/pattern"
)

// Job is what a forge says about a job before its first step. Of the variables, GitHub sets those
// that begin with GITHUB_ itself and no workflow can overwrite them. A pull request chooses the
// content of its own workflow file and with it GITHUB_WORKFLOW and GITHUB_JOB, its branch's name and
// every text in the event; none of these is used here, but for the command in a comment.
type Job struct {
	Event       string // GITHUB_EVENT_NAME
	Repository  string // GITHUB_REPOSITORY: where the job runs, never the fork
	Ref         string // GITHUB_REF
	WorkflowRef string // GITHUB_WORKFLOW_REF: OWNER/NAME/path@ref
	RunID       string // GITHUB_RUN_ID

	payload payload
}

type repo struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
}

// payload is what is read of an event.
type payload struct {
	Action      string `json:"action"`
	Ref         string `json:"ref"`
	Deleted     bool   `json:"deleted"`
	Repository  repo   `json:"repository"`
	Number      int64  `json:"number"`
	PullRequest *struct {
		Number int64 `json:"number"`
		Head   struct {
			SHA  string `json:"sha"`
			Repo *repo  `json:"repo"`
		} `json:"head"`
		Base struct {
			Repo *repo `json:"repo"`
		} `json:"base"`
	} `json:"pull_request"`
	MergeGroup *struct {
		HeadRef string `json:"head_ref"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
	Issue *struct {
		PullRequest *struct{} `json:"pull_request"`
	} `json:"issue"`
	Comment *struct {
		ID          int64     `json:"id"`
		Body        string    `json:"body"`
		Association string    `json:"author_association"`
		Created     time.Time `json:"created_at"`
	} `json:"comment"`
	Inputs map[string]any `json:"inputs"`
}

// maxEvent is the most that an event may hold; GitHub's are at most 25 MB.
const maxEvent = 32 << 20

// ReadJob reads the job that the environment describes. The event lies in the runner's work folder;
// nothing else is read, since the job itself may ask and the answer is root's.
func ReadJob(getenv func(string) string, work string) (*Job, error) {
	job := &Job{
		Event: getenv("GITHUB_EVENT_NAME"), Repository: getenv("GITHUB_REPOSITORY"), Ref: getenv("GITHUB_REF"),
		WorkflowRef: getenv("GITHUB_WORKFLOW_REF"), RunID: getenv("GITHUB_RUN_ID"),
	}
	for name, value := range map[string]string{
		"GITHUB_EVENT_NAME": job.Event, "GITHUB_REPOSITORY": job.Repository, "GITHUB_REF": job.Ref,
		"GITHUB_WORKFLOW_REF": job.WorkflowRef, "GITHUB_RUN_ID": job.RunID, "GITHUB_EVENT_PATH": getenv("GITHUB_EVENT_PATH"),
	} {
		if value == "" {
			return nil, fmt.Errorf("%s is not set: expected to be started by the runner, as its job-started hook", name)
		}
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	defer root.Close()
	below, err := filepath.Rel(work, getenv("GITHUB_EVENT_PATH"))
	if err != nil || !filepath.IsLocal(below) {
		return nil, fmt.Errorf("event: %s is not in the work folder %s", getenv("GITHUB_EVENT_PATH"), work)
	}
	file, err := root.OpenFile(below, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEvent+1))
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	if job.payload, err = parseEvent(text); err != nil {
		return job, err
	}
	// A schedule is no event of a repository: GitHub may leave it out.
	if p := job.payload.Repository; job.Event != "schedule" && (p.FullName == "" || p.ID == 0) {
		return job, errors.New("event: it names no repository")
	}
	return job, nil
}

func parseEvent(text []byte) (payload, error) {
	if len(text) > maxEvent {
		return payload{}, fmt.Errorf("event: more than %d bytes", maxEvent)
	}
	var p payload
	if err := json.Unmarshal(text, &p); err != nil {
		return payload{}, fmt.Errorf("event: %w", err)
	}
	return p, nil
}

var (
	fullSHA  = pattern.New(`^[0-9a-f]{40}$`)
	approves = pattern.New(`^/pawl check ([0-9a-f]{40})\s*$`)
)

// approvedCommit returns the commit that a comment or a dispatch names.
func (p *payload) approvedCommit() string {
	if p.Comment != nil {
		if found := approves.FindStringSubmatch(p.Comment.Body); found != nil {
			return found[1]
		}
		return ""
	}
	if sha, _ := p.Inputs["sha"].(string); fullSHA.MatchString(strings.TrimSpace(sha)) {
		return strings.TrimSpace(sha)
	}
	return ""
}

package ci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Admission is the guard's word about a job.
type Admission struct {
	Lane   Lane
	Commit string // of a stranger: the one that was approved
	use    func() error
}

// Lane says whose code a job runs.
type Lane string

// The lanes.
const (
	OwnLane      Lane = "own"      // of people who may write to the repository
	StrangerLane Lane = "stranger" // of somebody else, one approved commit
)

// Admit decides whether a job may run on this machine. Whatever it does not understand is refused.
func (p *Policy) Admit(job *Job, now time.Time) (*Admission, error) {
	known := slices.ContainsFunc(p.Repositories, func(r string) bool { return strings.EqualFold(r, job.Repository) })
	switch {
	case !known:
		return nil, fmt.Errorf("repository %q is not in the policy of this machine", job.Repository)
	case !strings.EqualFold(job.payload.Repository.FullName, job.Repository) && (job.Event != "schedule" || job.payload.Repository.FullName != ""):
		return nil, fmt.Errorf("the event is of repository %q, the job of %q", job.payload.Repository.FullName, job.Repository)
	case !slices.Contains(p.Events, job.Event):
		return nil, fmt.Errorf("event %q is not in the policy of this machine", job.Event)
	}
	workflow, ref, err := p.workflowOf(job)
	if err != nil {
		return nil, err
	}
	stranger := workflow == p.Lane
	trusted := "refs/heads/" + p.Branch
	switch job.Event {
	case "pull_request":
		return p.admitPull(job, workflow, ref, now)
	case "merge_group":
		queue := "refs/heads/gh-readonly-queue/" + p.Branch + "/"
		group := job.payload.MergeGroup
		if group == nil || group.BaseRef != trusted || !strings.HasPrefix(job.Ref, queue) || group.HeadRef != job.Ref || ref != job.Ref || stranger {
			return nil, fmt.Errorf("merge_group of %q: expected the queue of %s", job.Ref, p.Branch)
		}
		return &Admission{Lane: OwnLane}, nil
	}
	// The other events run a workflow as a branch of the repository has it: only the default one's.
	if ref != trusted || job.Ref != trusted {
		return nil, fmt.Errorf("workflow %s of %q for %q: expected the one of %s", workflow, ref, job.Ref, trusted)
	}
	switch {
	case job.Event == "push" && !stranger:
		if job.payload.Ref != trusted || job.payload.Deleted {
			return nil, fmt.Errorf("push to %q: expected %s", job.payload.Ref, trusted)
		}
		return &Admission{Lane: OwnLane}, nil
	case (job.Event == "workflow_dispatch" || job.Event == "schedule") && !stranger:
		return &Admission{Lane: OwnLane}, nil
	case job.Event == "workflow_dispatch" || job.Event == "issue_comment" && stranger:
		return p.admitStranger(job, now)
	}
	return nil, fmt.Errorf("event %s does not start %s", job.Event, workflow)
}

// workflowOf splits GITHUB_WORKFLOW_REF, whose path must be one of the policy's. The path is matched
// first: both it and the ref may contain an @.
func (p *Policy) workflowOf(job *Job) (workflow, ref string, err error) {
	rest, ok := strings.CutPrefix(strings.ToLower(job.WorkflowRef), strings.ToLower(job.Repository)+"/")
	if ok {
		rest = job.WorkflowRef[len(job.WorkflowRef)-len(rest):]
		for _, workflow := range p.Workflows {
			if ref, ok := strings.CutPrefix(rest, workflow+"@"); ok {
				return workflow, ref, nil
			}
		}
	}
	return "", "", fmt.Errorf("workflow %q is not in the policy of this machine", job.WorkflowRef)
}

func (p *Policy) admitPull(job *Job, workflow, ref string, now time.Time) (*Admission, error) {
	pull := job.payload.PullRequest
	if pull == nil || pull.Number <= 0 || !fullSHA.MatchString(pull.Head.SHA) || pull.Base.Repo == nil || pull.Base.Repo.ID != job.payload.Repository.ID {
		return nil, fmt.Errorf("pull_request: the event does not say what is to be merged into %s", job.Repository)
	}
	merge := fmt.Sprintf("refs/pull/%d/merge", pull.Number)
	if job.Ref != merge || ref != merge || workflow == p.Lane {
		return nil, fmt.Errorf("pull request %d runs %s of %q for %q: expected %s", pull.Number, workflow, ref, job.Ref, merge)
	}
	if pull.Head.Repo != nil && pull.Head.Repo.ID == job.payload.Repository.ID {
		return &Admission{Lane: OwnLane}, nil
	}
	if p.Strangers != StrangersByFile {
		return nil, fmt.Errorf("pull request %d comes from a fork: its own workflow does not run on this machine; a maintainer reads it and comments /pawl check %s", pull.Number, pull.Head.SHA)
	}
	return p.approvedByFile(job, pull.Head.SHA, now)
}

var maintainers = []string{"OWNER", "MEMBER", "COLLABORATOR"}

// admitStranger judges a job of the default branch's workflow for strangers.
func (p *Policy) admitStranger(job *Job, now time.Time) (*Admission, error) {
	sha := job.payload.approvedCommit()
	if p.Strangers == StrangersRefused {
		return nil, fmt.Errorf("strangers' commits do not run on this machine (strangers: %s in its policy)", p.Strangers)
	}
	if sha == "" {
		return nil, fmt.Errorf("%s names no commit: expected /pawl check and all 40 digits", job.Event)
	}
	mark := "run-" + job.RunID
	if comment := job.payload.Comment; job.Event == "issue_comment" {
		switch age := now.Sub(commentTime(job)); {
		case comment == nil || job.payload.Action != "created" || job.payload.Issue == nil || job.payload.Issue.PullRequest == nil:
			return nil, fmt.Errorf("issue_comment: expected a new comment on a pull request")
		case !slices.Contains(maintainers, comment.Association):
			return nil, fmt.Errorf("commit %s: approved by somebody who is not a maintainer (%s)", sha, comment.Association)
		case age > p.age || age < -time.Hour:
			return nil, fmt.Errorf("commit %s: the approval of %s is void; it counts for %s", sha, comment.Created.UTC().Format(time.DateTime), p.age)
		}
		mark = fmt.Sprintf("comment-%d", comment.ID)
	}
	if p.Strangers == StrangersByFile {
		return p.approvedByFile(job, sha, now)
	}
	return &Admission{Lane: StrangerLane, Commit: sha, use: func() error { return p.useOnce(mark) }}, nil
}

func commentTime(job *Job) time.Time {
	if job.payload.Comment == nil {
		return time.Time{}
	}
	return job.payload.Comment.Created
}

// Guard decides about a job that is about to begin, and remembers what its sweep needs. It first
// sweeps what the job before has left. The error says why the job must not run.
func (p *Policy) Guard(job *Job, now time.Time) (*Admission, *Swept, error) {
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return nil, nil, err
	}
	if err := onlyWrittenBy(p.State, p.owner, true); err != nil {
		return nil, nil, err
	}
	last, err := p.lastJob()
	if err != nil {
		return nil, nil, err
	}
	if last != nil && last.Boot == bootID() && last.Worker.lives() {
		return nil, nil, fmt.Errorf("run %s still runs on this machine: the guard is asked once for each job", last.RunID)
	}
	if _, err := os.Lstat(p.manifestFile()); errors.Is(err, fs.ErrNotExist) {
		if last != nil {
			return nil, nil, fmt.Errorf("%s is gone: run pawl ci guard --manifest", p.manifestFile())
		}
		if _, err := p.TakeManifest(); err != nil {
			return nil, nil, err
		}
	}
	swept, err := p.sweepBefore(last)
	if err != nil {
		return nil, swept, err
	}
	admission, err := p.Admit(job, now)
	if err != nil {
		return nil, swept, err
	}
	if admission.use != nil {
		if err := admission.use(); err != nil {
			return nil, swept, err
		}
	}
	self, err := readProcess(os.Getpid())
	if err != nil {
		return nil, swept, err
	}
	next := &record{
		Lane: admission.Lane, Commit: admission.Commit, RunID: job.RunID, Began: now, Start: self.start, Boot: bootID(), Worker: currentWorker(),
	}
	return admission, swept, p.save(p.recordFile(), next)
}

// sweepBefore sweeps after the last job once more. That job may have kept its hook from running, or have
// run sweep itself, by the same sudo rule, and gone on: that it was swept is no proof. Where something
// of a stranger's is found, the work folder goes too, with the next job's actions, which the runner
// has fetched by then: so that job must be run again.
func (p *Policy) sweepBefore(last *record) (*Swept, error) {
	if last == nil {
		return &Swept{}, nil
	}
	if last.Swept && last.Lane != OwnLane {
		planted, err := p.plantedInWork(currentWorker())
		if err != nil {
			return nil, fmt.Errorf("the job before (run %s) could not be swept: %w", last.RunID, err)
		}
		last.Swept = !planted
	}
	swept, err := p.sweep(last, false)
	switch {
	case err != nil:
		return swept, fmt.Errorf("the job before (run %s) could not be swept: %w", last.RunID, err)
	case len(swept.Left) > 0:
		return swept, fmt.Errorf("the job before (run %s) left something that could not be put right: %s", last.RunID, swept.Left[0])
	case last.Lane != OwnLane && !swept.before:
		return swept, fmt.Errorf("the job before (run %s) was not swept; it is now: run this job again", last.RunID)
	}
	return swept, nil
}

// plantedInWork reports whether the work folder, which a sweep has emptied, holds something that is
// older than the runner's process for the job that begins now. The runner empties _temp itself.
func (p *Policy) plantedInWork(now *worker) (bool, error) {
	if now == nil {
		return false, nil
	}
	root, err := openFolder(p.Work, p.uid)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, entry := range entries {
		if entry.Name() != "_temp" && root.bornBefore(entry.Name(), now.began()) {
			return true, nil
		}
	}
	return false, err
}

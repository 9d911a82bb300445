package ci

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/disk"
)

// approval is a file in the policy's folder: one commit, until a time, for one job.
type approval struct {
	SHA        string    `json:"sha"`
	Repository string    `json:"repository"`
	At         time.Time `json:"at"`
	Until      time.Time `json:"until"`
}

const maxApproval = 1 << 16

// Approve lets one job measure a commit until a time. Only the owner of the approvals may.
func (p *Policy) Approve(sha, repository string, at, until time.Time) error {
	switch {
	case !fullSHA.MatchString(sha):
		return fmt.Errorf("commit %q: expected all 40 digits", sha)
	case !until.After(at):
		return fmt.Errorf("until %s: that is over", until.UTC().Format(time.DateTime))
	case until.Sub(at) > p.age:
		return fmt.Errorf("until %s: the policy lets approvals live for %s", until.UTC().Format(time.DateTime), p.age)
	}
	if repository == "" && len(p.Repositories) == 1 {
		repository = p.Repositories[0]
	}
	if repository == "" {
		return fmt.Errorf("the policy has several repositories: name one with --repo")
	}
	if err := os.MkdirAll(p.Approvals, 0o755); err != nil {
		return err
	}
	text, err := disk.JSON(approval{sha, repository, at.UTC(), until.UTC()})
	if err != nil {
		return err
	}
	return disk.Write(filepath.Join(p.Approvals, sha), text)
}

// approvedByFile admits a commit that has a file among the approvals.
func (p *Policy) approvedByFile(job *Job, sha string, now time.Time) (*Admission, error) {
	name := filepath.Join(p.Approvals, sha)
	text, err := readOwned(name, p.owner, maxApproval)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("commit %s is not approved on this machine (pawl ci guard --approve %s)", sha, sha)
	}
	if err != nil {
		return nil, fmt.Errorf("approval: %w", err)
	}
	var a approval
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("approval %s: %w", name, err)
	}
	switch {
	case a.SHA != sha || !strings.EqualFold(a.Repository, job.Repository):
		return nil, fmt.Errorf("approval %s is for commit %s of %s", name, a.SHA, a.Repository)
	case now.After(a.Until) || now.Sub(a.At) > p.age || a.At.After(now.Add(time.Hour)):
		return nil, fmt.Errorf("commit %s: its approval ended at %s", sha, a.Until.Format(time.DateTime))
	}
	return &Admission{Lane: StrangerLane, Commit: sha, use: func() error {
		// Whoever removes the file has the approval.
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("commit %s: its approval cannot be marked as used: %w", sha, err)
		}
		return nil
	}}, nil
}

// useOnce takes a mark that nobody has taken before.
func (p *Policy) useOnce(mark string) error {
	folder := filepath.Join(p.State, "used")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(folder, filepath.Base(mark)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the approval was used already: each counts for one job; comment again")
	}
	if err != nil {
		return err
	}
	return file.Close()
}

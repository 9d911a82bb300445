package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrNoCommit is what every NoCommitError is.
var ErrNoCommit = errors.New("no such commit")

// NoCommitError is a commit that was asked for and cannot be had.
type NoCommitError struct {
	Commit  string // its hash, or the name it was asked for by
	Shallow bool   // the clone is, so that the commit may exist elsewhere
	Cause   error  // why it could not be fetched; nil: nobody tried

	Remote string   // that was asked; empty: origin
	Absent bool     // it has no branch or tag of that name
	Others []string // names that there are, when the one asked for may be mistyped
}

// Error says what is missing, and what was tried.
func (e *NoCommitError) Error() string {
	var b strings.Builder
	if fullHash.MatchString(e.Commit) {
		fmt.Fprintf(&b, "commit %s is not in this clone", Short(e.Commit))
	} else {
		fmt.Fprintf(&b, "%s is not in this clone", e.Commit)
	}
	if e.Shallow {
		b.WriteString(" (it is shallow)")
	}
	remote := cmp.Or(e.Remote, "origin")
	switch {
	case e.Absent:
		fmt.Fprintf(&b, ", and %s has no branch or tag of that name", remote)
	case e.Cause != nil:
		fmt.Fprintf(&b, " and could not be fetched from %s: %v", remote, e.Cause)
	}
	return b.String()
}

// Hint says what to do about it.
func (e *NoCommitError) Hint() string {
	switch {
	case e.Absent || e.Others != nil && !e.Shallow:
		return "git branch --all lists the branches that there are"
	case e.Shallow:
		return "git fetch --unshallow; in a GitHub workflow: actions/checkout with fetch-depth: 0"
	}
	return "git fetch, or push the branch that has it"
}

// Is makes every NoCommitError an ErrNoCommit.
func (e *NoCommitError) Is(target error) bool { return target == ErrNoCommit }

// Unwrap returns why it could not be fetched.
func (e *NoCommitError) Unwrap() error { return e.Cause }

var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Short is a hash as people write it.
func Short(sha string) string {
	if fullHash.MatchString(sha) {
		return sha[:7]
	}
	return sha
}

// Resolve returns the hash of the commit that ref names: a branch, a tag, HEAD~2.
func Resolve(dir, ref string) (string, error) {
	if ref == "" || strings.ContainsAny(ref[:1], "-^") { // git would take it for an option, or for all but that
		return "", &NoCommitError{Commit: fmt.Sprintf("%q", ref)}
	}
	out, err := run(dir, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	switch {
	case err == nil:
		return strings.TrimSpace(out), nil
	case exited(err, 1):
		shallow, _ := IsShallow(dir)
		return "", &NoCommitError{Commit: ref, Shallow: shallow}
	}
	return "", fmt.Errorf("look for commit %s: %w", ref, err)
}

// IsShallow tells whether the clone that holds dir has only a part of history.
func IsShallow(dir string) (bool, error) {
	out, err := run(dir, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return false, fmt.Errorf("look at the repository of %s: %w", dir, err)
	}
	return strings.TrimSpace(out) == "true", nil
}

// Ensure makes sure that a commit is in the clone, fetching it from origin when
// it is not.
func Ensure(ctx context.Context, dir, sha string) error {
	_, err := Resolve(dir, sha)
	if errors.Is(err, ErrNoCommit) {
		return Fetch(ctx, dir, sha)
	}
	return err
}

// Fetch gets one commit, named by its whole hash, from origin.
func Fetch(ctx context.Context, dir, sha string) error {
	if !fullHash.MatchString(sha) {
		return &NoCommitError{Commit: fmt.Sprintf("%q", sha), Cause: errors.New("that is no whole hash")}
	}
	shallow, err := IsShallow(dir)
	if err != nil {
		return err
	}
	err = fetch(ctx, dir, depthOf(shallow), sha)
	if err == nil {
		_, err = Resolve(dir, sha)
	}
	if err != nil && ctx.Err() == nil {
		return &NoCommitError{Commit: sha, Shallow: shallow, Cause: err}
	}
	return err
}

// depthOf says how much of history to fetch: in a whole clone a depth would make it
// shallow.
func depthOf(shallow bool) string {
	if shallow {
		return "--depth=1"
	}
	return ""
}

// fetch leaves no trace but objects: no tags, no FETCH_HEAD, no submodules. depth
// is an option, or empty; without commits it fetches what the clone follows.
func fetch(ctx context.Context, dir, depth string, shas ...string) error {
	if _, err := run(dir, "remote", "get-url", "origin"); err != nil {
		return errors.New("there is no remote of that name")
	}
	return fetchFrom(ctx, dir, "origin", depth, shas...)
}

func fetchFrom(ctx context.Context, dir, remote, depth string, shas ...string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"}
	if depth != "" {
		args = append(args, depth)
	}
	_, err := work(ctx, dir, append(append(args, remote), shas...)...)
	return err
}

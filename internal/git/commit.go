package git

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrNoCommit matches every NoCommitError.
var ErrNoCommit = errors.New("no such commit")

// NoCommitError is a requested commit that is not available.
type NoCommitError struct {
	Commit  string // its hash, or the name it was asked for by
	Shallow bool   // the clone is shallow, so the commit may exist elsewhere
	Cause   error  // why it could not be fetched; nil: nobody tried

	Remote string   // the remote that was asked; empty: there was none
	Silent []string // remotes that were not asked
	Absent bool     // it has no branch or tag of that name
	Others []string // existing names, when the requested one may be mistyped
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
	switch {
	case e.Absent:
		fmt.Fprintf(&b, ", and %s has no branch or tag of that name", e.Remote)
	case e.Cause != nil && e.Remote != "":
		fmt.Fprintf(&b, " and could not be fetched from %s: %v", e.Remote, e.Cause)
	case e.Cause != nil:
		fmt.Fprintf(&b, " and could not be fetched: %v", e.Cause)
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

// Gone reports whether nobody is left who may have the commit: the only remote says that it does
// not have it, or the clone is complete and has no remote. An unreachable remote or a full disk
// proves nothing.
func (e *NoCommitError) Gone() bool {
	if errors.Is(e.Cause, errNoRemote) {
		return !e.Shallow
	}
	var answer *failure
	if len(e.Silent) > 0 || !errors.As(e.Cause, &answer) {
		return false
	}
	return unknown.MatchString(answer.message) || !e.Shallow && unadvertised.MatchString(answer.message)
}

var (
	// unknown matches a server's answer that it does not have a commit.
	unknown = regexp.MustCompile(`not our ref`)
	// unadvertised matches the answer of servers that hand out only the tips of branches: the
	// commit may be in the history that a shallow clone lacks.
	unadvertised = regexp.MustCompile(`unadvertised object|want [0-9a-f]+ not valid`)
)

var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Short returns a hash in the form for people.
func Short(sha string) string {
	if fullHash.MatchString(sha) {
		return sha[:7]
	}
	return sha
}

// Resolve returns the hash of the commit that ref names: a branch, a tag, HEAD~2.
func Resolve(ctx context.Context, dir, ref string) (string, error) {
	if ref == "" || strings.ContainsAny(ref[:1], "-^") { // git would take it for an option, or for all but that
		return "", &NoCommitError{Commit: fmt.Sprintf("%q", ref)}
	}
	out, err := run(ctx, dir, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
	switch {
	case err == nil:
		return strings.TrimSpace(out), nil
	case foundNothing(err):
		shallow, _ := IsShallow(ctx, dir)
		return "", &NoCommitError{Commit: ref, Shallow: shallow}
	}
	return "", fmt.Errorf("look for commit %s: %w", ref, err)
}

// IsShallow reports whether the clone that holds dir has only a part of the history.
func IsShallow(ctx context.Context, dir string) (bool, error) {
	out, err := line(ctx, dir, "look at the repository of "+dir, "rev-parse", "--is-shallow-repository")
	return out == "true", err
}

// Ensure makes sure that a commit is in the clone, fetching it from its remote when
// it is not.
func Ensure(ctx context.Context, dir, sha string) error {
	_, err := Resolve(ctx, dir, sha)
	if errors.Is(err, ErrNoCommit) {
		return Fetch(ctx, dir, sha)
	}
	return err
}

// Fetch gets one commit, named by its whole hash, from the main remote.
func Fetch(ctx context.Context, dir, sha string) error {
	if !fullHash.MatchString(sha) {
		return &NoCommitError{Commit: fmt.Sprintf("%q", sha), Cause: errors.New("that is no whole hash")}
	}
	shallow, err := IsShallow(ctx, dir)
	if err != nil {
		return err
	}
	remotes, err := remotesOf(ctx, dir)
	if err != nil {
		return err
	}
	remote, err := fetch(ctx, dir, depthOf(shallow), sha)
	if err == nil {
		_, err = Resolve(ctx, dir, sha)
	}
	if err != nil && ctx.Err() == nil {
		return &NoCommitError{Commit: sha, Shallow: shallow, Remote: remote, Silent: besides(remotes, remote), Cause: err}
	}
	return err
}

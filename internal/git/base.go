package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Base is the version that a change is compared with.
type Base struct {
	Ref string // as people name it: origin/main, HEAD, HEAD~1
	SHA string // the commit itself; it need not be in a shallow clone, see Ensure

	Guess bool // nothing in the clone says which branch is the main one
}

// ErrNoBase means that there is nothing to compare with: HEAD is the first commit
// and nothing in the tree has changed since, or there is no commit at all.
var ErrNoBase = errors.New("there is no earlier commit to compare with")

// mainBranches lists the usual target branches of changes, the most certain first; each as git's
// ref and in the form for people.
func mainBranches(remotes []string) [][2]string {
	remote := cmp.Or(mainRemote(remotes), "origin") // a workflow may fetch by address into that name
	return [][2]string{
		{"refs/remotes/" + remote + "/HEAD", remote + "/HEAD"},
		{"refs/remotes/" + remote + "/main", remote + "/main"},
		{"refs/remotes/" + remote + "/master", remote + "/master"},
		{"refs/heads/main", "main"},
		{"refs/heads/master", "master"},
	}
}

// DefaultBase returns the default base of the working tree that holds dir: where it left the main
// branch. On that branch itself it is HEAD if files have changed since, else the commit before.
func DefaultBase(ctx context.Context, dir string) (Base, error) {
	head, ok, err := Head(ctx, dir)
	if err != nil {
		return Base{}, err
	}
	if !ok {
		if _, err := Root(ctx, dir); err != nil {
			return Base{}, err
		}
		return Base{}, ErrNoBase
	}
	remotes, err := remotesOf(ctx, dir)
	if err != nil {
		return Base{}, err
	}
	guess := true
	for _, branch := range mainBranches(remotes) {
		tip, err := Resolve(ctx, dir, branch[0])
		if errors.Is(err, ErrNoCommit) {
			continue
		}
		if err != nil {
			return Base{}, err
		}
		guess = false
		fork, err := MergeBase(ctx, dir, head.SHA, tip)
		if err != nil {
			return Base{}, err
		}
		if fork != head.SHA {
			return Base{Ref: branchName(ctx, dir, branch[1]), SHA: fork}, nil
		}
		break
	}
	if guess && len(remotes) == 0 { // the only branch of all has left no other
		out, err := line(ctx, dir, "list the branches of "+dir, "for-each-ref", "--format=%(refname)", "refs/heads")
		if err != nil {
			return Base{}, err
		}
		guess = strings.Contains(out, "\n")
	}
	if head.Dirty {
		return Base{Ref: "HEAD", SHA: head.SHA, Guess: guess}, nil
	}
	parents, err := parentsOf(ctx, dir, head.SHA)
	if err != nil {
		return Base{}, err
	}
	if len(parents) == 0 {
		return Base{}, ErrNoBase
	}
	// Forges check a change out as a merge that is on no branch: its first parent is the change's
	// target.
	if guess && len(parents) > 1 {
		_, err := run(ctx, dir, "symbolic-ref", "--quiet", "HEAD")
		guess = err == nil
	}
	return Base{Ref: "HEAD~1", SHA: parents[0], Guess: guess}, nil
}

// branchName returns the branch that origin/HEAD stands for.
func branchName(ctx context.Context, dir, name string) string {
	full, _ := line(ctx, dir, "", "rev-parse", "--abbrev-ref", name)
	return cmp.Or(full, name)
}

// parentsOf reads the commit itself: a shallow clone hides the parents that it does not have.
func parentsOf(ctx context.Context, dir, sha string) ([]string, error) {
	out, err := line(ctx, dir, "read commit "+Short(sha), "cat-file", "commit", sha)
	header, _, _ := strings.Cut(out, "\n\n") // the message may say anything
	var parents []string
	for line := range strings.Lines(header) {
		if parent, ok := strings.CutPrefix(line, "parent "); ok {
			parents = append(parents, strings.TrimSpace(parent))
		}
	}
	return parents, err
}

// IsFirst reports whether a commit has no parent, also where a shallow clone hides them.
func IsFirst(ctx context.Context, dir, sha string) (bool, error) {
	parents, err := parentsOf(ctx, dir, sha)
	return err == nil && len(parents) == 0, err
}

// MergeBase returns where the histories of two commits parted. In a shallow clone that commit may
// be missing: then it fetches more.
func MergeBase(ctx context.Context, dir, a, b string) (string, error) {
	var sides [2]string
	for i, ref := range []string{a, b} {
		sha, err := Resolve(ctx, dir, ref)
		if err != nil {
			return "", err
		}
		sides[i] = sha
	}
	base, err := mergeBase(ctx, dir, sides)
	if !errors.Is(err, errUnrelated) {
		return base, err
	}
	shallow, err := IsShallow(ctx, dir)
	if err != nil {
		return "", err
	}
	if !shallow {
		return "", fmt.Errorf("%s and %s have no common history", Short(a), Short(b))
	}
	var remote string
	var fetchErr error
	for _, more := range []string{"--deepen=64", "--deepen=1024"} {
		if remote, _, fetchErr = fetch(ctx, dir, more, sides[0], sides[1]); fetchErr != nil && ctx.Err() == nil {
			remote, _, fetchErr = fetch(ctx, dir, more) // one of them was never pushed
		}
		if fetchErr != nil {
			break
		}
		if base, err := mergeBase(ctx, dir, sides); !errors.Is(err, errUnrelated) {
			return base, err
		}
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return "", &NoCommitError{Commit: fmt.Sprintf("the commit where %s and %s parted", Short(a), Short(b)), Shallow: true, Remote: remote, Cause: fetchErr}
}

// MergeBases returns every commit at which the histories of two commits parted, the one of MergeBase
// first. There are several where each of the two has merged the same two branches.
func MergeBases(ctx context.Context, dir, a, b string) ([]string, error) {
	first, err := MergeBase(ctx, dir, a, b) // fetches what a shallow clone lacks
	if err != nil {
		return nil, err
	}
	out, err := line(ctx, dir, "find where "+Short(a)+" and "+Short(b)+" parted", "merge-base", "--all", a, b)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(strings.Fields(out), func(sha string) bool { return sha == first })
	return append([]string{first}, others...), nil
}

var errUnrelated = errors.New("no common history")

func mergeBase(ctx context.Context, dir string, sides [2]string) (string, error) {
	out, err := run(ctx, dir, "merge-base", sides[0], sides[1])
	switch {
	case err == nil:
		return strings.TrimSpace(out), nil
	case foundNothing(err):
		return "", errUnrelated
	}
	return "", fmt.Errorf("find where %s and %s parted: %w", Short(sides[0]), Short(sides[1]), err)
}

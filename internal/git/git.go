// Package git holds the git commands that pawl needs. It runs the git program,
// because that alone knows every form a repository can have.
package git

import (
	"errors"
	"fmt"
	"strings"
)

// State is the commit that a working tree stands on.
type State struct {
	SHA   string
	Dirty bool // a tracked file differs from the commit; pawl's own under .pawl do not count
}

// Head returns the state of the working tree that holds dir. Where there is
// none (no git program, no repository, no commit yet) ok is false.
func Head(dir string) (state State, ok bool, err error) {
	// One process answers both questions.
	out, err := run(dir, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "-z", "--", wholeTree, notOurs)
	if errors.Is(err, ErrNoRepository) {
		return State{}, false, nil
	}
	if err != nil {
		return State{}, false, fmt.Errorf("read the git state of %s: %w", dir, err)
	}
	for line := range strings.SplitSeq(out, "\x00") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "# branch.oid "):
			state.SHA = strings.TrimPrefix(line, "# branch.oid ")
		case strings.HasPrefix(line, "# "):
		default:
			state.Dirty = true
		}
	}
	if state.SHA == "" || state.SHA == "(initial)" {
		return State{}, false, nil
	}
	return state, true, nil
}

// A baseline that moved changes a tracked file, but not the code that was
// measured: the next run must not be told that its tree is dirty.
const (
	wholeTree = ":(top)"
	notOurs   = ":(top,exclude,glob)**/.pawl/**"
)

// Root returns the top folder of the working tree that holds dir.
func Root(dir string) (string, error) {
	out, err := run(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	return strings.TrimSuffix(out, "\n"), nil
}

// UserName is the name that a commit made in dir would bear; empty when git
// knows none.
func UserName(dir string) string {
	out, err := run(dir, "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(out, " <")
	return name
}

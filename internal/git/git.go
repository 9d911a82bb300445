// Package git holds the git commands that pawl needs. It runs the git program, because only git
// itself knows every form that a repository can have.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// State is the checked-out commit of a working tree.
type State struct {
	SHA    string
	Branch string // that is checked out; "": a commit is, and no branch
	Dirty  bool   // a tracked file differs from the commit; pawl's own under .pawl do not count
}

// Head returns the state of the working tree that holds dir. Where there is
// none (no git program, no repository, no commit yet) ok is false.
func Head(ctx context.Context, dir string) (state State, ok bool, err error) {
	// One process answers both questions.
	out, err := run(ctx, dir, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "-z", "--", wholeTree, notOurs)
	if errors.Is(err, ErrNoRepository) {
		return State{}, false, nil
	}
	if err != nil {
		return State{}, false, fmt.Errorf("read the git state of %s: %w", dir, err)
	}
	for line := range strings.SplitSeq(out, "\x00") {
		if sha, ok := strings.CutPrefix(line, "# branch.oid "); ok {
			state.SHA = sha
		} else if branch, ok := strings.CutPrefix(line, "# branch.head "); ok {
			if branch != "(detached)" {
				state.Branch = branch
			}
		} else if line != "" && !strings.HasPrefix(line, "# ") {
			state.Dirty = true
		}
	}
	if state.SHA == "" || state.SHA == "(initial)" {
		return State{}, false, nil
	}
	return state, true, nil
}

// A move of the baseline changes a tracked file, but not the measured code: the next run must not
// see a dirty tree.
const (
	wholeTree = ":(top)"
	notOurs   = ":(top,exclude,glob)**/.pawl/**"
)

// Loose lists the files below dir with one of these endings that git neither tracks nor ignores,
// and that a tracked file, or another such file, mentions by name: a commit lacks files that its
// build needs. Names are relative to dir.
func Loose(ctx context.Context, dir string, endings []string) ([]string, error) {
	list := []string{"ls-files", "--others", "--exclude-standard", "-z", "--", ":(exclude,glob)**/.pawl/**"}
	search := []string{
		"grep", "--untracked", "--no-recurse-submodules", "--no-color", "--no-line-number", "--no-column", "-h", "-o", "-I", "-w", "-F", "-f", "-",
		"--", ":(top)*.yaml", ":(top)*.yml",
	}
	for _, ending := range endings {
		list, search = append(list, "*"+ending), append(search, ":(top)*"+ending)
	}
	looking := "look for files of " + dir + " that are not in git"
	out, err := line(ctx, dir, looking, list...)
	if err != nil {
		return nil, err
	}
	files := strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
	if len(files) == 0 {
		return nil, nil
	}
	var names, found bytes.Buffer
	for _, file := range files {
		names.WriteString(mentioned(file) + "\n")
	}
	err = stream(ctx, patience, dir, &names, &found, search...)
	if err != nil && !foundNothing(err) { // nothing mentions any
		return nil, fmt.Errorf("%s: %w", looking, err)
	}
	mentions := map[string]bool{}
	for line := range strings.Lines(found.String()) {
		mentions[strings.TrimSuffix(line, "\n")] = true
	}
	return slices.DeleteFunc(files, func(file string) bool { return !mentions[mentioned(file)] }), nil
}

// Missing returns those of the files below dir that neither git nor a submodule has.
func Missing(ctx context.Context, dir string, files []string) ([]string, error) {
	out, err := line(ctx, dir, "look for files of "+dir+" that are not in git", append([]string{"--literal-pathspecs", "ls-files", "--recurse-submodules", "-z", "--"}, files...)...)
	if err != nil {
		return nil, err
	}
	has := strings.Split(out, "\x00")
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool { return slices.Contains(has, path.Clean(file)) }), nil
}

// Tracks reports whether git has any file at or below a path of a repository.
func Tracks(ctx context.Context, path string) (bool, error) {
	out, err := line(ctx, filepath.Dir(path), "look for files in git", "--literal-pathspecs", "ls-files", "-z", "--", filepath.Base(path))
	return out != "", err
}

// mentioned returns how other files name a file: Python's modules without their ending.
func mentioned(file string) string { return strings.TrimSuffix(path.Base(file), ".py") }

// Root returns the top folder of the working tree that holds dir.
func Root(ctx context.Context, dir string) (string, error) {
	return line(ctx, dir, "find the repository of "+dir, "rev-parse", "--show-toplevel")
}

// Prefix returns where a folder is in its repository; "": at the top.
func Prefix(ctx context.Context, dir string) (string, error) {
	return line(ctx, dir, "find the top of the repository", "rev-parse", "--show-prefix")
}

// UserName returns the name that a commit made in dir would have; empty when git knows none.
func UserName(ctx context.Context, dir string) string {
	out, _ := run(ctx, dir, "var", "GIT_AUTHOR_IDENT")
	name, _, _ := strings.Cut(out, " <")
	return name
}

// Create makes a repository of a folder, with one commit of everything in it. It neither needs nor
// uses the user's settings.
func Create(ctx context.Context, dir, message string) error {
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", "--template="},
		{"add", "--all", "--force"},
		{
			"-c", "user.name=pawl", "-c", "user.email=pawl@localhost", "-c", "commit.gpgsign=false",
			"commit", "--quiet", "--no-verify", "--message", message,
		},
	} {
		if _, err := work(ctx, dir, args...); err != nil {
			return fmt.Errorf("make a git repository of %s: %w", dir, err)
		}
	}
	return nil
}

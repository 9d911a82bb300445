// Package git holds the git commands that pawl needs. It runs the git program,
// because that alone knows every form a repository can have.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// patience is how long git may take to answer; a repository on a network file
// system that has gone away must not hold a run for ever.
const patience = 30 * time.Second

// State is the commit that a working tree stands on.
type State struct {
	SHA   string
	Dirty bool // a tracked file differs from the commit
}

// Head returns the state of the working tree that holds dir. Where there is
// none (no git program, no repository, no commit yet) ok is false.
func Head(dir string) (state State, ok bool, err error) {
	// One process answers both questions.
	out, err := run(dir, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "-z")
	if errors.Is(err, errNone) {
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

// errNone means that there is nothing to ask: no git or no repository.
var errNone = errors.New("no repository")

func run(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"--no-pager",
		"-C", dir,
		// A repository may name programs that git then runs. Looking at its
		// state must not.
		"-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=/dev/null",
	}, args...)...)
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", errNone
	case ctx.Err() != nil:
		return "", fmt.Errorf("git did not answer within %v", patience)
	}
	message := strings.TrimSpace(stderr.String())
	if strings.Contains(message, "not a git repository") || strings.Contains(message, "must be run in a work tree") {
		return "", errNone
	}
	if message == "" {
		return "", err
	}
	line, _, _ := strings.Cut(message, "\n")
	return "", errors.New(strings.TrimPrefix(line, "fatal: "))
}

// environment keeps git from taking locks, asking questions and answering in
// other languages, and from being led to another repository: a hook that runs
// pawl has these variables set to its own.
func environment(env []string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(elsewhere, name)
	})
	return append(kept, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// elsewhere is what `git rev-parse --local-env-vars` lists, without what only
// carries configuration.
var elsewhere = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR",
	"GIT_DIR",
	"GIT_GRAFT_FILE",
	"GIT_IMPLICIT_WORK_TREE",
	"GIT_INDEX_FILE",
	"GIT_INTERNAL_SUPER_PREFIX",
	"GIT_NO_REPLACE_OBJECTS",
	"GIT_OBJECT_DIRECTORY",
	"GIT_PREFIX",
	"GIT_REPLACE_REF_BASE",
	"GIT_SHALLOW_FILE",
	"GIT_WORK_TREE",
}

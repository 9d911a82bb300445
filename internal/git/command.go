package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
)

const (
	// patience is how long git may take to answer; a repository on a network file
	// system that has gone away must not hold a run for ever.
	patience = 30 * time.Second
	// slowPatience is for commands that write a whole tree or talk to a server.
	slowPatience = 15 * time.Minute
)

// ErrNoRepository means that there is no git program, no repository, or one without a working tree.
var ErrNoRepository = errors.New("no git repository")

// ErrNoProgram is an ErrNoRepository.
var ErrNoProgram = fmt.Errorf("%w: git is not installed", ErrNoRepository)

// ErrOldProgram means a git before 2.31: it knows neither absolute paths of a repository nor
// configuration in variables, which carry a token.
var ErrOldProgram = errors.New("this git is too old: expected 2.31 or later (git --version)")

// run runs a git command that answers at once.
func run(ctx context.Context, dir string, args ...string) (string, error) {
	return ask(ctx, patience, dir, args...)
}

// line runs a git command that answers at once, with one line. doing says what for, in an error.
func line(ctx context.Context, dir, doing string, args ...string) (string, error) {
	out, err := run(ctx, dir, args...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	return strings.TrimSuffix(out, "\n"), nil
}

// work runs a git command that may take long.
func work(ctx context.Context, dir string, args ...string) (out string, err error) {
	for range 5 {
		out, err = ask(ctx, slowPatience, dir, args...)
		// git fails on a worktree that another process is just adding.
		if err == nil || !strings.Contains(err.Error(), "/commondir: ") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return out, err
}

func ask(ctx context.Context, limit time.Duration, dir string, args ...string) (string, error) {
	var stdout bytes.Buffer
	err := stream(ctx, limit, dir, nil, &stdout, args...)
	return stdout.String(), err
}

// stream runs git in dir with these streams.
func stream(ctx context.Context, limit time.Duration, dir string, stdin io.Reader, stdout io.Writer, args ...string) error {
	return command(ctx, limit, dir, nil, stdin, stdout, args...)
}

// command is stream with further variables in git's environment.
func command(ctx context.Context, limit time.Duration, dir string, env []string, stdin io.Reader, stdout io.Writer, args ...string) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, "git", append([]string{
		"--no-pager",
		"-C", dir,
		// A repository may name programs that git then runs. Reading its state must not run them.
		"-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=/dev/null",
		// Nor must reading trigger maintenance.
		"-c", "gc.auto=0",
		"-c", "maintenance.auto=false",
	}, args...)...)
	cmd.Env = append(environment(os.Environ()), env...)
	// Without a terminal ssh cannot ask questions. A signal lets git remove its
	// lock files, and reaches its helpers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	err := cmd.Run()
	if limited.Err() != nil && cmd.Process != nil { // helpers that did not heed the signal
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return ErrNoProgram
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("git did not answer within %v", limit)
	}
	return explain(err, stderr.String())
}

// explain finds the line in which git states the error.
func explain(err error, stderr string) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err // not git's: a pipe, or a writer of ours
	}
	// "not a git repository: PATH" means a .git that leads nowhere: there should be a repository.
	if strings.Contains(stderr, "not a git repository (or any") || strings.Contains(stderr, "must be run in a work tree") {
		return ErrNoRepository
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, start := range []string{"fatal: ", "error: "} {
		for _, line := range lines {
			if text, ok := strings.CutPrefix(line, start); ok {
				if strings.HasPrefix(text, "failed to push some refs") {
					text = cmp.Or(refusal(lines), text)
				}
				return &failure{text, remedy(lines), exit.ExitCode()}
			}
		}
	}
	return &failure{cmp.Or(lines[0], err.Error()), "", exit.ExitCode()}
}

// refusal finds what the other side says of a push that it refuses, without characters that a terminal
// would obey. Where it says nothing, it is the word that git has for it.
func refusal(lines []string) string {
	const most = 3
	var said []string
	short := ""
	for _, line := range lines {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return ' '
		}, line))
		if text, ok := strings.CutPrefix(line, "remote: "); ok && len(said) < most {
			said = append(said, strings.TrimPrefix(strings.TrimSpace(text), "error: "))
		} else if strings.HasPrefix(line, "! [") && short == "" {
			short = strings.TrimSpace(strings.TrimPrefix(line, "!"))
		}
	}
	return cmp.Or(strings.Join(said, "; "), short)
}

// remedy finds the command that git advises, on its own line.
func remedy(lines []string) string {
	for _, line := range lines {
		if command := strings.TrimSpace(line); command != line && strings.HasPrefix(command, "git ") {
			return command
		}
	}
	return ""
}

// failure is git's own message about a failed command.
type failure struct {
	message string
	remedy  string
	code    int
}

func (f *failure) Error() string { return f.message }

// Hint returns the command that git advises, if any.
func (f *failure) Hint() string { return f.remedy }

// foundNothing reports whether git ended with the exit code for no result.
func foundNothing(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.code == 1
}

// environment keeps git from taking locks, asking questions and answering in other languages, and
// from using another repository: a hook that runs pawl has these variables set to its own.
func environment(env []string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(elsewhere, name)
	})
	return append(kept, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "LC_ALL=C")
}

// elsewhere lists the output of `git rev-parse --local-env-vars`, without the variables that only
// carry configuration.
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

package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
)

// stage is the stage of every fault of this package.
const stage = "build"

// deadline bounds one run of a compiler or linker.
const deadline = 10 * time.Minute

// outputLimit bounds what is kept of what a compiler wrote. The beginning is
// kept: the first error explains the rest.
const outputLimit = 256 << 10

// bounded keeps the first outputLimit bytes written to it.
type bounded struct {
	kept bytes.Buffer
	more int
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(outputLimit-b.kept.Len(), len(p))
	b.kept.Write(p[:room])
	b.more += len(p) - room
	return len(p), nil
}

func (b *bounded) String() string {
	if b.more == 0 {
		return b.kept.String()
	}
	return fmt.Sprintf("%s\n[%d more bytes of output left out]\n", b.kept.String(), b.more)
}

// command is one run of a tool. What it and its children write to stdout and
// stderr is kept in the order written.
type command struct {
	args []string
	name string // of the tool, for messages: cc
	task string // what it does: "compiling kernels/a.c"
	dir  string
	env  []string // besides pawl's own
	temp string   // for its temporary files, so that a killed compiler leaves none behind
	wait time.Duration
}

func (c *command) run(ctx context.Context) (string, *result.Fault) {
	limited, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	var output bounded
	cmd := exec.CommandContext(limited, c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(append(os.Environ(), c.env...), "TMPDIR="+c.temp)
	cmd.Stdout, cmd.Stderr = &output, &output
	// cc only starts the programs that do the work, so all of its group must end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		return output.String(), nil
	}
	fault := &result.Fault{Stage: stage, Cause: result.CauseCompile}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return output.String(), interrupted()
	case limited.Err() != nil:
		fault.Cause = result.CauseTimeout
		fault.Message = fmt.Sprintf("%s did not finish %s in %s", c.name, c.task, c.wait)
	case !errors.As(err, &exit):
		fault.Cause = result.CauseInternal
		fault.Message = fmt.Sprintf("start %s: %v", c.name, err)
	case full(c.temp) || strings.Contains(output.String(), "No space left on device"):
		return output.String(), noSpace()
	case exit.Exited():
		fault.Message = fmt.Sprintf("%s exited with status %d %s", c.name, exit.ExitCode(), c.task)
	default:
		fault.Message = fmt.Sprintf("%s was ended by a signal %s: %v", c.name, c.task, exit)
	}
	if killed(exit, output.String()) {
		fault.Cause = result.CauseInternal // says nothing of the source, which may compile tomorrow
		fault.Hint = "the machine may have run out of memory: try fewer jobs"
	}
	return output.String(), fault
}

// killedChild is what gcc, its linker, clang and nvcc say when somebody killed a
// program of theirs. A crash has other words and is the source's doing: it comes again.
var killedChild = regexp.MustCompile(`(?m)^[^\s:]+: fatal error: (?:Killed signal terminated program|ld terminated with signal 9\b)` +
	`|^[^\s:]+: error: unable to execute command: Killed` +
	`|^nvcc error\s*: '[^']+' died due to signal 9\b`)

// killed tells whether a compiler was ended from outside, or one of its programs.
func killed(exit *exec.ExitError, output string) bool {
	if exit == nil {
		return false
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		switch status.Signal() {
		case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP:
			return false
		}
		return true
	}
	return killedChild.MatchString(output)
}

func interrupted() *result.Fault {
	return &result.Fault{Stage: stage, Cause: result.CauseInterrupted, Message: "the build was interrupted"}
}

func noSpace() *result.Fault {
	return &result.Fault{
		Stage: stage, Cause: result.CauseInternal,
		Message: "no space left on device: " + os.TempDir(),
		Hint:    "free some space there, or set TMPDIR to a folder that has some",
	}
}

// full reports whether a folder's disk has no room left even for a small object:
// a compiler's own words about it depend on its locale.
func full(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) < 64<<10 || fs.Files > 0 && fs.Ffree == 0
}

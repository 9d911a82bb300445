package build

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/pattern"
	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// stage is the stage of every fault of this package.
const stage = "build"

// deadline bounds one run of a compiler or linker.
const deadline = 10 * time.Minute

// outputLimit bounds a compiler's output. The beginning is kept: the first error explains the rest.
const outputLimit = 256 << 10

// bounded keeps the first bytes written to it.
type bounded struct {
	most int // bytes; 0: outputLimit
	kept bytes.Buffer
	more int
}

func (b *bounded) Write(p []byte) (int, error) {
	room := min(cmp.Or(b.most, outputLimit)-b.kept.Len(), len(p))
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

// command is one run of a tool. The output of the tool and its children on stdout and stderr is
// kept in the order written.
type command struct {
	args []string
	name string // of the tool, for messages: cc
	task string // what it does: "compiling kernels/a.c"
	dir  string
	env  []string // besides the fence's
	temp string   // for its temporary files, so that a killed compiler leaves none behind
	wait time.Duration
	most int // bytes of output that are kept; 0: outputLimit

	fence  *fence
	limits limits
}

func (c *command) run(ctx context.Context) (string, *result.Fault) {
	limited, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	output, state, over, err := c.finish(limited)
	if err == nil && state.Success() {
		return output, nil
	}
	switch {
	case ctx.Err() != nil:
		return output, interrupted()
	case limited.Err() != nil:
		return output, newFault(result.CauseTimeout, "", "%s did not finish %s in %s", c.name, c.task, c.wait)
	case err != nil:
		hint := ""
		if c.fence.mode == sandbox.Require {
			hint = "pawl doctor shows what this Linux kernel supports"
		}
		return output, newFault(result.CauseInternal, hint, "start %s: %v", c.name, err)
	case over != nil:
		over.Message = fmt.Sprintf("%s was ended %s: %s", c.name, c.task, over.Message)
		return output, over
	case full(c.temp) || strings.Contains(output, "No space left on device"):
		return output, noSpace()
	}
	fault := newFault(result.CauseCompile, "", "%s was ended by a signal %s: %v", c.name, c.task, state)
	if state.Exited() {
		fault.Message = fmt.Sprintf("%s exited with status %d %s", c.name, state.ExitCode(), c.task)
		fault.Hint = c.fence.hint(c.dir, output, c.args)
	}
	if killed(state, output) {
		fault.Cause = result.CauseInternal // says nothing of the source, which may compile tomorrow
		fault.Hint = "the machine may have run out of memory: try fewer jobs"
	}
	return output, fault
}

// finish runs the command inside its fence until it ends or ctx does. An error means that it did
// not start; over means that it was ended at a limit.
func (c *command) finish(ctx context.Context) (text string, state *os.ProcessState, over *result.Fault, err error) {
	if ctx.Err() != nil {
		return "", nil, nil, ctx.Err()
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", nil, nil, err
	}
	defer reader.Close()
	process, err := sandbox.Start(sandbox.Command{
		Path: c.args[0], Args: c.args, Dir: c.dir, Env: slices.Concat(c.fence.env, c.env, []string{"TMPDIR=" + c.temp}),
		Stdout: writer, Stderr: writer, Policy: c.fence.policy(c.temp), Mode: c.fence.mode,
	})
	writer.Close()
	if err != nil {
		return "", nil, nil, err
	}
	c.fence.note(process.Level())
	watch := &watched{limits: c.limits, kill: process.Kill}
	watching.add(process.Pid(), watch)
	output := bounded{most: c.most}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(&output, reader)
	}()
	stop := context.AfterFunc(ctx, func() { _ = process.Kill() }) // fails when it has just ended
	state, err = process.Wait()                                   // cc only starts the programs that do the work: all of them have ended
	stop()
	watching.remove(process.Pid())
	select {
	case <-copied:
	case <-time.After(2 * time.Second): // without a sandbox one of them may have left
		reader.Close()
		<-copied
	}
	return output.String(), state, watch.over, err
}

// killedChild matches the messages of gcc, its linker, clang and nvcc about a killed child. A crash
// has other messages and is caused by the source: it happens again.
var killedChild = pattern.New(`(?m)^[^\s:]+: fatal error: (?:Killed signal terminated program|ld terminated with signal 9\b)` +
	`|^[^\s:]+: error: unable to execute command: Killed` +
	`|^nvcc error\s*: '[^']+' died due to signal 9\b`)

// crashes are the signals that end a program through its own fault.
var crashes = []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP}

// killed reports whether a compiler, or one of its programs, was ended from outside.
func killed(state *os.ProcessState, output string) bool {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return !slices.Contains(crashes, status.Signal())
	}
	return killedChild.MatchString(output)
}

// newFault returns a fault of this package; hint may be "".
func newFault(cause result.Cause, hint, message string, args ...any) *result.Fault {
	fault := result.Faultf(cause, message, args...).WithHint(hint)
	fault.Stage = stage
	return fault
}

func interrupted() *result.Fault {
	return newFault(result.CauseInterrupted, "", "the build was interrupted")
}

func noSpace() *result.Fault {
	return newFault(result.CauseInternal, "free some space there, or set TMPDIR to a folder that has some", "no space left on device: %s", os.TempDir())
}

// full reports whether a folder's disk has no room even for a small object: a compiler's own
// message about it depends on its locale.
func full(dir string) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) < 64<<10 || fs.Files > 0 && fs.Ffree == 0
}

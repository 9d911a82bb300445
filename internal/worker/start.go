package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// Options say how a worker is started and watched.
type Options struct {
	Command  []string          // empty: this binary's own worker, on this machine
	Env      []string          // added to the command's environment
	Patience time.Duration     // for its hello; 0: helloWait
	OnNote   func(text string) // receives the worker's notes, such as waiting for the device; may be nil
}

// Start starts a worker and waits for its hello.
func Start(ctx context.Context, opts Options) (*Client, error) {
	words := opts.Command
	if len(words) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this binary: %w", err)
		}
		words = []string{self, "worker"}
	}
	cmd := exec.Command(words[0], words[1:]...)
	// Ctrl-C in a terminal goes to the whole foreground group. The parent must end the worker
	// itself, after it has saved the measurements.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if len(opts.Env) > 0 {
		cmd.Env = append(os.Environ(), opts.Env...)
	}
	cmd.WaitDelay = time.Second // a launcher's children may hold its stderr open
	c := &Client{
		cmd: cmd, errors: &boundedLog{}, note: opts.OnNote, exited: make(chan struct{}),
		uploading: make(chan struct{}, 1), pending: map[uint64]chan *wire.Frame{}, gone: make(chan struct{}),
	}
	if c.note == nil {
		c.note = func(string) {}
	}
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	wire.Widen(c.stdin)
	cmd.Stderr = c.errors
	if err := cmd.Start(); err != nil {
		return nil, result.Faultf(result.CauseUnsupported, "cannot start the worker %q: %v", strings.Join(words, " "), err)
	}
	c.out = wire.NewWriter(c.stdin)
	reader := wire.NewReader(stdout)
	if err := c.greet(ctx, reader, cmp.Or(opts.Patience, helloWait)); err != nil {
		_ = c.stdin.Close()
		c.dismiss(closed(err) || wire.IsReason(err, "noise"))
		return nil, c.explain(err, words, reader.Noise())
	}
	go c.receive(reader)
	go c.keepAlive()
	return c, nil
}

// helloWait bounds the start of a worker; a queue such as Slurm's may delay it for long, so usually
// the caller's context ends the wait. After tellAfter it says what it waits for.
const (
	helloWait = 10 * time.Minute
	tellAfter = 10 * time.Second
)

func (c *Client) greet(ctx context.Context, reader *wire.Reader, patience time.Duration) error {
	got := make(chan error, 1)
	go func() {
		frame, err := reader.Hello()
		if err == nil {
			err = frame.Decode(&c.hello)
		}
		got <- err
	}()
	tell := time.After(tellAfter)
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case err := <-got:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tell:
			text := "a worker has not started yet"
			if said := lastLines(c.errors.String(), 1); said != "" {
				text += ": " + said
			}
			c.note(text)
		case <-late.C:
			return fmt.Errorf("no hello after %v", patience)
		}
	}
}

// explain turns a failed start into a fault, with the command and its last output.
func (c *Client) explain(err error, command []string, noise string) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	fault := result.Faultf(result.CauseProtocol, "the worker did not start: %v", err)
	if closed(err) {
		fault.Message = fmt.Sprintf("the worker ended before its hello (%s)", c.cmd.ProcessState)
		if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			fault.Cause = result.CauseKilled
		}
	}
	if wire.IsReason(err, "version") {
		fault.Hint = "install the same version of pawl on both sides"
	} else {
		fault.Hint = "run the command in a terminal: a worker prints one line that begins with {\"v\":1, and waits"
	}
	if text := lastLines(noise+"\n"+c.errors.String(), 8); text != "" {
		fault.Message += ": " + text
	}
	fault.Message += fmt.Sprintf(" (its command: %s)", strings.Join(command, " "))
	return fault
}

// lastLines returns the last lines of an output that say something, in one line.
func lastLines(text string, most int) string {
	const longest = 300
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if runes := []rune(line); len(runes) > longest {
			line = string(runes[:longest]) + "…"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(0, len(lines)-most):], "; ")
}

// Close ends the worker: it closes the worker's input, which ends the cells. A worker that does not
// end by itself is killed.
func (c *Client) Close() {
	_ = c.stdin.Close()
	select {
	case <-c.gone:
	case <-time.After(5 * time.Second):
		c.terminate()
		<-c.gone
	}
}

// dismiss waits for the command's end, and ends it if it does not by itself; leaving: it is about to.
// It is called once.
func (c *Client) dismiss(leaving bool) {
	go func() {
		_ = c.cmd.Wait()
		close(c.exited)
	}()
	if leaving {
		select {
		case <-c.exited:
			return
		case <-time.After(leaveTime):
		}
	}
	c.terminate()
	<-c.exited
}

// terminate ends the worker's command, with what it has started: by SIGTERM, on which srun cancels its
// job, and by SIGKILL if that does not do.
func (c *Client) terminate() {
	if syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM) != nil {
		return
	}
	select {
	case <-c.exited:
	case <-time.After(termTime):
		c.kill()
	}
}

// kill ends the worker and the processes of a launcher in between.
func (c *Client) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

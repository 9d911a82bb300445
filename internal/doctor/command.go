package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"pawl/internal/pattern"
)

// mostOutput bounds what is kept of a tool's answer; none has more to say.
const mostOutput = 8 << 10

// bounded keeps the beginning of what is written to it. The buffer is not
// embedded: its ReadFrom would be, too, and take everything.
type bounded struct{ kept bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept.Write(p[:min(len(p), mostOutput-b.kept.Len())])
	return len(p), nil
}

func (b *bounded) String() string { return b.kept.String() }

// output runs a tool and returns what it printed, on both streams when it
// failed. A tool that does not answer is ended together with its children.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var stdout, stderr bounded
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", errSilent
	case errors.Is(err, exec.ErrWaitDelay):
		// It answered and left a child behind that holds the pipe.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return stdout.String(), nil
	case err != nil:
		said := firstNonEmptyLine(stderr.String() + "\n" + stdout.String())
		if said == "" {
			return "", err
		}
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return stdout.String(), nil
}

var errSilent = errors.New("did not answer in time")

// firstNonEmptyLine is for showing a tool's words inside a line of our own.
func firstNonEmptyLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return clip(line)
		}
	}
	return ""
}

func clip(line string) string {
	line = strings.Map(printable, strings.ToValidUTF8(line, ""))
	if runes := []rune(line); len(runes) > 160 {
		return string(runes[:160]) + "…"
	}
	return line
}

// printable keeps control sequences of a tool away from the user's terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
		return -1
	}
	return r
}

var (
	parentheses = pattern.New(`\([^()]*\)`)
	number      = pattern.New(`\d+(?:\.\d+)+`)
)

// version finds the version in what a tool says of itself. Packagers put their
// own numbers in parentheses: cc (Debian 12.2.0-14) 12.2.0.
func version(said string) string {
	for line := range strings.Lines(said) {
		if v := number.FindString(parentheses.ReplaceAllString(line, "")); v != "" {
			return v
		}
	}
	return ""
}

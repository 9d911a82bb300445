package wake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command is one of the user's commands, for one machine.
type command struct {
	argv    []string
	env     []string
	secret  string // what it reads from its standard input; "": nothing
	limit   time.Duration
	machine string
	start   bool // it starts the machine; else it stops it
}

// inherited are the variables that every command gets, where the service has them.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SSH_AUTH_SOCK"}

// commandFor returns the command that starts or stops a machine. Its environment has nothing that
// the config does not name: above all not the token.
func (c *Config) commandFor(m *Machine, start bool, secret string, getenv func(string) (string, bool)) command {
	kind := c.kind(m.Kind)
	made := command{argv: kind.Stop, limit: kind.Register.Duration, machine: m.Name, start: start, secret: secret}
	if start {
		made.argv = kind.Start
	}
	for _, name := range slices.Concat(inherited, c.Pass) {
		if value, set := getenv(name); set {
			made.env = append(made.env, name+"="+value)
		}
	}
	made.env = append(made.env, "PAWL_MACHINE="+m.Name, "PAWL_RUNNER="+m.Runner, "PAWL_REPOSITORY="+c.Repository, "PAWL_LABELS="+strings.Join(kind.Labels, ","))
	if kind.Price > 0 { // else a report would say that it cost nothing
		made.env = append(made.env, "PAWL_PRICE_PER_HOUR="+strconv.FormatFloat(kind.Price, 'f', -1, 64))
	}
	return made
}

// mostOutput is how much of a command's last output an error shows.
const mostOutput = 1 << 10

// run runs a command to its end. It ends the command, and what the command started, when the limit is over.
func (c command) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	made := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	made.Env, made.Dir = c.env, "/"
	made.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	made.Cancel = func() error { return syscall.Kill(-made.Process.Pid, syscall.SIGKILL) }
	made.WaitDelay = time.Second // what it left behind may hold its output open
	if c.secret != "" {
		made.Stdin = strings.NewReader(c.secret + "\n")
	}
	output := &tail{}
	made.Stdout, made.Stderr = output, output
	err := made.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it ended well, and left something behind
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no end within %s", c.limit)
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%w: expected a program", err)
	}
	said := string(output.kept)
	if c.secret != "" {
		said = strings.ReplaceAll(said, c.secret, "***")
	}
	if said = strings.Join(strings.Fields(said), " "); said != "" {
		said = ": " + said
	}
	return fmt.Errorf("%s: %w%s", c.argv[0], err, said)
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if extra := len(t.kept) - mostOutput; extra > 0 {
		t.kept = bytes.Clone(t.kept[extra:])
	}
	return len(p), nil
}

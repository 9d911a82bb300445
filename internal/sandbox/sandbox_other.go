//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

const missingAll = "a sandbox (Linux on amd64 or arm64)"

// System lists what every dynamically linked program reads. Nothing is
// guarded here, so nothing needs to be allowed.
func System() []string { return nil }

// WithCUDA adds nothing: see System.
func (p Policy) WithCUDA() Policy { return p }

// WithFrameworks adds nothing: see System.
func (p Policy) WithFrameworks() Policy { return p }

// Probe says what this system can give: nothing.
func Probe() Level { return Level{Seccomp: SeccompNone, Missing: []string{missingAll}} }

// EnterIfAsked runs a registered program if this process was started for that.
func EnterIfAsked(args []string) (entered bool) { return runProgram(args) }

// Process is a running program.
type Process struct {
	proc  *os.Process
	level Level
	once  sync.Once
	state *os.ProcessState
	err   error
}

// Start runs a command without a sandbox, unless one is required.
func Start(c Command) (*Process, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("start sandboxed program: %w", err)
	}
	level := Probe()
	switch c.Mode {
	case Off:
		level = Level{Off: true, Seccomp: SeccompNone}
	case Require:
		return nil, fmt.Errorf("start sandboxed %s: %w", c.Path, errors.New("this system lacks "+missingAll))
	}
	if c.Policy.Loopback && c.Mode != Off {
		return nil, fmt.Errorf("start sandboxed %s: %w: this system lacks %s", c.Path, ErrNoNetwork, missingAll)
	}
	files, null, err := c.files()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	defer null.Close()
	proc, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{Dir: c.Dir, Env: c.Env, Files: files})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return &Process{proc: proc, level: level}, nil
}

// Pid returns the process number.
func (p *Process) Pid() int { return p.proc.Pid }

// Level says what the process runs under.
func (p *Process) Level() Level { return p.level }

// Attempts is empty: there is no supervisor.
func (p *Process) Attempts() []Attempt { return nil }

// Kill ends the program at once.
func (p *Process) Kill() error { return p.proc.Kill() }

// Stop does nothing here.
func (p *Process) Stop() error { return errors.ErrUnsupported }

// Stopped is false here.
func (p *Process) Stopped() bool { return false }

// Continue does nothing here.
func (p *Process) Continue() error { return errors.ErrUnsupported }

// Wait waits for the program to end. It may be called more than once.
func (p *Process) Wait() (*os.ProcessState, error) {
	p.once.Do(func() { p.state, p.err = p.proc.Wait() })
	return p.state, p.err
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// settle is how long a watched zombie is left before it is reaped. The kernel wakes the parent while the last
// thread is still clearing its part of /proc. Where somebody has read that part, reaping spins in the
// kernel until the thread is done: up to 100 ms where other processes want the processor.
const settle = 4 * time.Millisecond

// Process is a program running in a sandbox.
type Process struct {
	proc  *os.Process
	level Level
	log   attemptLog
	sup   *supervisor // nil without a listener

	guarded bool // it may have children
	watched bool // see Command

	once  sync.Once
	state *os.ProcessState
	err   error

	mu   sync.Mutex // keeps the number from being reused under Kill
	gone bool
}

// Pid returns the process number, which is also its session's and group's.
func (p *Process) Pid() int { return p.proc.Pid }

// Level returns the sandbox level of the process.
func (p *Process) Level() Level { return p.level }

// Attempts lists what the program has tried so far, each thing once, in order.
func (p *Process) Attempts() []Attempt {
	list, _ := p.log.snapshot()
	return list
}

// Kill ends the program, and its children, at once. After Wait has returned
// it is os.ErrProcessDone.
func (p *Process) Kill() error { return p.signal(unix.SIGKILL) }

// Stop halts the program, and its children, until Continue.
func (p *Process) Stop() error { return p.signal(unix.SIGSTOP) }

// Stopped reports whether all threads of the program have stopped: those on other cores stop a
// little later than Stop returns.
func (p *Process) Stopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.proc.Pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return !p.gone && err == nil && info.Signo == int32(unix.SIGCHLD)
}

// Continue lets a stopped program go on.
func (p *Process) Continue() error { return p.signal(unix.SIGCONT) }

func (p *Process) signal(which unix.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return os.ErrProcessDone
	}
	return unix.Kill(-p.proc.Pid, which)
}

// Wait waits for the program to end, ends the children that it has left behind, and returns how it
// ended. Attempts is then complete. Wait may be called more than once.
func (p *Process) Wait() (*os.ProcessState, error) {
	p.once.Do(func() {
		// Leave it a zombie until its group is dead: only until then is the number certainly its
		// own.
		for {
			err := unix.Waitid(unix.P_PID, p.proc.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		p.mu.Lock()
		_ = unix.Kill(-p.proc.Pid, unix.SIGKILL) // fails when nobody is left
		if p.guarded {
			guarding("-", p.proc.Pid)
		}
		if p.watched {
			time.Sleep(settle)
		}
		p.state, p.err = p.proc.Wait()
		p.gone = true
		p.mu.Unlock()
		if p.sup != nil {
			p.sup.stop()
		}
	})
	return p.state, p.err
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Start runs a command in a sandbox of its own, in a session of its own. When
// it returns, the program has been executed. The caller must call Wait.
func Start(c Command) (*Process, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("start sandboxed program: %w", err)
	}
	files, null, err := c.files()
	if err != nil {
		return nil, fmt.Errorf("start sandboxed %s: %w", c.Path, err)
	}
	defer null.Close()
	p := &Process{guarded: c.Policy.Processes || c.Mode == Off, watched: c.Watched}
	if p.guarded {
		guard() // first, so that it is told at once
	}
	if c.Mode == Off {
		p.level = Level{Off: true, Seccomp: SeccompNone}
		if p.proc, err = spawn(c.Path, c.Args, c.Dir, c.Env, files, ownSession()); err == nil {
			guarding("+", p.Pid())
		}
	} else {
		err = p.startSandboxed(c, files)
	}
	if err != nil {
		return nil, fmt.Errorf("start sandboxed %s: %w", c.Path, err)
	}
	return p, nil
}

func (p *Process) startSandboxed(c Command, files []*os.File) error {
	req, err := writeRequest(request{
		Parent: os.Getpid(), Path: c.Path, Args: c.Args, Env: c.Env,
		Policy: c.Policy, Mode: c.Mode, PretendOld: c.pretend,
	})
	if err != nil {
		return err
	}
	defer req.Close()
	ours, theirs, err := statusSocket()
	if err != nil {
		return err
	}
	defer ours.Close()
	first := len(files)
	files = append(files, req, theirs)
	// The running image, even if the file has been replaced meanwhile.
	attributes := ownSession()
	if c.Policy.Loopback {
		ownNetwork(attributes)
	}
	p.proc, err = spawn("/proc/self/exe", []string{os.Args[0], marker, strconv.Itoa(first)}, c.Dir, []string{}, files, attributes)
	theirs.Close()
	if err != nil && c.Policy.Loopback {
		return fmt.Errorf("%w: %w", ErrNoNetwork, err)
	}
	if err != nil {
		return err
	}
	if p.guarded {
		guarding("+", p.Pid())
	}
	if err := p.accept(c, ours); err != nil {
		// Neither can fail in a way that matters more than err.
		_ = p.Kill()
		_, _ = p.Wait()
		return err
	}
	return nil
}

// accept follows stage 1 until it has become the program.
func (p *Process) accept(c Command, sock *os.File) error {
	st, fds, err := receiveStatus(sock)
	if errors.Is(err, io.EOF) {
		return errors.New("stage 1 ended before the sandbox was up: main must call sandbox.EnterIfAsked first")
	}
	if err != nil {
		return err
	}
	if st.Err != "" && c.Policy.Loopback && strings.HasPrefix(st.Err, ErrNoNetwork.Error()) {
		return fmt.Errorf("%w%s", ErrNoNetwork, strings.TrimPrefix(st.Err, ErrNoNetwork.Error()))
	}
	if st.Err != "" {
		return errors.New(st.Err)
	}
	p.level = st.Level
	// Without a listener nobody is told when the process ends, so the pins
	// are held until Wait by a supervisor that supervises nothing.
	listener, pins := -1, fds
	if st.Listener && len(fds) > 0 {
		listener, pins = fds[0], fds[1:]
	}
	p.sup, err = startSupervisor(listener, pins, newReach(p.proc.Pid, c), &p.log, c.Mode == Require)
	if err != nil {
		closeAll(fds)
		return err
	}
	// The socket closes on exec, so the end of it means success.
	st, _, err = receiveStatus(sock)
	blind := p.sup.blind.Load()
	if blind {
		p.level.Missing = append(p.level.Missing, missingMemory)
	}
	switch {
	case blind && c.Mode == Require:
		return fmt.Errorf("this kernel lacks %s", missingMemory)
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New(st.Err)
}

// spawner starts all processes from one thread that never ends: the kernel
// sends the parent death signal when the thread that forked is gone, and Go
// threads come and go.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

func spawn(path string, args []string, dir string, env []string, files []*os.File, attributes *syscall.SysProcAttr) (*os.Process, error) {
	var proc *os.Process
	var err error
	done := make(chan struct{})
	spawner() <- func() {
		defer close(done)
		proc, err = os.StartProcess(path, args, &os.ProcAttr{
			Dir: dir, Env: env, Files: files, Sys: attributes,
		})
	}
	<-done
	return proc, err
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// supervisor answers the system calls that the filter hands over. It refuses
// only what the filter would refuse by itself; everything else continues
// and is judged by the kernel, which alone sees what the call really does.
type supervisor struct {
	listener int
	wake     int // eventfd: the process is gone, stop
	pins     []int
	reach    *reach
	log      *attemptLog
	require  bool
	done     chan struct{}

	entered bool        // the one exec that starts the program has been seen
	blind   atomic.Bool // the program's memory cannot be read
}

func startSupervisor(listener int, pins []int, r *reach, log *attemptLog, require bool) (*supervisor, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("create eventfd: %w", err)
	}
	s := &supervisor{
		listener: listener, wake: wake, pins: pins, reach: r, log: log, require: require,
		done: make(chan struct{}),
		// A program that may execute others needs no leave for its own start.
		entered: r.processes,
	}
	go s.run()
	return s, nil
}

// stop ends the supervisor once the process is gone, and waits for it: what
// was attempted until then is in the log. To be called once.
func (s *supervisor) stop() {
	one := [8]byte{1}
	// This cannot fail on an eventfd nobody else writes to.
	_, _ = unix.Write(s.wake, one[:])
	<-s.done
	unix.Close(s.wake)
}

func (s *supervisor) run() {
	defer close(s.done)
	defer func() {
		unix.Close(s.listener)
		closeAll(s.pins)
	}()
	fds := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}, {Fd: int32(s.wake), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return
		}
		switch {
		case fds[0].Revents&unix.POLLIN != 0:
			n, err := receive(s.listener)
			if err == nil {
				s.answer(n)
			}
		case fds[0].Revents != 0: // no thread under the filter is left
			return
		case fds[1].Revents != 0:
			return
		}
	}
}

// answer judges one call and records it before the program can go on, so that
// a program that dies of the answer has been recorded too.
func (s *supervisor) answer(n notification) {
	t := thread{pid: s.reach.pid, tid: int(n.pid)}
	if s.reach.processes {
		t.pid = numberIn(t.proc("status"), "Tgid:", t.tid)
	}
	a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	what := ""
	nr, args := uint32(n.call.nr), n.call.args
	if n.call.arch != auditArch {
		nr = foreign
	}
	if nr == unix.SYS_EXECVE && !s.entered {
		s.enter(t, n, a)
		return
	}
	if s.openComm(t, n) {
		return
	}
	if c := findPathCall(nr); c != nil {
		what = s.reach.describePath(t, *c, args)
	} else if done, err := s.reach.chmod(t, nr, args); done {
		a.flags, a.error = 0, -errnoOf(err)
	} else if done, err := s.reach.connect(t, nr, args); done {
		a.flags, a.error = 0, -errnoOf(err)
	} else if !s.harmless(t, nr, args) {
		what = describe(t, n.call)
		a.flags, a.error = 0, -int32(refusal(nr))
		if s.reach.loopback && nr == unix.SYS_SOCKET && args[0] == unix.AF_NETLINK {
			what = "" // whoever may use a network asks which addresses there are; refused all the same
		}
	}
	// A thread that was killed while its memory was read may have been
	// another's by the end.
	if what != "" && waiting(s.listener, n.id) {
		s.log.add(what)
	}
	// The only thing that can go wrong is that nobody waits any more.
	_ = respond(s.listener, a)
}

func errnoOf(err error) int32 {
	var errno unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &errno):
		return int32(errno)
	}
	return int32(unix.EIO)
}

// enter answers the exec that starts the program. Until it has happened only
// trusted code runs, so the first one is the right one; but it counts only
// when the answer was taken, as a signal may interrupt and repeat it.
func (s *supervisor) enter(t thread, n notification, a answer) {
	if _, err := t.str(n.call.args[0]); errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		s.blind.Store(true)
		if s.require {
			a.flags, a.error = 0, -int32(unix.EPERM)
		}
	}
	if respond(s.listener, a) == nil {
		s.entered = true
	}
}

// harmless says whether a call on some process stays inside the sandbox.
func (s *supervisor) harmless(t thread, nr uint32, args [6]uint64) bool {
	c := findTarget(nr)
	if c == nil {
		return false
	}
	everybody := c.user != 0 && uint32(args[c.arg-1]) == c.user
	return !everybody && s.reach.owns(c.target(t, args))
}

func findPathCall(nr uint32) *pathCall {
	if i := slices.IndexFunc(pathCalls, func(c pathCall) bool { return c.nr == nr }); i >= 0 {
		return &pathCalls[i]
	}
	return nil
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// The texts of Level.Missing. Landlock's later rights are not in the list where the seccomp filter
// refuses the same calls.
const (
	missingLandlock = "a guard on files and on other processes' memory (Landlock, Linux 5.13)"
	missingTruncate = "a guard against truncating files (Landlock 3, Linux 6.2)"
	missingSeccomp  = "a guard on sockets, signals and new processes (seccomp, Linux 4.14)"
	missingNotify   = "names for what was attempted (seccomp listener, Linux 5.5)"
	missingMemory   = "names of the files attempted (reading the memory of children, see kernel.yama.ptrace_scope)"
)

// available returns the level this kernel can give.
func available(pretend older) Level {
	abi := min(landlockABI(), newestABI)
	if pretend.LandlockABI != 0 {
		abi = max(0, min(abi, pretend.LandlockABI))
	}
	l := Level{Landlock: abi, Seccomp: SeccompNone}
	if hasAction(unix.SECCOMP_RET_ERRNO) && !pretend.NoSeccomp {
		l.Seccomp = SeccompErrno
		if hasNotify() && !pretend.NoNotify {
			l.Seccomp = SeccompNotify
		}
	}
	v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	l.NoNewPrivs = err == nil && v >= 0
	switch {
	case abi == 0:
		l.Missing = append(l.Missing, missingLandlock)
	case abi < 3:
		l.Missing = append(l.Missing, missingTruncate)
	}
	switch l.Seccomp {
	case SeccompNone:
		l.Missing = append(l.Missing, missingSeccomp, missingNotify)
	case SeccompErrno:
		l.Missing = append(l.Missing, missingNotify)
	}
	return l
}

// unnamed returns the level of a program whose attempts need no names.
func (l Level) unnamed() Level {
	if l.Seccomp == SeccompNotify {
		l.Seccomp = SeccompErrno
	}
	l.Missing = slices.DeleteFunc(l.Missing, func(m string) bool { return m == missingNotify })
	return l
}

// Probe returns the level that this kernel can give, without applying anything. A limit that only
// shows in use (a container engine that already listens to this process's system calls) is in
// Process.Level.
func Probe() Level { return available(older{}) }

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// judge runs a filter the way the kernel does.
func judge(prog []unix.SockFilter, c call) (uint32, error) {
	word := func(offset uint32) (uint32, error) {
		switch {
		case offset == offNr:
			return uint32(c.nr), nil
		case offset == offArch:
			return c.arch, nil
		case offset >= offArgs && offset < offArgs+48 && offset%4 == 0:
			v := c.args[(offset-offArgs)/8]
			return uint32(v >> (8 * (offset % 8))), nil
		}
		return 0, fmt.Errorf("load from %d", offset)
	}
	var a uint32
	for pc := 0; pc < len(prog); pc++ {
		in := prog[pc]
		yes := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			var err error
			if a, err = word(in.K); err != nil {
				return 0, err
			}
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K, nil
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = a == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = a >= in.K
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			yes = a > in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			yes = a&in.K != 0
		default:
			return 0, fmt.Errorf("instruction %#x", in.Code)
		}
		if yes {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	return 0, errors.New("ran off the end")
}

func TestFilter(t *testing.T) {
	const pid = 4711
	notify, permitted := uint32(unix.SECCOMP_RET_USER_NOTIF), uint32(unix.SECCOMP_RET_ALLOW)
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	plain := filterOptions{pid: pid}
	listen := filterOptions{pid: pid, notify: true}
	family := filterOptions{pid: pid, processes: true, scoped: true}
	unscoped := filterOptions{pid: pid, processes: true}
	for _, test := range []struct {
		o    filterOptions
		nr   int32
		args [6]uint64
		want uint32
	}{
		{plain, unix.SYS_READ, [6]uint64{}, permitted},
		{plain, unix.SYS_OPENAT, [6]uint64{}, permitted},
		{listen, unix.SYS_OPENAT, [6]uint64{}, notify},
		{plain, unix.SYS_KILL, [6]uint64{pid, 9}, permitted},
		// The kernel reads the lower half only.
		{plain, unix.SYS_KILL, [6]uint64{1<<32 | pid, 9}, permitted},
		{plain, unix.SYS_KILL, [6]uint64{pid + 1, 9}, errno(unix.EPERM)},
		{plain, unix.SYS_KILL, [6]uint64{1 << 63, 9}, permitted},
		{plain, unix.SYS_KILL, [6]uint64{0xffffffff, 9}, errno(unix.EPERM)},
		{listen, unix.SYS_KILL, [6]uint64{1, 9}, notify},
		{family, unix.SYS_KILL, [6]uint64{1, 9}, permitted},
		{unscoped, unix.SYS_KILL, [6]uint64{1, 9}, errno(unix.EPERM)},
		{family, unix.SYS_PRLIMIT64, [6]uint64{1}, errno(unix.EPERM)},
		{plain, unix.SYS_PIDFD_SEND_SIGNAL, [6]uint64{pid, 9}, errno(unix.EPERM)},
		{family, unix.SYS_PIDFD_SEND_SIGNAL, [6]uint64{5, 9}, permitted},
		{unscoped, unix.SYS_PIDFD_SEND_SIGNAL, [6]uint64{5, 9}, errno(unix.EPERM)},
		{plain, unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_PROCESS, 0}, permitted},
		{plain, unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_USER, 0}, errno(unix.EPERM)},
		{plain, unix.SYS_CLONE, [6]uint64{unix.CLONE_THREAD | unix.CLONE_VM}, permitted},
		{plain, unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_VFORK}, errno(unix.EPERM)},
		{plain, unix.SYS_CLONE, [6]uint64{unix.CLONE_THREAD | unix.CLONE_NEWNET}, errno(unix.EPERM)},
		{family, unix.SYS_CLONE, [6]uint64{17}, permitted},
		{family, unix.SYS_CLONE, [6]uint64{unix.CLONE_NEWUSER}, errno(unix.EPERM)},
		{family, unix.SYS_CLONE3, [6]uint64{}, errno(unix.ENOSYS)},
		{plain, unix.SYS_EXECVEAT, [6]uint64{}, errno(unix.EACCES)},
		{listen, unix.SYS_EXECVE, [6]uint64{}, notify},
		{family, unix.SYS_EXECVE, [6]uint64{}, permitted},
		{plain, unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, errno(unix.EACCES)},
		{filterOptions{localSockets: true}, unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, permitted},
		{filterOptions{localSockets: true}, unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, errno(unix.EACCES)},
		{filterOptions{localSockets: true}, unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_STREAM}, errno(unix.EACCES)},
		{filterOptions{localSockets: true}, unix.SYS_CONNECT, [6]uint64{}, errno(unix.EPERM)},
		{plain, unix.SYS_PRCTL, [6]uint64{unix.PR_SET_NAME}, permitted},
		{plain, unix.SYS_PRCTL, [6]uint64{unix.PR_SET_PDEATHSIG}, errno(unix.EPERM)},
		{plain, unix.SYS_FCNTL, [6]uint64{3, unix.F_GETFL}, permitted},
		{plain, unix.SYS_FCNTL, [6]uint64{3, unix.F_SETSIG}, errno(unix.EPERM)},
		{plain, unix.SYS_IOCTL, [6]uint64{0, unix.TCGETS}, permitted},
		{plain, unix.SYS_IOCTL, [6]uint64{0, unix.TIOCSTI}, errno(unix.EPERM)},
		{plain, unix.SYS_PERSONALITY, [6]uint64{0xffffffff}, permitted},
		{plain, unix.SYS_PTRACE, [6]uint64{}, errno(unix.EPERM)},
		{plain, unix.SYS_TIMERFD_CREATE, [6]uint64{}, errno(unix.EPERM)},
		{listen, unix.SYS_TIMERFD_CREATE, [6]uint64{}, notify},
		{family, unix.SYS_TIMERFD_CREATE, [6]uint64{}, permitted},
		{filterOptions{localSockets: true}, unix.SYS_TIMERFD_CREATE, [6]uint64{}, permitted},
		{plain, newestCall + 1, [6]uint64{}, errno(unix.ENOSYS)},
		{plain, -1, [6]uint64{}, errno(unix.ENOSYS)},
	} {
		got, err := judge(buildFilter(test.o), call{nr: test.nr, arch: auditArch, args: test.args})
		if err != nil || got != test.want {
			t.Errorf("call %d%v under %+v: %#x, %v, want %#x", test.nr, test.args, test.o, got, err, test.want)
		}
	}
}

// Whatever the call, the filter comes to a verdict it is meant to have.
func TestFilterAlwaysDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := filterOptions{
			pid: rapid.Uint32Range(1, 1<<22).Draw(t, "pid"), processes: rapid.Bool().Draw(t, "processes"),
			localSockets: rapid.Bool().Draw(t, "sockets"), notify: rapid.Bool().Draw(t, "notify"), scoped: rapid.Bool().Draw(t, "scoped"),
		}
		c := call{nr: rapid.Int32Range(-1, newestCall+10).Draw(t, "nr"), arch: auditArch}
		if rapid.Bool().Draw(t, "foreign") {
			c.arch = rapid.Uint32().Draw(t, "arch")
		}
		for i := range c.args {
			c.args[i] = rapid.Uint64().Draw(t, "arg")
		}
		got, err := judge(buildFilter(o), c)
		if err != nil {
			t.Fatal(err)
		}
		switch got & unix.SECCOMP_RET_ACTION_FULL {
		case unix.SECCOMP_RET_ALLOW:
			if c.arch != auditArch {
				t.Fatal("a foreign call was allowed")
			}
		case unix.SECCOMP_RET_ERRNO:
		case unix.SECCOMP_RET_USER_NOTIF:
			if !o.notify {
				t.Fatal("nobody would answer")
			}
		default:
			t.Fatalf("verdict %#x", got)
		}
	})
}

// What the filter hands over, the supervisor has words for.
func TestEveryRefusalHasAName(t *testing.T) {
	seen := map[string]uint32{}
	for _, c := range refused {
		name := describe(thread{pid: 1 << 30, tid: 1 << 30}, call{nr: int32(c.nr), arch: auditArch})
		if other, dup := seen[name]; name == "" || dup {
			t.Errorf("call %d is %q, as is %d", c.nr, name, other)
		}
		seen[name] = c.nr
	}
	for _, c := range argCalls {
		for v, want := range c.values {
			made := call{nr: int32(c.nr), arch: auditArch}
			made.args[c.arg] = uint64(v)
			if got := describe(thread{}, made); got != want {
				t.Errorf("call %d with %d is %q, want %q", c.nr, v, got, want)
			}
		}
	}
}

func TestReleaseAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"5.5.0": true, "5.4.210": false, "6.8.0-45-generic": true, "5.15-rc1": true, "4.19.0": false,
		"5.5": true, "5.5+": true, "10.0": true, "": false, "x.y": false, "5": false, "5.x": false,
	} {
		if got := releaseAtLeast(release, 5, 5); got != want {
			t.Errorf("%q: %v, want %v", release, got, want)
		}
	}
}

func FuzzReleaseAtLeast(f *testing.F) {
	f.Add("6.8.0-45-generic", 6, 8)
	f.Add("..", 0, 0)
	f.Fuzz(func(t *testing.T, release string, major, minor int) {
		if releaseAtLeast(release, major, minor) && minor > 0 && !releaseAtLeast(release, major, minor-1) {
			t.Errorf("%q is at least %d.%d and not %d.%d", release, major, minor, major, minor-1)
		}
	})
}

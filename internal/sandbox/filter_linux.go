//go:build linux && (amd64 || arm64)

package sandbox

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// Offsets into struct seccomp_data. Both architectures are little-endian, so
// the half of an argument that the kernel reads, for the 32-bit arguments
// judged here, comes first.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// filterOptions says which program filter builds.
type filterOptions struct {
	pid          uint32 // of the process that will run under it
	processes    bool
	localSockets bool
	loopback     bool // it has a network of its own: TCP leads nowhere
	notify       bool // ask the supervisor instead of refusing at once
	scoped       bool // Landlock keeps signals inside the sandbox
}

// A filter is a classic BPF program. It allows by default, because programs under test need
// whatever ordinary programs need, and judges every call that reaches beyond the process. Each
// call's block ends in a verdict and is skipped by all other calls, so blocks are independent and
// the accumulator holds the call's number at the start of each.
type filter struct {
	filterOptions
	ins []unix.SockFilter
}

func buildFilter(o filterOptions) []unix.SockFilter {
	f := &filter{filterOptions: o}
	f.architecture()
	f.paths()
	f.targets()
	f.arguments()
	f.creation()
	f.sockets()
	for _, c := range refused {
		f.on(c.nr, f.refuse(c.nr))
	}
	f.ins = append(f.ins, verdict(unix.SECCOMP_RET_ALLOW))
	return f.ins
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func loadArg(i int) unix.SockFilter { return load(offArgs + 8*uint32(i)) }

func verdict(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// jump compares the accumulator with k and skips one of the two counts.
func jump(op uint16, k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | op, K: k, Jt: uint8(yes), Jf: uint8(no)}
}

var allow = verdict(unix.SECCOMP_RET_ALLOW)

func fail(errno unix.Errno) unix.SockFilter {
	return verdict(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

// refuse returns the verdict on a call the policy forbids.
func (f *filter) refuse(nr uint32) unix.SockFilter {
	if f.notify {
		return verdict(unix.SECCOMP_RET_USER_NOTIF)
	}
	return fail(refusal(nr))
}

// refusal returns the error a refused call returns.
func refusal(nr uint32) unix.Errno {
	switch nr {
	case unix.SYS_SOCKET, unix.SYS_EXECVE, unix.SYS_EXECVEAT:
		return unix.EACCES
	}
	return unix.EPERM
}

// on adds the block of one call. It must end in a verdict on every path.
func (f *filter) on(nr uint32, block ...unix.SockFilter) {
	f.ins = append(f.ins, jump(unix.BPF_JEQ, nr, 0, len(block)))
	f.ins = append(f.ins, block...)
}

// oneOf returns a block that takes the first verdict when the argument has one of
// the values, else the second.
func oneOf(arg int, values []uint32, then, otherwise unix.SockFilter) []unix.SockFilter {
	block := []unix.SockFilter{loadArg(arg)}
	for i, v := range values {
		block = append(block, jump(unix.BPF_JEQ, v, len(values)-i, 0))
	}
	return append(block, otherwise, then)
}

// architecture refuses calls of another instruction set (whose numbers mean something else) and
// calls newer than this package.
func (f *filter) architecture() {
	foreign := fail(unix.ENOSYS)
	if f.notify {
		foreign = verdict(unix.SECCOMP_RET_USER_NOTIF)
	}
	f.ins = append(f.ins,
		load(offArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		foreign,
		load(offNr))
	if foreignBit != 0 {
		f.ins = append(f.ins, jump(unix.BPF_JGE, foreignBit, 0, 1), foreign)
	}
	f.ins = append(f.ins, jump(unix.BPF_JGT, newestCall, 0, 1), fail(unix.ENOSYS))
}

// paths only shows the calls to the supervisor: Landlock judges them.
func (f *filter) paths() {
	if !f.notify {
		return
	}
	for _, c := range pathCalls {
		f.on(c.nr, verdict(unix.SECCOMP_RET_USER_NOTIF))
	}
}

func (f *filter) targets() {
	for _, c := range targetCalls {
		refuse := f.refuse(c.nr)
		if f.processes && !f.notify && f.scoped && c.signal != 0 {
			// The filter cannot tell children from strangers, but Landlock can.
			refuse = allow
		}
		if c.pidfd { // nor can it tell whose a descriptor is
			f.on(c.nr, refuse)
			continue
		}
		// 0 is the caller itself, or its group, which is the sandbox's own.
		// For tkill and tgkill it is an error.
		block := oneOf(c.arg, []uint32{f.pid, 0}, allow, refuse)
		if c.user != 0 {
			block = append([]unix.SockFilter{
				loadArg(c.arg - 1),
				jump(unix.BPF_JEQ, c.user, 0, 1),
				f.refuse(c.nr),
			}, block...)
		}
		f.on(c.nr, block...)
	}
}

func (f *filter) arguments() {
	for _, c := range argCalls {
		f.on(c.nr, oneOf(c.arg, slices.Sorted(maps.Keys(c.values)), f.refuse(c.nr), allow)...)
	}
	// Asking for the personality, and setting the plain one, are harmless.
	f.on(unix.SYS_PERSONALITY,
		oneOf(0, []uint32{0, 0xffffffff}, allow, f.refuse(unix.SYS_PERSONALITY))...)
}

const cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// creation judges calls that create or replace processes and threads.
func (f *filter) creation() {
	if f.processes {
		f.on(unix.SYS_CLONE, loadArg(0),
			jump(unix.BPF_JSET, cloneNamespaces, 0, 1),
			f.refuse(unix.SYS_CLONE),
			allow)
	} else {
		f.on(unix.SYS_CLONE, loadArg(0),
			jump(unix.BPF_JSET, cloneNamespaces, 1, 0),
			jump(unix.BPF_JSET, unix.CLONE_THREAD, 1, 0),
			f.refuse(unix.SYS_CLONE),
			allow)
	}
	// Its flags lie in memory, out of the filter's sight; C libraries fall
	// back to clone.
	f.on(unix.SYS_CLONE3, fail(unix.ENOSYS))
	if f.processes {
		return
	}
	for _, c := range archForks {
		f.on(c.nr, f.refuse(c.nr))
	}
	if !f.localSockets {
		for _, c := range timers {
			f.on(c.nr, f.refuse(c.nr))
		}
	}
	if f.notify {
		// The supervisor lets the first one through: it starts the program.
		f.on(unix.SYS_EXECVE, f.refuse(unix.SYS_EXECVE))
	}
	// Without a supervisor execve must stay open for the same reason. What
	// it starts stays inside, and Landlock lets it start the program only.
	f.on(unix.SYS_EXECVEAT, f.refuse(unix.SYS_EXECVEAT))
}

func (f *filter) sockets() {
	// A datagram socket, even one end of a pair, can be sent from to any
	// address; the others need connect.
	stream := func(nr uint32, families ...uint32) []unix.SockFilter {
		return slices.Concat([]unix.SockFilter{
			loadArg(1),
			{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf},
			jump(unix.BPF_JEQ, unix.SOCK_STREAM, 2, 0),
			jump(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 1, 0),
			f.refuse(nr),
		}, oneOf(0, families, allow, f.refuse(nr)))
	}
	var families []uint32
	if f.localSockets {
		families = append(families, unix.AF_UNIX)
	}
	if f.loopback {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	one := func(nr uint32, families ...uint32) {
		if len(families) > 0 {
			f.on(nr, stream(nr, families...)...)
		} else {
			f.on(nr, f.refuse(nr))
		}
	}
	one(unix.SYS_SOCKET, families...)
	if f.processes {
		families = []uint32{unix.AF_UNIX}
	}
	one(unix.SYS_SOCKETPAIR, families...)
	f.on(unix.SYS_CONNECT, f.refuse(unix.SYS_CONNECT))
}

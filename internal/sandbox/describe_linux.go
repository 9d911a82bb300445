//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// memory reads from a thread's memory at an address.
func (t thread) memory(addr uint64, buf []byte) (int, error) {
	fd, err := unix.Open(t.proc("mem"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return unix.Pread(fd, buf, int64(addr))
}

// str reads a path from a thread's memory.
func (t thread) str(addr uint64) (string, error) {
	const page = 4096
	var out []byte
	for len(out) < unix.PathMax {
		// A string may end just before unmapped memory.
		buf := make([]byte, page-addr%page)
		n, err := t.memory(addr, buf)
		if n <= 0 {
			return "", fmt.Errorf("read memory of %d: %w", t.tid, err)
		}
		if end := bytes.IndexByte(buf[:n], 0); end >= 0 {
			return string(append(out, buf[:end]...)), nil
		}
		out = append(out, buf[:n]...)
		addr += uint64(n)
	}
	return "", fmt.Errorf("read memory of %d: no end of string", t.tid)
}

// describePath says what a call on files tried that the policy does not grant, or "" when there is
// nothing to say.
func (r *reach) describePath(t thread, c pathCall, args [6]uint64) string {
	flags := r.openFlags(t, c, args)
	opens := c.verb == verbOpen || c.verb == verbCreate
	follow := c.verb == verbTruncate ||
		opens && flags&unix.O_NOFOLLOW == 0 && flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
	var at [2]located
	for i, p := range c.places {
		path, err := t.str(args[p.path])
		if err != nil || path == "" {
			return ""
		}
		at[i] = t.locate(p.folder(args), path, follow)
		if at[i].internal || at[i].real == "" {
			return ""
		}
	}
	first, second := at[0], at[1]
	switch c.verb {
	case verbOpen, verbCreate:
		return r.describeOpen(first, flags)
	case verbLink, verbRename:
		if !first.exists || !second.parent || r.mayWrite(first.real) && r.mayWrite(second.real) {
			return ""
		}
		return fmt.Sprintf("%s %s to %s%s", c.verb, first.real, second.real, first.through())
	case verbMkdir, verbMknod, verbSymlink:
		if !first.parent || first.exists || r.mayWrite(first.real) {
			return ""
		}
	default:
		if !first.exists || r.mayWrite(first.real) {
			return ""
		}
	}
	return fmt.Sprintf("%s %s%s", c.verb, first.real, first.through())
}

func (r *reach) openFlags(t thread, c pathCall, args [6]uint64) uint64 {
	if c.verb == verbCreate {
		return unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	}
	if c.nr != unix.SYS_OPENAT2 {
		return args[c.flags]
	}
	var how [8]byte // the first member of struct open_how
	if n, _ := t.memory(args[c.flags], how[:]); n != len(how) {
		return 0
	}
	return binary.NativeEndian.Uint64(how[:])
}

func (r *reach) describeOpen(at located, flags uint64) string {
	if flags&unix.O_PATH != 0 {
		return "" // gives access to nothing
	}
	writes := flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0
	creates := flags&unix.O_CREAT != 0 && !at.exists
	switch {
	// Searching for missing files is how loaders find existing ones.
	case creates && !at.parent, !creates && !at.exists:
		return ""
	case (creates || writes) && r.mayWrite(at.real):
		return ""
	case creates:
		return fmt.Sprintf("create %s%s", at.real, at.through())
	case writes:
		return fmt.Sprintf("open %s for writing%s", at.real, at.through())
	case r.mayRead(at.real), at.folder && r.mayList(at.real):
		return ""
	case at.folder:
		return fmt.Sprintf("list %s%s", at.real, at.through())
	}
	return fmt.Sprintf("open %s for reading%s", at.real, at.through())
}

var families = map[uint64]string{
	unix.AF_UNIX: "AF_UNIX", unix.AF_INET: "AF_INET", unix.AF_INET6: "AF_INET6",
	unix.AF_NETLINK: "AF_NETLINK", unix.AF_PACKET: "AF_PACKET", unix.AF_VSOCK: "AF_VSOCK",
	unix.AF_ALG: "AF_ALG", unix.AF_BLUETOOTH: "AF_BLUETOOTH", unix.AF_XDP: "AF_XDP",
}

var socketTypes = map[uint64]string{
	unix.SOCK_STREAM: "SOCK_STREAM", unix.SOCK_DGRAM: "SOCK_DGRAM", unix.SOCK_RAW: "SOCK_RAW",
	unix.SOCK_SEQPACKET: "SOCK_SEQPACKET", unix.SOCK_RDM: "SOCK_RDM",
}

func nameOf(names map[uint64]string, v uint64) string {
	return cmp.Or(names[v], strconv.FormatUint(v, 10))
}

func signalName(n int) string {
	return cmp.Or(unix.SignalName(syscall.Signal(n)), strconv.Itoa(n))
}

// target returns the process the call would act on; -1 for a descriptor of none.
func (c *targetCall) target(t thread, args [6]uint64) int {
	value := int(int32(args[c.arg]))
	if c.pidfd {
		return numberIn(t.proc("fdinfo", strconv.Itoa(value)), "Pid:", -1)
	}
	return value
}

// numberIn reads the line of a file in /proc that begins with a key.
func numberIn(path, key string, otherwise int) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			if number, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
				return number
			}
		}
	}
	return otherwise
}

// describe names a refused call that is about no file.
func describe(t thread, made call) string {
	nr, args := uint32(made.nr), made.args
	if made.arch != auditArch || foreignBit != 0 && nr >= foreignBit {
		return fmt.Sprintf("system call %d of another architecture", nr&^foreignBit)
	}
	switch nr {
	case unix.SYS_SOCKET:
		return fmt.Sprintf("socket(%s, %s)", nameOf(families, args[0]), nameOf(socketTypes, args[1]&0xf))
	case unix.SYS_SOCKETPAIR:
		return fmt.Sprintf("socketpair(%s, %s)", nameOf(families, args[0]), nameOf(socketTypes, args[1]&0xf))
	case unix.SYS_CONNECT:
		return describeConnect(t, args)
	case unix.SYS_CLONE:
		if args[0]&cloneNamespaces != 0 {
			return "clone into new namespaces"
		}
		return "fork"
	case unix.SYS_EXECVE:
		return t.at("exec", place{cwd, 0}, args)
	case unix.SYS_EXECVEAT:
		return t.at("exec", place{0, 1}, args)
	case unix.SYS_PERSONALITY:
		return "personality"
	}
	if c := findTarget(nr); c != nil {
		who := c.target(t, args)
		if c.signal != 0 {
			return fmt.Sprintf("%s(%d, %s)", c.name, who, signalName(int(args[c.signal])))
		}
		return fmt.Sprintf("%s(%d)", c.name, who)
	}
	for _, c := range argCalls {
		if c.nr == nr {
			return c.values[uint32(args[c.arg])]
		}
	}
	switch c := findRefused(nr); {
	case c == nil:
		return fmt.Sprintf("system call %d", nr)
	case c.pid > 0:
		return fmt.Sprintf("%s(%d)", c.name, int32(args[c.pid-1]))
	case c.on == nil:
		return c.name
	default:
		return t.at(c.name, *c.on, args)
	}
}

// locateAt returns the file a call is about; the zero value when it cannot be told.
func (t thread) locateAt(p place, args [6]uint64) located {
	dir := p.folder(args)
	path := ""
	if p.path != itself && args[p.path] != 0 {
		var err error
		if path, err = t.str(args[p.path]); err != nil {
			return located{}
		}
	}
	if path != "" {
		return t.locate(dir, path, true)
	}
	name, err := os.Readlink(t.proc("fd", strconv.Itoa(int(dir))))
	if err != nil {
		return located{}
	}
	return located{asked: name, real: name}
}

// at appends the file a call is about to the call's name.
func (t thread) at(name string, p place, args [6]uint64) string {
	l := t.locateAt(p, args)
	if l.real == "" {
		return name
	}
	return name + " " + l.real + l.through()
}

// describeConnect names the peer. Looking for a missing server is not worth reporting.
func describeConnect(t thread, args [6]uint64) string {
	addr := make([]byte, min(args[2], unix.SizeofSockaddrUnix))
	n, err := t.memory(args[1], addr)
	if err != nil || n < 2 {
		return "connect"
	}
	family, addr := uint64(binary.NativeEndian.Uint16(addr)), addr[2:n]
	switch {
	case family == unix.AF_UNIX && len(addr) > 0 && addr[0] == 0:
		return "connect to @" + string(bytes.TrimRight(addr[1:], "\x00"))
	case family == unix.AF_UNIX:
		at := t.locate(unix.AT_FDCWD, unix.ByteSliceToString(addr), true)
		if !at.exists {
			return ""
		}
		return "connect to " + at.real + at.through()
	}
	return "connect to " + nameOf(families, family)
}

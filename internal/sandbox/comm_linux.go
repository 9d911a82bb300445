//go:build linux && (amd64 || arm64)

package sandbox

import (
	"regexp"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// commPath matches the file that holds the name of a process or of a thread of it.
var commPath = regexp.MustCompile(`^/proc/([0-9]{1,9})(?:/task/[0-9]{1,9})?/comm$`)

// openComm opens the file with a thread's name on behalf of a child of the program. Landlock grants
// /proc/self to the program that it was applied to alone, and libcuda, which names its threads, fails
// to start in a child that may not. The kernel lets a process write its own names only, whoever
// opened the file. It returns false for any other call, and where the kernel cannot hand a
// descriptor over: Landlock judges these.
func (s *supervisor) openComm(t thread, n notification) (done bool) {
	r, nr, args := s.reach, uint32(n.call.nr), n.call.args
	if nr != unix.SYS_OPENAT || !r.processes || !r.procWritable || t.pid == r.pid {
		return false
	}
	flags := args[2]
	if flags&unix.O_ACCMODE == unix.O_RDONLY || flags&unix.O_PATH != 0 {
		return false
	}
	asked, err := t.str(args[1])
	if err != nil {
		return false
	}
	at := t.locate(int32(args[0]), asked, true)
	m := commPath.FindStringSubmatch(at.real)
	if m == nil {
		return false
	}
	if pid, err := strconv.Atoi(m[1]); err != nil || pid != t.pid || !r.owns(pid) {
		return false
	}
	file, err := unix.Open(at.real, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(file)
	return handOver(s.listener, n.id, file, uint32(flags)&unix.O_CLOEXEC) == nil
}

// addFD is struct seccomp_notif_addfd.
type addFD struct {
	id       uint64
	flags    uint32
	source   uint32
	target   uint32
	newFlags uint32
}

// handOver gives the thread that waits for an answer a copy of a descriptor, and returns from its
// call with the number of that.
func handOver(listener int, id uint64, descriptor int, flags uint32) error {
	return control(listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&addFD{
		id: id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(descriptor), newFlags: flags,
	}))
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notifIDValid is SECCOMP_IOCTL_NOTIF_ID_VALID, which x/sys does not have.
const notifIDValid = 0x40082102

// call is struct seccomp_data: the system call a thread is about to make.
type call struct {
	nr   int32
	arch uint32
	ip   uint64
	args [6]uint64
}

// notification is struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32 // the thread
	flags uint32
	call  call
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

// hasNotify reports whether a supervisor can be notified of system calls and let them continue. The
// first came with Linux 5.0, the second with 5.5, and only the version number distinguishes the
// two.
func hasNotify() bool {
	var u unix.Utsname
	return hasAction(unix.SECCOMP_RET_USER_NOTIF) && unix.Uname(&u) == nil && releaseAtLeast(unix.ByteSliceToString(u.Release[:]), 5, 5)
}

// releaseAtLeast compares a kernel release such as "6.8.0-45-generic".
func releaseAtLeast(release string, major, minor int) bool {
	var gotMajor, gotMinor int
	_, err := fmt.Sscanf(release, "%d.%d", &gotMajor, &gotMinor)
	return err == nil && (gotMajor > major || gotMajor == major && gotMinor >= minor)
}

// hasAction reports whether filters, if the kernel supports them at all, may return an action.
func hasAction(action uint32) bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// errNoListener means that the kernel took no listener: another supervisor
// (a container engine's, say) already has one on this process.
var errNoListener = errors.New("seccomp listener is taken")

// install puts the filter on the calling thread. With notify it returns the
// listener's descriptor, else -1.
func install(filter []unix.SockFilter, notify bool) (int, error) {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	set := func(flags uintptr) (int, unix.Errno) {
		// Before Linux 5.16 a filter turned on mitigations that slow the program down, and programs
		// here are measured.
		flags |= unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
		r, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
		return int(r), errno
	}
	fd, errno := -1, unix.Errno(0)
	if notify {
		// Once the supervisor has taken a notification, ordinary signals (the
		// Go runtime preempts with them) should not interrupt and repeat it.
		fd, errno = set(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
		if errno == unix.EINVAL {
			fd, errno = set(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		}
	} else {
		_, errno = set(0)
	}
	switch errno {
	case 0:
		return fd, nil
	case unix.EBUSY:
		return -1, errNoListener
	}
	return -1, fmt.Errorf("install seccomp filter: %w", errno)
}

// receive takes the next notification. It does not block when poll has said
// that there is one, even if the thread that made it was killed since.
func receive(listener int) (notification, error) {
	var n notification
	err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
	return n, err
}

// respond answers a notification; ENOENT means that nobody waits any more.
func respond(listener int, a answer) error {
	return control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a))
}

// waiting reports whether the thread still waits for the answer. Only then was what the supervisor
// read under its number really about that thread.
func waiting(listener int, id uint64) bool {
	return control(listener, notifIDValid, unsafe.Pointer(&id)) == nil
}

func control(listener int, operation uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), operation, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

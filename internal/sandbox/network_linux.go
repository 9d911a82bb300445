//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownNetwork makes a process start in a network namespace of its own. Root makes just that, and so
// stays root to drivers that ask for capabilities. Anybody else must own a user namespace for it, in
// which he stays who he is.
func ownNetwork(attributes *syscall.SysProcAttr) {
	attributes.Cloneflags |= unix.CLONE_NEWNET
	if os.Geteuid() == 0 {
		return
	}
	attributes.Cloneflags |= unix.CLONE_NEWUSER
	attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	attributes.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN} // for raiseLoopback, which drops it
}

// raiseLoopback brings the loopback device of this process's network up. It is the only device there.
func raiseLoopback() error {
	failed := func(err error) error { return fmt.Errorf("%w: bring up its loopback device: %w", ErrNoNetwork, err) }
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed(err)
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return failed(err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(request))); errno != 0 {
		return failed(errno)
	}
	return nil
}

// loopbackAddress reads the address of a connect, if it is one of this machine itself.
func loopbackAddress(raw []byte) (unix.Sockaddr, bool) {
	const port, four, six = 2, 4, 8 // offsets in a sockaddr_in and a sockaddr_in6
	if len(raw) < 2 {
		return nil, false
	}
	switch family := binary.NativeEndian.Uint16(raw); {
	case family == unix.AF_INET && len(raw) >= unix.SizeofSockaddrInet4:
		to := &unix.SockaddrInet4{Port: int(binary.BigEndian.Uint16(raw[port:])), Addr: [4]byte(raw[four:])}
		return to, netip.AddrFrom4(to.Addr).IsLoopback()
	case family == unix.AF_INET6 && len(raw) >= unix.SizeofSockaddrInet6:
		to := &unix.SockaddrInet6{Port: int(binary.BigEndian.Uint16(raw[port:])), Addr: [16]byte(raw[six:])}
		return to, netip.AddrFrom16(to.Addr).Unmap().IsLoopback()
	}
	return nil, false
}

// dial connects a socket on the program's behalf within the network of its own. A socket stays in
// the network that it was made in, whoever connects it: one that leads outside, as an inherited one
// may, is not connected.
func (r *reach) dial(t thread, args [6]uint64, raw []byte) (done bool, result error) {
	to, ok := loopbackAddress(raw)
	if !r.loopback || !ok {
		return false, nil
	}
	socket, err := t.socket(int(int32(args[0])))
	if errors.Is(err, errNoProcess) {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	defer unix.Close(socket)
	if !sameNetwork(socket, t.pid) {
		return false, nil
	}
	return true, unix.Connect(socket, to)
}

// sameNetwork reports whether a socket is of the network that a process is in.
func sameNetwork(socket, pid int) bool {
	network, err := unix.IoctlRetInt(socket, unix.SIOCGSKNS)
	if err != nil {
		return false
	}
	defer unix.Close(network)
	var its, own unix.Stat_t
	return unix.Fstat(network, &its) == nil && unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &own) == nil &&
		its.Dev == own.Dev && its.Ino == own.Ino
}

// errNoProcess means that the process of a call has ended.
var errNoProcess = errors.New("no such process")

// socket returns a copy of a descriptor of the thread's process.
func (t thread) socket(descriptor int) (int, error) {
	process, err := unix.PidfdOpen(t.pid, 0)
	if err != nil {
		return -1, errNoProcess
	}
	defer unix.Close(process)
	return unix.PidfdGetfd(process, descriptor, 0)
}

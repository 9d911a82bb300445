//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"errors"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"
)

// peerName matches the socket name of a process that NVIDIA's tools inspect.
var peerName = regexp.MustCompile(`^nv_target_process_([0-9]{1,9})$`)

// connect connects a socket on the program's behalf to another process of the same sandbox. The
// call itself can never be allowed: the address may have changed by the time the kernel reads it.
// It returns false for any other address.
func (r *reach) connect(t thread, nr uint32, args [6]uint64) (done bool, result error) {
	const family, longest = 2, 108 // bytes of a sockaddr_un
	if nr != unix.SYS_CONNECT || !r.peers && !r.loopback || args[2] <= family || args[2] > family+longest {
		return false, nil
	}
	raw := make([]byte, args[2])
	if n, _ := t.memory(args[1], raw); n != len(raw) {
		return false, nil
	}
	if done, err := r.dial(t, args, raw); done || !r.peers {
		return done, err
	}
	if binary.NativeEndian.Uint16(raw) != unix.AF_UNIX || raw[family] != 0 {
		return false, nil
	}
	name := string(raw[family+1:])
	if !r.loopback && !r.peer(name) {
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
	if domain, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_UNIX {
		return false, nil
	}
	if r.loopback && !sameNetwork(socket, t.pid) { // in a network of its own all abstract names are its own
		return false, nil
	}
	// It may wait for the peer to accept, and no other call is judged meanwhile; when the peer
	// ends, so does the wait.
	return true, unix.Connect(socket, &unix.SockaddrUnix{Name: "@" + name})
}

// peer reports whether a name is that of a process of the same sandbox.
func (r *reach) peer(name string) bool {
	m := peerName.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	pid, err := strconv.Atoi(m[1])
	return err == nil && (pid == r.pid || sessionOf(pid) == r.pid)
}

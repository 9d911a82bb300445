//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// request is what Start tells stage 1.
type request struct {
	Parent     int
	Path       string
	Args, Env  []string
	Policy     Policy
	Mode       Mode
	PretendOld older
}

// status is what stage 1 tells Start: once before the exec, with the
// descriptors Start needs, and again only if that fails.
type status struct {
	Level    Level
	Listener bool // the first descriptor is the seccomp listener
	Err      string
}

// stage1Timeout is how long stage 1, which is this very program, may take.
const stage1Timeout = 30 // seconds

// maxStatusFds is the most descriptors the kernel passes in one message.
const maxStatusFds = 253

// writeRequest puts the request where stage 1 can read it, however large.
func writeRequest(req request) (*os.File, error) {
	fd, err := unix.MemfdCreate("pawl-sandbox-request", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create sandbox request: %w", err)
	}
	f := os.NewFile(uintptr(fd), "sandbox request")
	if err := gob.NewEncoder(f).Encode(req); err != nil {
		f.Close()
		return nil, fmt.Errorf("write sandbox request: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("rewind sandbox request: %w", err)
	}
	return f, nil
}

func statusSocket() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create sandbox status socket: %w", err)
	}
	ours = os.NewFile(uintptr(pair[0]), "sandbox status")
	theirs = os.NewFile(uintptr(pair[1]), "sandbox status")
	if err := unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: stage1Timeout}); err != nil {
		ours.Close()
		theirs.Close()
		return nil, nil, fmt.Errorf("set sandbox status timeout: %w", err)
	}
	return ours, theirs, nil
}

func sendStatus(sock int, st status, fds []int) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(st); err != nil {
		return fmt.Errorf("encode sandbox status: %w", err)
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	if err := unix.Sendmsg(sock, b.Bytes(), oob, nil, 0); err != nil {
		return fmt.Errorf("send sandbox status: %w", err)
	}
	return nil
}

func receiveStatus(sock *os.File) (status, []int, error) {
	buf := make([]byte, 64<<10)
	oob := make([]byte, unix.CmsgSpace(4*maxStatusFds))
	var n, oobn int
	for {
		var err error
		n, oobn, _, _, err = unix.Recvmsg(int(sock.Fd()), buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) {
			return status{}, nil, fmt.Errorf("stage 1 has said nothing for %d s", stage1Timeout)
		}
		if err != nil {
			return status{}, nil, fmt.Errorf("receive sandbox status: %w", err)
		}
		break
	}
	if n == 0 {
		return status{}, nil, io.EOF
	}
	var fds []int
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return status{}, nil, fmt.Errorf("parse sandbox status: %w", err)
	}
	for i := range messages {
		got, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			closeAll(fds)
			return status{}, nil, fmt.Errorf("parse sandbox status: %w", err)
		}
		fds = append(fds, got...)
	}
	var st status
	if err := gob.NewDecoder(bytes.NewReader(buf[:n])).Decode(&st); err != nil {
		closeAll(fds)
		return status{}, nil, fmt.Errorf("decode sandbox status: %w", err)
	}
	return st, fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

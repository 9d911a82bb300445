// Package wire is the protocol between pawl, its workers and their cells:
// frames of one JSON line and an optional raw blob, and the messages they carry.
// docs/protocol.md is its specification; this package is its Go side.
package wire

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Major is the protocol version that both ends must share; Minor grows with
// additions that older peers may ignore.
const (
	Major = 1
	Minor = 6
)

// Limits of what a peer may send.
const (
	MaxLine  = 1 << 20  // bytes of a frame's JSON line, newline included
	MaxBlob  = 1 << 20  // bytes of a frame's blob
	MaxNoise = 64 << 10 // bytes skipped before the hello line
)

// Frame is one message. Requests carry an id of the sender's choice; replies
// repeat it with op "ok" or "error".
type Frame struct {
	V    int             `json:"v"`
	ID   uint64          `json:"id"`
	Op   string          `json:"op"`
	Body json.RawMessage `json:"body,omitempty"`
	Blob *Blob           `json:"blob,omitempty"`

	Data []byte `json:"-"` // the blob's bytes
}

// Blob announces the raw bytes that follow a frame's line.
type Blob struct {
	Len    int    `json:"len"`
	SHA256 string `json:"sha256"`
}

// Error is a violation of the protocol by the peer.
type Error struct {
	Reason string // truncated, oversized, malformed, version, corrupt, noise
	Err    error
}

func (e *Error) Error() string { return "protocol: " + e.Reason + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error whose detail is formatted as by fmt.Errorf.
func Errorf(reason, format string, args ...any) *Error {
	return &Error{reason, fmt.Errorf(format, args...)}
}

// IsReason reports whether err is a protocol Error with the given reason.
func IsReason(err error, reason string) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == reason
}

// Writer sends frames; it may be used by several goroutines.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
}

// NewWriter returns a Writer to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Send writes one frame with body marshalled as JSON (nil: none) and data as its
// blob (nil: none).
func (w *Writer) Send(id uint64, op string, body any, data []byte) error {
	frame := Frame{V: Major, ID: id, Op: op}
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode %s: %w", op, err)
		}
		frame.Body = raw
	}
	if data != nil {
		if len(data) > MaxBlob {
			return fmt.Errorf("send %s: blob of %d bytes is over the limit of %d", op, len(data), MaxBlob)
		}
		sum := sha256.Sum256(data)
		frame.Blob = &Blob{Len: len(data), SHA256: hex.EncodeToString(sum[:])}
	}
	line, err := json.Marshal(&frame)
	if err != nil {
		return fmt.Errorf("encode %s: %w", op, err)
	}
	if len(line)+1 > MaxLine {
		return fmt.Errorf("send %s: line of %d bytes is over the limit of %d", op, len(line), MaxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write(append(line, '\n'))
	if err == nil && len(data) > 0 {
		_, err = w.out.Write(data)
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", op, err)
	}
	return nil
}

// Widen gives a pipe room for a whole blob, so that sender and receiver wait for
// each other less often. What is no pipe, or may not grow, stays as it is.
func Widen(pipe any) {
	f, ok := pipe.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := f.SyscallConn(); err == nil { // Fd would make the file blocking
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, MaxBlob) })
	}
}

// Reader receives frames.
type Reader struct {
	in    *bufio.Reader
	noise []byte // the end of what was skipped before the hello
}

// noiseKept is how much of the noise before a hello is kept.
const noiseKept = 4 << 10

// Noise returns the end of what was skipped before the hello: where none came, it may say why.
func (r *Reader) Noise() string { return strings.ToValidUTF8(string(r.noise), "\uFFFD") }

// NewReader returns a Reader from in.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(in, 64<<10)} }

// Next reads one frame. It returns io.EOF when the peer closed between two
// frames, and an *Error when it broke the protocol.
func (r *Reader) Next() (*Frame, error) {
	line, err := r.line(MaxLine)
	if err != nil {
		return nil, err
	}
	return r.frame(line)
}

// Hello reads the first frame of a worker, skipping what login shells and
// launchers print before it, up to MaxNoise bytes.
func (r *Reader) Hello() (*Frame, error) {
	skipped := 0
	for {
		line, err := r.line(MaxNoise + MaxLine)
		if err != nil {
			if errors.Is(err, io.EOF) && skipped > 0 {
				return nil, Errorf("noise", "the peer closed after %d bytes that were no hello", skipped)
			}
			return nil, err
		}
		// A banner without a newline may stand before the frame on its line.
		if at := bytes.Index(line, []byte(`{"v":`)); at >= 0 {
			var probe Frame
			if json.Unmarshal(line[at:], &probe) == nil && probe.Op == OpHello {
				if skipped+at > MaxNoise {
					return nil, Errorf("noise", "more than %d bytes before the hello", MaxNoise)
				}
				return r.frame(line[at:])
			}
		}
		r.noise = append(append(r.noise, line...), '\n')
		r.noise = r.noise[max(0, len(r.noise)-noiseKept):]
		if skipped += len(line) + 1; skipped > MaxNoise {
			return nil, Errorf("noise", "more than %d bytes and no hello among them", MaxNoise)
		}
	}
}

// line reads up to a newline, which it strips.
func (r *Reader) line(most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		// A line at the limit that has not ended will not be within it.
		if n := len(line) + len(part); n > most || n == most && err != nil {
			return nil, Errorf("oversized", "a line of more than %d bytes", most)
		}
		if err == nil && line == nil {
			return part[:len(part)-1], nil // valid until the next read; frame copies what it keeps
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, Errorf("truncated", "the peer closed inside a line of %d bytes", len(line))
		default:
			return nil, fmt.Errorf("read frame: %w", err)
		}
	}
}

// frame decodes a line and reads the blob it announces.
func (r *Reader) frame(line []byte) (*Frame, error) {
	var f Frame
	if err := json.Unmarshal(line, &f); err != nil {
		return nil, Errorf("malformed", "expected a frame, got %q: %w", clip(line), err)
	}
	if f.V != Major {
		return nil, Errorf("version", "the peer speaks protocol %d, this pawl speaks %d", f.V, Major)
	}
	if f.Op == "" {
		return nil, Errorf("malformed", "a frame without op: %q", clip(line))
	}
	if f.Blob == nil {
		return &f, nil
	}
	if f.Blob.Len < 0 || f.Blob.Len > MaxBlob {
		return nil, Errorf("oversized", "a blob of %d bytes; the limit is %d", f.Blob.Len, MaxBlob)
	}
	f.Data = make([]byte, f.Blob.Len)
	if n, err := io.ReadFull(r.in, f.Data); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, Errorf("truncated", "the peer closed after %d of %d blob bytes", n, f.Blob.Len)
		}
		return nil, fmt.Errorf("read blob: %w", err)
	}
	if sum := sha256.Sum256(f.Data); hex.EncodeToString(sum[:]) != f.Blob.SHA256 {
		return nil, Errorf("corrupt", "a blob does not have the hash its frame names")
	}
	return &f, nil
}

// Decode unmarshals a frame's body into v.
func (f *Frame) Decode(v any) error {
	if len(f.Body) == 0 {
		return Errorf("malformed", "%s without a body", f.Op)
	}
	if err := json.Unmarshal(f.Body, v); err != nil {
		return Errorf("malformed", "body of %s: %w", f.Op, err)
	}
	return nil
}

func clip(line []byte) string {
	const most = 80
	if len(line) > most {
		return string(line[:most]) + "…"
	}
	return string(line)
}

package cell

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

func faultIn(t *testing.T, err error) *result.Fault {
	t.Helper()
	var fault *result.Fault
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a fault", err)
	}
	return fault
}

// onHeap holds what the system reads, which must not move with the stack.
var onHeap []byte

// setAction is rt_sigaction(2).
func setAction(t *testing.T, signal int, to []byte) {
	t.Helper()
	onHeap = bytes.Clone(to)
	to = onHeap
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), dl.Address(to), 0, 8, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
}

// rawAction returns all of a signal's action.
func rawAction(t *testing.T, signal int) []byte {
	t.Helper()
	onHeap = make([]byte, actionBytes)
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), 0, dl.Address(onHeap), 8, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	return bytes.Clone(onHeap)
}

// toggleIgnored ignores a signal that is not ignored, which it may be from the start.
func toggleIgnored(action []byte) {
	ignored := binary.NativeEndian.Uint64(action) == 1
	clear(action)
	if !ignored {
		action[0] = 1
	}
}

func TestChangedHandlersAreNamed(t *testing.T) {
	h := readHandlers()
	if err := h.check(); err != nil {
		t.Fatalf("nobody has changed anything: %v", err)
	}
	const mask = 24
	for _, tc := range []struct {
		signal int
		name   string
		change func(action []byte)
	}{
		{int(unix.SIGBUS), "SIGBUS", func(action []byte) { copy(action, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }}, // ignored
		{int(unix.SIGALRM), "SIGALRM", func(action []byte) { clear(action) }},
		{int(unix.SIGSYS), "SIGSYS", func(action []byte) { clear(action) }},
		{int(unix.SIGUSR2), "SIGUSR2", func(action []byte) { action[mask] ^= 1 }},
		{signalCancel, "signal 32", toggleIgnored},
		{signalSetxid, "signal 33", toggleIgnored},
		{lastSignal, "signal 64", func(action []byte) { clear(action) }},
	} {
		was := rawAction(t, tc.signal)
		changed := bytes.Clone(was)
		tc.change(changed)
		setAction(t, tc.signal, changed)
		err := h.check()
		setAction(t, tc.signal, was)
		if bytes.Equal(changed, was) {
			t.Errorf("%s: the change changes nothing", tc.name)
			continue
		}
		fault := faultIn(t, err)
		if fault.Cause != result.CauseForged || !strings.Contains(fault.Message, "tampered-cell: the handler of "+tc.name+" differs") {
			t.Errorf("%s: %+v", tc.name, fault)
		}
	}
	was := rawAction(t, int(unix.SIGUSR1))
	if runtime.GOARCH == "amd64" { // as who puts a handler back through the C library
		const restorer = 16
		other := bytes.Clone(was)
		other[restorer] ^= 0x10
		setAction(t, int(unix.SIGUSR1), other)
	}
	err := h.check()
	setAction(t, int(unix.SIGUSR1), was)
	if err != nil {
		t.Errorf("all is as it was: %v", err)
	}
}

func outBuffer(t *testing.T) *buffer {
	t.Helper()
	b, err := newBuffer(1, 0, wire.Arg{Name: "y", DType: "f32", Buffer: true, Count: 10_000, Role: "out"}, 7)
	if err != nil {
		t.Fatal(err)
	}
	if !b.probed {
		t.Skip("Linux before 5.14")
	}
	return b
}

func TestMemoryThatIsGoneIsTheKernelsFault(t *testing.T) {
	middle := func(b *buffer) []byte { return b.mapped[roundUp(b.start, page):][:page] }
	for name, take := range map[string]func(*buffer) error{
		"protected": func(b *buffer) error { return unix.Mprotect(middle(b), unix.PROT_NONE) },
		"read-only": func(b *buffer) error { return unix.Mprotect(middle(b), unix.PROT_READ) },
		"unmapped": func(b *buffer) error {
			if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, dl.Address(middle(b)), page, 0); errno != 0 {
				return errno
			}
			return nil
		},
		"red zone": func(b *buffer) error {
			return unix.Mprotect(b.mapped[(b.start-redZone)/page*page:][:page], unix.PROT_NONE)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := outBuffer(t)
			defer b.free()
			h := &host{copyOfArgs: copyOfArgs{buffers: []*buffer{b}}, handlers: readHandlers()}
			if err := h.intact(); err != nil {
				t.Fatalf("untouched: %v", err)
			}
			if err := take(b); err != nil {
				t.Fatal(err)
			}
			if fault := faultIn(t, h.intact()); fault.Cause != result.CauseOutput || !strings.Contains(fault.Message, "argument y") {
				t.Errorf("%+v", fault)
			}
		})
	}
}

// Where the system cannot be asked beforehand, writing the file shows it.
func TestOutputThatCannotBeRead(t *testing.T) {
	b := outBuffer(t)
	defer b.free()
	if err := unix.Mprotect(b.mapped[roundUp(b.start, page):][:page], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	_, err := snapshot{0: b.data()}.leave(t.TempDir(), []wire.Arg{b.arg})
	if fault := faultIn(t, err); fault.Cause != result.CauseOutput {
		t.Errorf("%+v", fault)
	}
	_, err = snapshot{0: []byte("x")}.leave(t.TempDir()+"/nowhere", []wire.Arg{b.arg})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func BenchmarkHandlers(b *testing.B) {
	before := readHandlers()
	for b.Loop() {
		if err := before.check(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIntact(b *testing.B) {
	h := &host{handlers: readHandlers()}
	for range 3 {
		buf, err := newBuffer(0, 0, wire.Arg{Name: "x", DType: "f32", Buffer: true, Count: 1 << 20, Role: "out"}, 7)
		if err != nil {
			b.Fatal(err)
		}
		defer buf.free()
		h.buffers = append(h.buffers, buf)
	}
	for b.Loop() {
		if err := h.intact(); err != nil {
			b.Fatal(err)
		}
	}
}

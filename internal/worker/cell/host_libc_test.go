package cell

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
)

// cancelThread has the C library cancel a thread, and so install its handler.
func cancelThread(t *testing.T) {
	t.Helper()
	var found [4]dl.Func
	for i, name := range []string{"pthread_create", "pause", "pthread_cancel", "pthread_join"} {
		var err error
		if found[i], err = dl.Loaded(name); err != nil {
			t.Skip(err)
		}
	}
	create, pause, cancel, join := found[0], found[1], found[2], found[3]
	onHeap = make([]byte, 8)
	if errno := int32(create.Call(dl.Address(onHeap), 0, uintptr(pause), 0)); errno != 0 {
		t.Fatal(unix.Errno(errno))
	}
	thread := uintptr(binary.NativeEndian.Uint64(onHeap))
	cancel.Call(thread)
	join.Call(thread, 0)
}

// A kernel may cancel its threads; the C library's own reaction is no tampering. Any other handler
// for these signals is, and so is the library's code for other signals.
func TestTheLibrarysOwnSignals(t *testing.T) {
	cancelThread(t)
	own := rawAction(t, signalCancel)
	if !libraryCode().holds(binary.NativeEndian.Uint64(own)) {
		t.Fatalf("the C library handles signal 32 at %x, and its code is at %q", own[:8], libraryCode().line)
	}
	ignored := make([]byte, actionBytes)
	ignored[0] = 1
	usual := make([]byte, actionBytes)
	for _, tc := range []struct {
		name         string
		signal       int
		before, then []byte
		accuses      bool
	}{
		{"cancelled", signalCancel, usual, own, false},
		{"cancelled below make", signalCancel, ignored, own, false},
		{"setuid", signalSetxid, usual, own, false},
		{"somebody else's code", signalCancel, usual, rawAction(t, int(unix.SIGBUS)), true},
		{"no code", signalSetxid, usual, ignored, true},
		{"taken back", signalCancel, own, usual, true},
		{"another signal", int(unix.SIGUSR1), rawAction(t, int(unix.SIGUSR1)), own, true},
	} {
		was := rawAction(t, tc.signal)
		setAction(t, tc.signal, tc.before)
		h := readHandlers()
		setAction(t, tc.signal, tc.then)
		err, again := h.check(), h.check()
		setAction(t, tc.signal, was)
		if (err != nil) != tc.accuses || (again != nil) != tc.accuses {
			t.Errorf("%s: %v, then %v", tc.name, err, again)
		}
	}
	h := readHandlers()
	h.library = mapping{}
	h.before = bytes.Clone(h.before)
	copy(actionOf(h.before, signalCancel), usual)
	if h.check() == nil {
		t.Error("where the C library lies is not known, and its handler is taken for its own")
	}
}

// Code in its file's mapping is the file's unless somebody has written there.
func TestPristineMapping(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	memory, err := unix.Mmap(int(file.Fd()), 0, 2*page, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	m := mappingAt(uint64(dl.Address(memory)))
	if !m.holds(m.start) || !m.holds(m.end-1) || m.holds(m.end) || !strings.Contains(m.line, " r-xp ") {
		t.Fatalf("%+v", m)
	}
	if memory[0] != 0x7f || !m.pristine() {
		t.Error("nobody has written there")
	}
	if err := unix.Mprotect(memory, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	if m.pristine() {
		t.Error("it could be written to")
	}
	memory[page]++
	memory[page]-- // a page of its own, whatever it holds
	if err := unix.Mprotect(memory, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		t.Fatal(err)
	}
	if mappingAt(m.start) != m || m.pristine() {
		t.Error("a page was written to")
	}
	if (mapping{}).pristine() {
		t.Error("what is nowhere is nobody's")
	}
}

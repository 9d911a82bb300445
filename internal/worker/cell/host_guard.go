package cell

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// intact checks, as soon as a launch is over and before anything is read or written, whether an
// access would run candidate code, or end the cell.
func (h *host) intact() error {
	if err := h.handlers.check(); err != nil {
		return err
	}
	return h.reachable()
}

// reachable checks every page of the arguments, which takes time: within a request only the memory
// that is read must be there.
func (h *host) reachable() error {
	for _, b := range h.used() {
		if err := b.reachable(); err != nil {
			return err
		}
	}
	return nil
}

// trespass looks for writes outside the buffers, and to inputs.
func (h *host) trespass() error {
	if err := h.zones(); err != nil {
		return err
	}
	for _, b := range h.used() {
		if b.arg.Role == "in" && wordSum(b.data()) != b.sum {
			return changed(b.arg)
		}
	}
	return nil
}

func (h *host) zones() error {
	for _, b := range h.used() {
		if what := b.trespass(); what != "" {
			b.paintRedZones()
			return outOfBounds(what)
		}
	}
	return nil
}

const (
	lastSignal  = 64 // the largest on Linux
	actionBytes = 32 // the kernel's struct sigaction: handler, flags, restorer and mask
	maskBytes   = 8  // a set of signals
)

// handlers are the actions of all signals, one after the other.
//
// A kernel that protects its output and handles the fault computes only when somebody reads it, and
// one that sets a timer computes after its launch is over. Every signal can be a timer's, so the
// actions of all signals are recorded. The C library's own wrapper is no help: it hides two
// signals, and candidate code could have replaced it.
type handlers struct {
	before, now []byte
	library     mapping // the C library's code
}

// readHandlers records the actions in memory that the system may write to: not on a stack, which
// moves.
//
//go:noinline
func readHandlers() *handlers {
	h := &handlers{make([]byte, lastSignal*actionBytes), make([]byte, lastSignal*actionBytes), libraryCode()}
	readActions(h.before)
	return h
}

func readActions(into []byte) {
	for signal := 1; signal <= lastSignal; signal++ {
		action := actionOf(into, signal)
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), 0, dl.Address(action), maskBytes, 0, 0)
		forgetRestorer(action)
	}
}

// forgetRestorer clears the restorer of a handler, where that is part of its action: code that sets
// a handler again through the C library, as system(3) does, changes it.
func forgetRestorer(action []byte) {
	if runtime.GOARCH != "amd64" {
		return
	}
	const flags, restorer, mask = 8, 16, 24
	binary.LittleEndian.PutUint64(action[flags:], binary.LittleEndian.Uint64(action[flags:])&^0x04000000) // SA_RESTORER
	clear(action[restorer:mask])
}

func actionOf(all []byte, signal int) []byte { return all[(signal-1)*actionBytes : signal*actionBytes] }

// check returns the fault of code that has changed how a signal is handled.
func (h *handlers) check() error {
	readActions(h.now)
	if bytes.Equal(h.now, h.before) {
		return nil
	}
	for signal := 1; signal <= lastSignal; signal++ {
		before, now := actionOf(h.before, signal), actionOf(h.now, signal)
		if bytes.Equal(before, now) {
			continue
		}
		if !h.librarysOwn(signal, now) {
			return tampered(signal)
		}
		copy(before, now)
	}
	return nil
}

func tampered(signal int) error {
	name := cmp.Or(unix.SignalName(unix.Signal(signal)), fmt.Sprintf("signal %d", signal))
	return result.Faultf(result.CauseForged, "tampered-cell: the handler of %s differs from the one before the kernel was loaded", name).
		WithHint("a signal handler can compute an output when it is read, after the clock has stopped; a kernel must not change signal handlers")
}

// reachable returns the fault of a kernel that has unmapped an argument's memory. It lets the
// system check, so that no handler runs: reading the memory would end the cell.
func (b *buffer) reachable() error { return b.there(b.inner()) }

// glance is the fast form of reachable: for a large buffer it checks one random page of the data.
func (b *buffer) glance() error {
	if len(b.inner()) <= 64*page {
		return b.reachable()
	}
	first := roundUp(b.start+rand.IntN(b.size)+1, page) - page
	return b.there(b.mapped[first : first+page])
}

func (b *buffer) there(pages []byte) error {
	if !b.probed {
		return nil
	}
	err := populate(pages)
	for _, gone := range []error{unix.EFAULT, unix.ENOMEM, unix.EINVAL} { // no page to be had, none mapped, not writable
		if errors.Is(err, gone) {
			return unreachable(b.arg)
		}
	}
	return nil
}

// populate touches pages as a write would.
func populate(pages []byte) error { return unix.Madvise(pages, unix.MADV_POPULATE_WRITE) }

func unreachable(arg wire.Arg) error {
	return result.Faultf(result.CauseOutput, "the kernel has unmapped or protected the memory of its argument %s", arg.Name).
		WithHint("a kernel's arguments must still be mapped, readable and writable, when it returns")
}

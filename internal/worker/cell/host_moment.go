package cell

import (
	"bytes"

	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
	"pawl/internal/oracle"
	"pawl/internal/result"
)

// Threads and timers of a kernel can work while no launch is running: ahead, on data that is there
// already, and behind, on outputs that nobody has read yet. So the data of a sample appears just
// before its clock starts, and its outputs are taken when the clock stops.

// step takes the inputs to a sample's data, once everything else is ready for it.
func (h *host) step(step int, cold bool) {
	for _, b := range h.buffers {
		for _, place := range b.stepInPlace(step) {
			if cold {
				h.flush(b.address()+uintptr(place)*uintptr(b.dtype.Size()), b.dtype.Size())
			}
		}
	}
}

// stepInPlace applies the next step, also to pristine contents. It returns the indices that have
// changed.
func (b *buffer) stepInPlace(step int) []int64 {
	if b.arg.Role != "in" && b.pristine == nil {
		return nil
	}
	b.mutate(step)
	if b.pristine != nil {
		oracle.Mutate(b.data(), b.dtype, fillOf(b.arg), b.key, step)
	}
	places := oracle.Places(b.key, b.arg.Count, step)
	return places[:]
}

// hide moves the pages of a copy away from where launches look for them, so that data can be
// prepared that nobody sees before its time. Where the system cannot do that (Linux before 5.7)
// they stay.
func (c *copyOfArgs) hide() {
	for _, b := range c.buffers {
		if b.home == nil && b.hide() != nil {
			return
		}
	}
}

// reveal moves all of them back.
func (c *copyOfArgs) reveal() error {
	for _, b := range c.buffers {
		if b.home == nil {
			continue
		}
		if err := b.reveal(); err != nil {
			return result.Faultf(result.CauseInternal, "argument %s cannot be moved back to its address: %v", b.arg.Name, err)
		}
	}
	return nil
}

// hide moves the pages elsewhere, at the same distance from a huge page's start, and leaves empty
// ones in their place.
func (b *buffer) hide() error {
	place, err := unix.Mmap(-1, 0, len(b.mapped)+hugePage, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	apart := (dl.Address(b.mapped) - dl.Address(place)) % hugePage
	elsewhere := place[apart : apart+uintptr(len(b.mapped))]
	home := b.inner()
	b.home, b.place, b.mapped = b.mapped, place, elsewhere
	if err := move(home, b.inner(), unix.MREMAP_DONTUNMAP); err != nil {
		b.mapped, b.home, b.place = b.home, nil, nil
		_ = unix.Munmap(place)
		return err
	}
	return nil
}

func (b *buffer) reveal() error {
	from, place := b.inner(), b.place
	b.mapped, b.home, b.place = b.home, nil, nil
	// The rest of the range stays mapped until all of it is released: in a hole another thread
	// could map memory meanwhile.
	if err := move(from, b.inner(), unix.MREMAP_DONTUNMAP); err != nil {
		return err
	}
	return unix.Munmap(place)
}

// move moves the pages of one range to another of the same length, whose own pages are dropped.
func move(from, to []byte, flags uintptr) error {
	length := uintptr(len(from))
	if _, _, errno := unix.Syscall6(unix.SYS_MREMAP, dl.Address(from), length, length, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED|flags, dl.Address(to), 0); errno != 0 {
		return errno
	}
	return nil
}

// sealed reads outputs while nobody can write to them, and after checking the signal handlers: one
// of these could compute them now.
func (h *host) sealed(read func() snapshot) (snapshot, error) {
	for _, b := range h.buffers {
		if !written(b.arg) {
			continue
		}
		if err := b.glance(); err != nil {
			return nil, err
		}
		if unix.Mprotect(b.inner(), unix.PROT_READ) != nil {
			return nil, unreachable(b.arg)
		}
		defer func() { _ = unix.Mprotect(b.inner(), unix.PROT_READ|unix.PROT_WRITE) }()
	}
	if err := h.handlers.check(); err != nil {
		return nil, err
	}
	return read(), nil
}

// signalMask blocks signals on the thread that launches.
type signalMask struct{ every, before []byte }

func newSignalMask() *signalMask {
	return &signalMask{every: bytes.Repeat([]byte{0xff}, maskBytes), before: make([]byte, maskBytes)}
}

// hold blocks all signals.
func (m *signalMask) hold() { setMask(m.every, m.before) }

// release delivers the signals that were blocked.
func (m *signalMask) release() { setMask(m.before, nil) }

func setMask(mask, before []byte) {
	const set = 2 // SIG_SETMASK
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, set, dl.Address(mask), dl.Address(before), maskBytes, 0, 0)
}

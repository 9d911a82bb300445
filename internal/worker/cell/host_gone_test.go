package cell

import (
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// punch takes memory away without Go's knowing.
func punch(t *testing.T, memory []byte) {
	t.Helper()
	if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, dl.Address(memory), uintptr(len(memory)), 0); errno != 0 {
		t.Fatal(errno)
	}
}

// Every page of a small buffer is looked at, not one of them.
func TestGlanceSeesAllOfASmallBuffer(t *testing.T) {
	b := outBuffer(t)
	defer b.free()
	inner := b.inner()
	for at := 0; at < len(inner); at += page {
		gone := inner[at : at+page]
		if err := unix.Mprotect(gone, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
		if b.glance() == nil {
			t.Errorf("page %d of %d is protected, and was not noticed", at/page, len(inner)/page)
		}
		if err := unix.Mprotect(gone, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.glance(); err != nil {
		t.Errorf("untouched: %v", err)
	}
}

// Memory that cannot be hidden stays where it was, and the caller hears of it.
func TestMemoryThatCannotBeHidden(t *testing.T) {
	b := outBuffer(t)
	defer b.free()
	was := b.mapped
	punch(t, b.inner())
	if err := b.hide(); err == nil {
		t.Error("memory that is not there was hidden")
	}
	if dl.Address(b.mapped) != dl.Address(was) || b.home != nil || b.place != nil {
		t.Error("the buffer has moved")
	}
}

// Hidden data that cannot be moved back ends the request before a launch looks for it, and the kernel is
// not blamed.
func TestDataThatCannotBeMovedBack(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{Spare: true})
	if _, err := w.sample(wire.Sample{Count: 1, Repeat: 1, Step: 1, Dry: true, FreshBatch: 3}); err != nil {
		t.Fatal(err)
	}
	x := w.host.spare.buffers[0]
	if x.home == nil {
		t.Skip("Linux before 5.7")
	}
	punch(t, x.inner())
	before := w.launches()
	_, err := w.sample(wire.Sample{Count: 2, Repeat: 1, Step: 1, Fresh: 1, FreshBatch: 3})
	caused(t, "data that is gone", err, result.CauseInternal, "argument x cannot be moved back")
	if launches := w.launches() - before; launches != 0 {
		t.Errorf("%d launches without their data", launches)
	}
}

// An argument that the address space has no room for is refused.
func TestArgumentsThatCannotBeMapped(t *testing.T) {
	const most = 1 << 46 // bytes of an argument
	for {
		taken, err := unix.Mmap(-1, 0, most, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		if err != nil {
			break
		}
		defer func() { _ = unix.Munmap(taken) }()
	}
	_, err := newBuffer(0, 0, wire.Arg{Name: "x", DType: "u8", Buffer: true, Count: most, Role: "in"}, 7)
	caused(t, "the largest argument", err, result.CauseMemory, "for argument x")
}

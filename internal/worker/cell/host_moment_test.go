package cell

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/native/dl"
	"pawl/internal/worker/wire"
)

// While the caches are flushed, the arguments still hold the data of the previous sample.
func TestStepsComeLast(t *testing.T) {
	for _, cache := range []string{"cold", "hot"} {
		w := newWitness(t)
		w.prepare(wire.Prepare{})
		x, z := w.host.buffers[0], w.host.buffers[2]
		var early, stepped int
		flush := w.host.flush
		w.host.flush = func(start uintptr, size int) {
			for _, b := range []*buffer{x, z} {
				if start == b.address() && size == b.size && b.steps != stepped {
					early++
				}
				if b == z && start == b.address() && size == b.size {
					stepped++
				}
			}
			flush(start, size)
		}
		if _, err := w.sample(wire.Sample{Count: 5, Repeat: 1, Step: 1, Cache: cache}); err != nil {
			t.Fatal(err)
		}
		if early > 0 || x.steps != 5 || z.steps != 5 || cache == "cold" && stepped != 5 {
			t.Errorf("%s: %d steps before the flush; after %d flushes x is at step %d, z at %d", cache, early, stepped, x.steps, z.steps)
		}
		if !bytes.Equal(x.data(), stepped5(t, x)) {
			t.Errorf("%s: x is not what five steps make of it", cache)
		}
		if z.restore(); len(z.stepInPlace(6)) == 0 || !bytes.Equal(z.data(), z.pristine) {
			t.Errorf("%s: a launch would not find the step in what it changes", cache)
		}
	}
}

// stepped5 returns what a buffer holds after five steps, made from the beginning.
func stepped5(t *testing.T, b *buffer) []byte {
	t.Helper()
	again, err := newBuffer(0, b.number, b.arg, b.key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.free)
	again.advance(5)
	return bytes.Clone(again.data())
}

// Data that is prepared in a hidden copy is not visible before it is revealed.
func TestHiddenCopy(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{Spare: true})
	spare := w.host.spare
	var homes [][]byte
	for _, b := range spare.buffers {
		homes = append(homes, b.data())
	}
	spare.hide()
	if spare.buffers[0].home == nil {
		t.Skip("Linux before 5.7")
	}
	w.host.renew(spare, 7)
	ready := bytes.Clone(spare.buffers[0].data())
	if !bytes.Equal(homes[0], make([]byte, len(homes[0]))) {
		t.Error("there is something to be seen")
	}
	if err := spare.reveal(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(homes[0], ready) || dl.Address(homes[0]) != spare.buffers[0].address() {
		t.Error("it is not what was made ready")
	}
	for _, b := range spare.buffers {
		if what := b.trespass(); what != "" {
			t.Errorf("%s: %s", b.arg.Name, what)
		}
	}
	if err := w.host.reachable(); err != nil {
		t.Error(err)
	}
}

// Data that was generated ahead stays hidden until its turn, also while the cell waits.
func TestStagedDataStaysHidden(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{Spare: true})
	home := w.host.spare.buffers[0].data()
	stage := wire.Sample{Count: 1, Repeat: 1, Step: 1, Dry: true, FreshBatch: 3}
	for range 2 {
		if _, err := w.sample(stage); err != nil {
			t.Fatal(err)
		}
		if b := w.host.spare.buffers[0]; b.home == nil || !bytes.Equal(home, make([]byte, len(home))) {
			t.Fatal("it can be seen before its turn")
		}
	}
	if _, err := w.sample(wire.Sample{Count: 3, Repeat: 1, Step: 2, Fresh: 2, FreshBatch: 3}); err != nil {
		t.Fatal(err)
	}
	for _, b := range w.host.all() {
		if b.home != nil {
			t.Errorf("%s is still hidden", b.arg.Name)
		}
	}
	stage.FreshBatch++
	if _, err := w.sample(stage); err != nil {
		t.Fatal(err)
	}
	left := w.host.spare.buffers[0].home
	w.prepare(wire.Prepare{Spare: true})
	if err := unix.Madvise(left, unix.MADV_NORMAL); err == nil && !slices.ContainsFunc(w.host.all(), func(b *buffer) bool { return dl.Address(b.mapped) == dl.Address(left) }) {
		t.Error("another problem leaves the place of the hidden one behind")
	}
}

// A request that does not reach the new data leaves nothing hidden.
func TestHiddenCopyThatIsNotReached(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{Spare: true})
	if _, err := w.sample(wire.Sample{Count: 8, Repeat: 1, Step: 1, Fresh: 8, FreshBatch: 3, MaxS: 1e-9}); err != nil {
		t.Fatal(err)
	}
	for _, b := range w.host.all() {
		if b.home != nil {
			t.Errorf("%s is still hidden", b.arg.Name)
		}
	}
}

// While outputs are read nobody can write to them, and no signal is handled.
func TestSealed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w := newWitness(t)
	w.prepare(wire.Prepare{})
	out := w.host.buffers[1]
	if !out.probed {
		t.Skip("Linux before 5.14")
	}
	_, err := w.host.sealed(func() snapshot {
		if populate(out.inner()) == nil {
			t.Error("it can be written to")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := populate(out.inner()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	w.host.signals.hold()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGURG) // Go's own, which does nothing
	waiting := make([]byte, maskBytes)
	_, _, _ = unix.RawSyscall(unix.SYS_RT_SIGPENDING, dl.Address(waiting), maskBytes, 0)
	w.host.signals.release()
	if waiting[(unix.SIGURG-1)/8]&(1<<((unix.SIGURG-1)%8)) == 0 {
		t.Error("a signal is not held back")
	}
	// A sample whose outputs are kept holds them back before its clock stops, others do not.
	mask := w.host.signals.before
	if every := w.host.signals.every; len(mask) != maskBytes || len(every) != maskBytes {
		t.Errorf("%d and %d bytes of signals", len(mask), len(every))
	}
	for keep, held := range []bool{false, true} {
		copy(mask, "unheld..")
		w.mustSample(wire.Sample{Count: 1, Repeat: 1, Keep: keep, Outputs: t.TempDir()})
		if (string(mask) != "unheld..") != held {
			t.Errorf("kept %d: signals were held back: %v", keep, !held)
		}
	}
}

// Hiding pages does not take away memory of others, though other threads map memory all the time.
func TestHidingTakesNothingFromOthers(t *testing.T) {
	b, err := newBuffer(0, 0, wire.Arg{Name: "x", DType: "f32", Buffer: true, Count: 1 << 20, Role: "in"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.hide(); err != nil {
		t.Skip(err)
	}
	if err := b.reveal(); err != nil {
		t.Fatal(err)
	}
	done, lost := make(chan bool), make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				lost <- nil
				return
			default:
			}
			room, err := unix.Mmap(-1, 0, 256<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			if err != nil {
				lost <- err
				return
			}
			time.Sleep(50 * time.Microsecond)
			// Not read: that would end the test.
			if err := unix.Mprotect(room, unix.PROT_READ); err != nil {
				lost <- fmt.Errorf("%d bytes are gone: %w", len(room), err)
				return
			}
			_ = unix.Munmap(room)
		}
	}()
	for began := time.Now(); time.Since(began) < time.Second; {
		if err := errors.Join(b.hide(), b.reveal()); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	if err := <-lost; err != nil {
		t.Error(err)
	}
}

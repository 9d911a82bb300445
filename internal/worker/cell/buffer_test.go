package cell

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"pawl/internal/native/dl"
	"pawl/internal/worker/wire"
)

// accessible reports whether a byte can be read: the system checks.
func accessible(t *testing.T, b []byte) bool {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	_, err = unix.Write(int(write.Fd()), b[:1])
	if err != nil && !errors.Is(err, unix.EFAULT) {
		t.Fatal(err)
	}
	return err == nil
}

// Data starts on a cache line, at another offset in its page than its neighbour's, with red zones
// around it and then inaccessible memory.
func TestBufferLayout(t *testing.T) {
	places := map[int]bool{}
	for index, count := range []int64{1, 10, 1000, 1024, 5000, 600_000, 1008} { // the last ends near the end of a page
		b, err := newBuffer(index, 0, wire.Arg{Name: "x", DType: "f32", Buffer: true, Count: count, Role: "in"}, 7)
		if err != nil {
			t.Fatal(err)
		}
		defer b.free()
		offset := int(b.address() % page)
		if b.address()%64 != 0 || places[offset] {
			t.Errorf("buffer %d of %d elements starts at %d of its page", index, count, offset)
		}
		places[offset] = true
		if len(b.data()) != 4*int(count) || len(b.before()) != redZone || len(b.after()) != redZone {
			t.Errorf("%d bytes between %d and %d", len(b.data()), len(b.before()), len(b.after()))
		}
		if !accessible(t, b.before()) || !accessible(t, b.after()[redZone-1:]) {
			t.Error("a red zone cannot be looked at")
		}
		if accessible(t, b.mapped) || accessible(t, b.mapped[roundUp(b.start+b.size+redZone, page):]) || accessible(t, b.mapped[len(b.mapped)-1:]) {
			t.Errorf("buffer %d of %d elements has no guard pages", index, count)
		}
		if inner := b.inner(); len(inner)%page != 0 || dl.Address(inner) > dl.Address(b.before()) || dl.Address(inner)+uintptr(len(inner)) < dl.Address(b.after())+redZone {
			t.Errorf("buffer %d of %d elements: what is between the guard pages is less than its red zones", index, count)
		}
	}
}

func TestRoundUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, to := rapid.IntRange(0, 1<<40).Draw(t, "n"), rapid.SampledFrom([]int{1, 64, page, hugePage}).Draw(t, "to")
		if rapid.Bool().Draw(t, "whole") {
			n = n / to * to
		}
		if got := roundUp(n, to); got%to != 0 || got < n || got >= n+to {
			t.Fatalf("%d became %d", n, got)
		}
	})
}

// A file that cannot be mapped is an error, not an empty output.
func TestFilesThatCannotBeMapped(t *testing.T) {
	var m mapped
	defer m.free()
	if data, err := m.read(output(t, []byte("abc"))); err != nil || string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
	if data, err := m.read(output(t, nil)); err != nil || len(data) != 0 {
		t.Errorf("an empty one: %q, %v", data, err)
	}
	for _, path := range []string{t.TempDir(), fmt.Sprint(t.TempDir(), "/none")} {
		if data, err := m.read(path); err == nil {
			t.Errorf("%s: %q", path, data)
		}
	}
}

package cell

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// The machine code is a feedback register of 64 bits, 4096 steps a round.
func TestBranches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds, seed := rapid.IntRange(1, 4).Draw(t, "rounds"), rapid.Uint64Min(1).Draw(t, "seed")
		want := seed
		for range 4096 * rounds {
			carry := want >> 63
			want = want<<1 ^ carry*0x1b
		}
		if got := branches(rounds, seed); got != want {
			t.Fatalf("%#x, want %#x", got, want)
		}
	})
}

// A thread that has been to every core comes back to those it may use.
func TestForget(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	affinity := func() (set unix.CPUSet) {
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	home := affinity()
	for _, threads := range []int{1, 2} {
		if could := forget(1<<20, threads); could != (threads == 1 || home.Count() <= forgetCores) {
			t.Errorf("%d threads: %v", threads, could)
		}
		if now := affinity(); now != home {
			t.Errorf("%d threads: may use %v, before %v", threads, now, home)
		}
	}
	if forget(1<<62, 1) {
		t.Error("there was memory for everything")
	}
}

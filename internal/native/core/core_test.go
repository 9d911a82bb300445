package core

import (
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reading returns how long a load of each of some lines takes, in the order of their median.
func reading(memory []byte, before func()) time.Duration {
	var each []time.Duration
	for range 200 {
		before()
		start := Now()
		sum := byte(0)
		for i := 0; i < len(memory); i += 4096 + 64 { // no stride that is fetched ahead
			sum += memory[i+int(sum&1)]
		}
		each = append(each, Since(start))
		memory[0] = sum
	}
	slices.Sort(each)
	return each[len(each)/2]
}

// What was flushed is not in a cache.
func TestFlush(t *testing.T) {
	if How() == "" {
		t.Skip("this processor is not known to evict lines")
	}
	memory, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	for i := range memory {
		memory[i] = byte(2 * i)
	}
	start := uintptr(unsafe.Pointer(&memory[0]))
	hot := reading(memory, func() {})
	cold := reading(memory, func() { Flush(start, len(memory)) })
	if cold < 2*hot {
		t.Errorf("reading takes %v, and %v after a flush", hot, cold)
	}
	Flush(start, 0)
	Flush(start, -1)
	Flush(start+4095, 2) // lines of two pages
}

// Walking over lines takes as long as it takes to fetch each.
func TestWalk(t *testing.T) {
	if How() == "" {
		t.Skip("this processor is not known to evict lines")
	}
	memory := make([]byte, 1<<20)
	for i := range memory {
		memory[i] = 1 // else all of it may be one page of zeros
	}
	var lines []uintptr
	for i := range 64 {
		lines = append(lines, uintptr(unsafe.Pointer(&memory[(i*37%64)*(len(memory)/64)+64*i])))
	}
	var hot, cold []time.Duration
	for try := 0; try == 0 || try < 100 && (hot[25] > cold[25]/3 || cold[25] < 64*20*time.Nanosecond); try++ { // others may disturb it
		hot, cold = nil, nil
		for range 50 {
			Walk(lines)
			hot = append(hot, Walk(lines))
			for _, line := range lines {
				Flush(line, 1)
			}
			cold = append(cold, Walk(lines))
		}
		slices.Sort(hot)
		slices.Sort(cold)
	}
	if hot[25] > cold[25]/3 || cold[25] < 64*20*time.Nanosecond {
		t.Errorf("%v, and %v after a flush", hot[25], cold[25])
	}
	if took := Walk(nil); took != 0 {
		t.Error(took)
	}
	runtime.KeepAlive(memory)
}

// A round takes a known number of cycles, of a core that has some frequency.
func TestSpin(t *testing.T) {
	if SpinCycles == 0 {
		t.Skip("no chain of known latency for this processor")
	}
	best := time.Hour
	for range 100 {
		start := Now()
		Spin(1000)
		best = min(best, Since(start))
	}
	if ghz := SpinCycles * 1000 / float64(best.Nanoseconds()); ghz < 0.3 || ghz > 10 {
		t.Errorf("%g GHz", ghz)
	}
	Spin(0)
	Spin(-1)
}

func TestNow(t *testing.T) {
	began, start := time.Now(), Now()
	time.Sleep(20 * time.Millisecond)
	mine, theirs := Since(start), time.Since(began)
	if mine < 20*time.Millisecond || mine > theirs {
		t.Errorf("%v by this clock, %v by Go's", mine, theirs)
	}
}

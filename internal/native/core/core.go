// Package core does what a CPU core can do and Go has no function for. It flushes a range of memory
// from the caches, and runs instructions of known latency, which reveal the core's frequency. Its
// clock asks the kernel instead of reading the page that the kernel shares with every process,
// because code in this process could change that page.
//
// All of it is pawl's own machine code. Candidate code in the same process could change its own
// object unnoticed; it can change pawl's code only where the worker checks.
package core

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Flush evicts the lines of a range from all caches, where How says that it can. How
// large a line is stands in its instructions: in a variable, candidate code could make
// it step over most of them.
func Flush(start uintptr, bytes int) {
	if bytes > 0 {
		flush(start, start+uintptr(bytes), optimised)
	}
}

// How says how Flush evicts: the name of an instruction; "" where it cannot.
func How() string { return how() }

// Spin runs rounds of a chain of dependent instructions, SpinCycles of the core each.
func Spin(rounds int) { spin(rounds) }

// Walk returns how long it takes to load from addresses, each once the one before has come.
func Walk(addresses []uintptr) time.Duration {
	if len(addresses) == 0 {
		return 0
	}
	first := uintptr(unsafe.Pointer(&addresses[0]))
	end := first + uintptr(len(addresses))*unsafe.Sizeof(first)
	walk(first, first) // its own code and the list are there
	start := Now()
	walk(first, end)
	took := Since(start)
	runtime.KeepAlive(addresses)
	return took
}

// Now returns the monotonic clock.
func Now() time.Duration {
	var ts unix.Timespec
	// It cannot fail, and without blocking the scheduler need not know of it.
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

// Since returns the time that has passed on that clock.
func Since(start time.Duration) time.Duration { return Now() - start }

package cell

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

const (
	forgetBranches = 64       // rounds over all branch locations
	forgetPrivate  = 16 << 20 // larger than a core's private caches
	forgetCores    = 64       // more would take too long to visit
)

// forget makes the CPU forget what it has seen of memory and of branches: caches, address
// translations, predictions. It does not affect what the process itself remembers. It reports
// whether it succeeded. A kernel of several threads leaves traces on other cores.
func forget(bytes int64, threads int) bool {
	swept, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return false
	}
	_ = unix.Madvise(swept, unix.MADV_HUGEPAGE) // advice: it only takes longer without
	for i := 0; i < len(swept); i += page {
		swept[i] = 1 // unwritten pages all map to the same zero page
	}
	visited := threads <= 1 || onEachCore(func() {
		readLines(swept[:min(len(swept), forgetPrivate)])
		branches(forgetBranches, rand.Uint64()|1)
	})
	readLines(swept)
	branches(forgetBranches, rand.Uint64()|1)
	return unix.Munmap(swept) == nil && visited // unmapping also flushes the TLB: the range is too large to do it page by page
}

// onEachCore calls do on every core that this thread may use.
func onEachCore(do func()) bool {
	var home unix.CPUSet
	if unix.SchedGetaffinity(0, &home) != nil || home.Count() > forgetCores {
		return false
	}
	for core := range 64 * len(home) {
		if !home.IsSet(core) {
			continue
		}
		var one unix.CPUSet
		one.Set(core)
		if unix.SchedSetaffinity(0, &one) != nil {
			return false
		}
		do()
	}
	return unix.SchedSetaffinity(0, &home) == nil
}

// readLines reads a byte of every cache line. It returns their sum to a caller that the compiler
// does not know, which keeps the reads from being optimised away.
//
//go:noinline
func readLines(data []byte) byte {
	sum := byte(0)
	for i := 0; i < len(data); i += 64 {
		sum += data[i]
	}
	return sum
}

package core

// SpinCycles are those of 64 multiplies, three each on every core since 2008. Newer
// cores fold chains of additions when they rename registers.
const SpinCycles = 192

// optimised is whether lines can be evicted in any order; asked once, since the question
// leaves a virtual machine.
var optimised = func() bool {
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b>>23&1 == 1
}()

func how() string {
	if optimised {
		return "clflushopt"
	}
	return "clflush"
}

//go:noescape
func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)

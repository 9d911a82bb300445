package core

// SpinCycles are those of 64 multiplies, three each on every core since 2008. Newer
// cores fold chains of additions when they rename registers.
const SpinCycles = 192

func findWay() eviction {
	w := eviction{how: "clflush", line: 64}
	if _, b, _, _ := cpuid(1, 0); b>>8&255 > 0 {
		w.line = uintptr(b>>8&255) * 8
	}
	if most, _, _, _ := cpuid(0, 0); most >= 7 {
		if _, b, _, _ := cpuid(7, 0); b>>23&1 == 1 {
			w.how, w.optimised = "clflushopt", true
		}
	}
	return w
}

//go:noescape
func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)

package core

// SpinCycles are those of 64 additions. It is the multiplier's latency that differs
// between cores.
const SpinCycles = 64

func findWay() eviction {
	return eviction{how: "dc civac", line: 4 << (cacheType() >> 16 & 15)}
}

// cacheType is the register CTR_EL0.
//
//go:noescape
func cacheType() uint64

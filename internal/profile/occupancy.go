package profile

import (
	"fmt"
	"math"
)

// smLimits are what an SM of an architecture has, from NVIDIA's cuda_occupancy.h (CUDA 13.4) and the
// driver's attributes.
type smLimits struct {
	warps, blocks int
	shared        int // bytes
	reserved      int // bytes of shared memory that the driver takes from each block
	grain         int // bytes in which shared memory is given out
}

const (
	registersPerSM  = 65536
	registerGrain   = 256 // registers that a warp is given at a time
	smPartitions    = 4
	warpSize        = 32
	threadsPerBlock = 1024
)

var limitsByCC = map[int]smLimits{
	70: {64, 32, 96 << 10, 0, 256}, 72: {64, 32, 96 << 10, 0, 256}, 75: {32, 16, 64 << 10, 0, 256},
	80: {64, 32, 164 << 10, 1024, 128}, 86: {48, 16, 100 << 10, 1024, 128}, 87: {48, 16, 164 << 10, 1024, 128}, 89: {48, 24, 100 << 10, 1024, 128},
	90: {64, 32, 228 << 10, 1024, 128}, 100: {64, 32, 228 << 10, 1024, 128}, 103: {64, 32, 228 << 10, 1024, 128}, 110: {48, 24, 228 << 10, 1024, 128},
	120: {48, 24, 100 << 10, 1024, 128}, 121: {48, 24, 100 << 10, 1024, 128},
}

// Residency is how many blocks of a launch fit onto an SM, and why not more.
type Residency struct {
	Blocks  int            // that fit
	Warps   int            // that they have
	Percent float64        // occupancy: of the warps that an SM can hold
	Limits  map[string]int // blocks that each resource allows: registers, shared, warps, blocks
	Limiter []string       // the least of them; several where they are equal
}

// ComputeOccupancy returns how many blocks of a launch fit onto an SM: registers of a thread, bytes of
// shared memory of a block (static and dynamic), threads of a block. It assumes that the driver gives
// shared memory as much of the cache as it may.
func ComputeOccupancy(cc, registers, shared, threads int) (Residency, error) {
	sm, known := limitsByCC[cc]
	switch {
	case !known:
		return Residency{}, fmt.Errorf("compute occupancy: compute capability %d.%d is not known", cc/10, cc%10)
	case threads < 1 || threads > threadsPerBlock:
		return Residency{}, fmt.Errorf("compute occupancy: a block of %d threads, expected 1 to %d", threads, threadsPerBlock)
	case registers < 0 || registers > 255 || shared < 0:
		return Residency{}, fmt.Errorf("compute occupancy: %d registers and %d bytes of shared memory are not possible", registers, shared)
	}
	warps := (threads + warpSize - 1) / warpSize
	r := Residency{Limits: map[string]int{"warps": sm.warps / warps, "blocks": sm.blocks, "registers": sm.blocks, "shared": sm.blocks}}
	if registers > 0 {
		perWarp := roundUp(registers*warpSize, registerGrain)
		// Each quarter of the SM has its own registers, and a block spreads over all four.
		r.Limits["registers"] = registersPerSM / smPartitions / perWarp * smPartitions / warps
		if roundUp(warps, smPartitions)*perWarp > registersPerSM {
			r.Limits["registers"] = 0
		}
	}
	if total := roundUp(shared+sm.reserved, sm.grain); total > 0 {
		r.Limits["shared"] = sm.shared / total
	}
	r.Blocks = math.MaxInt
	for _, name := range []string{"registers", "shared", "warps", "blocks"} {
		switch n := r.Limits[name]; {
		case n < r.Blocks:
			r.Blocks, r.Limiter = n, []string{name}
		case n == r.Blocks:
			r.Limiter = append(r.Limiter, name)
		}
	}
	r.Warps = r.Blocks * warps
	r.Percent = 100 * float64(r.Warps) / float64(sm.warps)
	return r, nil
}

func roundUp(n, grain int) int { return (n + grain - 1) / grain * grain }

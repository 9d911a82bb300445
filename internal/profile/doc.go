// Package profile reads what Nsight Compute and the disassemblers of CUDA say about a kernel, and
// makes typed facts of it: how busy each part of the GPU was, what warps waited for, how memory was
// accessed, what limits occupancy. It is made of pure functions over files: nothing is run here.
//
//	file, err := profile.Read("k.csv", raw)       // ncu --csv, page raw or details
//	p := profile.Of(file.Launches[0])             // what it says, under names that every architecture shares
//	busy, ok := p.Get(profile.DRAMPercent)        // ok is false where ncu has not measured it
//
// A missing reading is absent, never zero: ncu leaves counters out that a chip does not have, that a
// pass failed for, or that nobody asked for.
//
// Values are in base units: seconds, bytes, hertz; percentages stay percentages. The names of ncu's
// metrics differ between architectures and versions; metric.go has them as data.
//
// Where ncu is not there, or not permitted, cubin.go has the resources of a compiled kernel, occupancy.go
// computes occupancy from them, and sass.go counts instructions in the text of cuobjdump and nvdisasm.
//
// Compare says which counters moved between two profiles, and whether that is beyond the noise of
// repeats.
package profile

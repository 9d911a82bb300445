package roof

import (
	"fmt"

	"pawl/internal/dtype"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// Margin is how far above its roof a kernel may seem: clocks and temperatures
// differ between the day of the calibration and today. What is beyond does not do
// the work that it claims.
const Margin = 1.05

// HostMargin is Margin for a core of a processor, beyond which a claim is not believed.
// A core shares its caches, its memory and its clock with others: the same code has
// taken 21% longer a second before, and a peak may have been measured in such a second.
const HostMargin = 1.5

// Work is what a kernel did, in the terms of peaks.
type Work struct {
	GBps, GFLOPS float64 // 0: not known
	Seconds      float64
	GHz          float64 // clock it ran at; 0: not known
	Footprint    int64   // bytes of its arguments
	Caches       []Cache // of the device, the smallest first
	Float        dtype.Type
	Cold         bool  // no cache had any of its arguments when it began
	Reads        int64 // bytes of the arguments that it reads
}

// Cache is one that has a peak of its own.
type Cache struct {
	Name  Name
	Bytes int64
}

// Bound is the roof that a kernel is closest to.
type Bound struct {
	Roof     Name
	Fraction float64 // of the roof
	Rate     float64 // of the kernel
	Peak     float64
	Width    float64 // relative half-width that the peak is known to
	Unit     string
}

// Over reports whether the kernel is faster than the device can be, even if its peak is
// as high as the noise that it was measured in allows.
func (b Bound) Over() bool { return b.Fraction*(1-b.Width) > Margin }

// Beyond is Over for a core of a processor.
func (b Bound) Beyond() bool { return b.Fraction*(1-b.Width) > HostMargin }

// String has both numbers: "5.02 TB/s, the measured peak of dram is 4.10 TB/s".
func (b Bound) String() string {
	return fmt.Sprintf("%s, the measured peak of %s is %s", Rate(b.Unit, b.Rate), b.Roof, Rate(b.Unit, b.Peak))
}

// Rate formats a rate in its unit.
func Rate(in string, value float64) string {
	if in == GFLOPS {
		return unit.GFLOPS(value)
	}
	return unit.Bandwidth(value)
}

// Bind finds the roof that limits a kernel: of memory or of computing, the one it
// is closer to. It is false when neither is known.
func (p *Peaks) Bind(w Work) (Bound, bool) {
	memory, hasMemory := p.memory(w)
	compute, hasCompute := p.compute(w)
	if hasCompute && (!hasMemory || compute.Fraction > memory.Fraction) {
		return compute, true
	}
	return memory, hasMemory
}

// Show finds the roof to show beside a kernel: the one that Bind finds, unless the kernel began with
// cold caches. What it reads then comes from the memory, though a cache could hold it. Where not all of
// its traffic is reads of arguments, each once, a part of it may have stayed in that cache: other is
// the cache's roof, and nil where it is clear.
func (p *Peaks) Show(w Work) (shown Bound, other *Bound, known bool) {
	shown, known = p.Bind(w)
	cached, inCache := p.memory(w)
	memory, measured := p.bound(DRAM, w, w.GBps)
	compute, computes := p.compute(w)
	switch {
	case !known || !w.Cold || !inCache || cached.Roof == DRAM || !measured || memory.Over():
		return shown, nil, known
	case computes && compute.Fraction > memory.Fraction:
		return compute, nil, true
	case w.GBps*1e9*w.Seconds <= readsAlone*float64(w.Reads):
		return memory, nil, true
	}
	return memory, &cached, true
}

// readsAlone is how much traffic, as a multiple of the bytes to read, counts as reading each byte
// once: results of a reduction are little beside its inputs.
const readsAlone = 1.05

// memory returns the roof of the smallest cache that can hold half of the arguments,
// else that of the memory. Part of what a kernel moves may lie in the last cache
// before or after it: one that is too fast for the memory because of that is held
// against the cache.
func (p *Peaks) memory(w Work) (Bound, bool) {
	level, last := DRAM, Cache{}
	for _, c := range w.Caches {
		if c.Bytes > 0 && w.Footprint <= 2*c.Bytes {
			level = c.Name
			break
		}
		last = c
	}
	bound, known := p.bound(level, w, w.GBps)
	if level != DRAM || !bound.Over() || !(w.Seconds > 0) {
		return bound, known
	}
	uncached := bound
	uncached.Fraction -= 2 * float64(last.Bytes) / 1e9 / w.Seconds / bound.Peak
	if !uncached.Over() {
		return p.bound(last.Name, w, w.GBps)
	}
	return bound, known
}

// compute returns the roof of the element type. A type that a device can compute with
// in two ways is compared with the slower, which is the usual one, until a kernel
// is too fast for it.
func (p *Peaks) compute(w Work) (Bound, bool) {
	best, known := Bound{}, false
	for _, name := range p.ways(w.Float) {
		bound, ok := p.bound(name, w, w.GFLOPS)
		if !ok {
			return Bound{}, false // without all of its roofs a kernel cannot be too fast
		}
		best, known = bound, true
		if !bound.Over() {
			break
		}
	}
	return best, known
}

// ways returns the peaks of computing with a type, the slower first.
func (p *Peaks) ways(t dtype.Type) []Name {
	if p.Cell == spec.CellHost {
		return map[dtype.Type][]Name{dtype.F64: {F64}, dtype.F32: {F32}}[t]
	}
	if t == dtype.F64 && p.Find(F64Tensor) == nil {
		return []Name{F64}
	}
	return map[dtype.Type][]Name{
		dtype.F64: {F64, F64Tensor}, dtype.F32: {F32, TF32}, dtype.F16: {F16}, dtype.BF16: {BF16}, dtype.E4M3: {E4M3}, dtype.E5M2: {E4M3},
	}[t]
}

// Ceilings returns the peaks of the memory that the work comes from and of the units that compute it, in
// bytes and operations a second, with their names. 0: not measured.
func (p *Peaks) Ceilings(w Work) (memory, compute float64, names [2]Name) {
	of, known := p.memory(w)
	if dram, measured := p.bound(DRAM, w, w.GBps); w.Cold && measured && !dram.Over() {
		of, known = dram, true
	}
	if known {
		memory, names[0] = of.Peak*1e9, of.Roof
	}
	if of, known := p.compute(w); known {
		compute, names[1] = of.Peak*1e9, of.Roof
	}
	return memory, compute, names
}

// bound compares a rate with a peak. Cores that run faster than they did when they
// were measured have a higher one.
func (p *Peaks) bound(name Name, w Work, rate float64) (Bound, bool) {
	peak := p.Find(name)
	if peak == nil || !(rate > 0) {
		return Bound{}, false
	}
	b := Bound{Roof: name, Rate: rate, Peak: peak.Rate, Width: peak.HalfWidth(), Unit: peak.Unit}
	if peak.Unit == GFLOPS && peak.GHz > 0 && w.GHz > peak.GHz {
		b.Peak *= w.GHz / peak.GHz
	}
	b.Fraction = rate / b.Peak
	return b, true
}

// share of the elements that an argument must have to count: scales and biases
// say nothing of what a kernel computes with.
const share = 0.1

// Float returns the type that an instance computes with: the widest floating-point
// type of its inputs, or of its outputs when no input has one. It is empty when
// there is none.
func Float(in *spec.Instance) dtype.Type {
	if t := widest(in, spec.RoleIn, spec.RoleInOut); t != "" {
		return t
	}
	return widest(in, spec.RoleOut)
}

func widest(in *spec.Instance, roles ...spec.Role) dtype.Type {
	counts := map[dtype.Type]float64{}
	all := 0.0
	for _, arg := range in.Args {
		for _, role := range roles {
			if arg.Buffer && arg.Role == role && arg.DType.Float() {
				counts[arg.DType] += float64(arg.Elements)
				all += float64(arg.Elements)
			}
		}
	}
	found := dtype.Type("")
	for _, t := range dtype.All {
		if counts[t] > share*all && t.Size() > found.Size() {
			found = t
		}
	}
	return found
}

// Caches returns those of a machine that kernels of a cell have peaks for.
func Caches(cell string, m result.Fingerprint) []Cache {
	if cell != spec.CellHost {
		if m.GPU == nil {
			return nil
		}
		return []Cache{{L2, m.GPU.L2Bytes}}
	}
	sizes, last := map[int]int64{}, 0
	for _, c := range m.CPU.Caches {
		if c.Type != "instruction" {
			sizes[c.Level], last = c.Bytes, max(last, c.Level)
		}
	}
	var out []Cache
	for _, c := range []Cache{{L1, sizes[1]}, {L2, sizes[2]}} {
		if c.Bytes > 0 {
			out = append(out, c)
		}
	}
	if last > 2 {
		out = append(out, Cache{LLC, sizes[last]})
	}
	return out
}

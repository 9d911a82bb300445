package calibrate

import (
	"fmt"
	"slices"
	"time"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/stat"
)

// target is a peak and the kernels that may reach it. The best one counts.
type target struct {
	name    roof.Name
	unit    string
	kernels []candidate
}

// candidate is a kernel of the spec, and the GPU architectures it is for. It excludes later
// architectures whose hardware has a faster method that pawl has no kernel for, since a peak that
// is too low would reject right kernels.
type candidate struct {
	kernel   string
	of       string
	from, to int // compute capability, times ten; 0: no bound
}

// Blackwell's data-center chips compute through tcgen05, which is far faster than mma.sync; those
// for desktops have mma.sync only.
const (
	ampere    = 80
	ada       = 89
	hopper    = 90
	blackwell = 100
	desktop   = 120
)

var cudaTargets = []target{
	{roof.DRAM, roof.GBps, []candidate{
		{kernel: "dram_copy", of: "copy"}, {kernel: "dram_read", of: "read"}, {kernel: "dram_write", of: "write"},
	}},
	{roof.L2, roof.GBps, []candidate{{kernel: "l2_read", of: "read"}, {kernel: "l2_copy", of: "copy"}}},
	{roof.F32, roof.GFLOPS, []candidate{{kernel: "f32_fma", of: "fma"}}},
	{roof.F64, roof.GFLOPS, []candidate{{kernel: "f64_fma", of: "fma"}}},
	{roof.F16, roof.GFLOPS, tensor("f16",
		candidate{kernel: "f16_narrow", of: "mma.sync into f16"},
		candidate{kernel: "f16_wgmma", of: "wgmma", from: hopper, to: hopper},
		candidate{kernel: "f16_random", of: "wgmma on random numbers", from: hopper, to: hopper})},
	{roof.BF16, roof.GFLOPS, tensor("bf16", candidate{kernel: "bf16_wgmma", of: "wgmma", from: hopper, to: hopper})},
	{roof.TF32, roof.GFLOPS, tensor("tf32", candidate{kernel: "tf32_wgmma", of: "wgmma", from: hopper, to: hopper})},
	{roof.E4M3, roof.GFLOPS, tensor("e4m3", candidate{kernel: "e4m3_wgmma", of: "wgmma", from: hopper, to: hopper})},
	{roof.F64Tensor, roof.GFLOPS, []candidate{
		{kernel: "f64_mma", of: "mma.sync m8n8k4", from: ampere}, {kernel: "f64_wide", of: "mma.sync m16n8k16", from: hopper},
	}},
}

// tensor returns the kernels for a type's tensor rate: mma.sync where that is the hardware's own
// method, and more.
func tensor(name string, more ...candidate) []candidate {
	first, last := ampere, blackwell-1
	if name == "e4m3" {
		// Hopper has it through wgmma only: there mma.sync is built from f16 products, which the
		// compiler hoists out of the loop.
		first, last = ada, hopper-1
	}
	all := []candidate{
		{kernel: name + "_mma", of: "mma.sync", from: first, to: last},
		{kernel: name + "_mma", of: "mma.sync", from: desktop},
	}
	for _, c := range more {
		if c.from == 0 {
			c.from, c.to = first, last
		}
		all = append(all, c)
	}
	return all
}

var hostTargets = []target{
	{roof.DRAM, roof.GBps, []candidate{
		{kernel: "dram_copy", of: "memcpy"}, {kernel: "dram_plain", of: "copy"}, {kernel: "dram_read", of: "read"},
	}},
	{roof.LLC, roof.GBps, []candidate{{kernel: "llc_read", of: "read"}, {kernel: "llc_copy", of: "copy"}}},
	{roof.L2, roof.GBps, []candidate{{kernel: "l2_read", of: "read"}}},
	{roof.F32, roof.GFLOPS, widths("f32")},
	{roof.F64, roof.GFLOPS, widths("f64")},
}

// widths returns vector widths, in bytes; a compiler splits what a core lacks into several.
func widths(name string) []candidate {
	return []candidate{
		{kernel: name + "_16", of: "128-bit fma"}, {kernel: name + "_32", of: "256-bit fma"}, {kernel: name + "_64", of: "512-bit fma"},
	}
}

// suits reports whether a candidate is for an architecture such as sm_90a.
func (c candidate) suits(arch string) bool {
	n, _ := lab.ArchNumber(arch) // 0 for an unknown one
	return n >= c.from && (c.to == 0 || n <= c.to)
}

// suited returns the candidates that an architecture can run, and the targets that have any.
func suited(all []target, arch string) []target {
	var out []target
	for _, t := range all {
		t.kernels = slices.DeleteFunc(slices.Clone(t.kernels), func(c candidate) bool { return !c.suits(arch) })
		if len(t.kernels) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// collect takes the best of each target's kernels.
func collect(here *place, targets []target, report *result.Report) (*roof.Peaks, error) {
	p := &roof.Peaks{
		Schema: roof.Schema, DeviceClass: here.class, Device: here.machine.CPU.Model, Cell: here.cell(),
		Compiler: report.Machine.Compilers[here.cell()], Tool: report.Tool, Measured: report.Finished.Truncate(time.Second),
	}
	if g := here.gpu; g != nil {
		p.Device, p.Arch, p.Driver, p.CUDA = g.Name, g.Arch, g.Driver, g.CUDA
	}
	var failed *result.Fault
	for _, t := range targets {
		peak := roof.Peak{Name: t.name, Unit: t.unit}
		whole := true
		for _, c := range t.kernels {
			for _, row := range report.Rows {
				if row.Kernel != c.kernel {
					continue
				}
				try := attempt(t, c, row)
				peak.Tried = append(peak.Tried, try)
				if try.Rate > peak.Rate {
					peak.Rate, peak.Of, peak.GHz = try.Rate, try.Of, try.GHz
				}
				if row.Fault != nil && failed == nil {
					failed = row.Fault
				}
				whole = whole && try.Fault == ""
			}
		}
		if whole && peak.Rate > 0 {
			p.Peaks = append(p.Peaks, peak)
		} else {
			p.Failed = append(p.Failed, peak)
		}
	}
	if len(p.Peaks) == 0 {
		if failed == nil {
			return nil, fmt.Errorf("no peak could be measured")
		}
		return nil, fmt.Errorf("no peak could be measured: %w", failed)
	}
	return p, nil
}

func attempt(t target, c candidate, row *result.Row) roof.Try {
	try := roof.Try{Kernel: row.Name(), Of: c.of}
	switch {
	case row.Fault != nil:
		try.Fault = row.Fault.Message
	case row.Timing == nil || row.Timing.Stats.Count == 0:
		try.Fault = "not measured"
	case row.Timing.Stats.Count < stat.MinInterval:
		try.Fault = fmt.Sprintf("%d samples within --budget are too few to determine a peak", row.Timing.Stats.Count)
	default:
		s := row.Timing.Stats
		try.Rate, try.MedianS, try.HalfWidth, try.GHz = s.GBps, s.Median, row.Timing.HalfWidth, s.GHz
		if t.unit == roof.GFLOPS {
			try.Rate = s.GFLOPS
		}
	}
	return try
}

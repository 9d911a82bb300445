package stand

import (
	"fmt"
	"slices"

	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// peaksOf are the peaks of the device that a cell's kernels run on; nil when none
// were measured. A file that cannot be used is said once and then ignored.
func (b *Stand) peaksOf(cell string) *roof.Peaks {
	if b.Peaks == "" {
		return nil
	}
	here := b.machine()
	class := machine.Class(here)
	if cell != spec.CellHost {
		if here.GPU == nil {
			return nil
		}
		class = machine.Slug(here.GPU.Name)
	}
	var found *roof.Peaks
	b.note(func(r *result.Report) {
		known, asked := b.shared.peaks[class]
		if found = known; asked {
			return
		}
		var err error
		if found, err = roof.Load(b.Peaks, class); err != nil {
			r.Warnings = append(r.Warnings, result.Warning{
				Code: "peaks", Message: "percent of roof is left out: " + err.Error(), Hint: "pawl calibrate --roofline writes the file anew",
			})
		}
		if b.shared.peaks == nil {
			b.shared.peaks = map[string]*roof.Peaks{}
		}
		b.shared.peaks[class] = found
	})
	return found
}

// machine is what the report says of it so far.
func (b *Stand) machine() (m result.Fingerprint) {
	b.note(func(r *result.Report) { m = r.Machine })
	return m
}

// HoldAgainstRoof says what part of the device's best a row reached, and rejects
// what is faster than the device can be.
func (b *Stand) HoldAgainstRoof(p *Job) {
	t := p.Row.Timing
	if p.Row.Fault != nil || p.Instance == nil || t == nil || t.Stats.Count == 0 {
		return
	}
	here := b.machine()
	cell := p.Row.Cell
	if cell == spec.CellPython && (here.GPU == nil || !p.GPU()) {
		cell = spec.CellHost // it ran on the processor
	}
	if cell == spec.CellHost && p.manyCores() {
		return // a processor's peaks are those of one
	}
	peaks := b.peaksOf(cell)
	if peaks == nil {
		return
	}
	bound, known := peaks.Bind(roof.Work{
		GBps: t.Stats.GBps, GFLOPS: t.Stats.GFLOPS, Seconds: t.Stats.Median, GHz: t.Stats.GHz, Footprint: t.Footprint,
		Caches: roof.Caches(cell, here), Float: roof.Float(p.Instance),
	})
	if !known {
		return
	}
	t.Stats.RoofPct, t.Stats.Roof = 100*bound.Fraction, string(bound.Roof)
	if !bound.Over() {
		return
	}
	hint := "is work in pawl.yaml what the kernel does? Peaks that are out of date: pawl calibrate --roofline"
	message := fmt.Sprintf("%s of the roof: the kernel would do %s", unit.PercentPlain(bound.Fraction), bound)
	if cell == spec.CellHost {
		// A core shares its caches and its memory, and had less of them when it was measured.
		p.Row.Warnings = append(p.Row.Warnings, result.Warning{Code: "roof", Message: message, Hint: hint})
		return
	}
	p.Fail("measure", &result.Fault{Cause: result.CauseOverRoof, Message: message, Hint: hint})
}

// manyCores tells whether the job's kernel, on the processor, may use several cores
// of it. PyTorch is told how many; the libraries of NumPy and JAX do as they like.
func (p *Job) manyCores() bool {
	if p.Row.Cell == spec.CellPython && framework(p.Variant.Kernel, p.Artifact) != "torch" {
		return true
	}
	return slices.ContainsFunc(p.Instance.Launches, func(l spec.InstanceLaunch) bool { return l.Threads > 1 })
}

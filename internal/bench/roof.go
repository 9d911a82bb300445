package bench

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
func (b *bench) peaksOf(cell string) *roof.Peaks {
	if b.Peaks == "" {
		return nil
	}
	class := machine.Class(b.report.Machine)
	if cell != spec.CellHost {
		if b.report.Machine.GPU == nil {
			return nil
		}
		class = machine.Slug(b.report.Machine.GPU.Name)
	}
	if p, asked := b.peaks[class]; asked {
		return p
	}
	p, err := roof.Load(b.Peaks, class)
	if err != nil {
		b.report.Warnings = append(b.report.Warnings, result.Warning{
			Code: "peaks", Message: "percent of roof is left out: " + err.Error(), Hint: "pawl calibrate --roofline writes the file anew",
		})
	}
	if b.peaks == nil {
		b.peaks = map[string]*roof.Peaks{}
	}
	b.peaks[class] = p
	return p
}

// holdAgainstRoof says what part of the device's best a row reached, and rejects
// what is faster than the device can be.
func (b *bench) holdAgainstRoof(p *plan) {
	t := p.row.Timing
	if p.row.Fault != nil || p.instance == nil || t == nil || t.Stats.Count == 0 {
		return
	}
	if p.manyCores() {
		return // a processor's peaks are those of one
	}
	peaks := b.peaksOf(p.row.Cell)
	if peaks == nil {
		return
	}
	bound, known := peaks.Bind(roof.Work{
		GBps: t.Stats.GBps, GFLOPS: t.Stats.GFLOPS, Seconds: t.Stats.Median, GHz: t.Stats.GHz, Footprint: t.Footprint,
		Caches: roof.Caches(p.row.Cell, b.report.Machine), Float: roof.Float(p.instance),
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
	if p.row.Cell == spec.CellHost {
		// A core shares its caches and its memory, and had less of them when it was measured.
		p.row.Warnings = append(p.row.Warnings, result.Warning{Code: "roof", Message: message, Hint: hint})
		return
	}
	p.fail("measure", &result.Fault{Cause: result.CauseOverRoof, Message: message, Hint: hint})
}

// manyCores tells whether the plan's kernel may use several cores of the
// processor. NumPy's libraries do as they like.
func (p *plan) manyCores() bool {
	switch p.row.Cell {
	case spec.CellHost:
		return slices.ContainsFunc(p.instance.Launches, func(l spec.InstanceLaunch) bool { return l.Threads > 1 })
	case spec.CellPython:
		return p.artifact != nil && p.artifact.Framework == "numpy"
	}
	return false
}

package lab

import (
	"fmt"
	"slices"

	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
	"pawl/internal/unit"
	"pawl/internal/verify"
)

// peaksOf returns the peaks of the device that a cell's kernels run on; nil when none were
// measured. An unusable file is reported once and then ignored.
func (l *Lab) peaksOf(cell string) *roof.Peaks {
	if l.Peaks == "" {
		return nil
	}
	here := l.machine()
	class := machine.Class(here)
	if cell != spec.CellHost {
		if here.GPU == nil {
			return nil
		}
		class = machine.Slug(here.GPU.Name)
	}
	var found *roof.Peaks
	l.note(func(r *result.Report) {
		known, asked := l.shared.peaks[class]
		if found = known; asked {
			return
		}
		var err error
		if found, err = roof.Load(l.Peaks, class); err != nil {
			r.Warnings = append(r.Warnings, result.Warning{
				Code: "peaks", Message: "percent of roof is not shown: " + err.Error(), Hint: "pawl calibrate --roofline rewrites the file",
			})
		}
		if l.shared.peaks == nil {
			l.shared.peaks = map[string]*roof.Peaks{}
		}
		l.shared.peaks[class] = found
	})
	return found
}

// machine returns what the report says of the machine so far.
func (l *Lab) machine() (m result.Fingerprint) {
	l.note(func(r *result.Report) { m = r.Machine })
	return m
}

// Roofed is a timing compared with the device's peaks.
type Roofed struct {
	Timing   *result.Timing // with its percentage of the roof, where that is known
	Fault    *result.Fault  // of a row that is faster than the device can be
	Findings []result.Finding
	Warnings []result.Warning
}

// workOf returns what a job does in a second on one core or GPU, the peaks that this is compared with, the
// kind of cell whose they are, and how many cores compute. The peaks are nil where none were measured.
func (l *Lab) workOf(p *Job, t *result.Timing) (*roof.Peaks, roof.Work, string, int) {
	here, cell := l.machine(), l.roofCell(p)
	peaks := l.peaksOf(cell)
	if peaks == nil {
		return nil, roof.Work{}, cell, 1
	}
	work := roof.Work{
		GBps: t.Stats.GBps, GFLOPS: t.Stats.GFLOPS, Seconds: t.Stats.Median, GHz: t.Stats.GHz, Footprint: t.Footprint,
		Caches: roof.Caches(cell, here), Float: roof.Float(p.Instance), Cold: l.cold(p, t), Reads: reads(p.Instance),
	}
	if cell != spec.CellHost {
		return peaks, work, cell, 1
	}
	cores := p.cores(here.CPU)
	return peaks, shareOf(work, cores), cell, cores
}

// HasPeaks reports whether peaks are known of the device that a job runs on.
func (l *Lab) HasPeaks(p *Job) bool { return l.peaksOf(l.roofCell(p)) != nil }

// roofCell returns the kind of cell whose peaks a job is compared with.
func (l *Lab) roofCell(p *Job) string {
	if p.Cell() == spec.CellPython && !l.OnGPU(p) {
		return spec.CellHost // it ran on the CPU
	}
	return p.Cell()
}

// Ceilings returns the measured peaks that a job can reach: bytes a second of the memory that holds its
// arguments and operations a second of the units for its type, with their names. 0: not measured.
// Several cores of a processor do not reach a multiple of one core's peaks: there is no number for them.
func (l *Lab) Ceilings(p *Job, t *result.Timing) (memory, compute float64, names [2]roof.Name) {
	if p.Instance == nil || t == nil || t.Stats.Count == 0 {
		return 0, 0, names
	}
	peaks, work, _, cores := l.workOf(p, t)
	if peaks == nil || cores > 1 {
		return 0, 0, names
	}
	return peaks.Ceilings(work)
}

// HoldAgainstRoof computes what percentage of the device's peak a job reached. A job that is faster
// than the device can be is rejected on a GPU, and suspicious on a CPU.
func (l *Lab) HoldAgainstRoof(p *Job, t *result.Timing) Roofed {
	out := Roofed{Timing: t}
	if p.Instance == nil || t == nil || t.Stats.Count == 0 {
		return out
	}
	peaks, work, cell, cores := l.workOf(p, t)
	if peaks == nil {
		return out
	}
	bound, known := peaks.Bind(work)
	if !known {
		return out
	}
	if cores == 1 { // several cores do not reach the same multiple of one core's peaks
		held := *t
		shown, other, _ := peaks.Show(work)
		held.Stats.RoofPct, held.Stats.Roof = 100*shown.Fraction, string(shown.Roof)
		if other != nil {
			held.Stats.CacheRoofPct, held.Stats.CacheRoof = 100*other.Fraction, string(other.Roof)
		}
		out.Timing = &held
	}
	if !bound.Over() {
		return out
	}
	hint := "check that work in pawl.yaml matches the kernel; if the peaks are out of date, run pawl calibrate --roofline"
	message := fmt.Sprintf("%s of the roof: the kernel would do %s", unit.PercentPlain(bound.Fraction), bound)
	switch {
	case cell != spec.CellHost:
		out.Fault = &result.Fault{Cause: result.CauseOverRoof, Message: message, Hint: hint}
		return out
	case cores > 1:
		message = fmt.Sprintf("%s of the roof of %d cores: each would do %s", unit.PercentPlain(bound.Fraction), cores, bound)
	}
	if bound.Beyond() && work.Seconds >= leastSeconds {
		out.Findings = []result.Finding{verify.OverRoof(message)}
	}
	if cores == 1 || bound.Beyond() {
		out.Warnings = []result.Warning{{Code: "roof", Message: message, Hint: hint}}
	}
	return out
}

// cold reports whether every launch of a timing began with cold caches.
func (l *Lab) cold(p *Job, t *result.Timing) (cold bool) {
	l.note(func(r *result.Report) { cold = r.Method.Cache == "cold" })
	return cold && t.Repeat <= 1 && p.Record.Flush != "" && p.Record.Flush != "none"
}

// reads returns the bytes of the arguments that an instance reads.
func reads(in *spec.Instance) int64 {
	sum := int64(0)
	for _, arg := range in.Args {
		if arg.Buffer && arg.Role != spec.RoleOut {
			sum += arg.Elements * int64(arg.DType.Size())
		}
	}
	return sum
}

// leastSeconds is the shortest launch on a CPU whose rate means anything: below it, the clock's
// resolution is too large a part.
const leastSeconds = 1e-6

// shareOf returns one core's share of the work of several. Where the caches are not known, it has
// no memory roof: fast data may lie in one of them.
func shareOf(w roof.Work, cores int) roof.Work {
	n := float64(cores)
	w.GBps, w.GFLOPS, w.Footprint = w.GBps/n, w.GFLOPS/n, w.Footprint/int64(cores)
	has := func(name roof.Name) bool {
		return slices.ContainsFunc(w.Caches, func(c roof.Cache) bool { return c.Name == name })
	}
	if !has(roof.L1) || !has(roof.L2) {
		w.GBps = 0
	}
	return w
}

// cores returns how many CPU cores the job's kernel may use. PyTorch is told how many; the
// libraries of NumPy and JAX may use all.
func (p *Job) cores(cpu result.CPU) int {
	if p.Cell() == spec.CellPython && framework(p.Variant.Kernel, p.Artifact) != "torch" {
		return max(2, cpu.Cores*max(1, cpu.Threads))
	}
	most := 1
	for _, l := range p.Instance.Launches {
		most = max(most, l.Threads)
	}
	return most
}

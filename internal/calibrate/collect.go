package calibrate

import (
	"fmt"
	"time"

	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/stat"
)

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
		try.Fault = fmt.Sprintf("%d samples in --budget are too few to know a peak by", row.Timing.Stats.Count)
	default:
		s := row.Timing.Stats
		try.Rate, try.MedianS, try.HalfWidth, try.GHz = s.GBps, s.Median, row.Timing.HalfWidth, s.GHz
		if t.unit == roof.GFLOPS {
			try.Rate = s.GFLOPS
		}
	}
	return try
}

package check

import (
	"fmt"
	"slices"

	"pawl/internal/curve"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// consult looks up, in the calibrations of the rows' devices, how exact a duet can be there.
func (c *check) consult(rows []*planned) {
	for _, k := range rows {
		if _, asked := c.curves[k.class]; asked {
			continue
		}
		found, err := curve.Load(c.Curves, k.class, c.gate)
		if err != nil {
			c.warn("calibration", "pawl calibrate --fresh starts over", "the calibration is not used: %v", err)
		}
		c.curves[k.class] = found
	}
}

// curveOf returns the calibration of a row's device; nil where there is none for this gate and this
// driver.
func (c *check) curveOf(k *planned) *curve.Curve {
	driver := ""
	if gpu := c.report.Machine.GPU; gpu != nil && k.candidate.GPU() {
		driver = gpu.Driver
	}
	if found := c.curves[k.class]; found != nil && found.Fits(c.gate, driver) {
		return found
	}
	return nil
}

// duet returns the options of a row's match: as exact as its device allows.
func (c *check) duet(k *planned) measure.DuetOptions {
	opts := c.Duet
	if found := c.curveOf(k); found != nil {
		opts.Floor = max(opts.Floor, found.Floor())
	}
	return opts
}

// cite states how often such a run fails without a cause. It states nothing where a row's device
// has no calibration.
func (c *check) cite(rows []*judged) {
	count := map[*curve.Curve]int{}
	var known []*curve.Curve
	for _, k := range rows {
		if len(k.playing()) == 0 {
			continue
		}
		found := c.curveOf(k.planned)
		if found == nil {
			return
		}
		if count[found] == 0 {
			known = append(known, found)
		}
		count[found]++
	}
	var all *result.FalseAlarms
	var fewest *curve.Curve
	for _, found := range known {
		one := found.Alarms(count[found])
		if one == nil {
			return
		}
		all = together(all, one)
		if fewest == nil || one.Decisions < fewest.Alarms(count[fewest]).Decisions {
			fewest = found
		}
	}
	if all == nil || all.PerRun <= curve.Telling {
		c.report.FalseAlarms = all
		return
	}
	c.report.Uncited = fmt.Sprintf("false alarms are not known: the calibration has too few decisions, %s so far; %s", unit.Count(fewest.Alarms(1).Decisions), fewest.Lacking(all.Configs))
}

// together combines how often the rows of two devices fail without a cause; a may be nil.
func together(a, b *result.FalseAlarms) *result.FalseAlarms {
	if a == nil {
		return b
	}
	sum := &result.FalseAlarms{
		KernelAlarms: result.KernelAlarms{
			Kernel: a.Kernel + " and " + b.Kernel, Decisions: a.Decisions + b.Decisions, Sets: a.Sets + b.Sets, Failed: a.Failed + b.Failed,
			PerDecision: max(a.PerDecision, b.PerDecision),
		},
		Configs: a.Configs + b.Configs, PerRun: 1 - (1-a.PerRun)*(1-b.PerRun), Calibrated: a.Calibrated, Others: append(slices.Clone(a.Others), b.Others...),
	}
	if b.Calibrated.Before(a.Calibrated) {
		sum.Calibrated = b.Calibrated
	}
	return sum
}

package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/machine"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// column is one fact of a measured row: its heading, how people read it and how
// programs do.
type column struct {
	head  string
	text  func(*result.Row) string // "" when the row does not have it
	field string                   // name in CSV
	value func(*result.Row) string
}

func number(v float64) string {
	if v == 0 {
		return ""
	}
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// stats makes a column of one number of a row's statistics.
func stats(head, field string, get func(*result.Timing) float64, show func(float64) string) column {
	return column{
		head: head, field: field,
		text: func(r *result.Row) string {
			if v := get(r.Timing); v != 0 {
				return show(v)
			}
			return ""
		},
		value: func(r *result.Row) string { return number(get(r.Timing)) },
	}
}

// columns of a bench, in order of interest.
var columns = []column{
	stats("median", "median_s", func(t *result.Timing) float64 { return t.Stats.Median }, unit.Duration),
	stats("±", "half_width", func(t *result.Timing) float64 { return t.HalfWidth }, unit.PercentPlain),
	stats("p95", "p95_s", func(t *result.Timing) float64 { return t.Stats.P95 }, unit.Duration),
	stats("CV", "cv", func(t *result.Timing) float64 { return t.Stats.CV }, unit.PercentPlain),
	stats("compute", "throughput_gflops", func(t *result.Timing) float64 { return t.Stats.GFLOPS }, unit.GFLOPS),
	stats("memory", "bandwidth_gb_s", func(t *result.Timing) float64 { return t.Stats.GBps }, unit.Bandwidth),
	roofColumn,
	stats("clock", "ghz", func(t *result.Timing) float64 { return t.Stats.GHz }, unit.GHz),
	stats("samples", "samples", func(t *result.Timing) float64 { return float64(t.Stats.Count) }, func(v float64) string { return unit.Count(int(v)) }),
}

// roofColumn is the part of the device's best that a row reached: "62% dram".
var roofColumn = column{
	head: "roof", field: "roof_pct",
	text: func(r *result.Row) string {
		s := r.Timing.Stats
		switch {
		case s.RoofPct == 0:
			return ""
		case s.RoofPct < 10:
			return fmt.Sprintf("%.1f%% %s", s.RoofPct, s.Roof)
		}
		return fmt.Sprintf("%.0f%% %s", s.RoofPct, s.Roof)
	},
	value: func(r *result.Row) string { return number(r.Timing.Stats.RoofPct) },
}

// more columns for programs only.
var fields = []column{
	{field: "roof", value: func(r *result.Row) string { return r.Timing.Stats.Roof }},
	stats("", "ci_95_low_s", func(t *result.Timing) float64 { return t.Stats.Low }, nil),
	stats("", "ci_95_high_s", func(t *result.Timing) float64 { return t.Stats.High }, nil),
	stats("", "mean_s", func(t *result.Timing) float64 { return t.Stats.Mean }, nil),
	stats("", "std_s", func(t *result.Timing) float64 { return t.Stats.Std }, nil),
	stats("", "min_s", func(t *result.Timing) float64 { return t.Stats.Min }, nil),
	stats("", "p99_s", func(t *result.Timing) float64 { return t.Stats.P99 }, nil),
	stats("", "peak_memory_bytes", func(t *result.Timing) float64 { return float64(t.PeakMemory) }, nil),
	stats("", "energy_j", func(t *result.Timing) float64 {
		if t.EnergyJ == nil {
			return 0
		}
		return *t.EnergyJ
	}, nil),
}

// line is a row of the table: a kernel on a config, or below it one of its rivals.
type line struct {
	label string
	row   *result.Row
	rival *result.Rival // nil for the row itself
}

// lines are all rows with their rivals below them.
func lines(r *result.Report) []line {
	var out []line
	for _, row := range r.Rows {
		out = append(out, line{label: row.Name(), row: row})
		for _, rival := range row.Rivals {
			out = append(out, line{label: rival.Label, row: rival.Row, rival: rival})
		}
	}
	return out
}

// outcome is what the line came to: how much faster the kernel is than a rival,
// or the row's verdict or fault; "" when there is nothing to say.
func (l line) outcome() string {
	if l.rival != nil && l.rival.Ratio != nil {
		r := l.rival.Ratio
		return fmt.Sprintf("%.2f× [%.2f, %.2f]", r.Median, r.Low, r.High)
	}
	return status(l.row)
}

// present are the columns that at least one row has something in.
func present(all []line) []column {
	var out []column
	some := columns
	if uuids := devices(all); uuids != nil {
		some = append(slices.Clone(columns), deviceColumn(uuids))
	}
	for _, c := range some {
		for _, l := range all {
			if measured(l.row) && c.text(l.row) != "" {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

// measured tells whether a row has a number to show.
func measured(r *result.Row) bool { return r.Timing != nil && r.Timing.Stats.Count > 0 }

// cutShort tells whether a row was interrupted while it was measured: it has numbers,
// and nothing was made of them.
func cutShort(r *result.Row) bool {
	return measured(r) && r.Fault != nil && r.Fault.Cause == result.CauseInterrupted
}

// onGPU tells whether the run's own rows ran on its GPU: their oracles and rivals may
// have, where they did not.
func onGPU(r *result.Report) bool {
	return r.Machine.GPU != nil && r.DeviceClass != machine.Class(r.Machine)
}

// machineLine names what the run ran on.
func machineLine(r *result.Report) string {
	if onGPU(r) {
		if n := len(devices(lines(r))); n > 0 {
			return fmt.Sprintf("%d × %s", n, r.Machine.GPU.Name)
		}
		return r.Machine.GPU.Name
	}
	cpu := r.Machine.CPU
	if cpu.Model == "" {
		return r.DeviceClass
	}
	line := fmt.Sprintf("%s, %d cores", cpu.Model, cpu.Cores)
	if cpu.Cores == 1 {
		line = cpu.Model + ", 1 core"
	}
	return line
}

// methodLine says how it was measured.
func methodLine(r *result.Report) string { return cacheLine(r, false) }

// cacheLine says what the caches were like and, on demand, how they were made so.
func cacheLine(r *result.Report, how bool) string {
	line := "cache " + r.Method.Cache
	if r.Method.Cache != "cold" {
		return line
	}
	ways, warm := flushes(r)
	if len(ways) == 0 && len(warm) > 0 {
		return "cache warm (this machine cannot flush it)"
	}
	if how && len(ways) > 0 {
		line += " (" + strings.Join(ways, "; ") + ")"
	}
	if len(warm) > 0 {
		line += ", warm for " + few(warm) + " (this machine cannot flush it there)"
	}
	return line
}

// flushes are the ways in which caches were made cold, each once, and the kernels
// whose caches were not.
func flushes(r *result.Report) (ways, warm []string) {
	add := func(list []string, item string) []string {
		if slices.Contains(list, item) {
			return list
		}
		return append(list, item)
	}
	for _, l := range lines(r) {
		switch how := l.row.Flush; how {
		case "":
		case "none":
			warm = add(warm, l.row.Kernel)
		default:
			ways = add(ways, how)
		}
	}
	return ways, warm
}

// status is a row's outcome in a few words; "" when there is nothing to say.
func status(r *result.Row) string {
	switch {
	case r.Fault != nil && r.Verdict != "":
		return string(r.Verdict) + ": " + string(r.Fault.Cause)
	case cutShort(r):
		return string(r.Fault.Cause)
	case r.Fault != nil:
		return "not measured: " + string(r.Fault.Cause)
	}
	return string(r.Verdict)
}

package report

import (
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"

	"pawl/internal/result"
	"pawl/internal/unit"
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// method says how it was measured, in one line.
func method(r *result.Report) string {
	m := r.Method
	parts := []string{methodLine(r)}
	if m.Cache == "cold" && m.Flush != "" && m.Flush != "none" {
		parts[0] += " (" + m.Flush + ")"
	}
	if m.HalfWidth > 0 && m.BudgetS > 0 {
		parts = append(parts, "sampling until ± "+unit.PercentPlain(m.HalfWidth)+" or "+short(strconv.FormatFloat(m.BudgetS, 'f', 3, 64))+" s")
	}
	switch {
	case m.MaxSamples > 0:
		parts = append(parts, unit.Count(m.MinSamples)+" to "+unit.Count(m.MaxSamples)+" samples")
	case m.MinSamples > 0:
		parts = append(parts, "at least "+count(m.MinSamples, "sample"))
	}
	if m.Seed != 0 {
		parts = append(parts, fmt.Sprintf("seed %d", m.Seed))
	}
	return strings.Join(parts, " · ")
}

// machineFacts are the fingerprint, without what the machine did not tell.
func machineFacts(r *result.Report) []fact {
	var out []fact
	add := func(name string, parts ...string) {
		var kept []string
		for _, part := range parts {
			if part != "" {
				kept = append(kept, part)
			}
		}
		if len(kept) > 0 {
			out = append(out, fact{name, strings.Join(kept, ", ")})
		}
	}
	m := r.Machine
	add("device class", r.DeviceClass)
	if g := m.GPU; g != nil {
		add("GPU", g.Name, g.Arch, some(g.SMs, "%d SMs"))
		add("GPU memory", sized(g.MemoryBytes, ""), sized(g.L2Bytes, " L2"), flagged(g.ECC, "ECC"))
		add("GPU limits", positive(g.PowerLimitW, "%.0f W"), positive(g.MaxGHz, "%.2f GHz"), sized(g.MaxShared, " shared a block"), some(g.MaxThreads, "%d threads a block"))
		add("driver", g.Driver, prefixed("CUDA ", g.CUDA), flagged(g.Persistence, "persistence on"), prefixed("compute mode ", g.ComputeMode))
		add("GPU id", g.UUID)
	}
	add("processor", m.CPU.Model, some(m.CPU.Cores, "%d cores"), some(max(m.CPU.Threads-1, 0)*m.CPU.Threads, "SMT"), positive(m.CPU.MaxGHz, "%.2f GHz"))
	var caches []string
	for _, c := range m.CPU.Caches {
		caches = append(caches, fmt.Sprintf("L%d %s %s", c.Level, c.Type, unit.Bytes(c.Bytes)))
	}
	add("caches", caches...)
	add("clock policy", prefixed("governor ", m.CPU.Governor), prefixed("turbo ", m.CPU.Turbo))
	add("features", m.CPU.Features)
	add("memory", sized(m.MemoryBytes, ""))
	add("system", m.OS, prefixed("Linux ", m.Kernel), m.Arch, m.Libc)
	add("inside", m.Hypervisor, m.Container)
	add("clock source", m.Clocksource)
	for _, name := range sortedKeys(m.Compilers) {
		add(name+" compiler", m.Compilers[name])
	}
	add("sandbox", m.Sandbox)
	add("spec", r.Spec.File, prefixed("sha256 ", fmt.Sprintf("%.12s", r.Spec.SHA256)))
	return out
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func sized(bytes int64, of string) string {
	if bytes == 0 {
		return ""
	}
	return unit.Bytes(bytes) + of
}

func some(n int, format string) string {
	if n == 0 {
		return ""
	}
	if !strings.Contains(format, "%") {
		return format
	}
	return fmt.Sprintf(format, n)
}

func positive(v float64, format string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

func flagged(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// sheet is a plain table; its first column is a name.
type sheet struct {
	Heads []string
	Rows  [][]string
}

// filled is the sheet without the columns that nothing stands in.
func (s sheet) filled() sheet {
	var out sheet
	out.Rows = make([][]string, len(s.Rows))
	for i, head := range s.Heads {
		used := false
		for _, row := range s.Rows {
			used = used || row[i] != ""
		}
		if !used {
			continue
		}
		out.Heads = append(out.Heads, head)
		for j, row := range s.Rows {
			out.Rows[j] = append(out.Rows[j], row[i])
		}
	}
	return out
}

// resourceSheet is what each launch needs of a multiprocessor: the driver's
// numbers, and the compiler's for what the driver does not know. Rows of one
// kernel and its params that need the same stand once.
func resourceSheet(r *result.Report) sheet {
	s := sheet{Heads: []string{"kernel", "entry", "registers", "static shared", "dynamic shared", "stack", "spill stores", "spill loads", "constant", "occupancy", "configs"}}
	at := map[string]int{}
	for _, l := range lines(r) {
		for _, res := range resources(l.row) {
			row := []string{
				l.row.Kernel + variant(l.row), res.Entry, strconv.Itoa(res.Registers), unit.Bytes(res.Shared), unit.Bytes(res.Dynamic),
				unit.Bytes(res.Stack), unit.Bytes(res.SpillStores), unit.Bytes(res.SpillLoads), unit.Bytes(res.Constant), "", l.row.Config,
			}
			if res.Occupancy > 0 {
				row[9] = unit.PercentPlain(res.Occupancy)
			}
			id := strings.Join(row[:10], "\x00")
			if i, ok := at[id]; ok {
				s.Rows[i][10] = also(s.Rows[i][10], l.row.Config)
				continue
			}
			at[id] = len(s.Rows)
			s.Rows = append(s.Rows, row)
		}
	}
	return s.filled()
}

// also adds a name to a list that does not end in it.
func also(list, name string) string {
	if list == name || strings.HasSuffix(list, ", "+name) {
		return list
	}
	return list + ", " + name
}

// resources merge what the compiler and the driver say of a row's launches.
func resources(row *result.Row) []result.Resources {
	var built []result.Resources
	if row.Build != nil {
		built = row.Build.Resources
	}
	if row.Timing == nil || len(row.Timing.Resources) == 0 {
		return built
	}
	var out []result.Resources
	for i, res := range row.Timing.Resources {
		if i < len(built) {
			res.SpillStores, res.SpillLoads = built[i].SpillStores, built[i].SpillLoads
		}
		out = append(out, res)
	}
	return out
}

// detailSheet is what else is known of how each line was measured.
func detailSheet(r *result.Report) sheet {
	s := sheet{Heads: []string{
		"kernel/config", "params", "cell", "trust", "code", "stopped", "wall time", "launches a sample", "peak memory", "arguments",
		"energy a launch", "preempted", "clock", "temperature", "power", "load", "stolen", "used by others", "throttled", "sandbox",
	}}
	for _, l := range lines(r) {
		if !measured(l.row) {
			continue
		}
		row, t := l.row, l.row.Timing
		name := row.Name()
		if l.rival != nil {
			name = "against " + l.label
		}
		during := duringState(t)
		cells := []string{
			name, pairs(row.Params), row.Cell, row.Trust, fmt.Sprintf("%.8s", row.Code), stopped(t), positive(t.WallS, "%.2f s"), "",
			sized(t.PeakMemory, ""), sized(t.Footprint, ""), "", some(int(t.Preempted), "%d times"),
			reading(during.GHz, "%.2f GHz"), reading(during.TemperatureC, "%.0f °C"), reading(during.PowerW, "%.0f W"), reading(during.Load1, "%.2f"),
			reading(during.StealPct, "%.1f%%"), reading(during.Busy, "%.1f cores"), strings.Join(during.Throttled, ", "), "",
		}
		if t.Repeat > 1 {
			cells[7] = unit.Count(t.Repeat)
		}
		if t.EnergyJ != nil {
			cells[10] = fmt.Sprintf("%.3g J", *t.EnergyJ)
		}
		if row.Sandbox != nil {
			cells[19] = row.Sandbox.Level
		}
		s.Rows = append(s.Rows, cells)
	}
	return s.filled()
}

func duringState(t *result.Timing) result.State {
	for _, state := range t.State {
		if state.When == "during" {
			return state
		}
	}
	return result.State{}
}

func reading(v *float64, format string) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v)
}

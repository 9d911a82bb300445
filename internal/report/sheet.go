package report

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// measuredPage adds what a page says of how lines were measured: the samples of a
// report, and the resources and conditions of another.
func (b *builder) measuredPage(samples, told *result.Report) {
	if b.forms&view.HTML == 0 {
		return
	}
	if parts := allStrips(samples); parts != nil {
		b.add(view.HTML, func() view.Section { return view.Section{ID: "samples", Title: "Samples", Parts: parts} })
	}
	b.table("resources", "Resources", func() *view.Table { return resourceSheet(told) })
	if t := detailSheet(told); len(t.Rows) > 0 {
		b.add(view.HTML, func() view.Section {
			fold := view.Section{Folded: true, Fold: "how each line was measured", Table: t}
			return view.Section{ID: "details", Title: "Conditions", Parts: []view.Section{fold}}
		})
	}
}

// need is what one launch needs of a multiprocessor, and for which configs.
type need struct {
	kernel string
	result.Resources
	configs []string
}

var needColumns = []column[*need]{
	{head: "kernel", text: func(n *need) string { return n.kernel }},
	{head: "entry", text: func(n *need) string { return n.Entry }},
	{head: "registers", number: true, text: func(n *need) string { return strconv.Itoa(n.Registers) }},
	{head: "static shared", number: true, text: func(n *need) string { return sized(n.Shared, "") }},
	{head: "dynamic shared", number: true, text: func(n *need) string { return sized(n.Dynamic, "") }},
	{head: "stack", number: true, text: func(n *need) string { return sized(n.Stack, "") }},
	{head: "spilled", number: true, text: func(n *need) string {
		if n.SpillStores == 0 && n.SpillLoads == 0 {
			return "none"
		}
		return unit.Bytes(n.SpillStores) + " out, " + unit.Bytes(n.SpillLoads) + " in"
	}},
	{head: "constant", number: true, text: func(n *need) string { return sized(n.Constant, "") }},
	{head: "occupancy", number: true, text: func(n *need) string { return when(n.Occupancy > 0, unit.PercentPlain(n.Occupancy)) }},
	{head: "configs", text: func(n *need) string { return few(n.configs) }},
}

// resourceSheet is what the launches of CUDA kernels need. Configs for which a
// variant needs the same share a row.
func resourceSheet(r *result.Report) *view.Table {
	type identity struct {
		kernel string
		result.Resources
	}
	var needs []*need
	found := map[identity]*need{}
	for _, l := range lines(r) {
		for _, res := range resources(l.row) {
			id := identity{l.row.Kernel + variant(l.row), res}
			n := found[id]
			if n == nil {
				n = &need{kernel: id.kernel, Resources: res}
				found[id] = n
				needs = append(needs, n)
			}
			if last := len(n.configs) - 1; last < 0 || n.configs[last] != l.row.Config {
				n.configs = append(n.configs, l.row.Config)
			}
		}
	}
	return sheetOf(needs, needColumns)
}

// resources of a row's launches as the driver tells them, and the spills, which
// only the compiler knows.
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

// condition makes a column of a reading taken while a line was measured.
func condition(head, format string, get func(result.State) *float64) column[line] {
	return column[line]{head: head, number: true, text: func(l line) string {
		for _, state := range l.row.Timing.State {
			if v := get(state); state.When == "during" && v != nil {
				return fmt.Sprintf(format, *v)
			}
		}
		return ""
	}}
}

var detailColumns = []column[line]{
	{head: "kernel/config", text: func(l line) string {
		if l.rival != nil {
			return "against " + l.label
		}
		return l.label
	}},
	{head: "params", text: func(l line) string { return pairs(l.row.Params) }},
	{head: "cell", text: func(l line) string { return l.row.Cell }},
	{head: "trust", text: func(l line) string { return l.row.Trust }},
	{head: "sandbox", text: func(l line) string {
		if l.row.Sandbox == nil {
			return ""
		}
		return l.row.Sandbox.Level
	}},
	{head: "code", text: func(l line) string { return fmt.Sprintf("%.8s", l.row.Code) }},
	{head: "stopped by", text: func(l line) string { return l.row.Timing.Stopped }},
	{head: "wall time", number: true, text: func(l line) string { return positive(l.row.Timing.WallS, "%.2f s") }},
	{head: "launches a sample", number: true, text: func(l line) string { return when(l.row.Timing.Repeat > 1, unit.Count(l.row.Timing.Repeat)) }},
	{head: "arguments", number: true, text: func(l line) string { return sized(l.row.Timing.Footprint, "") }},
	{head: "peak memory", number: true, text: func(l line) string { return sized(l.row.Timing.PeakMemory, "") }},
	{head: "energy a launch", number: true, text: func(l line) string {
		if l.row.Timing.EnergyJ == nil {
			return ""
		}
		return fmt.Sprintf("%.3g J", *l.row.Timing.EnergyJ)
	}},
	{head: "preempted", number: true, text: func(l line) string { return when(l.row.Timing.Preempted > 0, unit.Count(int(l.row.Timing.Preempted))) }},
	condition("temperature", "%.0f °C", func(s result.State) *float64 { return s.TemperatureC }),
	condition("power", "%.0f W", func(s result.State) *float64 { return s.PowerW }),
	condition("load", "%.2f", func(s result.State) *float64 { return s.Load1 }),
	condition("stolen", "%.1f%%", func(s result.State) *float64 { return s.StealPct }),
	condition("cores used by others", "%.1f", func(s result.State) *float64 { return s.Busy }),
	{head: "throttled", text: func(l line) string {
		var why []string
		for _, state := range l.row.Timing.State {
			if state.When == "during" {
				why = append(why, state.Throttled...)
			}
		}
		return strings.Join(why, ", ")
	}},
}

// detailSheet is what else is known of how each line was measured.
func detailSheet(r *result.Report) *view.Table {
	var shown []line
	for _, l := range lines(r) {
		if measured(l.row) {
			shown = append(shown, l)
		}
	}
	return sheetOf(shown, detailColumns)
}

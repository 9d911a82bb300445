package report

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// sheet is a plain table; its first column is a name.
type sheet struct {
	Heads []sheetHead
	Rows  [][]string
}

type sheetHead struct {
	Text   string
	Number bool // aligned as one
}

// sheetColumn is a fact of whatever the sheet has a row for; "" when there is none.
type sheetColumn[T any] struct {
	head   string
	number bool
	text   func(T) string
}

// makeSheet has a row for each item, and the columns that any of them has
// something in.
func makeSheet[T any](items []T, columns []sheetColumn[T]) sheet {
	s := sheet{Rows: make([][]string, len(items))}
	for _, c := range columns {
		cells, used := make([]string, len(items)), false
		for i, item := range items {
			cells[i] = c.text(item)
			used = used || cells[i] != ""
		}
		if !used {
			continue
		}
		s.Heads = append(s.Heads, sheetHead{c.head, c.number})
		for i, cell := range cells {
			s.Rows[i] = append(s.Rows[i], cell)
		}
	}
	return s
}

// need is what one launch needs of a multiprocessor, and for which configs.
type need struct {
	kernel string
	result.Resources
	configs []string
}

var needColumns = []sheetColumn[*need]{
	{"kernel", false, func(n *need) string { return n.kernel }},
	{"entry", false, func(n *need) string { return n.Entry }},
	{"registers", true, func(n *need) string { return strconv.Itoa(n.Registers) }},
	{"static shared", true, func(n *need) string { return sized(n.Shared, "") }},
	{"dynamic shared", true, func(n *need) string { return sized(n.Dynamic, "") }},
	{"stack", true, func(n *need) string { return sized(n.Stack, "") }},
	{"spilled", true, func(n *need) string {
		if n.SpillStores == 0 && n.SpillLoads == 0 {
			return "none"
		}
		return unit.Bytes(n.SpillStores) + " out, " + unit.Bytes(n.SpillLoads) + " in"
	}},
	{"constant", true, func(n *need) string { return sized(n.Constant, "") }},
	{"occupancy", true, func(n *need) string { return when(n.Occupancy > 0, unit.PercentPlain(n.Occupancy)) }},
	{"configs", false, func(n *need) string { return few(n.configs) }},
}

// resourceSheet is what the launches of CUDA kernels need. Configs for which a
// variant needs the same share a row.
func resourceSheet(r *result.Report) sheet {
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
	return makeSheet(needs, needColumns)
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
func condition(head, format string, get func(result.State) *float64) sheetColumn[line] {
	return sheetColumn[line]{head, true, func(l line) string {
		for _, state := range l.row.Timing.State {
			if v := get(state); state.When == "during" && v != nil {
				return fmt.Sprintf(format, *v)
			}
		}
		return ""
	}}
}

var detailColumns = []sheetColumn[line]{
	{"kernel/config", false, func(l line) string {
		if l.rival != nil {
			return "against " + l.label
		}
		return l.label
	}},
	{"params", false, func(l line) string { return pairs(l.row.Params) }},
	{"cell", false, func(l line) string { return l.row.Cell }},
	{"trust", false, func(l line) string { return l.row.Trust }},
	{"sandbox", false, func(l line) string {
		if l.row.Sandbox == nil {
			return ""
		}
		return l.row.Sandbox.Level
	}},
	{"code", false, func(l line) string { return fmt.Sprintf("%.8s", l.row.Code) }},
	{"stopped by", false, func(l line) string { return l.row.Timing.Stopped }},
	{"wall time", true, func(l line) string { return positive(l.row.Timing.WallS, "%.2f s") }},
	{"launches a sample", true, func(l line) string { return when(l.row.Timing.Repeat > 1, unit.Count(l.row.Timing.Repeat)) }},
	{"arguments", true, func(l line) string { return sized(l.row.Timing.Footprint, "") }},
	{"peak memory", true, func(l line) string { return sized(l.row.Timing.PeakMemory, "") }},
	{"energy a launch", true, func(l line) string {
		if l.row.Timing.EnergyJ == nil {
			return ""
		}
		return fmt.Sprintf("%.3g J", *l.row.Timing.EnergyJ)
	}},
	{"preempted", true, func(l line) string { return when(l.row.Timing.Preempted > 0, unit.Count(int(l.row.Timing.Preempted))) }},
	condition("temperature", "%.0f °C", func(s result.State) *float64 { return s.TemperatureC }),
	condition("power", "%.0f W", func(s result.State) *float64 { return s.PowerW }),
	condition("load", "%.2f", func(s result.State) *float64 { return s.Load1 }),
	condition("stolen", "%.1f%%", func(s result.State) *float64 { return s.StealPct }),
	condition("cores used by others", "%.1f", func(s result.State) *float64 { return s.Busy }),
	{"throttled", false, func(l line) string {
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
func detailSheet(r *result.Report) sheet {
	var shown []line
	for _, l := range lines(r) {
		if measured(l.row) {
			shown = append(shown, l)
		}
	}
	return makeSheet(shown, detailColumns)
}

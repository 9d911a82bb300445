package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// charts adds a chart of every kernel that has something to draw.
func (b *builder) charts(r *result.Report) {
	if b.shows(view.HTML) {
		b.add(view.HTML, view.Section{ID: "charts", Title: "Charts", Charts: charts(r)})
	}
}

func charts(r *result.Report) []view.Chart {
	var out []view.Chart
	for _, k := range byKernel(r) {
		if slices.ContainsFunc(linesOfRows(k.items), line.measured) {
			out = append(out, drawChart(k))
		}
	}
	return out
}

func drawChart(k group[*result.Row]) view.Chart {
	const mostTicks = 6
	var times, ratios []float64
	c := view.Chart{Kernel: k.name}
	for _, row := range k.items {
		g := view.ChartGroup{Config: row.Config, Vars: pairs(row.Vars)}
		for _, l := range linesOfRows([]*result.Row{row}) {
			made := view.ChartLine{Label: row.Kernel, Rival: l.rival != nil}
			class := "own"
			if made.Rival {
				made.Label, class = l.label, "rival"
				c.Ratios = &view.Axis{Unit: view.Ratio, Ticks: mostTicks, Reference: 1}
			}
			if st := stats(l.row); st != nil {
				made.Time = medianMark(st, class, made.Label+", "+row.Config)
				times = append(times, st.Median, st.Low, st.High)
			} else {
				made.Badge = l.judged()
			}
			if ratio := l.ratio(); ratio != nil {
				made.Ratio = ratioMark(row.Kernel, l)
				ratios = append(ratios, ratio.Median, ratio.Low, ratio.High)
			}
			g.Lines = append(g.Lines, made)
		}
		c.Groups = append(c.Groups, g)
	}
	c.Times = view.Axis{Scale: plot.Fit(times), Ticks: mostTicks}
	c.Scale = when(c.Times.Scale.Logarithmic(), "log scale")
	if c.Ratios != nil {
		c.Ratios.Scale = plot.FitRatios(ratios)
	}
	return c
}

// medianMark draws a median with its interval.
func medianMark(st *result.Stats, class, name string) *plot.Mark {
	return &plot.Mark{
		Value: st.Median, Low: st.Low, High: st.High, Class: class, Label: unit.Duration(st.Median),
		Title: name + ": median " + estimate(st.Median, st.Low, st.High),
	}
}

// estimate writes a time with its interval.
func estimate(median, low, high float64) string {
	return fmt.Sprintf("%s, 95%% interval %s to %s", unit.Duration(median), unit.Duration(low), unit.Duration(high))
}

func ratioMark(kernel string, l line) *plot.Mark {
	ratio := l.rival.Ratio
	return &plot.Mark{
		Value: ratio.Median, Low: ratio.Low, High: ratio.High, Class: string(standing(ratio)), Label: fmt.Sprintf("%.2f×", ratio.Median),
		Title: fmt.Sprintf("%s over %s, %s: %.3f×, 95%% interval %.3f to %.3f, %s", kernel, l.label, l.row.Config,
			ratio.Median, ratio.Low, ratio.High, view.Count(ratio.Rounds, "round")),
	}
}

// How much of the samples a page holds, so that many rows do not make it large.
const (
	mostStrips = 400 // in the page
	mostOpen   = 24  // without being asked for
)

// allStrips returns the samples of every kernel and its rivals, a line each.
func allStrips(r *result.Report) []view.Section {
	var out []view.Section
	room, total := mostStrips, len(where(lines(r), sampled))
	for _, k := range byKernel(r) {
		all := where(linesOfRows(k.items), sampled)
		shown := all[:min(room, len(all))]
		room -= len(shown)
		if len(all) > 0 {
			out = append(out, view.Section{ID: "samples", Name: k.name, Open: total <= mostOpen, Strips: each(shown, strip), Lines: linesOf("", present(leftOut(len(all)-len(shown), "line")))})
		}
	}
	return out
}

func sampled(l line) bool { return measured(l.row) && len(l.row.Timing.Samples.Seconds) > 0 }

func strip(l line) view.Strip {
	t := l.row.Timing
	made := view.Strip{
		Label: l.label, Rival: l.rival != nil, Name: l.row.Name(), Kept: t.Samples.Kept(), All: t.Samples.Seconds, Median: t.Stats.Median, P95: t.Stats.P95,
	}
	slices.Sort(made.Kept) // a copy
	if l.rival != nil {
		made.Name = l.label + ", " + l.row.Config
	}
	left := map[string]int{}
	for _, d := range t.Samples.Dropped {
		made.Apart = append(made.Apart, plot.Span{From: d.From, To: d.To, Title: d.Cause + ": " + view.Count(d.To-d.From, "sample") + " left out"})
		left[d.Cause] += d.To - d.From
	}
	made.Taken = unit.Count(len(made.Kept)) + " kept"
	for _, cause := range slices.Sorted(maps.Keys(left)) {
		made.Taken = unit.Count(left[cause]) + " " + cause + ", " + made.Taken
	}
	return made
}

// measuredPage adds what a page says of how lines were measured: the samples of a
// report, and the resources and conditions of another.
func (b *builder) measuredPage(samples, told *result.Report) {
	if !b.shows(view.HTML) {
		return
	}
	b.add(view.HTML, view.Section{ID: "samples", Title: "Samples", Parts: allStrips(samples)})
	b.sheet("resources", "Resources", resourceSheet(told))
	if t := detailSheet(told); len(t.Rows) > 0 {
		fold := view.Section{Folded: true, Fold: "how each line was measured", Table: t}
		b.add(view.HTML, view.Section{ID: "details", Title: "Conditions", Parts: []view.Section{fold}})
	}
}

// need is what one launch needs of a multiprocessor, and for which configs.
type need struct {
	kernel string
	result.Resources
	configs []string
}

var needColumns = []column[need]{
	{head: "kernel", text: func(n need) string { return n.kernel }},
	{head: "entry", text: func(n need) string { return n.Entry }},
	{head: "registers", number: true, text: func(n need) string { return strconv.Itoa(n.Registers) }},
	{head: "static shared", number: true, text: func(n need) string { return sized(n.Shared, "") }},
	{head: "dynamic shared", number: true, text: func(n need) string { return sized(n.Dynamic, "") }},
	{head: "stack", number: true, text: func(n need) string { return sized(n.Stack, "") }},
	{head: "spilled", number: true, text: func(n need) string {
		if n.SpillStores == 0 && n.SpillLoads == 0 {
			return "none"
		}
		return unit.Bytes(n.SpillStores) + " out, " + unit.Bytes(n.SpillLoads) + " in"
	}},
	{head: "constant", number: true, text: func(n need) string { return sized(n.Constant, "") }},
	{head: "occupancy", number: true, text: func(n need) string { return when(n.Occupancy > 0, unit.PercentPlain(n.Occupancy)) }},
	{head: "configs", text: func(n need) string { return few(n.configs) }},
}

// resourceSheet returns what the launches of CUDA kernels need. Configs for which a
// variant needs the same share a row.
func resourceSheet(r *result.Report) *view.Table {
	var all, needs []need
	for _, l := range lines(r) {
		for _, res := range resources(l.row) {
			all = append(all, need{kernel: l.row.Kernel + variant(l.row), Resources: res, configs: []string{l.row.Config}})
		}
	}
	for _, g := range grouped(all, func(n need) string { return fmt.Sprint(n.kernel, "\x00", n.Resources) }) {
		same := g.items[0]
		same.configs = distinct(each(g.items, func(n need) string { return n.configs[0] }))
		needs = append(needs, same)
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
	out := slices.Clone(row.Timing.Resources)
	for i := range min(len(out), len(built)) {
		out[i].SpillStores, out[i].SpillLoads = built[i].SpillStores, built[i].SpillLoads
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
		return textOf(l.row.Sandbox, func(s *result.Sandbox) string { return s.Level })
	}},
	{head: "code", text: func(l line) string { return fmt.Sprintf("%.8s", l.row.Code) }},
	{head: "stopped by", text: func(l line) string { return l.row.Timing.Stopped }},
	{head: "wall time", number: true, text: func(l line) string { return positive(l.row.Timing.WallS, "%.2f s") }},
	{head: "launches a sample", number: true, text: func(l line) string { return when(l.row.Timing.Repeat > 1, unit.Count(l.row.Timing.Repeat)) }},
	{head: "arguments", number: true, text: func(l line) string { return sized(l.row.Timing.Footprint, "") }},
	{head: "peak memory", number: true, text: func(l line) string { return sized(l.row.Timing.PeakMemory, "") }},
	{head: "energy a launch", number: true, text: func(l line) string {
		return textOf(l.row.Timing.EnergyJ, func(joules *float64) string { return fmt.Sprintf("%.3g J", *joules) })
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

// detailSheet returns what else is known of how each line was measured.
func detailSheet(r *result.Report) *view.Table {
	return sheetOf(where(lines(r), line.measured), detailColumns)
}

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// bench shows the measurements, and the comparison where rivals were measured too.
func (b *builder) bench() {
	r, all := b.r, lines(b.r)
	b.v.Title, b.v.Brief, b.v.Facts = title(r), machineLine(r), runFacts(r, view.Fact{Name: "method", Text: method(r)})
	b.v.Heading = []string{"pawl " + r.Tool.Version, machineLine(r), view.Count(len(byKernel(r)), "kernel") + ", " + view.Count(len(r.Rows), "config"), methodLine(r)}
	b.add(view.Terminal, view.Section{Table: benchText(all)})
	b.add(view.Markdown, view.Section{Table: benchTable(where(all, line.measured))})
	b.add(view.HTML, benchPage(r, all))
	b.add(view.Terminal, view.Section{Items: faults(r, true)})
	b.add(view.Markdown, view.Section{Items: allFaults(r)})
	b.add(view.HTML, view.Section{ID: "problems", Title: "Problems", Items: faults(r, false)})
	b.warnings(view.Terminal|view.Markdown|view.HTML, allWarnings(r))
	b.v.Closing = benchClosing(r)
	b.lines(view.Verbose, view.Quiet, present(prefixed("compiled with ", flagsLine(r)))...)
	b.end(view.Text, trustWord(r.Rows))
	b.charts(r)
	b.measuredPage(r, r)
	b.v.Foot = present(
		r.Started.Format(time.RFC3339), methodLine(r), prefixed("commit ", commit(r)), prefixed("devices: ", deviceNames(devices(all))), when(r.Interrupted, "interrupted"),
		"pawl "+r.Tool.Version, "run "+r.ID,
	)
}

// benchClosing counts what was measured and what was not.
func benchClosing(r *result.Report) view.Line {
	made := where(r.Rows, measured)
	words := each(where(r.Rows, func(row *result.Row) bool { return !measured(row) }), func(row *result.Row) string {
		return cmp.Or(string(row.Verdict), unknownWord)
	})
	out := view.Line{Text: "measured " + unit.Count(len(made)) + " of " + view.Counted(len(r.Rows), "config") + prefixed(": ", tallied(words)), Tone: view.Good}
	if len(words) > 0 || len(made) == 0 {
		out.Tone = view.Bad
	}
	if r.Interrupted {
		out.Text, out.Tone = "interrupted: "+out.Text, view.Unsure
	}
	return out
}

// title says what ran where.
func title(r *result.Report) string {
	kernels := byKernel(r)
	if len(kernels) == 0 {
		return machineLine(r)
	}
	return few(each(kernels, func(k group[*result.Row]) string { return k.name })) + " on " + machineLine(r)
}

// figure is a number of a measured row.
type figure struct {
	head, field string
	rank        int // see view.Column
	get         func(*result.Timing) float64
	show        func(float64) string // nil where it is for programs only
}

// figures of a bench, in order of interest.
var figures = []figure{
	{"median", "median_s", 0, func(t *result.Timing) float64 { return t.Stats.Median }, unit.Duration},
	{"±", "half_width", 0, func(t *result.Timing) float64 { return t.HalfWidth }, unit.PercentPlain},
	{"p95", "p95_s", 3, func(t *result.Timing) float64 { return t.Stats.P95 }, unit.Duration},
	{"CV", "cv", 5, func(t *result.Timing) float64 { return t.Stats.CV }, unit.PercentPlain},
	{"compute", "throughput_gflops", 2, func(t *result.Timing) float64 { return t.Stats.GFLOPS }, unit.GFLOPS},
	{"memory", "bandwidth_gb_s", 2, func(t *result.Timing) float64 { return t.Stats.GBps }, unit.Bandwidth},
	{"roof", "roof_pct", 1, func(t *result.Timing) float64 { return t.Stats.RoofPct }, percentOf},
	{"clock", "ghz", 6, func(t *result.Timing) float64 { return t.Stats.GHz }, unit.GHz},
	{"samples", "samples", 4, func(t *result.Timing) float64 { return float64(t.Stats.Count) }, func(v float64) string { return unit.Count(int(v)) }},
}

// moreFigures are for programs, after the name of the roof.
var moreFigures = []figure{
	{field: "ci_95_low_s", get: func(t *result.Timing) float64 { return t.Stats.Low }},
	{field: "ci_95_high_s", get: func(t *result.Timing) float64 { return t.Stats.High }},
	{field: "mean_s", get: func(t *result.Timing) float64 { return t.Stats.Mean }},
	{field: "std_s", get: func(t *result.Timing) float64 { return t.Stats.Std }},
	{field: "min_s", get: func(t *result.Timing) float64 { return t.Stats.Min }},
	{field: "p99_s", get: func(t *result.Timing) float64 { return t.Stats.P99 }},
	{field: "peak_memory_bytes", get: func(t *result.Timing) float64 { return float64(t.PeakMemory) }},
	{field: "energy_j", get: func(t *result.Timing) float64 {
		if t.EnergyJ == nil {
			return 0
		}
		return *t.EnergyJ
	}},
}

func percentOf(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.1f%%", v)
	}
	return fmt.Sprintf("%.0f%%", v)
}

// ofMeasured makes a fact of rows that have a number to show.
func ofMeasured(text func(*result.Row) string) func(line) string {
	return func(l line) string {
		if !measured(l.row) {
			return ""
		}
		return text(l.row)
	}
}

// benchColumns returns the name of a line, the figures that any line has, and which GPU
// measured it where several did.
func benchColumns(all []line) []column[line] {
	name := column[line]{head: "kernel/config", bytes: 200, cell: func(l line) view.Cell {
		if l.rival != nil {
			return view.Cell{Text: l.label}
		}
		return view.Cell{Text: l.label, Tone: view.Strong}
	}}
	var out []column[line]
	for _, f := range figures {
		out = append(out, column[line]{head: f.head, rank: f.rank, number: true, text: ofMeasured(func(row *result.Row) string {
			v := f.get(row.Timing)
			switch {
			case v == 0:
				return ""
			case f.head == "roof":
				return roofText(row.Timing.Stats)
			}
			return f.show(v)
		})})
	}
	if uuids := devices(all); uuids != nil {
		out = append(out, column[line]{head: "device", rank: 7, number: true, text: ofMeasured(func(row *result.Row) string { return shortDevice(row.Device, uuids) })})
	}
	return append([]column[line]{name}, used(all, out)...)
}

// roofText returns the part of the device's best that a row reached: "62% dram", and "64% dram, 38% l2"
// where it is not clear which of the two limits it.
func roofText(s result.Stats) string {
	text := percentOf(s.RoofPct) + " " + s.Roof
	return text + when(s.CacheRoofPct > 0, ", "+percentOf(s.CacheRoofPct)+" "+s.CacheRoof)
}

// benchTable has a line for every row, and below it one for every rival; a line that failed says so
// in place of numbers.
func benchTable(all []line) *view.Table {
	last := when(slices.ContainsFunc(all, func(l line) bool { return l.rival != nil }), "speedup")
	columns := append(benchColumns(all), column[line]{head: last, badge: true, cell: line.judged})
	t := tableOf("results", all, columns)
	t.Empty = "Nothing was measured."
	for i, l := range all {
		t.Rows[i].Sub = l.rival != nil
	}
	return t
}

// benchText returns the table of a terminal, in which everything that needs no attention is green.
func benchText(all []line) *view.Table {
	t := benchTable(all)
	for _, row := range t.Rows {
		if last := &row.Cells[len(row.Cells)-1]; last.Tone == view.Plain {
			last.Tone = view.Good
		}
	}
	return t
}

// benchPage returns the tables of a page: the outcome of every rival, and all lines.
func benchPage(r *result.Report, all []line) view.Section {
	t := benchTable(all)
	last := len(t.Columns) - 1
	t.Columns[last].Head = cmp.Or(t.Columns[last].Head, "outcome")
	if !slices.ContainsFunc(t.Rows, func(row view.Row) bool { return row.Cells[last].Text != "" }) {
		t.Columns = t.Columns[:last]
		for i := range t.Rows {
			t.Rows[i].Cells = t.Rows[i].Cells[:last]
		}
	}
	s := view.Section{ID: "results", Title: "Results"}
	if made := standings(r); made != nil {
		s.Parts = append(s.Parts, view.Section{Table: tableOf("overall", made, overallColumns)})
	}
	s.Parts = append(s.Parts, view.Section{Table: t})
	return s
}

func benchRecords(r *result.Report) [][]string {
	all := lines(r)
	fields := []column[line]{
		{head: "kernel", text: func(l line) string { return l.row.Kernel }},
		{head: "config", text: func(l line) string { return l.row.Config }},
		{head: "rival", text: func(l line) string { return when(l.rival != nil, l.label) }},
		{head: "verdict", text: func(l line) string { return string(l.row.Verdict) }},
		{head: "fault", text: func(l line) string { return cause(l.row) }},
		{head: "identity", text: func(l line) string { return l.row.Identity }},
	}
	add := func(name string, text func(*result.Row) string) {
		fields = append(fields, column[line]{head: name, text: ofMeasured(text)})
	}
	for _, f := range figures {
		add(f.field, func(row *result.Row) string { return number(f.get(row.Timing)) })
	}
	add("roof", func(row *result.Row) string { return row.Timing.Stats.Roof })
	for _, f := range moreFigures {
		add(f.field, func(row *result.Row) string { return number(f.get(row.Timing)) })
	}
	if devices(all) != nil {
		add("device", func(row *result.Row) string { return row.Device })
	}
	fields = append(fields, fieldsOf("", line.ratio, ratioFacts...)...)
	add("cache_roof_pct", func(row *result.Row) string { return number(row.Timing.Stats.CacheRoofPct) })
	add("cache_roof", func(row *result.Row) string { return row.Timing.Stats.CacheRoof })
	return records(all, fields)
}

var ratioFacts = []fact[result.Ratio]{
	{"speedup", func(r *result.Ratio) string { return number(r.Median) }},
	{"speedup_low", func(r *result.Ratio) string { return number(r.Low) }},
	{"speedup_high", func(r *result.Ratio) string { return number(r.High) }},
}

// cause says why a row failed; "" when it did not.
func cause(row *result.Row) string {
	return textOf(row.Fault, func(f *result.Fault) string { return string(f.Cause) })
}

// number writes a number of a field, where 0 is nothing.
func number(v float64) string {
	if v == 0 {
		return ""
	}
	return zero(v)
}

// zero writes a number that may be 0.
func zero(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// overall is the comparison of a kernel with one rival over all configs.
type overall struct {
	kernel, rival        string
	tone                 view.Tone
	mean, low, high      float64
	faster, slower, even int
}

func speedup(v float64) string { return fmt.Sprintf("%.2f×", v) }

var overallColumns = []column[overall]{
	{head: "over all configs", cell: func(o overall) view.Cell { return view.Cell{Text: o.kernel, Rest: o.rival} }},
	{head: "mean speedup", number: true, cell: func(o overall) view.Cell { return view.Cell{Text: speedup(o.mean), Tone: o.tone} }},
	{head: "least", number: true, text: func(o overall) string { return speedup(o.low) }},
	{head: "greatest", number: true, text: func(o overall) string { return speedup(o.high) }},
	{head: "faster", number: true, text: func(o overall) string { return strconv.Itoa(o.faster) }},
	{head: "slower", number: true, text: func(o overall) string { return strconv.Itoa(o.slower) }},
	{head: "no difference", number: true, text: func(o overall) string { return strconv.Itoa(o.even) }},
}

// standings sums up every rival that a kernel was compared with more than once.
func standings(r *result.Report) []overall {
	var out []overall
	for _, k := range byKernel(r) {
		all := slices.Concat(each(k.items, func(row *result.Row) []*result.Rival { return row.Rivals })...)
		met := where(all, func(rival *result.Rival) bool { return rival.Ratio != nil && rival.Ratio.Median > 0 })
		for _, rival := range grouped(met, func(rival *result.Rival) string { return rival.Label }) {
			if len(rival.items) > 1 {
				out = append(out, sumUp(k.name, rival))
			}
		}
	}
	return out
}

func sumUp(kernel string, rival group[*result.Rival]) overall {
	medians := each(rival.items, func(one *result.Rival) float64 { return one.Ratio.Median })
	count := func(tone view.Tone) int {
		return len(where(rival.items, func(one *result.Rival) bool { return standing(one.Ratio) == tone }))
	}
	o := overall{
		kernel: kernel, rival: rival.name, tone: view.Even, low: slices.Min(medians), high: slices.Max(medians),
		faster: count(view.Faster), slower: count(view.Slower), even: count(view.Even),
		// Ratios multiply: twice as fast here and half as fast there is no gain.
		mean: math.Exp(sum(medians, math.Log) / float64(len(medians))),
	}
	switch {
	case o.faster > 0 && o.slower == 0:
		o.tone = view.Faster
	case o.slower > 0 && o.faster == 0:
		o.tone = view.Slower
	}
	return o
}

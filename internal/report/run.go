package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/report/view"
	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// line is a row of the table: a kernel on a config, or below it one of its rivals.
type line struct {
	label string
	row   *result.Row
	rival *result.Rival // nil for the row itself
}

// lines returns all rows of a report with their rivals below them.
func lines(r *result.Report) []line { return linesOfRows(r.Rows) }

func linesOfRows(rows []*result.Row) []line {
	var out []line
	for _, row := range rows {
		out = append(out, line{label: row.Name(), row: row})
		for _, rival := range row.Rivals {
			out = append(out, line{label: rival.Label, row: rival.Row, rival: rival})
		}
	}
	return out
}

// judged returns what a line came to: how much faster the kernel is than a rival, or the
// row's verdict or fault; nothing when there is nothing to say.
func (l line) judged() view.Cell {
	if ratio := l.ratio(); ratio != nil {
		return view.Cell{Text: fmt.Sprintf("%.2f×", ratio.Median), Rest: fmt.Sprintf(" [%.2f, %.2f]", ratio.Low, ratio.High), Tone: standing(ratio)}
	}
	text := status(l.row)
	if text == "" {
		return view.Cell{}
	}
	tone, known := verdictTones[l.row.Verdict]
	switch {
	case known:
	case l.row.Fault != nil:
		tone = view.Unsure
	default:
		tone = view.Plain
	}
	return view.Cell{Text: text, Tone: tone}
}

// verdictTones are how verdicts look; others are plain.
var verdictTones = map[result.Verdict]view.Tone{
	result.Improvement: view.Good, result.Inconclusive: view.Unsure, result.Incomparable: view.Unsure,
	result.Regression: view.Bad, result.Incorrect: view.Bad, result.Broken: view.Bad, result.Rejected: view.Bad,
}

// ratio returns how a row compares with a rival; nil where it was not compared.
func (l line) ratio() *result.Ratio {
	if l.rival == nil {
		return nil
	}
	return l.rival.Ratio
}

// standing returns whether the row's kernel was shown to be faster than a rival.
func standing(ratio *result.Ratio) view.Tone { return gained(ratio.Low-1, ratio.High-1) }

// gained returns whether the interval of a gain lies on one side of zero.
func gained(low, high float64) view.Tone {
	switch {
	case low > 0:
		return view.Faster
	case high < 0:
		return view.Slower
	}
	return view.Even
}

// measured reports whether a row has a number to show.
func measured(r *result.Row) bool { return stats(r) != nil }

// stats returns the statistics of a row; nil where it has none to show.
func stats(r *result.Row) *result.Stats {
	if r == nil || r.Timing == nil || r.Timing.Stats.Count == 0 {
		return nil
	}
	return &r.Timing.Stats
}

func (l line) measured() bool { return measured(l.row) }

// cutShort reports whether a row was interrupted while it was measured: it has numbers,
// and nothing was made of them.
func cutShort(r *result.Row) bool {
	return measured(r) && r.Fault != nil && r.Fault.Cause == result.CauseInterrupted
}

// status returns a row's outcome in a few words; "" when there is nothing to say.
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

// byKernel groups the rows, kernels in the order they first appear in.
func byKernel(r *result.Report) []group[*result.Row] {
	return grouped(r.Rows, func(row *result.Row) string { return row.Kernel })
}

func variant(row *result.Row) string { return prefixed(" ", pairs(row.Params)) }

// pairs writes what names stand for: "B=32 H=8".
func pairs(m map[string]string) string {
	return strings.Join(each(sortedKeys(m), func(name string) string { return name + "=" + m[name] }), " ")
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// few names some and counts the rest.
func few(names []string) string { return unit.Few(names, 3) }

// onGPU reports whether the run's own rows ran on its GPU: their oracles and rivals may
// have, where they did not. The class of a processor begins with "host-".
func onGPU(r *result.Report) bool {
	return r.Machine.GPU != nil && !strings.HasPrefix(r.DeviceClass, "host-")
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
	return cpu.Model + ", " + view.Count(cpu.Cores, "core")
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

// flushes returns the ways in which caches were made cold, each once, and the kernels
// whose caches were not.
func flushes(r *result.Report) (ways, warm []string) {
	for _, l := range lines(r) {
		switch how := l.row.Flush; how {
		case "":
		case "none":
			warm = append(warm, l.row.Kernel)
		default:
			ways = append(ways, how)
		}
	}
	return distinct(ways), distinct(warm)
}

// method says how it was measured, in one line.
func method(r *result.Report) string {
	m := r.Method
	samples := when(m.MinSamples > 0, "at least "+view.Count(m.MinSamples, "sample"))
	if m.MaxSamples > 0 {
		samples = unit.Count(m.MinSamples) + " to " + unit.Count(m.MaxSamples) + " samples"
	}
	return strings.Join(present(
		cacheLine(r, true),
		when(m.HalfWidth > 0 && m.BudgetS > 0, "sampling until ± "+unit.PercentPlain(m.HalfWidth)+" or "+view.Short(strconv.FormatFloat(m.BudgetS, 'f', 3, 64))+" s"),
		samples, when(m.Seed != 0, fmt.Sprintf("seed %d", m.Seed)),
	), " · ")
}

// runFacts say when, of what and how the run was made.
func runFacts(r *result.Report, how view.Fact) []view.Fact {
	when := r.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	if took := r.Finished.Sub(r.Started); took > 0 {
		when += ", took " + span(took)
	}
	return slices.DeleteFunc([]view.Fact{
		{Name: "when", Text: when},
		{Name: "commit", Text: commit(r)},
		{Name: "base", Text: baseName(r)},
		{Name: "devices", Text: deviceNames(devices(lines(r)))},
		how,
		{Name: "compiler flags", Text: flagsLine(r)},
		{Name: "command", Text: term.ShellLine(r.Command...)},
	}, func(f view.Fact) bool { return f.Text == "" && f.Name != "method" })
}

// FlagsHint says how to change the compiler's flags.
const FlagsHint = "to change them, give the kernel flags: in pawl.yaml, which come last and win"

// flagsLine says which flags kernels were compiled with, and how to change them; "" where nothing was
// compiled.
func flagsLine(r *result.Report) string {
	built := where(lines(r), func(l line) bool { return l.row.Build != nil && len(l.row.Build.Flags) > 0 })
	sets := grouped(built, func(l line) string { return term.ShellLine(l.row.Build.Flags...) })
	if len(sets) == 0 {
		return ""
	}
	return strings.Join(each(sets, func(g group[line]) string {
		names := few(distinct(each(g.items, func(l line) string { return l.row.Kernel })))
		return g.name + when(len(sets) > 1, " ("+names+")")
	}), "; ") + " · " + FlagsHint
}

// commit names the commit that ran; "" where none is known.
func commit(r *result.Report) string {
	return textOf(r.Commit, func(c *result.Commit) string {
		return fmt.Sprintf("%.12s", c.SHA) + when(c.Dirty, " with local changes")
	})
}

// span writes how long a run took.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// machineFacts returns the fingerprint, without what the machine did not tell.
func machineFacts(r *result.Report) []view.Fact {
	out := []view.Fact{}
	add := func(name string, parts ...string) {
		if kept := present(parts...); len(kept) > 0 {
			out = append(out, view.Fact{Name: name, Text: strings.Join(kept, ", ")})
		}
	}
	m := r.Machine
	add("device class", r.DeviceClass)
	if g := m.GPU; g != nil {
		add("GPU", g.Name, g.Arch, when(g.SMs > 0, fmt.Sprintf("%d SMs", g.SMs)))
		add("GPU memory", sized(g.MemoryBytes, ""), sized(g.L2Bytes, " L2"), when(g.ECC, "ECC"))
		add("GPU limits", positive(g.PowerLimitW, "%.0f W"), positive(g.MaxGHz, "%.2f GHz"), sized(g.MaxShared, " shared a block"), when(g.MaxThreads > 0, unit.Count(g.MaxThreads)+" threads a block"))
		add("driver", g.Driver, prefixed("CUDA ", g.CUDA), when(g.Persistence, "persistence on"), prefixed("compute mode ", g.ComputeMode))
		add("GPU id", g.UUID)
	}
	add("processor", m.CPU.Model, when(m.CPU.Cores > 0, view.Count(m.CPU.Cores, "core")), when(m.CPU.Threads > 1, "SMT"), positive(m.CPU.MaxGHz, "%.2f GHz"))
	add("caches", each(m.CPU.Caches, func(c result.Cache) string { return fmt.Sprintf("L%d %s %s", c.Level, c.Type, unit.Bytes(c.Bytes)) })...)
	add("clock policy", prefixed("governor ", m.CPU.Governor), prefixed("turbo ", m.CPU.Turbo))
	add("features", m.CPU.Features)
	add("memory", sized(m.MemoryBytes, ""))
	add("system", m.OS, prefixed("Linux ", m.Kernel), m.Arch, m.Libc)
	add("runs inside", m.Hypervisor, m.Container)
	add("clock source", m.Clocksource)
	for _, name := range sortedKeys(m.Compilers) {
		add(name+" compiler", m.Compilers[name])
	}
	add("sandbox", m.Sandbox)
	add("spec", r.Spec.File, prefixed("sha256 ", fmt.Sprintf("%.12s", r.Spec.SHA256)))
	return out
}

// when returns the text where something holds, and else nothing.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

func prefixed(prefix, text string) string { return when(text != "", prefix+text) }

func sized(bytes int64, of string) string { return when(bytes > 0, unit.Bytes(bytes)+of) }

func positive(v float64, format string) string { return when(v > 0, fmt.Sprintf(format, v)) }

// devices returns the GPUs that shared the rows, sorted; none where one measured them all.
func devices(all []line) []string {
	out := distinct(each(all, ofMeasured(func(row *result.Row) string { return row.Device })))
	if len(out) < 2 {
		return nil
	}
	slices.Sort(out)
	return out
}

// shortDevice returns the end of a GPU's name, as much of it as tells it from the others.
func shortDevice(uuid string, all []string) string {
	const least = 4
	for n := least; n < len(uuid); n++ {
		end := uuid[len(uuid)-n:]
		if !slices.ContainsFunc(all, func(other string) bool { return other != uuid && strings.HasSuffix(other, end) }) {
			return "…" + end
		}
	}
	return uuid
}

// deviceNames says which GPUs the short names stand for.
func deviceNames(uuids []string) string {
	return strings.Join(each(uuids, func(uuid string) string { return shortDevice(uuid, uuids) + " is " + uuid }), ", ")
}

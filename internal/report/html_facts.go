package report

import (
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// method says how it was measured, in one line.
func method(r *result.Report) string {
	m := r.Method
	parts := []string{cacheLine(r, true)}
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
		add("GPU", g.Name, g.Arch, when(g.SMs > 0, fmt.Sprintf("%d SMs", g.SMs)))
		add("GPU memory", sized(g.MemoryBytes, ""), sized(g.L2Bytes, " L2"), when(g.ECC, "ECC"))
		add("GPU limits", positive(g.PowerLimitW, "%.0f W"), positive(g.MaxGHz, "%.2f GHz"), sized(g.MaxShared, " shared a block"), when(g.MaxThreads > 0, unit.Count(g.MaxThreads)+" threads a block"))
		add("driver", g.Driver, prefixed("CUDA ", g.CUDA), when(g.Persistence, "persistence on"), prefixed("compute mode ", g.ComputeMode))
		add("GPU id", g.UUID)
	}
	add("processor", m.CPU.Model, when(m.CPU.Cores > 0, count(m.CPU.Cores, "core")), when(m.CPU.Threads > 1, "SMT"), positive(m.CPU.MaxGHz, "%.2f GHz"))
	var caches []string
	for _, c := range m.CPU.Caches {
		caches = append(caches, fmt.Sprintf("L%d %s %s", c.Level, c.Type, unit.Bytes(c.Bytes)))
	}
	add("caches", caches...)
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

// when is the text where something holds, and else nothing.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

func prefixed(prefix, text string) string { return when(text != "", prefix+text) }

func sized(bytes int64, of string) string { return when(bytes > 0, unit.Bytes(bytes)+of) }

func positive(v float64, format string) string { return when(v > 0, fmt.Sprintf(format, v)) }

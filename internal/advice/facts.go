package advice

import (
	"maps"
	"math"
	"slices"

	"pawl/internal/profile"
)

// Evidence is all that may be known of a kernel. Whatever is nil or zero is not known.
type Evidence struct {
	Profile   *profile.Profile
	Resources *profile.Resources // of the compiled kernel
	Residency *profile.Residency // computed from them
	Mix       *profile.Mix       // of its machine code
	Processor *Processor         // of a kernel on the CPU; nil: it runs on a GPU

	Seconds  float64 // measured time of a launch
	Wall     float64 // time from launch to launch, as the host sees it
	Launches int     // that the work is divided into; 0: not known
	Flops    float64 // declared work
	Bytes    float64 //
	Grid     int     // blocks
	Threads  int     // of a block
	SMs      int
	Double   *bool // whether the kernel's arguments have f64 among them
	Half     *bool // whether they have f16 or bf16
	Matmul   *bool // whether it is a matrix product or attention

	Bandwidth float64 // bytes a second that the device's DRAM reached at best
	Peak      float64 // operations a second that the pipes for the kernel's type reached at best

	Debug bool // built without optimisation
}

// Source is where a fact comes from.
type Source string

// The sources.
const (
	FromProfile Source = "ncu"
	FromCode    Source = "compiled code"
	FromTime    Source = "measured time"
	FromWork    Source = "declared work"
	FromPeaks   Source = "peaks of the device"
)

// Fact is a number with its unit and its origin.
type Fact struct {
	Value float64
	Unit  string
	From  []Source
}

// Facts are the known facts by name.
type Facts map[string]Fact

// Names of facts that are no metrics of a profile.
var derived = map[string]string{ // units
	"limited_by_registers": "", "limited_by_shared": "", "limited_by_warps": "", "limited_by_blocks": "", "limited_by_barriers": "",
	"seconds": "s", "wall": "s", "work_flops": "", "work_bytes": "B", "moved_ratio": "×", "roof_pct": "%", "tail": "%", "math_pct": "%", "f64_share": "%", "ffma_share": "%",
	"intensity": "", "f64_expected": "", "f16_expected": "", "matmul": "", "uses_tma": "", "uses_wgmma": "", "uses_cp_async": "", "specialised": "", "persistent": "", "code_bytes": "B", "code_f64": "inst",
	"code_local": "inst", "code_local_hot": "inst", "code_narrow_loads": "inst", "code_wide_loads": "inst", "code_tensor": "inst", "code_special_hot": "inst", "code_ffma_hot": "inst", "code_atomics": "inst",
	"code_barriers": "inst", "stack": "B", "debug": "", "atomic_share": "%", "tensor_need_pct": "%", "memory_stalls": "%", "shared_stalls": "%", "occupancy_gap": "%",
	"start_pct": "%", "uneven_pct": "%", "dram_used_pct": "%", "launches": "", "launch_pct": "%", "flops_pct": "%", "f16_share": "%",
}

// Names returns the names of all facts that conditions may use, sorted.
func Names() []string {
	names := slices.Collect(maps.Keys(derived))
	names = slices.AppendSeq(names, maps.Keys(hostFacts))
	for _, m := range profile.Metrics() {
		names = append(names, string(m))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f Facts) set(name string, value float64, unit string, from ...Source) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	f[name] = Fact{value, unit, from}
}

func (f Facts) flag(name string, is bool, from ...Source) {
	v := 0.0
	if is {
		v = 1
	}
	f.set(name, v, "", from...)
}

// get returns several facts; ok is false if one is not known.
func (f Facts) get(names ...string) (values []float64, ok bool) {
	for _, name := range names {
		fact, known := f[name]
		if !known {
			return nil, false
		}
		values = append(values, fact.Value)
	}
	return values, true
}

// most returns the largest of those facts that are known; ok is false if none is.
func (f Facts) most(names ...string) (most float64, ok bool) {
	for _, name := range names {
		if fact, known := f[name]; known && (!ok || fact.Value > most) {
			most, ok = fact.Value, true
		}
	}
	return most, ok
}

// Gather returns all facts that follow from the evidence.
func Gather(e Evidence) Facts {
	f := Facts{}
	if e.Profile != nil {
		f.profile(e.Profile)
	}
	f.code(e)
	f.given(e)
	f.host(e)
	f.combine()
	return f
}

func (f Facts) profile(p *profile.Profile) {
	for m, v := range p.Metrics {
		f.set(string(m), v.Number, v.Unit, FromProfile)
	}
	if len(p.Limiter) > 0 {
		f.limited(p.Limiter, FromProfile)
	}
	if v, ok := f.get("duration"); ok {
		f.set("seconds", v[0], "s", FromProfile)
	}
}

func (f Facts) limited(by []string, from Source) {
	for _, resource := range []string{"registers", "shared", "warps", "blocks", "barriers"} {
		f.flag("limited_by_"+resource, slices.Contains(by, resource), from)
	}
}

// code adds what the compiled kernel says, where the profile does not say it.
func (f Facts) code(e Evidence) {
	if r := e.Resources; r != nil {
		f.missing("registers", float64(r.Registers), "register", FromCode)
		f.missing("shared_static", float64(r.Shared), "B", FromCode)
		f.set("stack", float64(r.Stack), "B", FromCode)
		f.set("code_bytes", float64(r.Code), "B", FromCode)
	}
	if r := e.Residency; r != nil {
		f.missing("theoretical_pct", r.Percent, "%", FromCode)
		if _, known := f["limited_by_registers"]; !known {
			f.limited(r.Limiter, FromCode)
		}
		for _, resource := range []string{"registers", "shared", "warps", "blocks"} {
			f.missing("limit_"+resource, float64(r.Limits[resource]), "block", FromCode)
		}
	}
	m := e.Mix
	if m == nil {
		return
	}
	hot := m.Hot
	if hot == nil {
		hot = m.Keys
	}
	count := func(h profile.Histogram, keys ...string) (n float64) {
		for _, key := range keys {
			n += float64(h[key])
		}
		return n
	}
	f.set("code_bytes", float64(m.Bytes), "B", FromCode)
	f.set("code_f64", float64(m.Classes[profile.ClassDouble]), "inst", FromCode)
	f.set("code_local", float64(m.Classes[profile.ClassLocal]), "inst", FromCode)
	f.set("code_local_hot", count(hot, "LDL.32", "LDL.64", "LDL.128", "STL.32", "STL.64", "STL.128"), "inst", FromCode)
	f.set("code_narrow_loads", count(m.Keys, "LDG.32", "LDG.16", "LDG.8"), "inst", FromCode)
	f.set("code_wide_loads", count(m.Keys, "LDG.64", "LDG.128", "LDG.256"), "inst", FromCode)
	f.set("code_tensor", float64(m.Classes[profile.ClassTensor]), "inst", FromCode)
	f.set("code_ffma_hot", count(hot, "FFMA"), "inst", FromCode)
	f.set("code_atomics", float64(m.Classes[profile.ClassAtomic]), "inst", FromCode)
	f.set("code_barriers", count(hot, "BAR"), "inst", FromCode)
	special := 0
	for key, n := range hot {
		if len(key) >= 4 && key[:4] == "MUFU" {
			special += n
		}
	}
	f.set("code_special_hot", float64(special), "inst", FromCode)
	f.flag("uses_tma", m.Uses["tma"] > 0, FromCode)
	f.flag("uses_wgmma", m.Uses["wgmma"] > 0, FromCode)
	f.flag("uses_cp_async", m.Uses["cp_async"] > 0, FromCode)
	f.flag("specialised", m.Uses["setmaxnreg"] > 0, FromCode)
}

// missing sets a fact that is not known yet.
func (f Facts) missing(name string, value float64, unit string, from ...Source) {
	if _, known := f[name]; !known {
		f.set(name, value, unit, from...)
	}
}

// given adds what was measured and declared.
func (f Facts) given(e Evidence) {
	positive := func(name string, v float64, unit string, from Source) {
		if v > 0 {
			f.set(name, v, unit, from)
		}
	}
	positive("seconds", e.Seconds, "s", FromTime)
	positive("wall", e.Wall, "s", FromTime)
	positive("launches", float64(e.Launches), "", FromWork)
	positive("work_flops", e.Flops, "", FromWork)
	positive("work_bytes", e.Bytes, "B", FromWork)
	if e.Grid > 0 {
		f.missing("grid", float64(e.Grid), "block", FromWork)
	}
	if e.Threads > 0 {
		f.missing("block", float64(e.Threads), "thread", FromWork)
	}
	if e.SMs > 0 {
		f.missing("sms", float64(e.SMs), "SM", FromPeaks)
	}
	if e.Double != nil {
		f.flag("f64_expected", *e.Double, FromWork)
	}
	if e.Half != nil {
		f.flag("f16_expected", *e.Half, FromWork)
	}
	if e.Matmul != nil {
		f.flag("matmul", *e.Matmul, FromWork)
	}
	f.flag("debug", e.Debug, FromCode)
	if v, ok := f.get("seconds"); ok && v[0] > 0 {
		least, known := 0.0, false
		if e.Bytes > 0 && e.Bandwidth > 0 {
			least, known = e.Bytes/e.Bandwidth, true
		}
		if e.Flops > 0 && e.Peak > 0 {
			least, known = math.Max(least, e.Flops/e.Peak), true
		}
		if known {
			f.set("roof_pct", 100*least/v[0], "%", FromTime, FromWork, FromPeaks)
		}
	}
}

// combine computes what needs several facts.
func (f Facts) combine() {
	if v, ok := f.get("dram_bytes", "work_bytes"); ok && v[1] > 0 {
		f.set("moved_ratio", v[0]/v[1], "×", FromProfile, FromWork)
	}
	f.waves()
	f.ends()
	f.streamed()
	// Pipes are counted over the cycles in which an SM was active; the rest of the kernel they idle.
	idle := 0.0
	if v, ok := f.get("idle_pct"); ok {
		idle = v[0]
	}
	if most, ok := f.most("fma_pct", "alu_pct", "fp64_pct", "xu_pct"); ok {
		most *= 1 - idle/100
		if v, ok := f.get("tensor_pct"); ok {
			most = math.Max(most, v[0])
		}
		f.set("math_pct", most, "%", FromProfile)
	}
	f.share("f64_share", "flops_f64", "flops")
	f.share("f16_share", "flops_f16", "flops")
	if v, ok := f.get("f16_expected"); ok && v[0] == 0 { // compilers move constants with HFMA2
		f.set("f16_share", 0, "%", FromWork)
	}
	if v, ok := f.get("flops_f32", "peak_f32", "sm_elapsed"); ok && v[1]*v[2] > 0 {
		f.set("flops_pct", 100*v[0]/(v[1]*v[2]), "%", FromProfile)
	}
	if v, ok := f.get("ffma", "flops"); ok && v[1] > 0 {
		f.set("ffma_share", 100*2*v[0]/v[1], "%", FromProfile)
	}
	if v, ok := f.get("flops", "dram_bytes"); ok && v[1] > 0 {
		f.set("intensity", v[0]/v[1], "", FromProfile)
	} else if v, ok := f.get("work_flops", "work_bytes"); ok && v[1] > 0 {
		f.set("intensity", v[0]/v[1], "", FromWork)
	}
	if v, ok := f.get("flops_rate", "peak_tensor", "sm_clock"); ok && v[1]*v[2] > 0 {
		f.set("tensor_need_pct", 100*v[0]/(v[1]*v[2]), "%", FromProfile)
	}
	if v, ok := f.get("atomic_sectors", "reduce_sectors", "l2_sectors"); ok && v[2] > 0 {
		f.set("atomic_share", 100*(v[0]+v[1])/v[2], "%", FromProfile)
	}
	if v, ok := f.get("stall_long_scoreboard", "stall_lg_throttle"); ok {
		f.set("memory_stalls", v[0]+v[1], "%", FromProfile)
	}
	if v, ok := f.get("stall_short_scoreboard", "stall_mio_throttle"); ok {
		f.set("shared_stalls", v[0]+v[1], "%", FromProfile)
	}
	if v, ok := f.get("occupancy_pct", "theoretical_pct"); ok && v[1] > 0 {
		f.set("occupancy_gap", 100*math.Max(0, 1-v[0]/v[1]), "%", FromProfile)
	}
	if v, ok := f.get("tma_loads"); ok {
		f.missing("uses_tma", math.Min(v[0], 1), "", FromProfile)
	}
	if v, ok := f.get("wgmma"); ok {
		f.missing("uses_wgmma", math.Min(v[0], 1), "", FromProfile)
	}
	// A kernel with as many blocks as fit, each of which takes many tiles, is meant to have one wave.
	if v, ok := f.get("grid", "sms", "waves"); ok && v[1] > 0 {
		f.missing("persistent", truth(v[2] <= 1.001 && v[2] > 0.12 && math.Mod(v[0], v[1]) == 0), "", FromProfile)
	}
	if v, ok := f.get("uses_wgmma", "uses_tma", "persistent"); ok {
		f.missing("specialised", truth(v[0] > 0 && v[1] > 0 && v[2] > 0), "", FromProfile)
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (f Facts) share(name, part, whole string) {
	if v, ok := f.get(part, whole); ok && v[1] > 0 {
		f.set(name, 100*v[0]/v[1], "%", FromProfile)
	}
}

// ends computes what launching costs. Until its first block runs and after its last one has ended, a launch keeps
// all SMs idle: 1.5 µs on an H200, whatever the kernel does. No change to its blocks gets that back.
func (f Facts) ends() {
	start := 0.0
	if v, ok := f.get("sm_active_max", "sm_elapsed"); ok && v[1] > 0 {
		start = 100 * math.Min(1, math.Max(0, 1-v[0]/v[1]))
		if v, ok := f.get("duration"); ok && v[0] > 0 {
			start = math.Min(start, 100*longestStart/v[0])
		}
		f.set("start_pct", start, "%", FromProfile)
	}
	if v, ok := f.get("idle_pct"); ok {
		f.set("uneven_pct", math.Max(0, v[0]-start), "%", FromProfile)
	}
	if v, ok := f.get("seconds", "wall"); ok && v[1] > 0 {
		f.set("launch_pct", 100*math.Max(0, 1-v[0]*(1-start/100)/v[1]), "%", FromTime)
	}
}

// streamed computes how busy DRAM is with what the kernel moves, while its SMs work. What a kernel stores is
// counted also where it is still in L2 when the kernel ends: a launch of 20 µs leaves most of it there, and the next
// one waits until it is written.
func (f Facts) streamed() {
	v, ok := f.get("dram_pct")
	if !ok {
		return
	}
	used := v[0]
	if v, ok := f.get("work_bytes", "dram_bytes", "dram_written", "store_sectors"); ok && v[1] > 0 {
		left := math.Min(v[0]-v[1], sectorBytes*v[3]-v[2])
		used *= 1 + math.Max(0, left)/v[1]
	}
	if v, ok := f.get("start_pct"); ok && v[0] < 100 {
		used /= 1 - v[0]/100
	}
	f.set("dram_used_pct", math.Min(100, math.Max(used, v[0])), "%", FromProfile)
}

const sectorBytes = 32

// longestStart is more than a launch takes to begin and to end, in seconds. Its cycles are counted in two passes, one of which
// may have run longer than the other.
const longestStart = 4e-6

// waves computes them exactly, since ncu rounds them, and how much of the last one is empty.
func (f Facts) waves() {
	v, ok := f.get("grid", "sms")
	if !ok || v[1] <= 0 {
		return
	}
	least := math.Inf(1)
	for _, limit := range []string{"limit_registers", "limit_shared", "limit_warps", "limit_blocks", "limit_barriers"} {
		if fact, known := f[limit]; known {
			least = math.Min(least, fact.Value)
		}
	}
	if math.IsInf(least, 1) || least <= 0 {
		return
	}
	waves := v[0] / (v[1] * least)
	f.set("waves", waves, "", f["limit_warps"].From...)
	f.set("tail", 100*(math.Ceil(waves)-waves)/math.Ceil(waves), "%", f["limit_warps"].From...)
}

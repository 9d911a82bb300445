package advice

import (
	"cmp"
	"math"
)

// Processor is what is known of a kernel that runs on the CPU.
type Processor struct {
	Counters map[string]float64 // of a launch, by name as perf has it, such as branch-misses; what was not counted is absent
	Threads  int                // that it may use; 0: not known
	Seconds  float64            // of a launch, while they were counted
	RoofPct  float64            // of the measured roof that limits it; 0: not known
	Memory   bool               // that roof is the memory's or a cache's
	Python   bool               // it is a function written in Python
}

// FromCounters is the source of what the processor and its operating system have counted.
const FromCounters Source = "processor counters"

// hostFacts are the names of the facts about a kernel on the CPU, with their units.
var hostFacts = map[string]string{
	"host": "", "python": "", "hardware_counted": "", "threads": "thread", "roof_of_memory": "", "ipc": "", "core_clock": "Hz", "cpu_cycles": "cycle", "cpu_instructions": "inst", "cpu_branches": "inst",
	"branch_misses": "", "branch_miss_pct": "%", "branch_cost_pct": "%", "cache_references": "", "cache_misses": "", "cache_miss_pct": "%", "cache_mpki": "", "llc_miss_bytes": "B", "llc_miss_rate": "B/s",
	"llc_roof_pct": "%", "l1d_miss_pct": "%", "l1d_mpki": "", "dtlb_cost_pct": "%", "backend_stall_pct": "%", "frontend_stall_pct": "%", "cpu_seconds": "s", "cores_used": "core", "counted_seconds": "s", "page_faults": "",
	"major_faults": "", "fault_cost_pct": "%", "context_switches": "", "migrations": "", "flops_per_inst": "", "host_bound": "×",
}

// What events cost, about, on the cores of today: bounds and conditions need an order of magnitude.
const (
	missedBranch  = 15     // cycles until the right path delivers
	missedTLB     = 25     // cycles of a walk through page tables that are in a cache
	pageFault     = 0.5e-6 // seconds, with the page that the kernel clears
	contextSwitch = 5e-6   // seconds, with what the caches have lost
	goodIPC       = 4      // instructions a cycle that a core retires in good code
	lineBytes     = 64
)

// host adds what is known of a kernel on the CPU. Counters are of all its threads together.
func (f Facts) host(e Evidence) {
	p := e.Processor
	if p == nil {
		return
	}
	f.flag("host", true)
	f.flag("python", p.Python)
	if p.Threads > 0 {
		f.set("threads", float64(p.Threads), "thread", FromWork)
	}
	if p.RoofPct > 0 {
		f.set("roof_pct", p.RoofPct, "%", FromTime, FromWork, FromPeaks)
		f.flag("roof_of_memory", p.Memory, FromPeaks)
	}
	for name, counter := range map[string]string{
		"cpu_cycles": "cycles", "cpu_instructions": "instructions", "cpu_branches": "branches", "branch_misses": "branch-misses", "cache_references": "cache-references", "cache_misses": "cache-misses",
		"cpu_seconds": "task-clock", "page_faults": "page-faults", "major_faults": "major-faults", "context_switches": "context-switches", "migrations": "cpu-migrations",
	} {
		if v, counted := p.Counters[counter]; counted {
			f.set(name, v, hostFacts[name], FromCounters)
		}
	}
	if counted, ok := f["seconds"]; p.Seconds > 0 || ok {
		f.set("counted_seconds", cmp.Or(p.Seconds, counted.Value), "s", FromCounters)
	}
	_, cycles := f["cpu_cycles"]
	_, misses := f["cache_misses"]
	f.flag("hardware_counted", cycles || misses)
	f.pipeline(p)
	f.hierarchy(p, e.Bandwidth)
	f.system()
	bound, known := math.Inf(1), false
	if v, ok := f.get("roof_pct"); ok && v[0] > 0 {
		bound, known = 100/v[0], true
	}
	if v, ok := f.get("ipc"); ok && v[0] > 0 {
		bound, known = math.Min(bound, goodIPC/v[0]), true
	}
	if known {
		f.set("host_bound", math.Max(1, bound), "×", FromCounters)
	}
}

// per sets a fact to a part of a whole, where both are known.
func (f Facts) per(name, part, whole string, times float64) {
	if v, ok := f.get(part, whole); ok && v[1] > 0 {
		f.set(name, times*v[0]/v[1], hostFacts[name], FromCounters)
	}
}

// share sets a fact to the percentage that one counter is of another.
func (p *Processor) share(f Facts, name, part, whole string, times float64) {
	v, counted := p.Counters[part]
	all, both := p.Counters[whole]
	if counted && both && all > 0 {
		f.set(name, times*v/all, hostFacts[name], FromCounters)
	}
}

// pipeline computes how well the cores were used.
func (f Facts) pipeline(p *Processor) {
	f.per("ipc", "cpu_instructions", "cpu_cycles", 1)
	f.per("core_clock", "cpu_cycles", "cpu_seconds", 1)
	f.per("branch_miss_pct", "branch_misses", "cpu_branches", 100)
	f.per("branch_cost_pct", "branch_misses", "cpu_cycles", 100*missedBranch)
	p.share(f, "backend_stall_pct", "stalled-cycles-backend", "cycles", 100)
	p.share(f, "frontend_stall_pct", "stalled-cycles-frontend", "cycles", 100)
	if v, ok := f.get("work_flops", "cpu_instructions"); ok && v[1] > 0 {
		f.set("flops_per_inst", v[0]/v[1], "", FromCounters, FromWork)
	}
}

// hierarchy computes where the data came from.
func (f Facts) hierarchy(p *Processor, bandwidth float64) {
	f.per("cache_miss_pct", "cache_misses", "cache_references", 100)
	f.per("cache_mpki", "cache_misses", "cpu_instructions", 1000)
	p.share(f, "l1d_miss_pct", "L1-dcache-load-misses", "L1-dcache-loads", 100)
	p.share(f, "l1d_mpki", "L1-dcache-load-misses", "instructions", 1000)
	p.share(f, "dtlb_cost_pct", "dTLB-load-misses", "cycles", 100*missedTLB)
	v, ok := f.get("cache_misses")
	if !ok {
		return
	}
	bytes := lineBytes * v[0]
	f.set("llc_miss_bytes", bytes, "B", FromCounters)
	if v, ok := f.get("work_bytes"); ok && v[0] > 0 {
		f.set("moved_ratio", bytes/v[0], "×", FromCounters, FromWork)
	}
	if v, ok := f.get("counted_seconds"); ok && v[0] > 0 {
		f.set("llc_miss_rate", bytes/v[0], "B/s", FromCounters, FromTime)
		if bandwidth > 0 {
			f.set("llc_roof_pct", 100*bytes/v[0]/bandwidth, "%", FromCounters, FromTime, FromPeaks)
		}
	}
}

// system computes what the operating system did meanwhile.
func (f Facts) system() {
	if v, ok := f.get("cpu_seconds", "counted_seconds"); ok && v[1] > 0 {
		f.set("cores_used", v[0]/v[1], "core", FromCounters, FromTime)
	}
	if v, ok := f.get("page_faults", "counted_seconds"); ok && v[1] > 0 {
		f.set("fault_cost_pct", math.Min(100, 100*pageFault*v[0]/v[1]), "%", FromCounters, FromTime)
	}
}

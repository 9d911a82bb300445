package machine

import "golang.org/x/sys/unix"

// counter is an event that the kernel can count for a thread.
type counter struct {
	name   string // as perf has it
	unit   string // "": a number of events
	kind   uint32
	config uint64
	inside bool // it happens inside the kernel: without the kernel's part it is always zero
}

const (
	hardware = unix.PERF_TYPE_HARDWARE
	cached   = unix.PERF_TYPE_HW_CACHE
	software = unix.PERF_TYPE_SOFTWARE

	reads  = unix.PERF_COUNT_HW_CACHE_OP_READ << 8
	missed = unix.PERF_COUNT_HW_CACHE_RESULT_MISS << 16

	seconds = "s" // the kernel counts nanoseconds
)

// counterGroups are the counters, in groups that a PMU can count at one time. A core of Intel has
// four counters for any event beside two for cycles and instructions, and the NMI watchdog takes
// one of them.
var counterGroups = [][]counter{
	{
		{name: "cycles", kind: hardware, config: unix.PERF_COUNT_HW_CPU_CYCLES},
		{name: "instructions", kind: hardware, config: unix.PERF_COUNT_HW_INSTRUCTIONS},
		{name: "branches", kind: hardware, config: unix.PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		{name: "branch-misses", kind: hardware, config: unix.PERF_COUNT_HW_BRANCH_MISSES},
	},
	{
		{name: "cache-references", kind: hardware, config: unix.PERF_COUNT_HW_CACHE_REFERENCES},
		{name: "cache-misses", kind: hardware, config: unix.PERF_COUNT_HW_CACHE_MISSES},
	},
	{
		{name: "L1-dcache-loads", kind: cached, config: unix.PERF_COUNT_HW_CACHE_L1D | reads},
		{name: "L1-dcache-load-misses", kind: cached, config: unix.PERF_COUNT_HW_CACHE_L1D | reads | missed},
		{name: "dTLB-load-misses", kind: cached, config: unix.PERF_COUNT_HW_CACHE_DTLB | reads | missed},
	},
	{
		{name: "stalled-cycles-backend", kind: hardware, config: unix.PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
		{name: "stalled-cycles-frontend", kind: hardware, config: unix.PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	},
	{
		{name: "task-clock", unit: seconds, kind: software, config: unix.PERF_COUNT_SW_TASK_CLOCK},
		{name: "page-faults", kind: software, config: unix.PERF_COUNT_SW_PAGE_FAULTS},
		{name: "major-faults", kind: software, config: unix.PERF_COUNT_SW_PAGE_FAULTS_MAJ},
		{name: "context-switches", kind: software, config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, inside: true},
		{name: "cpu-migrations", kind: software, config: unix.PERF_COUNT_SW_CPU_MIGRATIONS, inside: true},
	},
}

// CounterGroups returns the names of all counters. Those of one group can be counted at one time;
// of several groups the kernel would have to take turns.
func CounterGroups() [][]string {
	var groups [][]string
	for _, group := range counterGroups {
		var names []string
		for _, c := range group {
			names = append(names, c.name)
		}
		groups = append(groups, names)
	}
	return groups
}

func findCounter(name string) (counter, bool) {
	for _, group := range counterGroups {
		for _, c := range group {
			if c.name == name {
				return c, true
			}
		}
	}
	return counter{}, false
}

// attributes are what the kernel is asked to count. Threads that the thread starts later are
// included.
func (c counter) attributes() *unix.PerfEventAttr {
	a := &unix.PerfEventAttr{
		Type: c.kind, Config: c.config, Size: unix.PERF_ATTR_SIZE_VER0,
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits:        unix.PerfBitInherit,
	}
	if !c.inside {
		// The kernel's own work is not the candidate's, and counting it takes a privilege.
		a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	}
	return a
}

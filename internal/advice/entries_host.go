package advice

import "slices"

// builtin is pawl's own catalogue: of kernels on a GPU, and of kernels on the CPU.
var builtin = slices.Concat(onGPU, onHost)

// timeable is the shortest launch on a CPU of which a finding is worth a line.
const timeable = "seconds >= 1e-6"

// onHost are the bottlenecks of kernels on the CPU. Costs of events are estimates, and so are the
// conditions over them; what was counted stands in the sentences.
var onHost = []Entry{
	{
		ID: "measurement-invalid", Row: 1, Title: "the numbers cannot be right", Host: true, Stops: true, Confidence: 1,
		When:     []string{"roof_pct > 150"},
		Evidence: "the declared work would take {roof_pct} of the measured time at the measured peak",
		First:    "check work in pawl.yaml: does the kernel do all of it?", Next: "pawl calibrate --roofline, if the peaks are out of date",
	},
	{
		ID: "at-roof", Row: 2, Title: "it is at the roof already", Host: true, Settled: true, Confidence: 0.9,
		When:     []string{"roof_pct >= 85"},
		Evidence: "the declared work takes {roof_pct} of the measured time at the measured peak",
		First:    "stop here", Deeper: []string{"change the algorithm: fewer operations, a narrower type, fusion with its neighbours", "more threads, if it has one"},
		Next: "spend the time on another kernel",
		Python: &Steps{
			First: "stop here", Deeper: []string{"change the algorithm: fewer operations, a narrower dtype, fewer arrays", "more threads, if the framework uses only one"},
			Next: "spend the time on another kernel",
		},
	},
	{
		ID: "host-page-faults", Row: 40, Title: "it touches memory for the first time in every launch", Host: true, Confidence: 0.85,
		When:     []string{"page_faults >= 1", "fault_cost_pct >= 3"},
		Gain:     "1 / (1 - min(0.98, fault_cost_pct / 10))", // a virtual machine may take ten times as long for one
		Evidence: "{page_faults} page faults a launch, which take {fault_cost_pct} of its time at 0.5 µs each; in a virtual machine several times that",
		First:    "allocate once, outside of the kernel: a large block that is freed goes back to the system, and faults page by page when it comes back", Deeper: []string{"let the caller give a buffer, or keep one", "huge pages: madvise(MADV_HUGEPAGE) makes one fault of 512", "M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of mallopt"},
		Next: "look for malloc, calloc, new, std::vector and mmap in the kernel; perf record -e page-faults -g names the line",
		Python: &Steps{
			First: "write into arrays that are there: out=, *= and other operations in place; each operation without them makes a new array, whose pages come from the system", Deeper: []string{"keep a buffer for intermediate arrays outside of the function", "work on blocks of rows, so that small arrays are used again"},
			Next: "count the operations that return a new array",
		},
	},
	{
		ID: "host-threads-idle", Row: 41, Title: "threads wait for each other", Host: true, Confidence: 0.75,
		When:     []string{"threads >= 2", "cores_used < 0.7 * threads", "seconds >= 1e-5"},
		Gain:     "threads / max(cores_used, 0.5)",
		Evidence: "of {threads} threads {cores_used} run at a time",
		First:    "give all threads the same amount of work: smaller pieces, schedule(dynamic)", Deeper: []string{"make the serial part parallel", "fewer barriers: nowait, one parallel region", "fewer threads for small problems"},
		Next: "check it with half of the threads: launch: {threads: N}",
	},
	{
		ID: "host-waiting", Row: 42, Title: "it leaves the processor", Host: true, Confidence: 0.8,
		When:     []string{"threads < 2", "cores_used < 0.7", "seconds >= 1e-5"},
		Gain:     "1 / max(cores_used, 0.01)",
		Evidence: "it runs for {cpu_seconds} of the {counted_seconds} that a launch took while it was counted",
		First:    "find what it waits for: a lock, a sleep, a file, a page from disk", Deeper: []string{"spin for short waits", "read ahead, outside of the kernel"},
		Next: "strace -c -f shows the calls that wait",
		Python: &Steps{
			First: "find what it waits for: a file, a lock, a thread of the framework", Deeper: []string{"read ahead, outside of the function"},
			Next: "py-spy dump --native shows where it waits",
		},
	},
	{
		ID: "host-branch-missing", Row: 43, Title: "branches go where the processor does not expect", Host: true, Confidence: 0.8,
		When:     []string{"branch_miss_pct >= 2", "branch_cost_pct >= 10"},
		Gain:     "1 / (1 - min(0.98, branch_cost_pct / 100))",
		Evidence: "{branch_miss_pct} of the branches are predicted wrongly, {branch_misses} a launch: about {branch_cost_pct} of the cycles; {ipc} instructions per cycle",
		First:    "replace the branch by arithmetic: a conditional move, a mask, min and max", Deeper: []string{"sort or partition the data by the condition", "a table instead of a switch", "move the condition out of the loop"},
		Next: "perf record -e branch-misses names the branch",
		Python: &Steps{
			First: "sort or partition the data by the condition, or compute both sides and choose: numpy.where", Deeper: []string{"a table, indexed by the condition, instead of several masks"},
			Next: "which operation has a condition for each element: a mask, a sort, a minimum?",
		},
	},
	{
		ID: "host-redundant-memory", Row: 44, Title: "more bytes come from memory than the work needs", Host: true, Confidence: 0.7,
		When:     []string{"moved_ratio > 1.5", "llc_roof_pct >= 30"},
		Gain:     "min(moved_ratio, max(1, 100 / max(roof_pct, 1)))",
		Evidence: "{llc_miss_bytes} miss the last cache for {work_bytes} of declared work, {moved_ratio}; {llc_roof_pct} of the measured bandwidth",
		First:    "use what was loaded before it leaves the cache: tile the loops for L2", Deeper: []string{"interchange the loops, so that the innermost one goes along a row", "fuse passes over the same data", "non-temporal stores, where the result is not read soon"},
		Next: "which argument is read more than once, and how far apart?",
		Python: &Steps{
			First: "each operation reads and writes whole arrays: work on blocks of rows that fit into the cache", Deeper: []string{"fuse operations: einsum, torch.compile, jax.jit, numexpr, numba", "operations in place: out=, *="},
			Next: "count the arrays that the function reads and writes, and compare with what the work needs",
		},
	},
	{
		ID: "host-memory-bound", Row: 45, Title: "memory is the limit", Host: true, Confidence: 0.85,
		When:     []string{"llc_roof_pct >= 60"},
		Unless:   []Exception{{"moved_ratio > 1.5", "bytes are moved more than once: see host-redundant-memory"}},
		Gain:     "max(1.03, 100 / llc_roof_pct)",
		Evidence: "{llc_miss_rate} miss the last cache, {llc_roof_pct} of the measured bandwidth of memory; {ipc} instructions per cycle",
		Less:     &Weaker{When: []string{"roof_pct >= 60", "roof_of_memory > 0"}, Gain: "100 / roof_pct", Confidence: 0.6, Evidence: "the declared bytes take {roof_pct} of the measured time at the measured bandwidth"},
		First:    "move fewer bytes: a narrower type, fusion with the kernel before or after", Deeper: []string{"compute what can be computed instead of reading it", "more threads: one core does not fill the memory of most machines", "non-temporal stores, where the result is not read soon"},
		Next: "is every argument needed as it is stored?",
		Python: &Steps{
			First: "move fewer bytes: a narrower dtype, fewer intermediate arrays", Deeper: []string{"fuse operations: einsum, torch.compile, jax.jit, numexpr, numba", "compute what can be computed instead of reading it", "more threads: one core does not fill the memory of most machines"},
			Next: "is every array needed as it is stored?",
		},
	},
	{
		ID: "host-cache-missing", Row: 46, Title: "it waits for cache lines from memory", Host: true, Confidence: 0.75,
		When:     []string{"cache_mpki >= 5", "ipc < 1", "llc_roof_pct < 60"},
		Gain:     "host_bound",
		Evidence: "{cache_mpki} misses of the last cache per 1,000 instructions, {ipc} instructions per cycle, at {llc_roof_pct} of the measured bandwidth",
		Less:     &Weaker{When: []string{"cache_mpki >= 5", "ipc < 1"}, Gain: "host_bound", Confidence: 0.5, Evidence: "{cache_mpki} misses of the last cache per 1,000 instructions, {ipc} instructions per cycle"},
		First:    "read memory in order: swap the loops or the layout, so that the innermost index has stride 1", Deeper: []string{"structure of arrays", "sort or block the indices of a gather", "several independent accesses at a time, or __builtin_prefetch", "a smaller working set: tile, narrower types"},
		Next: "perf record -e cache-misses names the access",
		Python: &Steps{
			First: "go through arrays in the order of memory: reduce along the last axis, make a transposed array contiguous (numpy.ascontiguousarray) before it is used more than once", Deeper: []string{"sort the indices of a gather", "one array per field in place of structured arrays", "blocks of rows that fit into the cache"},
			Next: "print strides and flags of the arrays that are used",
		},
	},
	{
		ID: "host-l1-missing", Row: 47, Title: "its data does not stay in L1", Host: true, Confidence: 0.5,
		When:     []string{"l1d_miss_pct >= 10", "l1d_mpki >= 20", "ipc < 1.5", "cache_mpki < 5"},
		Gain:     "host_bound",
		Evidence: "{l1d_miss_pct} of the loads miss L1 ({l1d_mpki} per 1,000 instructions), few of them the last cache ({cache_mpki}); {ipc} instructions per cycle",
		First:    "tile the loops for L1 (32 to 48 KiB) and L2", Deeper: []string{"read in order: a stride of one line uses one element of each", "copy a tile that is read with a stride into a small buffer"},
		Next: "halve the tile, or add one, and check",
		Python: &Steps{
			First: "work on blocks of rows that fit into L2, so that the next operation finds them there", Deeper: []string{"go along the last axis", "fuse operations: einsum, torch.compile, jax.jit, numexpr, numba"},
			Next: "halve the block, or add one, and check",
		},
	},
	{
		ID: "host-tlb-missing", Row: 48, Title: "it touches too many pages", Host: true, Confidence: 0.6,
		When:     []string{"dtlb_cost_pct >= 10"},
		Gain:     "1 / (1 - min(0.9, dtlb_cost_pct / 100))",
		Evidence: "walks through page tables take about {dtlb_cost_pct} of the cycles; {ipc} instructions per cycle",
		First:    "stay on a page: swap the loops or the layout", Deeper: []string{"huge pages: madvise(MADV_HUGEPAGE), or hugepages for the allocation", "block the indices of a gather by pages"},
		Next: "perf record -e dTLB-load-misses names the access",
		Python: &Steps{
			First: "go through arrays in the order of memory: a stride of a page or more touches a page for each element", Deeper: []string{"make a transposed array contiguous before it is used", "sort the indices of a gather"},
			Next: "print strides and flags of the arrays that are used",
		},
	},
	{
		ID: "host-dependency-bound", Row: 49, Title: "instructions wait for the one before", Host: true, Confidence: 0.6,
		When:     []string{"ipc < 1.2", "cache_mpki < 1", "branch_cost_pct < 5", "l1d_miss_pct < 5"},
		Gain:     "host_bound",
		Evidence: "{ipc} instructions per cycle, though {l1d_miss_pct} of the loads miss L1 and branches cost {branch_cost_pct} of the cycles",
		Less:     &Weaker{When: []string{"ipc < 1.2", "cache_mpki < 1", "branch_cost_pct < 5"}, Gain: "host_bound", Confidence: 0.4, Evidence: "{ipc} instructions per cycle, though few loads miss the last cache and branches cost {branch_cost_pct} of the cycles"},
		First:    "several accumulators in place of one: a sum of floats is a chain, unless -fassociative-math lets the compiler split it", Deeper: []string{"multiply by the inverse in place of dividing", "unroll, so that independent elements overlap", "keep a value in a register that is stored and loaded again"},
		Next: "split the accumulator in four, and check",
		Python: &Steps{
			First: "replace loops of Python, and running sums, by operations on whole arrays", Deeper: []string{"multiply by the inverse in place of dividing", "compile the loop: numba, torch.compile, jax.jit"},
			Next: "python -m cProfile shows whether the time is in the interpreter or in the library",
		},
	},
	{
		ID: "host-scalar", Row: 50, Title: "every instruction does little", Host: true, Confidence: 0.55,
		When:     []string{"ipc >= 1.5", "flops_per_inst < 0.8", "work_flops > 0", "cache_mpki < 2", "roof_pct < 60"},
		Gain:     "min(8, 100 / max(roof_pct, 1))",
		Evidence: "{ipc} instructions per cycle, but {flops_per_inst} declared operations per instruction; {roof_pct} of the roof",
		Less:     &Weaker{When: []string{"ipc >= 1.5", "flops_per_inst < 0.8", "work_flops > 0", "cache_mpki < 2"}, Confidence: 0.4, Evidence: "{ipc} instructions per cycle, but {flops_per_inst} declared operations per instruction"},
		First:    "let the compiler vectorise: -O3 -march=native, restrict, a simple loop without calls and branches", Deeper: []string{"-ffast-math or #pragma omp simd reduction for sums", "intrinsics, or a type such as std::simd", "hoist index arithmetic out of the loop"},
		Next: "-fopt-info-vec-missed says why a loop is not vectorised",
		Python: &Steps{
			First: "replace loops of Python by operations on whole arrays: the interpreter runs hundreds of instructions for each operation", Deeper: []string{"float32 in place of float64 and of object arrays", "a library call in place of several operations: einsum, matmul", "compile the loop: numba, torch.compile, jax.jit"},
			Next: "python -m cProfile shows whether the time is in the interpreter or in the library",
		},
	},
	{
		ID: "host-below-roof", Row: 51, Title: "it is far from the roof", Host: true, Confidence: 0.3,
		When:     []string{"hardware_counted == 0", "roof_pct < 50", timeable},
		Gain:     "100 / max(roof_pct, 1)",
		Evidence: "the declared work takes {roof_pct} of the measured time at the measured peak, and no hardware counter says why",
		First:    "look at the innermost loop: does it go through memory in order, and is it vectorised?", Deeper: []string{"-O3 -march=native", "more independent work in the loop: unroll, several accumulators"},
		Next: "profile it on a machine with hardware counters, where pawl says which of these it is; -fopt-info-vec-missed",
		Python: &Steps{
			First: "look for loops of Python and for intermediate arrays: operations on whole arrays, in place (out=, *=)", Deeper: []string{"arrays in the order of memory: print their strides and flags", "fuse operations: einsum, torch.compile, jax.jit, numexpr, numba"},
			Next: "python -m cProfile shows whether the time is in the interpreter or in the library",
		},
	},
	{
		ID: "wrong-target", Row: 37, Title: "it was built without optimisation", Host: true, Confidence: 0.95,
		When:     []string{"debug > 0"},
		Gain:     "10",
		Evidence: "the compiler was asked for no optimisation",
		First:    "build with -O3", Next: "remove -O0 from flags in pawl.yaml",
	},
}

// allRules are the rules of thumb that pawl knows.
var allRules = slices.Concat(rules, hostRules)

// hostRules are rules of thumb for kernels on the CPU.
var hostRules = []Note{
	{"ipc", "ipc < 1", "{ipc} instructions per cycle, rule of thumb 1", []string{"host-cache-missing", "host-l1-missing", "host-dependency-bound", "host-branch-missing", "host-tlb-missing", "host-memory-bound", "host-redundant-memory"}, true},
	{"branch-misses", "branch_miss_pct > 2", "{branch_miss_pct} of the branches are predicted wrongly, rule of thumb 2%", []string{"host-branch-missing"}, true},
	{"cache-misses", "cache_miss_pct > 20", "{cache_miss_pct} of what reaches the last cache misses it, rule of thumb 20%", []string{"host-cache-missing", "host-memory-bound", "host-redundant-memory"}, true},
	{"migrations", "migrations >= 0.1", "{migrations} moves to another core a launch", []string{"host-threads-idle", "host-waiting"}, true},
}

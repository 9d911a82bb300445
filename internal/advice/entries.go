package advice

// Builtin returns pawl's own catalogue.
func Builtin() *Catalogue {
	c, err := New(builtin, allRules)
	if err != nil {
		panic(err) // a test compiles it
	}
	return c
}

// With returns pawl's catalogue with the user's entries. One with the id of pawl's replaces it.
func With(own []Entry) (*Catalogue, error) {
	merged := append([]Entry{}, own...)
	for _, e := range builtin {
		replaced := false
		for _, mine := range own {
			replaced = replaced || mine.ID == e.ID
		}
		if !replaced {
			merged = append(merged, e)
		}
	}
	return New(merged, allRules)
}

// What is in reach takes 90% of a unit's peak for what a good kernel uses: a copy moves 87% of what the DRAM of
// an H200 could in theory, a chain of multiply-adds 98% of the FMA pipe; only L2 is taken whole, since streams keep 96% of it
// busy. Bounds take all of the peak of what limits next, when that which a finding names costs nothing.
const (
	specialised = "the kernel is warp-specialised: producers wait, and few warps are meant to be resident"
	persistent  = "the kernel is persistent: as many blocks as fit, each with many tiles"
	bulk        = "the data comes by TMA, which these counters do not see"
)

// patterns without a fault of their own, for entries about a limit: what is wasted is another entry's.
const (
	noWaste     = "coalescing_pct >= 75 or load_requests + store_requests < 1000"
	littleWaste = noWaste + " or memory_pct < 30"
	aligned     = "coalescing_pct >= 75 or load_requests + store_requests < 1000 or sectors_per_load <= 3 and sectors_per_store <= 4"
	noSpills    = "local_pct < 5"
	fewWarps    = "theoretical_pct <= 50 or theoretical_pct < 65 and issue_pct < 40"
	noProduct   = "f16_share < 1 or ffma_share < 85"
	noConflicts = "conflict_pct < 10"
	converged   = "active_threads >= 20"
	longEnough  = "seconds >= 1e-5"
)

// onGPU are the bottlenecks of kernels on a GPU.
var onGPU = []Entry{
	{
		ID: "measurement-invalid", Row: 1, Title: "the numbers cannot be right", Stops: true, Confidence: 1,
		When:     []string{"dram_pct > 108 or sm_pct > 105"},
		Evidence: "SM throughput {sm_pct} and DRAM throughput {dram_pct} of what the chip can do",
		Less:     &Weaker{When: []string{"roof_pct > 108"}, Confidence: 1, Evidence: "the declared work would take {roof_pct} of the measured time at the device's peak"},
		First:    "check the declared work, and profile again with --clock-control none",
		Next:     "pawl calibrate --roofline, then profile again",
	},
	{
		ID: "at-roof", Row: 2, Title: "it is at the roof already", Settled: true, Confidence: 0.95,
		When:     []string{"sm_pct >= 90", "max(fma_pct, alu_pct, tensor_pct) >= 85", "stall_barrier < 30", littleWaste, noSpills, converged, "f64_share < 1 or fp64_pct < 1"},
		Amount:   "instructions",
		Evidence: "SM throughput {sm_pct}: FMA pipe {fma_pct}, integer and logic pipe {alu_pct}, tensor cores {tensor_pct}",
		Less:     &Weaker{When: []string{"roof_pct >= 90"}, Confidence: 0.8, Evidence: "the declared work takes {roof_pct} of the measured time at the device's peak"},
		First:    "stop here", Deeper: []string{"change the algorithm: fewer operations, a narrower type, fusion with its neighbours"},
		Next: "spend the time on another kernel",
	},
	{
		ID: "at-roof", Row: 2, Title: "the schedulers issue as fast as they can", Settled: true, Confidence: 0.85,
		When:     []string{"issue_pct >= 80", "sm_pct >= 60", "sm_pct >= 0.8 * (100 - idle_pct)", "max(fma_pct, alu_pct, tensor_pct) >= 65", "uneven_pct < 5", longEnough, "stall_barrier < 20", littleWaste, noSpills, noConflicts, converged, "unmasked_threads >= 24", "xu_pct < 60", "stall_no_instruction < 12", noProduct, "f64_share < 1 or fp64_pct < 1"},
		Unless:   []Exception{{"matmul > 0", "a matrix product has the tensor cores: see tensor-unused"}},
		Amount:   "instructions",
		Evidence: "schedulers issue in {issue_pct} of cycles, of full warps; SM throughput {sm_pct}: FMA pipe {fma_pct}, integer and logic pipe {alu_pct}; DRAM {dram_pct}",
		First:    "stop here, or execute fewer instructions: the time falls in proportion", Deeper: []string{"change the algorithm: fewer operations, a narrower type, fusion with its neighbours"},
		Next: "is every instruction of the innermost loop needed? Otherwise spend the time on another kernel",
	},
	{
		ID: "at-roof", Row: 2, Title: "a pipe of the SM takes all that it can", Settled: true, Confidence: 0.85,
		When:     []string{"sm_pct >= 90", "stall_math_pipe_throttle >= 30", "max(xu_pct, lsu_pct) < 60", "stall_barrier < 20", littleWaste, noSpills, noConflicts, converged, noProduct, "f64_share < 1 or fp64_pct < 1 or f64_expected > 0"},
		Unless:   []Exception{{"matmul > 0", "a matrix product has the tensor cores: see tensor-unused"}},
		Amount:   "instructions",
		Evidence: "SM throughput {sm_pct}; warps wait {stall_math_pipe_throttle} of the time for a pipe that is busy, as that of half-precision arithmetic, which is half of the FMA pipe ({fma_pct})",
		First:    "stop here", Deeper: []string{"change the algorithm: fewer operations, fusion with its neighbours", "tensor cores, where it is a matrix product"},
		Next: "spend the time on another kernel",
	},
	{
		ID: "launch-bound", Row: 34, Title: "launches take as long as the work", Confidence: 0.85, Launching: true,
		When:     []string{"seconds < 1e-5", "launch_pct >= 33"},
		Unless:   []Exception{{"launches == 1", "the work is one launch: nothing that pawl sees could share it"}},
		Gain:     "max(launches, 1) * wall / seconds",
		Reach:    "1 / (1 - min(0.99, launch_pct / 100))",
		Evidence: "{seconds} a launch on the GPU, {wall} from launch to launch; {launch_pct} of that no SM works",
		Less:     &Weaker{When: []string{"seconds < 1e-5"}, Gain: "1 + 4e-6 / seconds", Confidence: 0.7, Evidence: "{seconds} a launch: starting it costs the host and the GPU 2 to 4 µs"},
		First:    "launch a CUDA graph, or do more in one launch", Deeper: []string{"fuse it with its neighbours", "programmatic dependent launch", "a persistent kernel with a queue"},
		Next: "measure it with graph: true in pawl.yaml, and compare",
	},
	{
		ID: "small-grid", Row: 3, Title: "too few blocks for the GPU", Confidence: 0.9,
		When:     []string{"waves < 0.75", "busiest_pct < 60", longEnough},
		Unless:   []Exception{{"specialised > 0", specialised}, {"persistent > 0 and busiest_pct >= 40", persistent}},
		Gain:     "100 / max(busiest_pct, 1)",
		Reach:    "90 / max(busiest_pct, 1)",
		Evidence: "{grid} blocks for {sms} SMs, {waves} of a wave; SM {sm_pct}, memory {memory_pct}",
		Less:     &Weaker{When: []string{"waves < 0.75", longEnough}, Gain: "1 / max(waves, 0.01)", Confidence: 0.6, Evidence: "{grid} blocks for {sms} SMs: {waves} of a wave"},
		First:    "more, smaller blocks: smaller tiles, or split the reduction dimension (split-K)", Deeper: []string{"batch several problems into one launch", "two kernels: partial results, then their sum"},
		Next: "halve the tile that sets the grid, and check",
	},
	{
		ID: "tail-wave", Row: 4, Title: "the last wave is nearly empty", Confidence: 0.85,
		When:     []string{"1 <= waves < 8", "tail >= 12", "uneven_pct >= 5", longEnough},
		Unless:   []Exception{{"specialised > 0", specialised}},
		Gain:     "1 / (1 - min(idle_pct, tail) / 100) * min(1.15, max(1, theoretical_pct / max(occupancy_pct, 1)))",
		Reach:    "1 / (1 - min(uneven_pct, tail) / 100) * min(1.15, max(1, theoretical_pct * (1 - stall_not_selected / 100) / max(occupancy_pct, 1)))",
		Evidence: "{grid} blocks make {waves} waves: {tail} of the room in the waves stays empty, the SMs idle {idle_pct} of the time",
		Less:     &Weaker{When: []string{"1 <= waves < 5", "tail >= 20", longEnough}, Gain: "1 / (1 - tail / 100)", Confidence: 0.5, Evidence: "{grid} blocks make {waves} waves: {tail} of the room in the waves stays empty"},
		First:    "choose the tile so that the blocks fill whole waves", Deeper: []string{"a persistent kernel: as many blocks as fit, taking tiles from a counter", "stream-K"},
		Next: "tune the tile size: pawl tune takes the parameter that sets the grid",
	},
	{
		ID: "load-imbalance", Row: 5, Title: "some blocks work much longer than others", Confidence: 0.75,
		When:     []string{"waves >= 0.75", "imbalance >= 1.15 or occupancy_gap >= 45 and waves > 1.5", "tail < 12 or waves >= 8 or occupancy_gap >= 45", "busiest_pct < 75", longEnough},
		Unless:   []Exception{{"specialised > 0", specialised}},
		Gain:     "100 / max(busiest_pct, 1)",
		Reach:    "min(90 / max(busiest_pct, 1), max(1 / (1 - uneven_pct / 100), theoretical_pct / max(occupancy_pct, 1)))",
		Evidence: "SMs idle {idle_pct} of the time; the busiest works {imbalance} times the mean; occupancy {occupancy_pct} of {theoretical_pct} possible",
		First:    "start the longest work first, or split it", Deeper: []string{"a work queue: blocks take the next tile from an atomic counter", "pair long rows with short ones (causal masks: first with last)"},
		Next: "print the work of each block for this config, and sort it",
	},
	{
		ID: "register-spills", Row: 26, Title: "registers spill to local memory", Confidence: 0.9,
		When:     []string{"local_pct >= 3"},
		Gain:     "min(100 / max(fma_pct, fp64_pct, xu_pct, tensor_pct, 1), 1 / (1.02 - min(1, (memory_stalls + local_pct) / 100)))",
		Reach:    "min(90 / max(math_pct, 1), 1 / (1.02 - min(1, (memory_stalls + local_pct) / 100)))",
		Evidence: "{local_pct} of instructions load or store local memory; {registers} registers per thread; warps wait {memory_stalls} of the time for memory",
		Less:     &Weaker{When: []string{"stack > 0", "code_local_hot > 0"}, Gain: "2", Confidence: 0.6, Evidence: "{code_local_hot} loads and stores of local memory in the innermost loop, {stack} of stack per thread"},
		First:    "allow more registers: a larger second argument of __launch_bounds__ or no maxrregcount", Deeper: []string{"index arrays with constants (unroll the loop around them)", "smaller tiles per thread", "split the kernel"},
		Next: "build with -Xptxas -v and look for spill stores",
	},
	{
		ID: "fp64-accident", Row: 22, Title: "it computes in double precision", Confidence: 0.9,
		When:     []string{"f64_share >= 1", "fp64_pct >= 3 or xu_pct >= 30"},
		Unless:   []Exception{{"f64_expected > 0", "the kernel's arguments are f64"}},
		Gain:     "100 / max(0.5 * fp64_pct, memory_pct, fma_pct, alu_pct, 1)",
		Reach:    "90 / max(0.5 * fp64_pct, memory_pct, fma_pct, alu_pct, 1)",
		Evidence: "{f64_share} of the floating-point operations are in f64: FP64 pipe {fp64_pct}, conversions {xu_pct} of their pipe",
		Less:     &Weaker{When: []string{"code_f64 > 0", "f64_expected == 0"}, Gain: "2", Confidence: 0.6, Evidence: "{code_f64} instructions in f64, and no argument is f64"},
		First:    "write literals with f (1.0f) and call the f32 functions (sqrtf, expf)", Deeper: []string{"-Xcudafe --diag_warning or a grep for DFMA and F2F.F64 in the SASS finds the line"},
		Next: "pawl profile --sass shows the lines with DADD, DMUL, DFMA",
	},
	{
		ID: "divergence", Row: 27, Title: "warps run with few of their threads", Confidence: 0.85,
		When:     []string{"min(active_threads, unmasked_threads) < 20", "issue_pct >= 25"},
		Unless:   []Exception{{"specialised > 0", "branches by role are meant"}},
		Gain:     "min(32 / max(min(active_threads, unmasked_threads), 1), 100 / max(dram_pct, l2_pct, 1))",
		Reach:    "min(32 / max(min(active_threads, unmasked_threads), 1), 90 / max(memory_pct, 1))",
		Evidence: "{active_threads} of 32 threads are active in an instruction, {unmasked_threads} not predicated off; issue slots {issue_pct} used",
		First:    "give the threads of a warp the same path: sort or partition the work", Deeper: []string{"replace the branch by arithmetic or a table", "one loop for all cases, with the case as data"},
		Next: "look for the branch with the lowest uniformity in ncu --set full, page source",
	},
	{
		ID: "uncoalesced-loads", Row: 10, Title: "global loads are not coalesced", Confidence: 0.9,
		When:     []string{"load_use_pct < 75", "l2_pct >= 50 or l1_pct - shared_pct >= 40 or memory_stalls >= 30", "load_sectors >= 0.1 * l2_sectors or l1_pct - shared_pct >= 40", "sectors_per_load > 3", "sm_pct < 80", noSpills},
		Unless:   []Exception{{"uses_tma > 0 and load_requests < 1000", bulk}},
		Gain:     "min(100 / load_use_pct, 100 / max(sm_pct, dram_pct * load_use_pct / 100, 1))",
		Reach:    "min(100 / load_use_pct, 90 / max(sm_pct, dram_pct * load_use_pct / 100, 1))",
		Evidence: "a warp's load touches {sectors_per_load} sectors and uses {load_use_pct} of them; L2 {l2_pct}, L1 {l1_pct}, DRAM {dram_pct}",
		First:    "let consecutive threads read consecutive addresses: swap the loops or the layout", Deeper: []string{"structure of arrays", "stage a tile through shared memory, transposed", "for gathers: sort the indices, or vector types"},
		Next: "find the index expression whose innermost dimension is not threadIdx.x",
	},
	{
		ID: "uncoalesced-stores", Row: 10, Title: "global stores are not coalesced", Confidence: 0.9,
		When:     []string{"store_use_pct < 75", "l2_pct >= 50 or l1_pct - shared_pct >= 40 or memory_stalls >= 30 or stall_drain >= 20", "store_sectors >= 0.1 * l2_sectors", "sectors_per_store > 3", "sm_pct < 80", noSpills},
		Gain:     "100 / max(sm_pct, dram_pct * store_use_pct / 100, 1)",
		Reach:    "min(110 / store_use_pct, 90 / max(sm_pct, dram_pct * store_use_pct / 100, 1))",
		Evidence: "a warp's store touches {sectors_per_store} sectors and fills {store_use_pct} of them; L2 {l2_pct}, DRAM {dram_pct}",
		First:    "let consecutive threads write consecutive addresses", Deeper: []string{"transpose through shared memory before the store", "write whole 16-byte vectors"},
		Next: "find the store whose innermost dimension is not threadIdx.x",
	},
	{
		ID: "bank-conflicts", Row: 12, Title: "accesses to shared memory conflict in its banks", Confidence: 0.9,
		When:     []string{"conflict_pct >= 10", "shared_pct >= 25 or shared_stalls >= 20"},
		Gain:     "min(1 / (1.001 - conflict_pct / 100), 100 / max(sm_pct * (1 - conflict_pct / 100), math_pct, dram_pct, l2_pct, 1))",
		Reach:    "min(1 / (1.001 - conflict_pct / 100 * min(1, shared_pct / max(100 - idle_pct, 1))), 90 / max(sm_pct * (1 - conflict_pct / 100), math_pct, dram_pct, l2_pct, 1))",
		Evidence: "{conflict_pct} of the passes through shared memory are conflicts; its pipe is {shared_pct} busy, warps wait {shared_stalls} of the time for it",
		First:    "pad the row of the tile by one element ([32][33])", Deeper: []string{"XOR the column with the row (swizzle)", "ldmatrix for fragments of tensor cores"},
		Next: "pad the tile, and check",
	},
	{
		ID: "atomics-contention", Row: 31, Title: "atomics meet at few addresses", Confidence: 0.85,
		When:     []string{"atomic_share >= 3", "atomic_hot_pct >= 8 * atomic_pct or atomic_pct >= 25", "busiest_pct < 70", "atomics >= 1000"},
		Gain:     "100 / max(sm_pct, dram_pct, 1)",
		Reach:    "min(90 / max(busiest_pct, 1), 1 / (1.01 - min(1, 3 * atomic_hot_pct / 100)))",
		Evidence: "{atomics} atomics on global memory; the busiest slice of L2 spends {atomic_hot_pct} of the time on them, the mean one {atomic_pct}",
		Less:     &Weaker{When: []string{"code_atomics > 0", "roof_pct < 30"}, Gain: "100 / max(roof_pct, 1)", Confidence: 0.4, Evidence: "{code_atomics} atomic instructions, and the kernel is at {roof_pct} of its roof"},
		First:    "reduce in the warp (shuffles), then in the block, and add once per block", Deeper: []string{"private copies of the counters in shared memory", "two kernels: partial results, then their sum"},
		Next: "replace atomicAdd by a warp reduction, and one atomicAdd per block",
	},
	{
		ID: "atomics-contention", Row: 31, Title: "atomics on shared memory serialise", Confidence: 0.7,
		When:     []string{"shared_atomics >= 0.02 * instructions", "shared_stalls >= 30 or memory_stalls >= 30", "math_pct < 60", "dram_used_pct < 70"},
		Gain:     "100 / max(math_pct, dram_pct, l2_pct, 5)",
		Reach:    "90 / max(math_pct, dram_pct, l2_pct, 5)",
		Evidence: "{shared_atomics} atomics on shared memory of {instructions} instructions; warps wait {shared_stalls} of the time for shared memory",
		First:    "reduce in the warp before the atomic", Deeper: []string{"several copies of the counters", "count in registers"},
		Next: "aggregate with __match_any_sync or shuffles first",
	},
	{
		ID: "barrier-bound", Row: 16, Title: "warps wait for each other at barriers", Confidence: 0.85,
		When:     []string{"stall_barrier >= 28 or stall_barrier >= 20 and adu_pct >= 40", "math_pct < 70", "dram_used_pct < 70", noConflicts},
		Unless:   []Exception{{"specialised > 0", "producers and consumers are meant to wait for each other"}},
		Gain:     "100 / max(flops_pct, dram_pct, 1)",
		Reach:    "min(1 / (1.02 - stall_barrier / 100), 90 / max(math_pct, dram_pct, 1))",
		Evidence: "warps spend {stall_barrier} of their time at barriers; SM {sm_pct}, of which arithmetic {math_pct}; address pipe, which runs barriers, {adu_pct}",
		First:    "fewer __syncthreads: two buffers, so that one barrier per step is enough", Deeper: []string{"__syncwarp where only a warp shares data", "smaller blocks", "mbarriers or named barriers between the warps that need each other"},
		Next: "remove the second __syncthreads of the loop with a second buffer",
	},
	{
		ID: "redundant-dram", Row: 7, Title: "more bytes go through DRAM than the work needs", Confidence: 0.9,
		When:     []string{"moved_ratio > 1.2", "dram_pct >= 40", noSpills},
		Gain:     "min(moved_ratio * max(1, 100 / max(dram_pct, 1)), 100 / max(sm_pct, 1))",
		Reach:    "min(moved_ratio * 90 / max(dram_pct, 1), 95 / max(sm_pct, 1)) if dram_pct < 90 else min(moved_ratio, 95 / max(sm_pct, 1))",
		Amount:   "dram_bytes",
		Evidence: "{dram_bytes} moved for {work_bytes} of declared work, {moved_ratio}; DRAM at {dram_pct} of its peak, L2 hit rate {l2_hit_pct}",
		First:    "use what was loaded before it leaves the cache: tile, or change the order of the blocks", Deeper: []string{"keep it in shared memory or registers", "fuse the passes", "cluster multicast (Hopper)"},
		Next: "compare the bytes of each argument with the declared ones: which is read twice?",
	},
	{
		ID: "dram-bound", Row: 6, Title: "it moves the bytes it must at the speed of DRAM", Settled: true, Confidence: 0.95,
		When:     []string{"dram_used_pct >= 80", "moved_ratio <= 1.15", noSpills},
		Gain:     "100 / max(math_pct, 1)",
		Amount:   "dram_bytes",
		Evidence: "DRAM at {dram_pct} of its peak ({dram_rate}), {dram_used_pct} with what is left in L2 and without the launch's start; {dram_bytes} moved for {work_bytes} of declared work",
		First:    "stop here, or move fewer bytes: the time falls in proportion", Deeper: []string{"compute what is a function of the index instead of reading it", "a narrower type", "fusion with the kernel before or after"},
		Next: "is every argument needed as it is stored? Otherwise spend the time on another kernel",
	},
	{
		ID: "dram-bound", Row: 6, Title: "DRAM is the limit", Confidence: 0.9,
		When:     []string{"dram_used_pct >= 80", noWaste, noSpills},
		Unless:   []Exception{{"moved_ratio > 1.2", "bytes are moved more than once: see redundant-dram"}},
		Gain:     "100 / max(math_pct, 1)",
		Reach:    "max(87 / dram_used_pct, 1.03)",
		Amount:   "dram_bytes",
		Evidence: "DRAM at {dram_pct} of its peak ({dram_rate}); SM {sm_pct}",
		Less:     &Weaker{When: []string{"roof_pct >= 75", "intensity < 10"}, Gain: "max(90 / roof_pct, 1.03)", Confidence: 0.6, Evidence: "the declared bytes take {roof_pct} of the measured time at the device's peak"},
		First:    "move fewer bytes: the time falls in proportion", Deeper: []string{"fuse it with the kernel that makes or takes the data", "a narrower type", "recompute instead of load"},
		Next: "declare work.bytes in pawl.yaml: then pawl says whether bytes are moved twice",
	},
	{
		ID: "l2-bound", Row: 8, Title: "L2 is the limit", Confidence: 0.85,
		When:     []string{"l2_pct >= 80", "dram_used_pct < 60", noWaste, noSpills, "atomic_share < 20"},
		Gain:     "100 / max(math_pct, dram_pct, 1)",
		Reach:    "90 / max(sm_pct, dram_pct, 1)",
		Amount:   "l2_sectors",
		Evidence: "L2 at {l2_pct} of its peak, DRAM at {dram_pct}, L2 hit rate {l2_hit_pct}",
		First:    "load once per block: a tile in shared memory or registers that all threads use", Deeper: []string{"larger tiles", "cluster multicast (Hopper)", "neighbouring blocks on neighbouring data"},
		Next: "count how often each element is loaded: block tiles should divide that by the tile's width",
	},
	{
		ID: "tensor-unused", Row: 17, Title: "a matrix product without tensor cores", Confidence: 0.8,
		When:     []string{"tensor_pct < 2", "ffma_share >= 85", "intensity >= 16", "shared_waves > 0.02 * instructions and f16_share >= 1 or matmul > 0", "busiest_pct >= 40"},
		Unless:   []Exception{{"matmul == 0 and f64_share > 1", "it is no matrix product in f32 or less"}},
		Gain:     "min(16, 100 / max(dram_pct, 2 * tensor_need_pct, 1))",
		Reach:    "min(16, 90 / max(dram_pct, 2 * tensor_need_pct, 1))",
		Evidence: "{ffma_share} of the operations are multiply-adds of the FMA pipe, {intensity} operations per byte; tensor cores {tensor_pct}",
		Less:     &Weaker{When: []string{"code_tensor == 0", "code_ffma_hot > 0", "matmul > 0"}, Gain: "8", Confidence: 0.7, Evidence: "a matrix product with {code_ffma_hot} FFMA in its innermost loop and no tensor instruction"},
		First:    "mma.sync or wgmma with f16, bf16 or tf32 inputs (build for sm_90a)", Deeper: []string{"CUTLASS or cuBLAS for the product", "16-byte aligned layouts, ldmatrix"},
		Next: "replace the inner loop by nvcuda::wmma or mma.sync",
	},
	{
		ID: "tensor-unused", Row: 17, Title: "tensor cores could do it, if it is a matrix product", Confidence: 0.3,
		When:     []string{"tensor_pct < 2", "ffma_share >= 85", "intensity >= 16", "shared_waves > 0.02 * instructions", "f16_share < 1", "busiest_pct >= 40"},
		Unless:   []Exception{{"matmul == 0", "it is declared as something else than a matrix product"}},
		Gain:     "min(16, 100 / max(dram_pct, 2 * tensor_need_pct, 1))",
		Reach:    "1", // f32 has its place on the FMA pipe
		Evidence: "{ffma_share} of the operations are multiply-adds of the FMA pipe, {intensity} operations per byte, inputs of 32 bits; tensor cores {tensor_pct}",
		First:    "declare the oracle in pawl.yaml (gemm, attention): then pawl knows", Deeper: []string{"tf32, where a mantissa of 10 bits is enough", "f16 or bf16 inputs"},
		Next: "is it a matrix product? Then replace the inner loop by nvcuda::wmma or mma.sync",
	},
	{
		ID: "tensor-underfed", Row: 18, Title: "tensor cores wait for data", Confidence: 0.6,
		When:     []string{"5 <= tensor_pct < 60", "memory_stalls + stall_barrier + stall_gmma + shared_stalls >= 45", "flops_tensor >= 0.5 * flops"},
		Gain:     "100 / max(tensor_pct, dram_pct)",
		Reach:    "90 / max(tensor_pct, dram_pct)",
		Evidence: "tensor cores {tensor_pct} active; warps wait for memory {memory_stalls}, shared memory {shared_stalls}, barriers {stall_barrier}",
		First:    "more stages in flight: cp.async or TMA into a ring of three or more tiles", Deeper: []string{"warp specialisation: producers and consumers", "larger tiles in N", "two consumer groups in turns"},
		Next: "raise NUM_STAGES by one, and check",
	},
	{
		ID: "wgmma-serialised", Row: 19, Title: "wgmma waits for itself", Confidence: 0.6,
		When:     []string{"stall_gmma >= 30", "tensor_pct < 60", "uses_wgmma > 0"},
		Gain:     "100 / max(tensor_pct, 5)",
		Reach:    "90 / max(tensor_pct, 5)",
		Evidence: "warps wait {stall_gmma} of the time for wgmma; tensor cores {tensor_pct} active",
		First:    "keep a group in flight: wait_group 1 instead of 0, and no use of the accumulator in between", Deeper: []string{"ptxas warns of serialised wgmma: remove the dependency it names"},
		Next: "look for 'wgmma' in the output of ptxas -v",
	},
	{
		ID: "sfu-bound", Row: 20, Title: "special functions are the limit", Confidence: 0.85,
		When:     []string{"xu_pct >= 60", "f64_share < 1 or fp64_pct < 3"},
		Gain:     "100 / max(0.5 * fma_pct, 0.5 * alu_pct, tensor_pct, memory_pct, 5)",
		Reach:    "90 / max(fma_pct, alu_pct, tensor_pct, memory_pct, 5)",
		Evidence: "the pipe for exp2, rsqrt, sin and conversions is {xu_pct} busy, FMA {fma_pct}, tensor cores {tensor_pct}",
		Less:     &Weaker{When: []string{"code_special_hot >= 1", "roof_pct < 50", "code_special_hot > 0.2 * code_ffma_hot"}, Gain: "2", Confidence: 0.4, Evidence: "{code_special_hot} special functions in the innermost loop beside {code_ffma_hot} FFMA"},
		First:    "fewer of them: exp2f with the scale folded in, one rsqrt instead of a division and a square root", Deeper: []string{"a polynomial on the FMA pipe for a part of them", "overlap with the tensor cores' work"},
		Next: "count MUFU in the innermost loop: pawl profile --sass",
	},
	{
		ID: "instruction-cache", Row: 29, Title: "instructions do not arrive in time", Confidence: 0.8,
		When:     []string{"stall_no_instruction >= 12", longEnough, "waves >= 0.75", "math_pct < 80"},
		Gain:     "100 / max(math_pct, dram_pct, 1)",
		Reach:    "min(1 / (1.02 - min(0.95, (stall_no_instruction + stall_branch_resolving) / 100)), 90 / max(math_pct, dram_pct, 1))",
		Evidence: "warps wait {stall_no_instruction} of the time for instructions; {instruction_fills} requests went beyond the SM's cache",
		Less:     &Weaker{When: []string{"code_bytes > 131072"}, Gain: "1.5", Confidence: 0.3, Evidence: "{code_bytes} of code: the cache of an SM holds 128 KiB"},
		First:    "unroll less: the loop must fit into the instruction cache", Deeper: []string{"fewer copies of inlined functions (__noinline__)", "one path for all warps of an SM at a time"},
		Next: "put #pragma unroll 4 on the largest loop, and check",
	},
	{
		ID: "register-occupancy", Row: 23, Title: "registers limit the warps that hide latency", Confidence: 0.8,
		When:     []string{fewWarps, "limited_by_registers > 0", "limited_by_shared == 0", "issue_pct < 60", "busiest_pct < 75", "l2_pct < 80", "memory_stalls >= 30 or stall_wait >= 30 or shared_stalls >= 40", "waves >= 0.75", aligned, noConflicts},
		Unless:   []Exception{{"specialised > 0", specialised}},
		Gain:     "min(100 / max(theoretical_pct, 1), 100 / max(busiest_pct, 1))",
		Reach:    "min(100 / max(theoretical_pct, 1), 90 / max(busiest_pct, 0.9 * l2_pct, 1))",
		Evidence: "{registers} registers per thread allow {theoretical_pct} occupancy; schedulers issue in {issue_pct} of cycles, warps wait {memory_stalls} of the time for memory",
		Less:     &Weaker{When: []string{"theoretical_pct < 50", "limited_by_registers > 0", "limited_by_shared == 0", "roof_pct < 60"}, Gain: "min(100 / theoretical_pct, 90 / max(roof_pct, 1))", Confidence: 0.4, Evidence: "{registers} registers per thread allow {theoretical_pct} occupancy, and the kernel is at {roof_pct} of its roof"},
		First:    "__launch_bounds__(threads, blocks) with one more block, if nothing spills then", Deeper: []string{"a smaller tile per thread", "fewer live values: load later, recompute"},
		Next: "add __launch_bounds__, look at spills in ptxas -v, and check",
	},
	{
		ID: "shared-occupancy", Row: 24, Title: "shared memory limits the warps that hide latency", Confidence: 0.8,
		When:     []string{fewWarps, "limited_by_shared > 0", "issue_pct < 60", "busiest_pct < 75", "memory_stalls >= 30 or stall_wait >= 30 or shared_stalls >= 40 or stall_barrier >= 30", "waves >= 0.75"},
		Unless:   []Exception{{"specialised > 0", specialised}, {"uses_cp_async > 0 and tensor_pct >= 40", "one block per SM with a ring of stages is meant"}},
		Gain:     "min(100 / max(theoretical_pct, 1), 100 / max(busiest_pct, 1))",
		Reach:    "min(100 / max(theoretical_pct, 1), 90 / max(busiest_pct, 0.9 * l2_pct, 1))",
		Evidence: "{shared_static} static and {shared_dynamic} dynamic shared memory per block allow {theoretical_pct} occupancy; schedulers issue in {issue_pct} of cycles",
		Less:     &Weaker{When: []string{"theoretical_pct < 50", "limited_by_shared > 0", "roof_pct < 60"}, Gain: "min(100 / theoretical_pct, 90 / max(roof_pct, 1))", Confidence: 0.4, Evidence: "shared memory allows {theoretical_pct} occupancy, and the kernel is at {roof_pct} of its roof"},
		First:    "less shared memory per block: fewer stages or a smaller tile", Deeper: []string{"let buffers that are not used at the same time share their place", "the carve-out attribute, where blocks almost fit"},
		Next: "take one stage less, and check",
	},
	{
		ID: "block-occupancy", Row: 25, Title: "the shape of the block limits the warps that hide latency", Confidence: 0.7,
		When:     []string{fewWarps, "limited_by_registers == 0", "limited_by_shared == 0", "issue_pct < 60", "busiest_pct < 75", "memory_stalls >= 30 or stall_wait >= 30", "waves >= 0.75"},
		Unless:   []Exception{{"specialised > 0", specialised}},
		Gain:     "min(100 / max(theoretical_pct, 1), 100 / max(busiest_pct, 1))",
		Reach:    "min(100 / max(theoretical_pct, 1), 90 / max(busiest_pct, 0.9 * l2_pct, 1))",
		Evidence: "blocks of {block} threads allow {theoretical_pct} occupancy",
		First:    "larger blocks: an SM takes 16 to 32 of them, whatever their size", Deeper: []string{"a block size that divides the SM's warps", "fewer named barriers"},
		Next: "double the block, and check",
	},
	{
		ID: "latency-bound", Row: 11, Title: "warps wait for global memory, and neither DRAM nor the SM is busy", Confidence: 0.65,
		When:     []string{"busiest_pct < 70", "dram_used_pct < 70", "l2_pct < 80", "issue_pct < 40 or max(issue_pct, l2_pct, dram_used_pct) < 50", "memory_stalls >= 40", "waves >= 0.75", aligned, noSpills, "atomic_share < 3 or atomic_hot_pct < 10", longEnough},
		Gain:     "100 / max(busiest_pct, 1)",
		Reach:    "90 / max(busiest_pct / (1 - min(0.9, idle_pct / 100)), 0.9 * l2_pct, 1)",
		Evidence: "warps wait {memory_stalls} of the time for memory, while DRAM is at {dram_pct} and the SM at {sm_pct}; occupancy {occupancy_pct}",
		Less:     &Weaker{When: []string{"roof_pct < 50", "intensity < 10", "code_wide_loads == 0", "code_narrow_loads > 0", longEnough}, Gain: "90 / max(roof_pct, 1)", Confidence: 0.35, Evidence: "the kernel is at {roof_pct} of its roof, and all {code_narrow_loads} global loads are of 32 bits or less"},
		First:    "more bytes in flight: 16-byte loads (float4), or several independent loads per thread before their use", Deeper: []string{"cp.async or TMA into shared memory, several stages ahead", "more warps, if occupancy allows", "pointer chasing: shorter chains, or several at once"},
		Next: "unroll the loop by 4 with the loads first, or use float4, and check",
	},
	{
		ID: "l1-bound", Row: 9, Title: "the load-store pipe is the limit", Confidence: 0.6,
		When:     []string{"max(l1_pct, lsu_pct) >= 80", noConflicts, noWaste, noSpills},
		Gain:     "100 / max(math_pct, l2_pct, dram_pct, 1)",
		Reach:    "max(84 / max(l1_pct, lsu_pct), 1.03)",
		Evidence: "L1 and shared memory {l1_pct}, load-store pipe {lsu_pct}, FMA {fma_pct}",
		First:    "fewer, wider accesses: 16-byte loads, values kept in registers (register tiles)", Deeper: []string{"ldmatrix or TMA", "more work per thread"},
		Next: "let each thread compute a 4×4 tile from registers",
	},
	{
		ID: "fma-bound", Row: 21, Title: "arithmetic is the limit", Confidence: 0.7,
		When:     []string{"max(fma_pct, alu_pct) >= 80", "sm_pct >= 80", converged},
		Gain:     "100 / max(fma_pct, alu_pct)",
		Reach:    "90 / max(fma_pct, alu_pct)",
		Amount:   "instructions",
		Evidence: "FMA pipe {fma_pct}, integer and logic pipe {alu_pct}, SM {sm_pct}",
		First:    "fewer instructions: hoist index arithmetic, 32-bit instead of 64-bit indices", Deeper: []string{"packed f16 (half2)", "tensor cores, where it is a matrix product"},
		Next: "pawl profile --sass: what is the most frequent instruction of the innermost loop?",
	},
	{
		ID: "mio-throttle", Row: 13, Title: "the queue for shared memory and special functions is full", Confidence: 0.4,
		When:     []string{"stall_mio_throttle >= 30", noConflicts, "busiest_pct < 80", "xu_pct < 60"},
		Gain:     "min(1 / (1.02 - stall_mio_throttle / 100), 100 / max(busiest_pct, 1))",
		Reach:    "min(1 / (1.02 - stall_mio_throttle / 100), 90 / max(busiest_pct, 1))",
		Evidence: "warps wait {stall_mio_throttle} of the time for the queue; shared memory {shared_pct}, special functions {xu_pct}",
		First:    "wider accesses to shared memory, fewer shuffles", Deeper: []string{"keep values in registers"}, Next: "LDS.128 instead of four LDS.32",
	},
	{
		ID: "lg-throttle", Row: 14, Title: "the queue for global memory is full", Confidence: 0.4,
		When:     []string{"stall_lg_throttle >= 30", noSpills, noWaste, "dram_pct < 70"},
		Gain:     "min(1 / (1.02 - stall_lg_throttle / 100), 100 / max(busiest_pct, 1))",
		Reach:    "min(1 / (1.02 - stall_lg_throttle / 100), 90 / max(busiest_pct, 1))",
		Evidence: "warps wait {stall_lg_throttle} of the time to issue loads and stores",
		First:    "fewer, wider loads", Deeper: []string{"stage through shared memory"}, Next: "LDG.128 instead of four LDG.32",
	},
	{
		ID: "short-scoreboard", Row: 15, Title: "warps wait for shared memory or special functions", Confidence: 0.35,
		When:     []string{"stall_short_scoreboard >= 30", noConflicts, "busiest_pct < 75", "atomic_hot_pct < 10"},
		Gain:     "min(1 / (1.02 - stall_short_scoreboard / 100), 100 / max(busiest_pct, 1))",
		Reach:    "min(1 / (1.02 - stall_short_scoreboard / 100), 90 / max(busiest_pct, 1))",
		Evidence: "warps wait {stall_short_scoreboard} of the time",
		First:    "load from shared memory one step ahead of the use", Deeper: []string{"cheaper special functions"}, Next: "prefetch the next fragment before the current product",
	},
	{
		ID: "fixed-latency", Row: 28, Title: "instructions depend on the one before", Confidence: 0.4,
		When:     []string{"stall_wait >= 30", "issue_pct < 85", "busiest_pct < 80"},
		Gain:     "min(1 / (1.02 - stall_wait / 100), 100 / max(busiest_pct, 1))",
		Reach:    "min(1 / (1.02 - stall_wait / 100), 90 / max(busiest_pct, 1))",
		Evidence: "warps wait {stall_wait} of the time for their own last instruction; eligible warps {eligible_warps}",
		First:    "two or more independent chains per thread", Deeper: []string{"unroll", "more warps"}, Next: "two accumulators instead of one",
	},
	{
		ID: "store-drain", Row: 30, Title: "blocks wait for their stores at the end", Confidence: 0.4,
		When:     []string{"stall_drain >= 25", noWaste, "dram_pct < 70", "atomic_hot_pct < 10"},
		Gain:     "min(1 / (1.02 - stall_drain / 100), 100 / max(busiest_pct, 1))",
		Reach:    "min(1 / (1.02 - stall_drain / 100), 90 / max(busiest_pct, 1))",
		Evidence: "warps wait {stall_drain} of the time for stores to leave",
		First:    "more work per block, so that stores overlap with the next tile", Deeper: []string{"coalesced or TMA stores"}, Next: "let each block do two tiles",
	},
	{
		ID: "constant-miss", Row: 32, Title: "constants are not in their cache", Confidence: 0.5,
		When:     []string{"stall_imc_miss >= 10", longEnough},
		Gain:     "1 / (1.02 - stall_imc_miss / 100)",
		Evidence: "warps wait {stall_imc_miss} of the time for constants; hit rate {constant_hit_pct}",
		First:    "index constant memory with the same value in all threads of a warp, or use global memory (__ldg)", Next: "make the table __device__ const instead of __constant__",
	},
	{
		ID: "cluster-overhead", Row: 35, Title: "blocks of a cluster wait for each other", Confidence: 0.4,
		When:     []string{"cluster > 1", "stall_barrier + stall_membar >= 25"},
		Gain:     "1 / (1.02 - (stall_barrier + stall_membar) / 100)",
		Evidence: "clusters of {cluster} blocks; warps wait {stall_barrier} of the time at barriers",
		First:    "synchronise the cluster only where data crosses it", Deeper: []string{"a smaller cluster, or none"}, Next: "check a version with cluster size 1",
	},
	{
		ID: "wrong-target", Row: 37, Title: "it was built without optimisation", Confidence: 0.95,
		When:     []string{"debug > 0"},
		Gain:     "10",
		Evidence: "the compiler was asked for device debugging (-G) or no optimisation",
		First:    "build without -G and with -O3", Next: "remove -G from flags in pawl.yaml",
	},
}

package profile

import (
	"slices"
	"strings"
)

// Metric is a reading under the name that predicates and reports use, whatever ncu calls it on this
// architecture and in this version.
type Metric string

// The metrics. Percent means of the peak that the unit can sustain over the whole kernel, unless it
// says otherwise.
const (
	Duration        Metric = "duration"          // of the launch under ncu, which flushes caches and may hold the clock
	SMClock         Metric = "sm_clock"          //
	SMPercent       Metric = "sm_pct"            // busiest part of the SM
	MemoryPercent   Metric = "memory_pct"        // busiest part of L1, L2 and DRAM
	DRAMPercent     Metric = "dram_pct"          //
	L2Percent       Metric = "l2_pct"            //
	L1Percent       Metric = "l1_pct"            //
	DRAMRate        Metric = "dram_rate"         // bytes a second
	DRAMPeak        Metric = "dram_peak"         // bytes a second that this DRAM could move
	DRAMRead        Metric = "dram_read"         // bytes
	DRAMWritten     Metric = "dram_written"      //
	L2Sectors       Metric = "l2_sectors"        // of 32 bytes, requested from L2
	L2Hit           Metric = "l2_hit_pct"        //
	L1Hit           Metric = "l1_hit_pct"        //
	TensorPercent   Metric = "tensor_pct"        //
	FMAPercent      Metric = "fma_pct"           // pipes: instructions issued, of what the pipe can take
	ALUPercent      Metric = "alu_pct"           //
	FP64Percent     Metric = "fp64_pct"          //
	XUPercent       Metric = "xu_pct"            // special functions and conversions
	LSUPercent      Metric = "lsu_pct"           //
	ADUPercent      Metric = "adu_pct"           //
	UniformPercent  Metric = "uniform_pct"       //
	IssuePercent    Metric = "issue_pct"         // cycles in which a scheduler issued, of those it was active
	Eligible        Metric = "eligible_warps"    // per scheduler and cycle
	ActiveWarps     Metric = "active_warps"      // per scheduler and cycle
	Instructions    Metric = "instructions"      // of warps
	CyclesPerIssue  Metric = "cycles_per_issue"  // that a warp spends between two of its instructions
	ActiveThreads   Metric = "active_threads"    // per instruction, of 32
	UnmaskedThreads Metric = "unmasked_threads"  // the same without those that are predicated off
	Occupancy       Metric = "occupancy_pct"     // achieved
	Theoretical     Metric = "theoretical_pct"   // occupancy that the launch allows
	LimitRegisters  Metric = "limit_registers"   // blocks of an SM
	LimitShared     Metric = "limit_shared"      //
	LimitWarps      Metric = "limit_warps"       //
	LimitBlocks     Metric = "limit_blocks"      //
	LimitBarriers   Metric = "limit_barriers"    //
	Grid            Metric = "grid"              // blocks
	Block           Metric = "block"             // threads
	Waves           Metric = "waves"             // grids that fit at once
	SMs             Metric = "sms"               //
	ClusterSize     Metric = "cluster"           // blocks; 0: none
	Registers       Metric = "registers"         // per thread
	SharedStatic    Metric = "shared_static"     // bytes per block
	SharedDynamic   Metric = "shared_dynamic"    //
	SharedDriver    Metric = "shared_driver"     //
	SMActiveMin     Metric = "sm_active_min"     // cycles that the SMs were active: the least,
	SMActiveAvg     Metric = "sm_active_avg"     // the mean,
	SMActiveMax     Metric = "sm_active_max"     // and the most
	SMElapsed       Metric = "sm_elapsed"        // cycles of the kernel
	LoadRequests    Metric = "load_requests"     // of global memory; without TMA
	LoadSectors     Metric = "load_sectors"      //
	StoreRequests   Metric = "store_requests"    //
	StoreSectors    Metric = "store_sectors"     //
	LoadUse         Metric = "load_use"          // bytes used of the 32 in each loaded sector
	StoreUse        Metric = "store_use"         //
	LoadMisses      Metric = "load_misses"       // sectors of global loads that L1 does not have
	GlobalSectors   Metric = "global_sectors"    // that all global instructions need, as they stand
	GlobalIdeal     Metric = "global_ideal"      // that they would need with lanes side by side
	SharedWaves     Metric = "shared_waves"      // passes through shared memory
	SharedIdeal     Metric = "shared_ideal"      // without bank conflicts
	SharedConflicts Metric = "shared_conflicts"  // loads and stores; over-reports
	SharedPercent   Metric = "shared_pct"        // of what the data pipe of shared memory can pass
	LocalLoads      Metric = "local_loads"       // instructions
	LocalStores     Metric = "local_stores"      //
	SpillRequests   Metric = "spills"            // requests to local memory because of spilled registers
	AtomicSectors   Metric = "atomic_sectors"    // at L2, that return a value
	ReduceSectors   Metric = "reduce_sectors"    // at L2, that return none
	AtomicPercent   Metric = "atomic_pct"        // of L2's units for atomics: the mean
	AtomicHot       Metric = "atomic_hot_pct"    // and the busiest slice
	SharedAtomics   Metric = "shared_atomics"    // instructions
	GlobalReduces   Metric = "global_reduces"    // instructions
	GlobalAtomics   Metric = "global_atomics"    // requests
	FloatAdd        Metric = "fadd"              // of threads, that were not predicated off
	FloatMul        Metric = "fmul"              //
	FloatFMA        Metric = "ffma"              //
	DoubleAdd       Metric = "dadd"              //
	DoubleMul       Metric = "dmul"              //
	DoubleFMA       Metric = "dfma"              //
	HalfAdd         Metric = "hadd"              // one instruction, two operations
	HalfMul         Metric = "hmul"              //
	HalfFMA         Metric = "hfma"              // four operations
	TensorHalf      Metric = "tensor_half"       // operations: f16 and bf16
	TensorTF32      Metric = "tensor_tf32"       //
	TensorEight     Metric = "tensor_fp8"        //
	TensorInt8      Metric = "tensor_int8"       //
	TensorDouble    Metric = "tensor_fp64"       //
	FloatPeak       Metric = "peak_f32"          // operations a cycle, of all SMs
	DoublePeak      Metric = "peak_f64"          //
	TensorPeak      Metric = "peak_tensor"       // f16
	WarpGroupMMA    Metric = "wgmma"             // instructions
	TMALoads        Metric = "tma_loads"         // instructions
	TMAStores       Metric = "tma_stores"        //
	TMABytes        Metric = "tma_bytes"         // loaded
	ICacheHit       Metric = "icache_hit_pct"    //
	ICacheRequests  Metric = "icache_requests"   // of SMs to the cache behind their own
	InstructionMiss Metric = "instruction_fills" // requests of all SMs for instructions beyond their caches
	ConstantHit     Metric = "constant_hit_pct"  //
	Passes          Metric = "passes"            // that ncu replayed the kernel for
)

// way is one way to get a metric: the sum of some of ncu's, times others and a factor.
type way struct {
	sum   []string
	with  []string // multiplied by their product
	times float64  // 0: 1
	from  int      // compute capability × 10 from which on the names are there and mean this; 0: any
	until int      // and before which; 0: any
	asked bool     // not for a list of metrics: ncu computes it in its sections only
}

// Architectures by compute capability × 10.
const (
	ampere    = 80
	ada       = 89
	hopper    = 90
	blackwell = 100
	consumer  = 120 // Blackwell of RTX cards, whose DRAM counters have other names
)

type entry struct {
	metric Metric
	unit   string
	words  string
	ways   []way
}

func one(name string) way { return way{sum: []string{name}} }

// label is a way by the label of the page details, which a list of metrics cannot name.
func label(names ...string) way { return way{sum: names, asked: true} }

func section(names ...string) way { return way{sum: names, asked: true} }

func (w way) since(cc int) way { w.from = cc; return w }

func (w way) before(cc int) way { w.until = cc; return w }

func (w way) scaled(f float64) way { w.times = f; return w }

func (w way) by(names ...string) way { w.with = names; return w }

func plus(names ...string) way { return way{sum: names} }

const (
	elapsed = ".avg.pct_of_peak_sustained_elapsed"
	active  = ".avg.pct_of_peak_sustained_active"
	thread  = "smsp__sass_thread_inst_executed_op_"
)

// executed counts thread instructions of one kind. Sections have them per cycle only.
func executed(op string) []way {
	return []way{
		one(thread + op + "_pred_on.sum"),
		{sum: []string{thread + op + "_pred_on.sum.per_cycle_elapsed"}, with: []string{"smsp__cycles_elapsed.max"}, asked: true},
	}
}

// entries is the table of metrics. The first way whose names a file has is taken; a list of metrics
// to collect has the names of the first way that is there on the architecture.
var entries = []entry{
	{Duration, "s", "duration under ncu", []way{one("gpu__time_duration.sum"), label("GPU Speed Of Light Throughput: Duration"), label("Duration")}},
	{SMClock, "Hz", "SM clock", []way{one("smsp__cycles_elapsed.avg.per_second"), section("gpc__cycles_elapsed.max.per_second"), section("sm__cycles_elapsed.avg.per_second"), label("GPU Speed Of Light Throughput: SM Frequency")}},
	{SMPercent, "%", "SM throughput", []way{one("sm__throughput" + elapsed), label("GPU Speed Of Light Throughput: Compute (SM) Throughput"), label("GPU Speed Of Light Throughput: SM [%]"), label("GPU Speed Of Light: SOL SM")}},
	{MemoryPercent, "%", "memory throughput", []way{one("gpu__compute_memory_throughput" + elapsed), label("GPU Speed Of Light Throughput: Memory Throughput"), label("GPU Speed Of Light Throughput: Memory [%]"), label("GPU Speed Of Light: SOL Memory")}},
	{DRAMPercent, "%", "DRAM throughput", []way{one("gpu__dram_throughput" + elapsed), section("dram__throughput" + elapsed), label("GPU Speed Of Light Throughput: DRAM Throughput")}},
	{L2Percent, "%", "L2 throughput", []way{one("lts__throughput" + elapsed), label("GPU Speed Of Light Throughput: L2 Cache Throughput")}},
	{L1Percent, "%", "L1 throughput", []way{one("l1tex__throughput" + elapsed), section("l1tex__throughput" + active), label("GPU Speed Of Light Throughput: L1/TEX Cache Throughput")}},
	{DRAMRate, "B/s", "DRAM rate", []way{
		one("dram__bytes.sum.per_second"), plus("dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second").before(consumer),
		plus("dram__bytes_op_read.sum.per_second", "dram__bytes_op_write.sum.per_second").since(consumer), label("Memory Workload Analysis: Memory Throughput"),
	}},
	{DRAMPeak, "B/s", "peak of DRAM", []way{
		one("dram__bytes.sum.peak_sustained").by("dram__cycles_elapsed.avg.per_second"),
		one("dram__bytes_read.sum.peak_sustained").by("dram__cycles_elapsed.avg.per_second").before(consumer),
		one("dram__bytes_op_read.sum.peak_sustained").by("dram__cycles_elapsed.avg.per_second").since(consumer),
	}},
	{DRAMRead, "B", "read from DRAM", []way{one("dram__bytes_read.sum").before(consumer), one("dram__bytes_op_read.sum").since(consumer), one("dram__sectors_read.sum").scaled(32)}},
	{DRAMWritten, "B", "written to DRAM", []way{one("dram__bytes_write.sum").before(consumer), one("dram__bytes_op_write.sum").since(consumer), one("dram__sectors_write.sum").scaled(32)}},
	{L2Sectors, "sector", "sectors asked of L2 by the SMs", []way{one("lts__t_sectors_srcunit_tex.sum"), one("lts__t_sectors.sum")}},
	{L2Hit, "%", "L2 hit rate", []way{one("lts__t_sector_hit_rate.pct"), label("Memory Workload Analysis: L2 Hit Rate")}},
	{L1Hit, "%", "L1 hit rate", []way{one("l1tex__t_sector_hit_rate.pct"), label("Memory Workload Analysis: L1/TEX Hit Rate")}},
	{TensorPercent, "%", "tensor cores active", []way{
		one("sm__pipe_tensor_cycles_active" + elapsed), one("sm__pipe_tensor_op_hmma_cycles_active" + elapsed).before(hopper),
		one("sm__inst_executed_pipe_tensor" + elapsed).before(hopper),
	}},
	{FMAPercent, "%", "FMA pipe", []way{one("sm__inst_executed_pipe_fma" + active), one("sm__pipe_fma_cycles_active" + active)}},
	{ALUPercent, "%", "ALU pipe", []way{one("sm__inst_executed_pipe_alu" + active), one("sm__pipe_alu_cycles_active" + active)}},
	{FP64Percent, "%", "FP64 pipe", []way{one("sm__pipe_fp64_cycles_active" + active), one("sm__inst_executed_pipe_fp64" + active), one("sm__inst_executed_pipe_fp64_op_fp64" + active)}},
	{XUPercent, "%", "special-function pipe", []way{one("sm__inst_executed_pipe_xu" + active)}},
	{LSUPercent, "%", "load-store pipe", []way{one("sm__inst_executed_pipe_lsu" + active)}},
	{ADUPercent, "%", "address pipe", []way{one("sm__inst_executed_pipe_adu" + active)}},
	{UniformPercent, "%", "uniform pipe", []way{one("sm__inst_executed_pipe_uniform" + active)}},
	{IssuePercent, "%", "issue slots used", []way{one("smsp__issue_active" + active), section("smsp__issue_active.avg.per_cycle_active").scaled(100), label("Scheduler Statistics: One or More Eligible"), label("Scheduler Statistics: Issued Warp Per Scheduler").scaled(100)}},
	{Eligible, "warp", "eligible warps", []way{one("smsp__warps_eligible.avg.per_cycle_active"), label("Scheduler Statistics: Eligible Warps Per Scheduler")}},
	{ActiveWarps, "warp", "active warps", []way{one("smsp__warps_active.avg.per_cycle_active"), label("Scheduler Statistics: Active Warps Per Scheduler")}},
	{Instructions, "inst", "instructions", []way{one("smsp__inst_executed.sum"), section("sm__inst_executed.sum"), label("Instruction Statistics: Executed Instructions")}},
	{CyclesPerIssue, "cycle", "cycles between instructions of a warp", []way{one("smsp__average_warp_latency_per_inst_issued.ratio"), one("smsp__average_warps_active_per_issue_active.ratio"), label("Warp State Statistics: Warp Cycles Per Issued Instruction")}},
	{ActiveThreads, "thread", "active threads per warp", []way{one("smsp__thread_inst_executed_per_inst_executed.ratio"), label("Warp State Statistics: Avg. Active Threads Per Warp")}},
	{UnmaskedThreads, "thread", "threads per warp that are not predicated off", []way{one("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"), label("Warp State Statistics: Avg. Not Predicated Off Threads Per Warp")}},
	{Occupancy, "%", "occupancy achieved", []way{one("sm__warps_active" + active), label("Occupancy: Achieved Occupancy")}},
	{Theoretical, "%", "occupancy possible", []way{one("sm__maximum_warps_per_active_cycle_pct"), label("Occupancy: Theoretical Occupancy")}},
	{LimitRegisters, "block", "blocks that registers allow", []way{one("launch__occupancy_limit_registers"), label("Occupancy: Block Limit Registers")}},
	{LimitShared, "block", "blocks that shared memory allows", []way{one("launch__occupancy_limit_shared_mem"), label("Occupancy: Block Limit Shared Mem")}},
	{LimitWarps, "block", "blocks that warps allow", []way{one("launch__occupancy_limit_warps"), label("Occupancy: Block Limit Warps")}},
	{LimitBlocks, "block", "blocks that an SM takes", []way{one("launch__occupancy_limit_blocks"), label("Occupancy: Block Limit SM")}},
	{LimitBarriers, "block", "blocks that barriers allow", []way{one("launch__occupancy_limit_barriers").since(hopper), label("Occupancy: Block Limit Barriers")}},
	{Grid, "block", "grid", []way{one("launch__grid_size"), label("Launch Statistics: Grid Size")}},
	{Block, "thread", "block", []way{one("launch__block_size"), label("Launch Statistics: Block Size")}},
	{Waves, "", "waves", []way{one("launch__waves_per_multiprocessor"), label("Launch Statistics: Waves Per SM")}},
	{SMs, "SM", "SMs", []way{one("launch__sm_count"), section("device__attribute_multiprocessor_count"), label("Launch Statistics: # SMs")}},
	{ClusterSize, "block", "cluster", []way{one("launch__cluster_size").since(hopper), label("Launch Statistics: Cluster Size")}},
	{Registers, "register", "registers per thread", []way{one("launch__registers_per_thread"), label("Launch Statistics: Registers Per Thread")}},
	{SharedStatic, "B", "static shared memory", []way{one("launch__shared_mem_per_block_static"), label("Launch Statistics: Static Shared Memory Per Block")}},
	{SharedDynamic, "B", "dynamic shared memory", []way{one("launch__shared_mem_per_block_dynamic"), label("Launch Statistics: Dynamic Shared Memory Per Block")}},
	{SharedDriver, "B", "shared memory of the driver", []way{one("launch__shared_mem_per_block_driver"), label("Launch Statistics: Driver Shared Memory Per Block")}},
	{SMActiveMin, "cycle", "cycles of the least busy SM", []way{one("sm__cycles_active.min")}},
	{SMActiveAvg, "cycle", "cycles of an SM", []way{one("sm__cycles_active.avg"), label("GPU Speed Of Light Throughput: SM Active Cycles")}},
	{SMActiveMax, "cycle", "cycles of the busiest SM", []way{one("sm__cycles_active.max")}},
	{SMElapsed, "cycle", "cycles of the kernel", []way{one("sm__cycles_elapsed.max"), section("gpc__cycles_elapsed.max"), label("GPU Speed Of Light Throughput: Elapsed Cycles")}},
	{LoadRequests, "", "requests of global loads", []way{one("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")}},
	{LoadSectors, "sector", "sectors of global loads", []way{one("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")}},
	{StoreRequests, "", "requests of global stores", []way{one("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")}},
	{StoreSectors, "sector", "sectors of global stores", []way{one("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")}},
	{LoadUse, "B", "bytes used of a loaded sector", []way{one("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"), one("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct").scaled(0.32)}},
	{StoreUse, "B", "bytes used of a stored sector", []way{one("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"), one("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct").scaled(0.32)}},
	{LoadMisses, "sector", "sectors of global loads that miss L1", []way{one("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum")}},
	{GlobalSectors, "sector", "sectors of global accesses", []way{section("memory_l2_theoretical_sectors_global"), section("smsp__sass_l1tex_t_sectors_mem_global.sum")}},
	{GlobalIdeal, "sector", "sectors of ideal global accesses", []way{section("memory_l2_theoretical_sectors_global_ideal")}},
	{SharedWaves, "", "wavefronts of shared memory", []way{
		plus("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), section("memory_l1_wavefronts_shared"),
	}},
	{SharedIdeal, "", "wavefronts of shared memory without conflicts", []way{section("memory_l1_wavefronts_shared_ideal")}},
	{SharedConflicts, "", "bank conflicts", []way{
		plus("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"), section("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
	}},
	{SharedPercent, "%", "shared-memory pipe", []way{one("l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed"), section("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed")}},
	{LocalLoads, "inst", "loads of local memory", []way{one("smsp__sass_inst_executed_op_local_ld.sum"), one("smsp__inst_executed_op_local_ld.sum"), section("sass__inst_executed_local_loads")}},
	{LocalStores, "inst", "stores to local memory", []way{one("smsp__sass_inst_executed_op_local_st.sum"), one("smsp__inst_executed_op_local_st.sum"), section("sass__inst_executed_local_stores")}},
	{SpillRequests, "", "requests of spilled registers", []way{section("derived__local_spilling_requests"), section("sass__inst_executed_register_spilling"), label("Memory Workload Analysis: Local Memory Spilling Requests")}},
	{AtomicSectors, "sector", "sectors of atomics at L2", []way{one("lts__t_sectors_op_atom.sum"), section("lts__t_sectors_srcunit_tex_op_atom.sum")}},
	{ReduceSectors, "sector", "sectors of reductions at L2", []way{one("lts__t_sectors_op_red.sum"), section("lts__t_sectors_srcunit_tex_op_red.sum")}},
	{AtomicPercent, "%", "L2's unit for atomics", []way{one("lts__d_atomic_input_cycles_active" + elapsed)}},
	{AtomicHot, "%", "busiest unit of L2 for atomics", []way{one("lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed")}},
	{SharedAtomics, "inst", "atomics on shared memory", []way{one("smsp__inst_executed_op_shared_atom.sum")}},
	{GlobalReduces, "inst", "reductions on global memory", []way{one("smsp__inst_executed_op_global_red.sum")}},
	{GlobalAtomics, "", "atomics on global memory", []way{one("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum")}},
	{FloatAdd, "", "", executed("fadd")},
	{FloatMul, "", "", executed("fmul")},
	{FloatFMA, "", "", executed("ffma")},
	{DoubleAdd, "", "", executed("dadd")},
	{DoubleMul, "", "", executed("dmul")},
	{DoubleFMA, "", "", executed("dfma")},
	{HalfAdd, "", "", executed("hadd")},
	{HalfMul, "", "", executed("hmul")},
	{HalfFMA, "", "", executed("hfma")},
	{TensorHalf, "", "", []way{
		plus("sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum").since(hopper).before(blackwell),
		plus("sm__ops_path_tensor_src_fp16_dst_fp16.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum", "sm__ops_path_tensor_src_bf16_dst_fp32.sum"),
		plus("sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum", "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum", "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum").before(hopper),
	}},
	{TensorTF32, "", "", []way{one("sm__ops_path_tensor_src_tf32_dst_fp32.sum"), one("sm__ops_path_tensor_op_hmma_src_tf32_dst_fp32.sum").before(hopper)}},
	{TensorEight, "", "", []way{plus("sm__ops_path_tensor_src_fp8_sparsity_off.sum", "sm__ops_path_tensor_src_fp8_sparsity_on.sum").since(ada).before(blackwell), plus("sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp16.sum", "sm__ops_path_tensor_src_fp4_fp6_fp8_dst_fp32.sum").since(blackwell).before(consumer)}},
	{TensorInt8, "", "", []way{one("sm__ops_path_tensor_src_int8.sum")}},
	{TensorDouble, "", "", []way{one("sm__ops_path_tensor_src_fp64.sum"), section("sm__ops_path_tensor_op_dmma_src_fp64.sum")}},
	{FloatPeak, "", "", []way{one("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained").scaled(2), section("derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2")}},
	{DoublePeak, "", "", []way{one("sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained").scaled(2), section("derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2")}},
	{TensorPeak, "", "", []way{
		one("sm__ops_path_tensor_src_fp16.sum.peak_sustained").since(hopper).before(blackwell), one("sm__ops_path_tensor_src_fp16_dst_fp32.sum.peak_sustained"),
		one("sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum.peak_sustained").before(hopper),
	}},
	{WarpGroupMMA, "inst", "wgmma instructions", []way{one("smsp__sass_inst_executed_op_shared_gmma.sum").since(hopper).before(blackwell), section("sm__inst_executed_pipe_tensor_op_gmma.sum").since(hopper).before(blackwell)}},
	{TMALoads, "inst", "TMA loads", []way{one("smsp__sass_inst_executed_op_tma_ld.sum").since(hopper), section("smsp__inst_executed_op_tma_ld.sum").since(hopper)}},
	{TMAStores, "inst", "TMA stores", []way{one("smsp__sass_inst_executed_op_tma_st.sum").since(hopper), section("smsp__inst_executed_op_tma_st.sum").since(hopper)}},
	{TMABytes, "B", "loaded by TMA", []way{one("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum").since(hopper), one("l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum").scaled(32).since(hopper)}},
	{ICacheHit, "%", "instruction-cache hit rate", []way{one("sm__icc_request_hit_rate.pct")}},
	{ICacheRequests, "", "requests to the instruction cache", []way{one("sm__icc_requests.sum")}},
	{InstructionMiss, "", "requests for instructions beyond the SM", []way{one("gcc__cache_requests_type_instruction.sum")}},
	{ConstantHit, "%", "constant-cache hit rate", []way{one("idc__request_hit_rate.pct")}},
	{Passes, "", "passes", []way{section("profiler__replayer_passes")}},
}

// Reasons are what a warp waits for, as ncu names them. Those that a chip does not have are absent
// from its profiles.
var Reasons = []string{
	"long_scoreboard", "short_scoreboard", "wait", "barrier", "membar", "math_pipe_throttle", "mio_throttle", "lg_throttle", "tex_throttle",
	"not_selected", "selected", "no_instruction", "sleeping", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "misc", "gmma",
}

// stallNames, sampledNames and stallMetrics are what each reason is called, made once.
var stallNames, sampledNames, stallMetrics = named(stallName), named(sampledName), named(func(reason string) Metric { return Metric("stall_" + reason) })

func named[T any](name func(string) T) map[string]T {
	names := make(map[string]T, len(Reasons))
	for _, reason := range Reasons {
		names[reason] = name(reason)
	}
	return names
}

// only are the reasons that some architectures have: from the first on, before the second.
var only = map[string][2]int{"gmma": {hopper, blackwell}, "imc_miss": {0, blackwell}}

func stallName(reason string) string {
	return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio"
}

// sampledName is the same from samples of program counters, which name two of them differently.
func sampledName(reason string) string {
	switch reason {
	case "no_instruction":
		reason = "no_instructions"
	case "gmma":
		reason = "warpgroup_arrive"
	}
	return "smsp__pcsamp_warps_issue_stalled_" + reason
}

// Curated returns the names of ncu's metrics to collect on an architecture, given as compute capability
// × 10: all that this package reads, less what ncu computes in its sections only.
func Curated(cc int) []string {
	var names []string
	for _, e := range entries {
		for _, w := range e.ways {
			if !w.asked && w.there(cc) {
				names = append(names, slices.Concat(w.sum, w.with)...)
				break
			}
		}
	}
	for _, reason := range Reasons {
		if limits, some := only[reason]; !some || cc >= limits[0] && (limits[1] == 0 || cc < limits[1]) {
			names = append(names, stallName(reason))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// there reports whether an architecture has the names of a way; one that is not known may.
func (w way) there(cc int) bool {
	return cc == 0 || cc >= w.from && (w.until == 0 || cc < w.until)
}

// value computes a metric in one way; ok is false where a part is missing.
func (w way) value(l *Launch, cc int) (v float64, ok bool) {
	if !w.there(cc) {
		return 0, false
	}
	for _, name := range w.sum {
		part, ok := l.Value(name)
		if !ok {
			return 0, false
		}
		v += part.Number
	}
	for _, name := range w.with {
		part, ok := l.Value(name)
		if !ok {
			return 0, false
		}
		v *= part.Number
	}
	if w.times != 0 {
		v *= w.times
	}
	return v, true
}

// Words returns what people call a metric, and its unit.
func (m Metric) Words() (words, unit string) {
	if reason, stall := strings.CutPrefix(string(m), "stall_"); stall {
		return "stall " + reason, "%"
	}
	for _, e := range entries {
		if e.metric == m {
			return e.words, e.unit
		}
	}
	return string(m), ""
}

// Metrics returns all metrics that a profile may have.
func Metrics() []Metric {
	all := []Metric{
		DRAMBytes, LoadSpread, StoreSpread, LoadUsed, StoreUsed, Coalescing, GlobalExcess, ConflictShare, Imbalance, Idle, LocalShare, Flops, FlopsFloat,
		FlopsDouble, FlopsHalf, FlopsTensor, FlopsRate, Busiest, Atomics,
	}
	for _, e := range entries {
		all = append(all, e.metric)
	}
	for _, reason := range Reasons {
		all = append(all, Metric("stall_"+reason))
	}
	return all
}

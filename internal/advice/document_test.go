package advice

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"pawl/internal/profile"
)

var update = flag.Bool("update", false, "write the catalogue in docs/profiling.md again")

// The catalogue and the facts in docs/profiling.md are those that are judged by, with an example of each
// finding: a recorded one where there is one.
func TestDocument(t *testing.T) {
	const file = "../../docs/profiling.md"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(raw)
	for _, part := range []struct{ name, text string }{{"catalogue", catalogue(t)}, {"facts", allFacts(t)}} {
		begin, end := "<!-- "+part.name+": written by go test ./internal/advice -update -->\n", "<!-- end of the "+part.name+" -->"
		before, rest, found := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("docs/profiling.md has no place for the %s", part.name)
		}
		want = before + begin + part.text + end + after
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(raw) {
		t.Error("docs/profiling.md has another catalogue: go test ./internal/advice -run TestDocument -update")
	}
}

// example is what a finding says of some kernel.
type example struct {
	title  string
	static bool // by the weaker evidence
}

func said(x Finding) string { return x.Evidence + ": " + x.Gain() }

func catalogue(t *testing.T) string {
	examples := map[example]string{}
	no := false
	for _, p := range profiles(t, "h200_planted_curated.csv.gz")[:26] {
		e := Evidence{Profile: p, Double: &no}
		if strings.HasPrefix(p.Kernel, "redun(") || strings.HasPrefix(p.Kernel, "copy4_ok(") {
			e.Bytes = 2 * 4 << 26
		}
		product := strings.HasPrefix(p.Kernel, "gemm_bad(")
		e.Matmul = &product
		for _, x := range Builtin().Judge(Gather(e)).Findings {
			if key := (example{x.Title, x.Static}); examples[key] == "" {
				examples[key] = said(x)
			}
		}
	}
	for _, e := range onGPU {
		for _, static := range []bool{false, true} {
			if key := (example{e.Title, static}); examples[key] == "" && (!static || e.Less != nil) {
				examples[key] = "*made up:* " + said(imagine(t, e, static))
			}
		}
	}
	return "\n" + table(onGPU, "ncu", examples) + "\nOf kernels on the CPU:\n\n" + table(onHost, "those counters", hostExamples()) + "\n"
}

// table lists entries; less is what the weaker conditions do without.
func table(entries []Entry, less string, examples map[example]string) string {
	var b strings.Builder
	b.WriteString("| finding | holds where | does not apply where | what to do first, then | an example |\n| --- | --- | --- | --- | --- |\n")
	for _, e := range entries {
		holds, shown := "`"+strings.Join(e.When, "`, `")+"`", examples[example{e.Title, false}]
		if e.Less != nil {
			holds += "; without " + less + ": `" + strings.Join(e.Less.When, "`, `") + "`"
			if without := examples[example{e.Title, true}]; without != "" {
				shown += "; without " + less + ": " + without
			}
		}
		var unless []string
		for _, x := range e.Unless {
			unless = append(unless, x.Why)
		}
		fixes := e.First
		if len(e.Deeper) > 0 {
			fixes += "; then " + strings.Join(e.Deeper, "; ")
		}
		if e.Python != nil && e.Python.First != e.First {
			fixes += ". In Python: " + strings.Join(append([]string{e.Python.First}, e.Python.Deeper...), "; ")
		}
		fmt.Fprintf(&b, "| **%s**: %s | %s | %s | %s | %s |\n", e.ID, e.Title, holds, strings.Join(unless, "; "), fixes, shown)
	}
	return b.String()
}

// imagine returns what an entry says of the kernel that is made up for it.
func imagine(t *testing.T, e Entry, static bool) Finding {
	t.Helper()
	f := Facts{}
	for name, v := range imagined[example{e.Title, static}] {
		_, of := profile.Metric(name).Describe()
		f.set(name, v, cmp.Or(derived[name], of), FromProfile)
	}
	c, err := New([]Entry{e}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := c.Judge(f).Findings
	if len(found) != 1 || found[0].Static != static || strings.Contains(found[0].Evidence, "?") {
		t.Fatalf("the numbers made up for %s (%s, without ncu: %t) do not show it: %+v", e.ID, e.Title, static, found)
	}
	return found[0]
}

// imagined are numbers of kernels that nobody has recorded, as they would look.
var imagined = map[example]map[string]float64{
	{"the numbers cannot be right", false}:                                      {"sm_pct": 71, "dram_pct": 131},
	{"the numbers cannot be right", true}:                                       {"roof_pct": 163},
	{"it is at the roof already", true}:                                         {"roof_pct": 94},
	{"the schedulers issue as fast as they can", false}:                         {"issue_pct": 89, "idle_pct": 2.1, "uneven_pct": 0.8, "sm_pct": 87, "fma_pct": 77, "alu_pct": 3.1, "tensor_pct": 0, "dram_pct": 58, "memory_pct": 58, "stall_barrier": 0, "stall_no_instruction": 0.4, "coalescing_pct": 100, "local_pct": 0, "conflict_pct": 0, "active_threads": 32, "unmasked_threads": 31.8, "xu_pct": 0.2, "f16_share": 0.1, "f64_share": 0},
	{"a pipe of the SM takes all that it can", false}:                           {"sm_pct": 98, "stall_math_pipe_throttle": 44, "fma_pct": 49, "memory_pct": 12, "stall_barrier": 0, "coalescing_pct": 100, "local_pct": 0, "conflict_pct": 0, "active_threads": 32, "xu_pct": 0.1, "lsu_pct": 1.2, "f16_share": 99, "ffma_share": 0, "f64_share": 0},
	{"arithmetic is the limit", false}:                                          {"fma_pct": 38, "alu_pct": 84, "sm_pct": 82, "active_threads": 32},
	{"tensor cores could do it, if it is a matrix product", false}:              {"tensor_pct": 0.02, "ffma_share": 98, "intensity": 61, "shared_waves": 2.8e7, "instructions": 1.6e8, "f16_share": 0, "busiest_pct": 75, "dram_pct": 14, "tensor_need_pct": 4.1},
	{"the load-store pipe is the limit", false}:                                 {"l1_pct": 83, "lsu_pct": 31, "fma_pct": 22, "math_pct": 22, "l2_pct": 31, "dram_pct": 4, "coalescing_pct": 100, "local_pct": 0, "conflict_pct": 0},
	{"launches take as long as the work", false}:                                {"seconds": 2.3e-6, "wall": 6.1e-6, "launch_pct": 79, "launches": 16},
	{"too few blocks for the GPU", true}:                                        {"seconds": 2.1e-4, "grid": 16, "sms": 132, "waves": 16.0 / 132},
	{"the last wave is nearly empty", true}:                                     {"seconds": 2.1e-4, "grid": 1064, "sms": 132, "waves": 1064.0 / 1056, "tail": 49.6},
	{"registers spill to local memory", true}:                                   {"stack": 96, "code_local_hot": 24},
	{"it computes in double precision", true}:                                   {"code_f64": 6, "f64_expected": 0},
	{"atomics meet at few addresses", true}:                                     {"code_atomics": 1, "roof_pct": 4.2},
	{"atomics on shared memory serialise", false}:                               {"shared_atomics": 2.1e6, "instructions": 3.4e7, "shared_stalls": 61, "memory_stalls": 8, "math_pct": 14, "dram_pct": 22, "dram_used_pct": 23, "l2_pct": 19},
	{"DRAM is the limit", false}:                                                {"dram_pct": 84, "dram_used_pct": 86, "math_pct": 14, "dram_rate": 4.03e12, "sm_pct": 21, "coalescing_pct": 98, "local_pct": 0},
	{"DRAM is the limit", true}:                                                 {"roof_pct": 82, "intensity": 0.25},
	{"it moves the bytes it must at the speed of DRAM", false}:                  {"dram_pct": 87, "dram_used_pct": 89, "math_pct": 11, "dram_rate": 4.2e12, "dram_bytes": 545e6, "work_bytes": 536870912, "moved_ratio": 1.02, "local_pct": 0},
	{"a matrix product without tensor cores", true}:                             {"code_tensor": 0, "code_ffma_hot": 256, "matmul": 1},
	{"tensor cores wait for data", false}:                                       {"tensor_pct": 38, "memory_stalls": 34, "shared_stalls": 9, "stall_barrier": 14, "stall_gmma": 3, "flops_tensor": 9.9e9, "flops": 1e10, "dram_pct": 31},
	{"wgmma waits for itself", false}:                                           {"stall_gmma": 47, "tensor_pct": 41, "uses_wgmma": 1},
	{"special functions are the limit", true}:                                   {"code_special_hot": 12, "code_ffma_hot": 20, "roof_pct": 18},
	{"instructions do not arrive in time", false}:                               {"stall_no_instruction": 44, "stall_branch_resolving": 5, "instruction_fills": 1.8e6, "seconds": 3e-4, "waves": 4, "math_pct": 31},
	{"instructions do not arrive in time", true}:                                {"code_bytes": 557056},
	{"registers limit the warps that hide latency", false}:                      {"registers": 168, "theoretical_pct": 18.75, "limited_by_registers": 1, "limited_by_shared": 0, "issue_pct": 22, "busiest_pct": 41, "l2_pct": 26, "memory_stalls": 63, "waves": 6, "coalescing_pct": 100, "conflict_pct": 0},
	{"registers limit the warps that hide latency", true}:                       {"registers": 168, "theoretical_pct": 18.75, "limited_by_registers": 1, "limited_by_shared": 0, "roof_pct": 37},
	{"shared memory limits the warps that hide latency", true}:                  {"theoretical_pct": 25, "limited_by_shared": 1, "roof_pct": 33},
	{"the shape of the block limits the warps that hide latency", false}:        {"block": 32, "theoretical_pct": 50, "limited_by_registers": 0, "limited_by_shared": 0, "issue_pct": 34, "busiest_pct": 44, "memory_stalls": 58, "waves": 9},
	{"warps wait for global memory, and neither DRAM nor the SM is busy", true}: {"roof_pct": 36, "intensity": 0.1, "code_wide_loads": 0, "code_narrow_loads": 2, "seconds": 2e-4},
	{"the queue for shared memory and special functions is full", false}:        {"stall_mio_throttle": 46, "conflict_pct": 0, "busiest_pct": 62, "xu_pct": 12, "shared_pct": 58},
	{"the queue for global memory is full", false}:                              {"stall_lg_throttle": 51, "local_pct": 0, "coalescing_pct": 100, "dram_pct": 34, "busiest_pct": 55},
	{"warps wait for shared memory or special functions", false}:                {"stall_short_scoreboard": 43, "conflict_pct": 0, "busiest_pct": 49, "atomic_hot_pct": 0},
	{"blocks wait for their stores at the end", false}:                          {"stall_drain": 38, "coalescing_pct": 100, "dram_pct": 52, "atomic_hot_pct": 0, "busiest_pct": 56},
	{"constants are not in their cache", false}:                                 {"stall_imc_miss": 27, "constant_hit_pct": 61, "seconds": 9e-5},
	{"blocks of a cluster wait for each other", false}:                          {"cluster": 4, "stall_barrier": 33, "stall_membar": 6},
	{"it was built without optimisation", false}:                                {"debug": 1},
}

// allFacts lists the facts that conditions may use.
func allFacts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| fact | | unit |\n| --- | --- | --- |\n")
	for _, name := range Names() {
		said, of := profile.Metric(name).Describe()
		if reason, stall := strings.CutPrefix(name, "stall_"); stall {
			said = "share of the warps' time spent waiting: " + reason
		}
		meaning := cmp.Or(meanings[name], factWords[name], said)
		if meaning == name || meaning == "" {
			t.Errorf("nothing says what %s is", name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, meaning, cmp.Or(derived[name], hostFacts[name], of))
	}
	b.WriteString("\n")
	return b.String()
}

// meanings are of facts whose name does not say it, and for which findings have no words.
var meanings = map[string]string{
	"atomics":              "atomics on global memory",
	"atomic_share":         "share of the sectors asked of L2 that atomics ask for",
	"block":                "threads of a block",
	"cluster":              "blocks of a cluster",
	"code_atomics":         "atomics in the compiled code",
	"code_barriers":        "barriers in its innermost loop",
	"code_bytes":           "its size",
	"code_f64":             "its instructions in f64",
	"code_ffma_hot":        "FFMA in its innermost loop",
	"code_local_hot":       "accesses to local memory in its innermost loop",
	"code_narrow_loads":    "its global loads of 32 bits or less",
	"code_special_hot":     "special functions (MUFU) in its innermost loop",
	"code_tensor":          "its instructions for tensor cores",
	"code_wide_loads":      "its global loads of 64 bits or more",
	"dadd":                 "additions in f64, of all threads",
	"debug":                "1: built without optimisation",
	"dfma":                 "multiply-adds in f64, of all threads",
	"dmul":                 "multiplications in f64, of all threads",
	"f64_expected":         "1: the kernel has an argument of f64",
	"f16_expected":         "1: the kernel has an argument of f16 or bf16",
	"f64_share":            "share of the operations that are in f64",
	"fadd":                 "additions in f32, of all threads",
	"ffma":                 "multiply-adds in f32, of all threads",
	"ffma_share":           "share of the operations that are multiply-adds in f32",
	"flops_rate":           "operations a second",
	"fmul":                 "multiplications in f32, of all threads",
	"grid":                 "blocks",
	"hadd":                 "additions in f16, of all threads",
	"hfma":                 "multiply-adds in f16, of all threads",
	"hmul":                 "multiplications in f16, of all threads",
	"instructions":         "instructions of warps",
	"intensity":            "operations for each byte through DRAM; without ncu: of declared work",
	"limited_by_barriers":  "1: barriers limit how many blocks an SM holds",
	"limited_by_blocks":    "1: the number of blocks itself is the limit",
	"limited_by_registers": "1: registers are the limit",
	"limited_by_shared":    "1: shared memory is the limit",
	"limited_by_warps":     "1: warps are the limit",
	"math_pct":             "the busiest of the pipes that compute, over the whole kernel",
	"matmul":               "1: it is a matrix product or attention",
	"occupancy_gap":        "share of the possible occupancy that is not reached",
	"passes":               "runs of the kernel that ncu needed",
	"peak_f32":             "most operations in f32 a cycle, of all SMs",
	"peak_f64":             "most operations in f64 a cycle",
	"peak_tensor":          "most operations of tensor cores in f16 a cycle",
	"persistent":           "1: as many blocks as fit, of which each does many tiles",
	"roof_pct":             "share of the time that the declared work takes at the device's peaks",
	"seconds":              "time of a launch: measured, else under ncu",
	"specialised":          "1: warps have roles",
	"tail":                 "empty part of the waves",
	"tensor_fp64":          "operations of tensor cores in f64",
	"tensor_fp8":           "the same in f8",
	"tensor_half":          "the same in f16 and bf16",
	"tensor_int8":          "the same in i8",
	"start_pct":            "share of the launch in which no SM works: its start and its end",
	"uneven_pct":           "share of the launch in which an SM idles while others work",
	"dram_used_pct":        "DRAM throughput while SMs work, with the stores that are still in L2 at the end",
	"launches":             "launches that the work is divided into",
	"launch_pct":           "share of the time from launch to launch in which no SM works",
	"flops_pct":            "operations in f32, of what the FMA pipes could do",
	"f16_share":            "share of the operations in f16, conversions included; 0 where no argument is f16 or bf16",
	"tensor_need_pct":      "share of the tensor cores' peak that these operations would need",
	"tensor_tf32":          "operations of tensor cores in tf32",
	"uses_cp_async":        "1: it copies by cp.async",
	"uses_tma":             "1: it copies by TMA",
	"uses_wgmma":           "1: it has wgmma",
	"waves":                "blocks over those that fit at once",
	"work_bytes":           "bytes of declared work",
	"work_flops":           "operations of declared work",
	"backend_stall_pct":    "cycles in which the core waited for data or a busy unit (CPU)",
	"branch_cost_pct":      "share of the cycles that missed branches cost, about 15 cycles each",
	"branch_miss_pct":      "share of the branches that were predicted wrong",
	"branch_misses":        "branches that were predicted wrong",
	"cache_miss_pct":       "share of the accesses to the last cache that missed it",
	"cache_misses":         "misses of the last cache",
	"cache_mpki":           "misses of the last cache per thousand instructions",
	"cache_references":     "accesses to the last cache",
	"context_switches":     "times that a thread gave its core away",
	"counted_seconds":      "time of a launch while the processor's events were counted",
	"core_clock":           "clock of the cores while they ran the kernel",
	"cores_used":           "processor time over time",
	"cpu_branches":         "branches",
	"cpu_cycles":           "cycles of all cores",
	"cpu_instructions":     "instructions of the processor",
	"cpu_seconds":          "processor time of a launch",
	"dtlb_cost_pct":        "share of the cycles that misses of the data TLB cost, about 25 cycles each",
	"fault_cost_pct":       "share of the time that page faults cost, about 0.5 µs each",
	"flops_per_inst":       "declared operations for each instruction of the processor",
	"frontend_stall_pct":   "cycles in which the core waited for instructions (CPU)",
	"hardware_counted":     "1: the processor's own counters were read",
	"host":                 "1: the kernel runs on the CPU",
	"python":               "1: and it is a function written in Python",
	"host_bound":           "speed-up that the roof, or four instructions a cycle, leave room for",
	"ipc":                  "instructions a cycle",
	"l1d_miss_pct":         "share of the loads that missed the first data cache",
	"l1d_mpki":             "such misses per thousand instructions",
	"llc_miss_bytes":       "bytes of the lines that missed the last cache",
	"llc_miss_rate":        "the same a second",
	"llc_roof_pct":         "the same, of the measured peak of the memory",
	"major_faults":         "page faults that read from a disk",
	"migrations":           "times that a thread changed its core",
	"page_faults":          "page faults of a launch",
	"roof_of_memory":       "1: the roof is that of a memory or cache",
	"threads":              "threads that the kernel may use",
}

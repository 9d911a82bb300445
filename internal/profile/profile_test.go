package profile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// made profiles a launch on a chip with some of ncu's metrics.
func made(t *testing.T, cc string, metrics map[string]float64) *Profile {
	t.Helper()
	header, units, row := head+`,"launch__stream_id"`, `"","","","","","","","","","","",""`, `"0","1","p","h","k","1","7","(32, 1, 1)","(4, 2, 1)","0","`+cc+`","7"`
	names := []string{}
	for name := range metrics {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		header += `,"` + name + `"`
		units += `,""`
		row += fmt.Sprintf(`,"%v"`, metrics[name])
	}
	f, err := Read("k.csv", []byte(wide(header, units, row)))
	if err != nil {
		t.Fatal(err)
	}
	return Of(f.Launches[0])
}

func TestNames(t *testing.T) {
	for _, test := range []struct {
		grid, block [3]int
		want        string
	}{
		{[3]int{}, [3]int{}, "k"},
		{[3]int{8, 1, 1}, [3]int{256, 1, 1}, "k <<<8, 256>>>"},
		{[3]int{8, 2, 1}, [3]int{16, 16, 1}, "k <<<8×2, 16×16>>>"},
		{[3]int{8, 1, 3}, [3]int{32, 1, 1}, "k <<<8×1×3, 32>>>"},
	} {
		if got := (&Profile{Kernel: "k", Grid: test.grid, Block: test.block}).Name(); got != test.want {
			t.Errorf("%q, expected %q", got, test.want)
		}
	}
}

func TestCCOf(t *testing.T) {
	for text, want := range map[string]int{"9.0": 90, "8.6": 86, "10.0": 100, "12.1": 121, "": 0, "9": 0, "x.y": 0, "9.10": 0, "0.5": 0, "100.0": 0} {
		if got := CCOf(text); got != want {
			t.Errorf("%q: %d, expected %d", text, got, want)
		}
	}
}

// Shares are of the time between two instructions; samples of program counters stand in where that is
// not there, and reasons that the chip has and the file lacks are named.
func TestStalls(t *testing.T) {
	stall := func(p *Profile, reason string) float64 {
		v, ok := p.Get(Metric("stall_" + reason))
		if !ok {
			return math.NaN()
		}
		return v
	}
	p := made(t, "9.0", map[string]float64{stallName("wait"): 3, stallName("barrier"): 1})
	if stall(p, "wait") != 75 || stall(p, "barrier") != 25 || p.Stalls[0].Reason != "wait" || p.Stalls[0].Cycles != 3 || !slices.Contains(p.Unread, "gmma") || !slices.Contains(p.Unread, "imc_miss") {
		t.Errorf("%+v, unread %v", p.Stalls, p.Unread)
	}
	p = made(t, "9.0", map[string]float64{stallName("long_scoreboard"): 1, stallName("drain"): 5, stallName("misc"): 1})
	if order := []string{p.Stalls[0].Reason, p.Stalls[1].Reason, p.Stalls[2].Reason}; !slices.Equal(order, []string{"drain", "long_scoreboard", "misc"}) {
		t.Errorf("%v", order)
	}
	p = made(t, "9.0", map[string]float64{stallName("wait"): 3, "smsp__average_warp_latency_per_inst_issued.ratio": 12})
	if stall(p, "wait") != 25 {
		t.Errorf("the rest was not counted: %+v", p.Stalls)
	}
	p = made(t, "10.0", map[string]float64{sampledName("wait"): 30, sampledName("no_instruction"): 10, "smsp__average_warp_latency_per_inst_issued.ratio": 1000})
	if stall(p, "wait") != 75 || stall(p, "no_instruction") != 25 || p.Stalls[0].Cycles != 0 || slices.Contains(p.Unread, "gmma") || slices.Contains(p.Unread, "imc_miss") || stall(p, "gmma") != 0 {
		t.Errorf("%+v, unread %v", p.Stalls, p.Unread)
	}
	p = made(t, "8.0", map[string]float64{stallName("wait"): 0})
	if stall(p, "wait") != 0 || stall(p, "gmma") != 0 || slices.Contains(p.Unread, "gmma") || !slices.Contains(p.Unread, "imc_miss") {
		t.Errorf("%+v, unread %v", p.Stalls, p.Unread)
	}
	if p := made(t, "9.0", map[string]float64{"launch__grid_size": 8}); p.Stalls != nil || p.Unread != nil {
		t.Errorf("%+v", p.Stalls)
	}
}

func TestComputed(t *testing.T) {
	get := func(p *Profile, m Metric) string {
		v, ok := p.Get(m)
		if !ok {
			return "none"
		}
		return fmt.Sprintf("%.4g", v)
	}
	const load, store = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
	const used, filled = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio"
	for _, test := range []struct {
		metrics map[string]float64
		want    map[Metric]string
	}{
		{map[string]float64{"dram__bytes_read.sum": 3, "dram__bytes_write.sum": 4, "gpu__time_duration.sum": 2}, map[Metric]string{DRAMBytes: "7", DRAMRate: "3.5"}},
		{map[string]float64{"dram__bytes.sum.per_second": 5, "gpu__time_duration.sum": 2}, map[Metric]string{DRAMBytes: "10", DRAMRate: "5"}},
		{map[string]float64{"dram__bytes_read.sum": 3}, map[Metric]string{DRAMBytes: "none", DRAMRate: "none"}},
		{map[string]float64{load: 30, store: 10, used: 16, filled: 32}, map[Metric]string{LoadUsed: "50", StoreUsed: "100", Coalescing: "62.5"}},
		{map[string]float64{load: 0, store: 10, used: 0, filled: 8}, map[Metric]string{LoadUsed: "none", StoreUsed: "25", Coalescing: "25"}},
		{map[string]float64{load: 0, store: 0, used: 0, filled: 0}, map[Metric]string{Coalescing: "none"}},
		{map[string]float64{"memory_l1_wavefronts_shared": 40, "memory_l1_wavefronts_shared_ideal": 10}, map[Metric]string{ConflictShare: "75"}},
		{map[string]float64{"memory_l1_wavefronts_shared": 0, "memory_l1_wavefronts_shared_ideal": 0}, map[Metric]string{ConflictShare: "0"}},
		{map[string]float64{"memory_l1_wavefronts_shared": 40, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 50}, map[Metric]string{ConflictShare: "100"}},
		{map[string]float64{"memory_l2_theoretical_sectors_global": 40, "memory_l2_theoretical_sectors_global_ideal": 30}, map[Metric]string{GlobalExcess: "25"}},
		{map[string]float64{"sm__cycles_active.avg": 50, "sm__cycles_active.max": 60, "sm__cycles_elapsed.max": 80}, map[Metric]string{Imbalance: "1.2", Idle: "37.5"}},
		{map[string]float64{"smsp__sass_inst_executed_op_local_ld.sum": 3, "smsp__sass_inst_executed_op_local_st.sum": 1, "smsp__inst_executed.sum": 40}, map[Metric]string{LocalShare: "10"}},
		{map[string]float64{"smsp__sass_inst_executed_op_local_ld.sum": 3, "smsp__sass_inst_executed_op_local_st.sum": 1}, map[Metric]string{LocalShare: "none"}},
		{map[string]float64{"smsp__sass_inst_executed_op_local_ld.sum": 0, "smsp__sass_inst_executed_op_local_st.sum": 0}, map[Metric]string{LocalShare: "0"}},
		{map[string]float64{"sm__throughput.avg.pct_of_peak_sustained_elapsed": 20, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": 30}, map[Metric]string{Busiest: "30"}},
	} {
		p := made(t, "9.0", test.metrics)
		for m, want := range test.want {
			if got := get(p, m); got != want {
				t.Errorf("%v: %s is %s, expected %s", test.metrics, m, got, want)
			}
		}
	}
}

func TestLimiter(t *testing.T) {
	p := made(t, "9.0", map[string]float64{"launch__occupancy_limit_registers": 4, "launch__occupancy_limit_shared_mem": 4, "launch__occupancy_limit_warps": 8, "launch__occupancy_limit_blocks": 32, "launch__occupancy_limit_barriers": 3})
	if !slices.Equal(p.Limiter, []string{"barriers"}) {
		t.Errorf("%v", p.Limiter)
	}
	p = made(t, "9.0", map[string]float64{"launch__occupancy_limit_registers": 4, "launch__occupancy_limit_shared_mem": 4, "launch__occupancy_limit_warps": 8})
	if !slices.Equal(p.Limiter, []string{"registers", "shared"}) {
		t.Errorf("%v", p.Limiter)
	}
}

func TestMean(t *testing.T) {
	side := func(registers, grid float64) *Profile {
		return &Profile{Kernel: "k", Metrics: map[Metric]Value{Registers: {registers, "register"}, Grid: {grid, "block"}}, Stalls: []Stall{{Reason: "wait", Share: 1}}}
	}
	a := side(10, 1)
	delete(a.Metrics, Grid)
	if m := Mean([]*Profile{a, side(30, 1), side(20, 1)}); m.Metrics[Registers].Number != 20 || m.Repeats != 3 || len(m.Metrics) != 1 {
		t.Errorf("%+v", m)
	}
	if m := Mean([]*Profile{side(10, 1), side(30, 2)}); m.Metrics[Registers].Number != 20 || m.Metrics[Grid].Number != 1.5 {
		t.Errorf("%+v", m)
	}
	if Mean(nil) != nil {
		t.Error("a profile of nothing")
	}
}

// Percentages change by points, counts by ratios, and what repeats differ by is not a change.
func TestMoves(t *testing.T) {
	side := func(m Metric, values ...float64) (list []*Profile) {
		_, unit := m.Describe()
		for _, v := range values {
			list = append(list, &Profile{Metrics: map[Metric]Value{m: {v, unit}}})
		}
		return list
	}
	for _, test := range []struct {
		metric        Metric
		before, after []float64
		change        float64 // 0: it has not moved
	}{
		{Registers, []float64{32}, []float64{64}, math.Log(2)},
		{Registers, []float64{64}, []float64{32}, -math.Log(2)},
		{Registers, []float64{100}, []float64{102}, 0},
		{Instructions, []float64{100, 130, 115}, []float64{120, 125, 122}, 0},
		{Instructions, []float64{100, 101, 102}, []float64{120, 125, 122}, math.Log(122) - math.Log(101)},
		{ConflictShare, []float64{1}, []float64{40}, 0.39},
		{ConflictShare, []float64{1}, []float64{3}, 0},
		{LocalLoads, []float64{0}, []float64{9}, manyTimes},
		{LocalLoads, []float64{9}, []float64{0}, -manyTimes},
	} {
		d := Compare(side(test.metric, test.before...), side(test.metric, test.after...))
		switch {
		case test.change == 0 && len(d.Moves) != 0, test.change != 0 && (len(d.Moves) != 1 || math.Abs(d.Moves[0].Change-test.change) > 1e-12):
			t.Errorf("%s %v → %v: %+v, expected %v", test.metric, test.before, test.after, d.Moves, test.change)
		}
	}
}

// The limit of the slower version decides which counters matter more.
func TestLimit(t *testing.T) {
	for _, test := range []struct {
		metrics map[Metric]float64
		want    Group
	}{
		{map[Metric]float64{DRAMPercent: 80, L2Percent: 70, SMPercent: 20}, GroupDRAM},
		{map[Metric]float64{DRAMPercent: 20, L2Percent: 70}, GroupL2},
		{map[Metric]float64{SMPercent: 70, L1Percent: 60}, GroupIssue},
		{map[Metric]float64{SharedPercent: 90, L1Percent: 80}, GroupShared},
		{map[Metric]float64{SMPercent: 30, DRAMPercent: 40}, GroupLatency},
		{map[Metric]float64{SMPercent: 30, Idle: 50}, GroupLaunch},
		{map[Metric]float64{SMPercent: 90, Idle: 50}, GroupIssue},
	} {
		p := &Profile{Metrics: map[Metric]Value{}}
		for m, v := range test.metrics {
			p.set(m, v, "%")
		}
		if got := p.limit(); got != test.want {
			t.Errorf("%v: %s, expected %s", test.metrics, got, test.want)
		}
	}
	if !GroupAccess.concerns(GroupL2) || GroupAccess.concerns(GroupIssue) || !GroupIssue.concerns(GroupIssue) || GroupIssue.concerns(GroupDRAM) {
		t.Error("groups")
	}
}

func TestTimes(t *testing.T) {
	for _, test := range []struct {
		x, y int
		want string
	}{{4, 16, "4×"}, {16, 4, "1/4 of"}, {3, 3, "as many of"}, {10, 25, "2.5×"}, {10, 7, "0.7×"}, {7, 2, "0.29×"}, {0, 8, "8×"}} {
		if got := times(test.x, test.y); got != test.want {
			t.Errorf("%d → %d: %q, expected %q", test.x, test.y, got, test.want)
		}
	}
}

func TestMixSentences(t *testing.T) {
	mix := func(keys Histogram, classes map[Class]int, uses map[string]int, total int) *Mix {
		return &Mix{Keys: keys, Classes: classes, Uses: uses, Total: total, Bytes: 16 * total}
	}
	d := CompareMix(
		mix(Histogram{"BAR": 1, "MUFU.EX2": 2, "FFMA": 10}, map[Class]int{ClassTensor: 0}, map[string]int{}, 100),
		mix(Histogram{"BAR": 3, "MUFU.EX2": 6, "FFMA": 10, "HMMA.16816.F32": 4}, map[Class]int{ClassTensor: 4}, map[string]int{"setmaxnreg": 2}, 140))
	want := []string{"tensor-core instructions: 0 → 4", "barriers: 1 → 3", "special functions (MUFU): 2 → 6", "warp specialisation (setmaxnreg): 0 → 2", "code: 100 → 140 instructions, 1600 → 2240 bytes"}
	if !slices.Equal(d.Sentences, want) {
		t.Errorf("%q", d.Sentences)
	}
	if len(d.Keys) != 3 || d.Keys[0].size() != 4 {
		t.Errorf("%+v", d.Keys)
	}
	d = CompareMix(mix(Histogram{"MUFU.EX2": 2}, nil, nil, 100), mix(Histogram{"MUFU.EX2": 5}, nil, nil, 129))
	if len(d.Sentences) != 0 {
		t.Errorf("%q", d.Sentences)
	}
}

func TestKeys(t *testing.T) {
	for op, want := range map[string]struct {
		key   string
		class Class
	}{
		"LDG.E.128.CONSTANT": {"LDG.128", ClassLoad}, "LDG.E": {"LDG.32", ClassLoad}, "LDG.E.U8": {"LDG.8", ClassLoad}, "STG.E.64": {"STG.64", ClassStore}, "LDS.U16": {"LDS.16", ClassShared}, "LDSM.16.M88.4": {"LDSM.16", ClassShared},
		"LDL.LU": {"LDL.32", ClassLocal}, "MUFU.EX2": {"MUFU.EX2", ClassSpecial}, "HMMA.16816.F32": {"HMMA.16816.F32", ClassTensor}, "FFMA.FTZ": {"FFMA", ClassFloat}, "DFMA": {"DFMA", ClassDouble}, "IMAD.WIDE.U32": {"IMAD", ClassInteger},
		"F2F.F64.F32": {"F2F.F64.F32", ClassConversion}, "HGMMA.64x128x16.F32": {"HGMMA.64x128x16.F32", ClassTensor}, "UTMALDG.2D": {"UTMALDG", ClassBulk}, "LDGSTS.E.BYPASS.128": {"LDGSTS.128", ClassAsync}, "RED.E.ADD.F32.FTZ.RN.STRONG.GPU": {"RED.E.ADD.F32.FTZ.RN.STRONG.GPU", ClassAtomic},
		"BAR.SYNC.DEFER_BLOCKING": {"BAR", ClassBarrier}, "BRA": {"BRA", ClassBranch}, "SHFL.BFLY": {"SHFL", ClassShuffle}, "LOP3.LUT": {"LOP3", ClassInteger}, "ISETP.GE.AND": {"ISETP", ClassInteger}, "SHF.R.S32.HI": {"SHF", ClassInteger}, "ULDC.64": {"ULDC", ClassConstant},
	} {
		i := Instruction{Op: op}
		if i.Key() != want.key || i.Class() != want.class {
			t.Errorf("%s: %s, %s; expected %s, %s", op, i.Key(), i.Class(), want.key, want.class)
		}
	}
	f := &Function{Instructions: []Instruction{{Op: "EXIT"}}}
	if f.Bytes() != 16 {
		t.Errorf("one instruction has %d bytes", f.Bytes())
	}
	if keys := (Histogram{"a": 1, "b": 3, "c": 3}).Sorted(); strings.Join(keys, "") != "bca" {
		t.Error(keys)
	}
}

func TestWords(t *testing.T) {
	for m, want := range map[Metric]string{DRAMPercent: "DRAM throughput %", ConflictShare: "bank conflicts %", "stall_wait": "stall wait %", Registers: "registers per thread register"} {
		words, unit := m.Describe()
		if words+" "+unit != want {
			t.Errorf("%s: %q %q", m, words, unit)
		}
	}
	for _, m := range moving {
		if words, _ := m.metric.Describe(); words == "" {
			t.Errorf("%s has no words", m.metric)
		}
	}
}

// Files without a row of units are in base units, which follow from the names.
func TestGuessed(t *testing.T) {
	for name, want := range map[string]scale{
		"sm__throughput.avg.pct_of_peak_sustained_elapsed": {"%", 1}, "sm__maximum_warps_per_active_cycle_pct": {"%", 1}, "gpu__time_duration.sum": {"s", 1e-9}, "dram__bytes.sum.per_second": {"B/s", 1},
		"dram__bytes_read.sum": {"B", 1}, "launch__shared_mem_per_block_static": {"B", 1}, "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": {"", 1},
		"smsp__cycles_elapsed.avg.per_second": {"Hz", 1}, "smsp__inst_executed.sum": {"", 1},
	} {
		if got := guessed(name); got != want {
			t.Errorf("%s: %v, expected %v", name, got, want)
		}
	}
}

func TestTriple(t *testing.T) {
	for text, want := range map[string][3]int{
		"(256, 1, 1)": {256, 1, 1}, "4,2,3": {4, 2, 3}, " ( 1, 2, 3 ) ": {1, 2, 3}, "(1, 2)": {}, "": {}, "(a, 1, 1)": {}, "(1, -2, 1)": {},
	} {
		if got := triple(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestRoofline(t *testing.T) {
	p := &Profile{Metrics: map[Metric]Value{}}
	for m, v := range map[Metric]float64{Flops: 100, FlopsFloat: 20, FlopsHalf: 80, DRAMBytes: 50, Duration: 2, DRAMPeak: 40, SMClock: 10, FloatPeak: 30} {
		p.set(m, v, "")
	}
	r := p.roofline()
	if r == nil || r.Pipe != "f16" || r.Peak != 600 || r.Intensity != 2 || r.Rate != 50 || r.Roof() != 80 || r.Ridge() != 15 || !r.MemoryBound() || r.Percent() != 62.5 {
		t.Errorf("%+v", r)
	}
	for _, m := range []Metric{Flops, DRAMBytes, Duration, DRAMPeak} {
		q := &Profile{Metrics: map[Metric]Value{}}
		for n, v := range p.Metrics {
			q.Metrics[n] = v
		}
		q.set(m, 0, "")
		if q.roofline() != nil {
			t.Errorf("a roofline with no %s", m)
		}
	}
}

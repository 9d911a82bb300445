package advice

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pawl/internal/profile"
)

// shown writes a fact as tests name it.
func (f Facts) shown(name string) string {
	fact, known := f[name]
	if !known {
		return "none"
	}
	return fmt.Sprintf("%.4g%s", fact.Value, fact.Unit)
}

func TestGather(t *testing.T) {
	p := func(metrics map[profile.Metric]float64, limiter ...string) *profile.Profile {
		made := &profile.Profile{CC: 90, Metrics: map[profile.Metric]profile.Value{}, Limiter: limiter}
		for m, v := range metrics {
			made.Metrics[m] = profile.Value{Number: v}
		}
		return made
	}
	yes, no := true, false
	for name, test := range map[string]struct {
		e    Evidence
		want map[string]string
	}{
		"shares of operations": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.FlopsDouble: 20, profile.Flops: 200, profile.FloatFMA: 60, profile.DRAMBytes: 50})},
			map[string]string{"f64_share": "10%", "ffma_share": "60%", "intensity": "4"},
		},
		"constants that HFMA2 moves": {
			Evidence{Half: &no, Profile: p(map[profile.Metric]float64{profile.FlopsHalf: 20, profile.Flops: 200})}, map[string]string{"f16_share": "0%", "f16_expected": "0"},
		},
		"arguments in f16": {
			Evidence{Half: &yes, Profile: p(map[profile.Metric]float64{profile.FlopsHalf: 20, profile.Flops: 200})}, map[string]string{"f16_share": "10%", "f16_expected": "1"},
		},
		"no operations": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.FlopsDouble: 0, profile.Flops: 0, profile.FloatFMA: 0, profile.DRAMBytes: 0})},
			map[string]string{"f64_share": "none", "ffma_share": "none", "intensity": "none"},
		},
		"declared intensity": {Evidence{Flops: 30, Bytes: 10}, map[string]string{"intensity": "3", "work_flops": "30", "work_bytes": "10B", "f64_expected": "none"}},
		"tensor cores that would do": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.FlopsRate: 50, profile.TensorPeak: 100, profile.SMClock: 2})}, map[string]string{"tensor_need_pct": "25%"},
		},
		"atomics": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.AtomicSectors: 10, profile.ReduceSectors: 20, profile.L2Sectors: 60})}, map[string]string{"atomic_share": "50%"},
		},
		"stalls": {
			Evidence{Profile: p(map[profile.Metric]float64{"stall_long_scoreboard": 30, "stall_lg_throttle": 5, "stall_short_scoreboard": 7, "stall_mio_throttle": 4})},
			map[string]string{"memory_stalls": "35%", "shared_stalls": "11%"},
		},
		"occupancy": {Evidence{Profile: p(map[profile.Metric]float64{profile.Occupancy: 30, profile.Theoretical: 50})}, map[string]string{"occupancy_gap": "40%"}},
		"arithmetic over the whole kernel": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.FMAPercent: 40, profile.ALUPercent: 60, profile.Idle: 50, profile.TensorPercent: 10})}, map[string]string{"math_pct": "30%"},
		},
		"tensor cores are arithmetic": {Evidence{Profile: p(map[profile.Metric]float64{profile.FMAPercent: 40, profile.TensorPercent: 70})}, map[string]string{"math_pct": "70%"}},
		"waves": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.Grid: 330, profile.SMs: 132, profile.LimitWarps: 2, profile.LimitRegisters: 1, profile.Waves: 2.49})},
			map[string]string{"waves": "2.5", "tail": "16.67%", "persistent": "0"},
		},
		"persistent": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.Grid: 264, profile.SMs: 132, profile.LimitWarps: 2, profile.TMALoads: 9, profile.WarpGroupMMA: 5})},
			map[string]string{"persistent": "1", "uses_tma": "1", "uses_wgmma": "1", "specialised": "1", "waves": "1", "tail": "0%"},
		},
		"one block each, and no tensor cores": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.Grid: 132, profile.SMs: 132, profile.LimitWarps: 1, profile.TMALoads: 0, profile.WarpGroupMMA: 0})},
			map[string]string{"persistent": "1", "uses_tma": "0", "uses_wgmma": "0", "specialised": "0"},
		},
		"limits": {
			Evidence{Profile: p(map[profile.Metric]float64{}, "shared"), Residency: &profile.Residency{Percent: 25, Limiter: []string{"registers"}, Limits: map[string]int{"registers": 2}}},
			map[string]string{"limited_by_shared": "1", "limited_by_registers": "0", "limit_registers": "2block", "theoretical_pct": "25%"},
		},
		"computed limits": {
			Evidence{Residency: &profile.Residency{Percent: 25, Limiter: []string{"registers"}, Limits: map[string]int{"registers": 2}}}, map[string]string{"limited_by_shared": "0", "limited_by_registers": "1"},
		},
		"time": {
			Evidence{Profile: p(map[profile.Metric]float64{profile.Duration: 3}), Seconds: 2, Wall: 5}, map[string]string{"seconds": "2s", "wall": "5s", "roof_pct": "none"},
		},
		"time of ncu":        {Evidence{Profile: p(map[profile.Metric]float64{profile.Duration: 3})}, map[string]string{"seconds": "3s", "wall": "none"}},
		"roof of bytes":      {Evidence{Seconds: 2, Bytes: 30, Bandwidth: 30, Flops: 1, Peak: 100}, map[string]string{"roof_pct": "50%"}},
		"roof of operations": {Evidence{Seconds: 2, Bytes: 3, Bandwidth: 30, Flops: 150, Peak: 100}, map[string]string{"roof_pct": "75%"}},
		"moved":              {Evidence{Profile: p(map[profile.Metric]float64{profile.DRAMBytes: 30}), Bytes: 20}, map[string]string{"moved_ratio": "1.5×"}},
		"told":               {Evidence{Double: &yes, Matmul: &no, Debug: true, Grid: 4, Threads: 64, SMs: 8}, map[string]string{"f64_expected": "1", "matmul": "0", "debug": "1", "grid": "4block", "block": "64thread", "sms": "8SM"}},
		"code": {
			Evidence{
				Resources: &profile.Resources{Registers: 40, Shared: 64, Stack: 16, Code: 99},
				Mix: &profile.Mix{
					Bytes: 320, Keys: profile.Histogram{"LDG.32": 3, "LDG.128": 2, "LDL.32": 4, "BAR": 1, "FFMA": 9}, Hot: profile.Histogram{"LDL.32": 1, "STL.64": 2, "MUFU.EX2": 3, "MOV": 7, "FFMA": 4, "BAR": 5},
					Classes: map[profile.Class]int{profile.ClassDouble: 6, profile.ClassLocal: 8, profile.ClassAtomic: 2}, Uses: map[string]int{"tma": 1, "setmaxnreg": 2},
				},
			},
			map[string]string{
				"registers": "40register", "shared_static": "64B", "stack": "16B", "code_bytes": "320B", "code_narrow_loads": "3inst", "code_wide_loads": "2inst", "code_local": "8inst", "code_local_hot": "3inst",
				"code_special_hot": "3inst", "code_ffma_hot": "4inst", "code_f64": "6inst", "code_atomics": "2inst", "code_barriers": "5inst", "uses_tma": "1", "uses_wgmma": "0", "specialised": "1", "uses_cp_async": "0",
			},
		},
		"code without loops": {Evidence{Mix: &profile.Mix{Keys: profile.Histogram{"FFMA": 9, "LDL.32": 4}, Classes: map[profile.Class]int{}}}, map[string]string{"code_ffma_hot": "9inst", "code_local_hot": "4inst", "specialised": "0"}},
	} {
		f := Gather(test.e)
		for fact, want := range test.want {
			if got := f.shown(fact); got != want {
				t.Errorf("%s: %s is %s, expected %s", name, fact, got, want)
			}
		}
		for fact := range f {
			if !slices.Contains(Names(), fact) {
				t.Errorf("%s: conditions cannot name %s", name, fact)
			}
		}
	}
}

func TestGain(t *testing.T) {
	for _, test := range []struct {
		f    Finding
		want string
	}{
		{Finding{Bound: 2.31, Headroom: 0.57}, "at most 2.3× faster"},
		{Finding{Bound: 47.2, Headroom: 0.978}, "at most 47× faster"},
		{Finding{Bound: 1.06, Headroom: 0.0566}, "at most 6% faster"},
		{Finding{}, "gain not known"},
		{Finding{Bound: 1, Settled: true}, "nothing to gain here"},
		{Finding{Bound: 5.6, Settled: true}, "nothing to gain as it is; at most 5.6×"},
		{Finding{Bound: 4, Headroom: 0.1}, "11% faster as it is; at most 4.0×"},
	} {
		if got := test.f.Gain(); got != test.want {
			t.Errorf("%+v: %q, expected %q", test.f, got, test.want)
		}
	}
}

// Every entry fires on the facts that its conditions name, and each condition alone can keep it from
// that.
func TestEveryCondition(t *testing.T) {
	base := map[string]float64{}
	for _, name := range Names() {
		base[name] = 0
	}
	for _, e := range Builtin().entries {
		for _, conditions := range [][]condition{e.when, e.less} {
			for _, c := range conditions {
				is, _ := c.holds(facts0(base))
				not := false
				for _, name := range c.names { // some value of one of its facts turns it
					for _, v := range []float64{-1, 0.5, 1e-7, 1, 3, 5.5, 10, 30, 50, 70, 95, 120, 1e4, 1e7} {
						other := facts0(base)
						other.set(name, v, "", FromProfile)
						for _, with := range c.names {
							if with != name && v > 100 {
								other.set(with, 1, "", FromProfile)
							}
						}
						turned, _ := c.holds(other)
						not = not || turned != is
					}
				}
				if !not && len(c.names) == 1 {
					t.Errorf("%s: %s does not depend on its facts", e.ID, c.source)
				}
			}
		}
	}
}

func facts0(values map[string]float64) Facts {
	f := Facts{}
	for name, v := range values {
		f.set(name, v, "", FromProfile)
	}
	return f
}

// What launching costs, and what a kernel leaves in L2 when it ends, are neither the kernel's fault nor room to gain.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		facts map[string]float64
		want  map[string]float64
	}{
		{map[string]float64{"sm_active_max": 30, "sm_elapsed": 40, "idle_pct": 35}, map[string]float64{"start_pct": 25, "uneven_pct": 10}},
		// Another pass ran longer: launching takes 4 µs at most.
		{map[string]float64{"sm_active_max": 30, "sm_elapsed": 40, "idle_pct": 35, "duration": 4e-5}, map[string]float64{"start_pct": 10, "uneven_pct": 25}},
		{map[string]float64{"idle_pct": 35}, map[string]float64{"uneven_pct": 35}},
		{map[string]float64{"seconds": 3e-6, "wall": 4e-6, "sm_active_max": 20, "sm_elapsed": 40}, map[string]float64{"launch_pct": 62.5}},
		{map[string]float64{"dram_pct": 60}, map[string]float64{"dram_used_pct": 60}},
		{map[string]float64{"dram_pct": 60, "sm_active_max": 30, "sm_elapsed": 40}, map[string]float64{"dram_used_pct": 80}},
		// 512 bytes are stored: 256 of them are still in L2.
		{map[string]float64{"dram_pct": 60, "work_bytes": 1280, "dram_bytes": 1024, "dram_written": 256, "store_sectors": 16}, map[string]float64{"dram_used_pct": 75}},
		// What is read from L2 alone was not moved: nothing is stored.
		{map[string]float64{"dram_pct": 60, "work_bytes": 1280, "dram_bytes": 1024, "dram_written": 0, "store_sectors": 0}, map[string]float64{"dram_used_pct": 60}},
		// Stored more than once: no more than the work's bytes.
		{map[string]float64{"dram_pct": 60, "work_bytes": 1024, "dram_bytes": 1024, "dram_written": 256, "store_sectors": 99}, map[string]float64{"dram_used_pct": 60}},
		{map[string]float64{"flops_f32": 64, "peak_f32": 16, "sm_elapsed": 40}, map[string]float64{"flops_pct": 10}},
	} {
		f := facts(test.facts)
		for name, want := range test.want {
			if got := f[name].Value; math.Abs(got-want) > 1e-9 {
				t.Errorf("%v: %s %v, expected %v", test.facts, name, got, want)
			}
		}
	}
}

// A bound says where the next limit stands; findings are ordered by what is in reach with the work as it is.
func TestReach(t *testing.T) {
	c, err := New([]Entry{
		{ID: "far", When: []string{"sm_pct > 1"}, Gain: "8", Reach: "1.25", Confidence: 0.5, Evidence: "x"},
		{ID: "near", When: []string{"sm_pct > 1"}, Gain: "2", Confidence: 0.5, Evidence: "x"},
		{ID: "roof", Row: 1, When: []string{"sm_pct > 90"}, Gain: "4", Settled: true, Confidence: 1, Evidence: "x"},
		{ID: "roof", Row: 1, When: []string{"sm_pct > 90"}, Gain: "9", Reach: "3", Confidence: 1, Evidence: "x"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := c.Judge(facts(map[string]float64{"sm_pct": 50})).Findings
	if len(said) != 2 || said[0].ID != "near" || said[1].ID != "far" || said[1].Bound != 8 || math.Abs(said[1].Headroom-0.2) > 1e-12 {
		t.Errorf("%+v", said)
	}
	said = c.Judge(facts(map[string]float64{"sm_pct": 95})).Findings
	if len(said) != 1 || !said[0].Settled || said[0].Headroom != 0 || said[0].Bound != 4 {
		t.Errorf("%+v", said)
	}
}

package advice

import (
	"maps"
	"testing"
)

// Entries that no recorded kernel shows: the facts that they hold for, and changes of one fact after
// which they do not.
func TestEntries(t *testing.T) {
	type values = map[string]float64
	idle := values{"seconds": 1e-4, "waves": 4, "busiest_pct": 40, "coalescing_pct": 100, "conflict_pct": 0, "local_pct": 0, "atomic_hot_pct": 0, "atomic_share": 0, "math_pct": 20, "dram_pct": 30, "dram_used_pct": 32, "l2_pct": 20, "xu_pct": 10}
	with := func(more values) values {
		all := maps.Clone(idle)
		maps.Copy(all, more)
		return all
	}
	for _, test := range []struct {
		id    string
		facts values
		gain  float64
		stops []values
	}{
		{"measurement-invalid", values{"sm_pct": 20, "dram_pct": 120}, 1, []values{{"dram_pct": 100}}},
		{
			"instruction-cache", with(values{"stall_no_instruction": 48, "stall_branch_resolving": 4, "instruction_fills": 1e6}), 100.0 / 30,
			[]values{{"stall_no_instruction": 11}, {"seconds": 5e-6}, {"waves": 0.1}, {"math_pct": 85}},
		},
		{
			"register-occupancy", with(values{"theoretical_pct": 25, "limited_by_registers": 1, "limited_by_shared": 0, "issue_pct": 30, "memory_stalls": 60, "registers": 168}), 100.0 / 40,
			[]values{{"theoretical_pct": 75}, {"theoretical_pct": 62.5, "issue_pct": 45}, {"l2_pct": 80}, {"limited_by_registers": 0}, {"limited_by_shared": 1}, {"issue_pct": 80}, {"busiest_pct": 85}, {"memory_stalls": 10, "stall_wait": 10, "shared_stalls": 10}, {"waves": 0.5}, {"specialised": 1}},
		},
		{
			"shared-occupancy", with(values{"theoretical_pct": 25, "limited_by_shared": 1, "issue_pct": 30, "memory_stalls": 60, "shared_static": 1, "shared_dynamic": 1e5}), 100.0 / 40,
			[]values{{"theoretical_pct": 75}, {"limited_by_shared": 0}, {"issue_pct": 80}, {"busiest_pct": 85}, {"memory_stalls": 1, "stall_wait": 1, "shared_stalls": 1, "stall_barrier": 1}, {"specialised": 1}, {"uses_cp_async": 1, "tensor_pct": 50}},
		},
		{
			"block-occupancy", with(values{"theoretical_pct": 50, "limited_by_registers": 0, "limited_by_shared": 0, "issue_pct": 30, "memory_stalls": 60, "block": 32}), 2,
			[]values{{"theoretical_pct": 75}, {"limited_by_registers": 1}, {"limited_by_shared": 1}, {"memory_stalls": 1, "stall_wait": 1}},
		},
		{
			"tensor-underfed", with(values{"tensor_pct": 45, "memory_stalls": 30, "stall_barrier": 10, "stall_gmma": 0, "shared_stalls": 10, "flops_tensor": 9, "flops": 10}), 100.0 / 45,
			[]values{{"tensor_pct": 70}, {"tensor_pct": 2}, {"memory_stalls": 5}, {"flops_tensor": 2}},
		},
		{"wgmma-serialised", with(values{"stall_gmma": 40, "tensor_pct": 45, "uses_wgmma": 1}), 100.0 / 45, []values{{"stall_gmma": 20}, {"tensor_pct": 70}, {"uses_wgmma": 0}}},
		{"mio-throttle", with(values{"stall_mio_throttle": 52, "shared_pct": 10}), 2, []values{{"stall_mio_throttle": 20}, {"conflict_pct": 20}, {"busiest_pct": 85}, {"xu_pct": 70}}},
		{"lg-throttle", with(values{"stall_lg_throttle": 52}), 2, []values{{"stall_lg_throttle": 20}, {"local_pct": 8}, {"coalescing_pct": 30, "load_requests": 1e6, "store_requests": 0}, {"dram_pct": 80}}},
		{"short-scoreboard", with(values{"stall_short_scoreboard": 52}), 2, []values{{"stall_short_scoreboard": 20}, {"conflict_pct": 20}, {"busiest_pct": 85}, {"atomic_hot_pct": 30}}},
		{"fixed-latency", with(values{"stall_wait": 52, "issue_pct": 50, "eligible_warps": 1}), 2, []values{{"stall_wait": 20}, {"issue_pct": 95}, {"busiest_pct": 85}}},
		{"store-drain", with(values{"stall_drain": 52}), 2, []values{{"stall_drain": 20}, {"dram_pct": 80}, {"atomic_hot_pct": 30}}},
		{"constant-miss", with(values{"stall_imc_miss": 52, "constant_hit_pct": 50}), 2, []values{{"stall_imc_miss": 5}, {"seconds": 1e-6}}},
		{"cluster-overhead", with(values{"cluster": 4, "stall_barrier": 26, "stall_membar": 26}), 2, []values{{"cluster": 0}, {"stall_barrier": 1, "stall_membar": 1}}},
		{
			"atomics-contention", with(values{"shared_atomics": 5, "instructions": 100, "shared_stalls": 50, "memory_stalls": 5, "l2_pct": 10}), 100.0 / 30,
			[]values{{"shared_atomics": 1}, {"dram_used_pct": 76}, {"shared_stalls": 10, "memory_stalls": 10}, {"math_pct": 70}},
		},
		{
			"latency-bound", with(values{"issue_pct": 44, "memory_stalls": 80}), 100.0 / 40,
			[]values{{"busiest_pct": 72}, {"dram_used_pct": 72}, {"l2_pct": 82}, {"issue_pct": 55}, {"l2_pct": 60}, {"dram_used_pct": 60}, {"memory_stalls": 30}, {"waves": 0.5}, {"local_pct": 9}, {"seconds": 5e-6}},
		},
		{"latency-bound", with(values{"issue_pct": 30, "memory_stalls": 80, "l2_pct": 60, "dram_used_pct": 60}), 100.0 / 40, []values{{"issue_pct": 44}, {"dram_used_pct": 72}, {"l2_pct": 82}, {"atomic_share": 9, "atomic_hot_pct": 20}, {"coalescing_pct": 30, "load_requests": 1e6, "store_requests": 0, "sectors_per_load": 16, "sectors_per_store": 4}}},
		{
			"register-spills", with(values{"local_pct": 23, "memory_stalls": 90, "math_pct": 23, "fma_pct": 8, "fp64_pct": 0, "tensor_pct": 0}), 10,
			[]values{{"local_pct": 2}},
		},
		{
			"divergence", with(values{"active_threads": 1.1, "unmasked_threads": 1.1, "issue_pct": 96, "memory_pct": 10, "dram_pct": 0.4, "l2_pct": 1}), 29,
			[]values{{"active_threads": 30, "unmasked_threads": 30}, {"issue_pct": 20}, {"specialised": 1}},
		},
		{"l1-bound", with(values{"l1_pct": 81, "lsu_pct": 20, "fma_pct": 10}), 100.0 / 30, []values{{"l1_pct": 78}, {"conflict_pct": 30}, {"local_pct": 9}}},
		{"fma-bound", with(values{"fma_pct": 80, "alu_pct": 10, "sm_pct": 80, "active_threads": 32}), 100.0 / 80, []values{{"fma_pct": 78}, {"sm_pct": 78}, {"active_threads": 9}}},
		{
			"at-roof", with(values{"issue_pct": 81, "idle_pct": 5, "sm_pct": 77, "fma_pct": 76, "alu_pct": 3, "tensor_pct": 0, "uneven_pct": 1, "stall_barrier": 0, "stall_no_instruction": 1, "active_threads": 32, "unmasked_threads": 31, "f16_share": 0, "f64_share": 0, "memory_pct": 60}), 1,
			[]values{{"issue_pct": 79}, {"sm_pct": 75}, {"idle_pct": 1}, {"sm_pct": 55, "idle_pct": 40}, {"seconds": 5e-6}, {"fma_pct": 50}, {"uneven_pct": 9}, {"stall_barrier": 25}, {"stall_no_instruction": 20}, {"active_threads": 12}, {"unmasked_threads": 18}, {"xu_pct": 70}, {"conflict_pct": 30}, {"local_pct": 9}, {"coalescing_pct": 30, "load_requests": 1e6, "store_requests": 0}, {"matmul": 1}, {"f16_share": 2, "ffma_share": 97}, {"f64_share": 9, "fp64_pct": 4}},
		},
		{
			"at-roof", with(values{"sm_pct": 96, "fma_pct": 92, "alu_pct": 3, "tensor_pct": 0, "stall_barrier": 0, "active_threads": 32, "f64_share": 0, "memory_pct": 60}), 1,
			[]values{{"sm_pct": 85}, {"fma_pct": 80}, {"stall_barrier": 35}, {"local_pct": 9}, {"active_threads": 12}, {"coalescing_pct": 30, "load_requests": 1e6, "store_requests": 0}, {"f64_share": 9, "fp64_pct": 4}},
		},
		{
			"at-roof", with(values{"sm_pct": 96, "fma_pct": 50, "stall_math_pipe_throttle": 45, "stall_barrier": 0, "active_threads": 32, "f16_share": 99, "ffma_share": 0, "f64_share": 0, "lsu_pct": 1, "memory_pct": 60}), 1,
			[]values{{"sm_pct": 85}, {"stall_math_pipe_throttle": 20}, {"xu_pct": 70}, {"lsu_pct": 70}, {"stall_barrier": 25}, {"local_pct": 9}, {"conflict_pct": 30}, {"active_threads": 12}, {"ffma_share": 97}, {"matmul": 1}, {"f64_share": 9, "fp64_pct": 4}},
		},
		{
			"launch-bound",
			values{"seconds": 3e-6, "wall": 4e-6, "launch_pct": 60, "launches": 16},
			16 * 4.0 / 3,
			[]values{{"launch_pct": 20}, {"seconds": 2e-5}, {"launches": 1}},
		},
		{
			"barrier-bound", with(values{"stall_barrier": 22, "adu_pct": 55, "sm_pct": 70, "flops_pct": 2}), 100.0 / 30,
			[]values{{"adu_pct": 20}, {"stall_barrier": 15}, {"math_pct": 75}, {"dram_used_pct": 80}, {"conflict_pct": 20}, {"specialised": 1}},
		},
		{
			"load-imbalance", with(values{"imbalance": 1.01, "occupancy_gap": 50, "tail": 0, "uneven_pct": 1, "theoretical_pct": 100, "occupancy_pct": 50}), 100.0 / 40,
			[]values{{"occupancy_gap": 30}, {"waves": 1}, {"busiest_pct": 80}, {"seconds": 5e-6}},
		},
		{
			"load-imbalance", with(values{"imbalance": 1.8, "occupancy_gap": 20, "tail": 0, "uneven_pct": 40, "theoretical_pct": 100, "occupancy_pct": 80}), 100.0 / 40,
			[]values{{"imbalance": 1.1}, {"waves": 0.5}, {"tail": 30}},
		},
		{
			"uncoalesced-loads", with(values{"load_use_pct": 25, "l2_pct": 60, "l1_pct": 10, "shared_pct": 0, "memory_stalls": 50, "load_sectors": 9, "l2_sectors": 9, "sectors_per_load": 16, "sm_pct": 10}), 4,
			[]values{{"sectors_per_load": 1.5}, {"sm_pct": 85}, {"load_use_pct": 90}, {"l2_pct": 40, "memory_stalls": 20}, {"l2_pct": 40, "memory_stalls": 20, "l1_pct": 70, "shared_pct": 50}, {"load_sectors": 0.5}, {"local_pct": 9}},
		},
		{
			"uncoalesced-stores", with(values{"store_use_pct": 25, "l2_pct": 60, "l1_pct": 10, "shared_pct": 0, "memory_stalls": 50, "store_sectors": 9, "l2_sectors": 9, "sectors_per_store": 16, "sm_pct": 10}), 10,
			[]values{{"sectors_per_store": 1}, {"sm_pct": 85}, {"store_use_pct": 90}, {"l2_pct": 40, "memory_stalls": 20, "stall_drain": 10}, {"l2_pct": 40, "memory_stalls": 20, "stall_drain": 10, "l1_pct": 70, "shared_pct": 50}, {"store_sectors": 0.5}, {"local_pct": 9}},
		},
		{
			"tensor-unused", with(values{"tensor_pct": 0, "ffma_share": 97, "intensity": 60, "shared_waves": 5, "instructions": 100, "f16_share": 0, "tensor_need_pct": 2}), 100.0 / 30,
			[]values{{"matmul": 0}, {"ffma_share": 60}, {"tensor_pct": 9}, {"busiest_pct": 30}, {"intensity": 9}, {"shared_waves": 1}},
		},
		{
			"tensor-unused", with(values{"tensor_pct": 0, "ffma_share": 97, "intensity": 60, "shared_waves": 5, "instructions": 100, "f16_share": 2, "tensor_need_pct": 2}), 100.0 / 30,
			[]values{{"ffma_share": 60}, {"tensor_pct": 9}, {"busiest_pct": 30}, {"intensity": 9}, {"shared_waves": 1}, {"matmul": 0, "f64_share": 5}},
		},
		{"wrong-target", values{"debug": 1}, 10, []values{{"debug": 0}}},
		{"at-roof", values{"roof_pct": 95}, 1, []values{{"roof_pct": 80}, {"roof_pct": 120}}},
	} {
		find := func(f values) *Finding {
			for _, x := range Builtin().Judge(facts0(f)).Findings {
				if x.ID == test.id {
					return &x
				}
			}
			return nil
		}
		found := find(test.facts)
		switch {
		case found == nil:
			t.Errorf("%s does not hold", test.id)
		case found.Bound < test.gain*0.97 || found.Bound > test.gain*1.05:
			t.Errorf("%s: bound %v, expected %v", test.id, found.Bound, test.gain)
		}
		for _, change := range test.stops {
			other := maps.Clone(test.facts)
			maps.Copy(other, change)
			if find(other) != nil {
				t.Errorf("%s holds with %v", test.id, change)
			}
		}
	}
}

package advice

import (
	"maps"
	"math"
	"testing"
)

// What findings of pawl's say is in reach, as a share of the time.
func TestHeadroom(t *testing.T) {
	type values = map[string]float64
	tail := values{"grid": 1064, "sms": 132, "limit_registers": 8, "seconds": 1e-4, "idle_pct": 20, "theoretical_pct": 100, "occupancy_pct": 60, "stall_not_selected": 10}
	bank := values{"conflict_pct": 50, "shared_pct": 40, "shared_stalls": 30, "idle_pct": 20, "sm_pct": 20, "math_pct": 10, "dram_pct": 10, "l2_pct": 10}
	few := values{"theoretical_pct": 25, "limited_by_registers": 1, "limited_by_shared": 0, "issue_pct": 30, "busiest_pct": 50, "l2_pct": 20, "memory_stalls": 60, "waves": 4, "coalescing_pct": 100, "conflict_pct": 0, "registers": 168}
	late := values{"busiest_pct": 40, "dram_used_pct": 30, "l2_pct": 20, "issue_pct": 30, "memory_stalls": 60, "waves": 4, "coalescing_pct": 100, "local_pct": 0, "atomic_share": 0, "idle_pct": 10, "seconds": 1e-4}
	for _, test := range []struct {
		id    string
		facts values
		more  values
		want  float64
	}{
		// Few warps in the last wave cost at most 15% beside what SMs idle, and nothing where others wait to be chosen.
		{"tail-wave", tail, nil, 1 - 0.8/1.15},
		{"tail-wave", tail, values{"stall_not_selected": 36}, 1 - 0.8*60/64},
		{"tail-wave", tail, values{"stall_not_selected": 60}, 0.2},
		{"tail-wave", tail, values{"stall_not_selected": 60, "sm_active_max": 90, "sm_elapsed": 100}, 0.1 * 0.9},
		// Conflicts take the time in which the banks pass words because of them.
		{"bank-conflicts", bank, nil, 0.25},
		{"bank-conflicts", bank, values{"shared_pct": 80}, 0.5},
		{"bank-conflicts", bank, values{"sm_pct": 100, "shared_pct": 80}, 1 - 50.0/90},
		// More warps do not bring L2 above its peak.
		{"register-occupancy", few, nil, 1 - 50.0/90},
		{"register-occupancy", few, values{"l2_pct": 75}, 0.25},
		{"latency-bound", late, nil, 1 - 40/0.9/90},
		{"latency-bound", late, values{"issue_pct": 20, "l2_pct": 75}, 0.25},
		// Nothing of that is in reach while no SM works.
		{"latency-bound", late, values{"idle_pct": 0, "sm_active_max": 75, "sm_elapsed": 100}, 0.75 * (1 - 40.0/90)},
		{"latency-bound", late, values{"idle_pct": 0, "sm_active_max": 75, "sm_elapsed": 100, "wall": 1.5e-4, "launches": 8}, 0.5 * (1 - 40.0/90)},
		{"latency-bound", late, values{"idle_pct": 0, "sm_active_max": 75, "sm_elapsed": 100, "wall": 1.5e-4, "launches": 1}, 0.75 * (1 - 40.0/90)},
		{"launch-bound", values{"seconds": 2e-6, "wall": 4e-6, "launches": 8}, nil, 0.5},
	} {
		all := maps.Clone(test.facts)
		maps.Copy(all, test.more)
		found := Finding{Headroom: math.NaN()}
		for _, x := range Builtin().Judge(facts(all)).Findings {
			if x.ID == test.id {
				found = x
			}
		}
		if !(math.Abs(found.Headroom-test.want) < 2e-3) {
			t.Errorf("%s with %v: headroom %.4f, expected %.4f", test.id, test.more, found.Headroom, test.want)
		}
	}
}

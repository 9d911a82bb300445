package roof

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeepHigher(t *testing.T) {
	first, second := time.Date(2026, 11, 8, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC)
	tried := []Try{{Kernel: "llc_read/fits", Rate: 24, HalfWidth: 0.001}}
	earlier := &Peaks{Measured: second, Compiler: "cc 12", Peaks: []Peak{
		{Name: DRAM, Rate: 12, Unit: GBps},
		{Name: LLC, Rate: 24, Unit: GBps, Tried: tried},
		{Name: L2, Rate: 100, Unit: GBps, Measured: first},
		{Name: F32, Rate: 160, Unit: GFLOPS},
		{Name: F64, Rate: 80, Unit: GFLOPS},
		{Name: F16, Rate: 300, Unit: GBps}, // what it was once counted in
	}}
	p := &Peaks{Compiler: "cc 13", Peaks: []Peak{
		{Name: DRAM, Rate: 13, Unit: GBps},
		{Name: LLC, Rate: 11.7, Unit: GBps, Tried: []Try{{Kernel: "llc_read/fits", Rate: 11.7, HalfWidth: 1}}},
		{Name: L2, Rate: 90, Unit: GBps},
		{Name: F32, Rate: 160, Unit: GFLOPS},
		{Name: F16, Rate: 200, Unit: GFLOPS},
	}, Failed: []Peak{{Name: F64, Unit: GFLOPS}}}
	llc := Peak{Name: LLC, Rate: 24, Unit: GBps, Tried: tried, Measured: second}
	l2 := Peak{Name: L2, Rate: 100, Unit: GBps, Measured: first}
	f64 := Peak{Name: F64, Rate: 80, Unit: GFLOPS, Measured: second}
	kept := p.KeepHigher(earlier)
	if diff := cmp.Diff([]Kept{{llc, 11.7}, {l2, 90}, {f64, 0}}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	want := &Peaks{Compiler: "cc 13", Peaks: []Peak{
		{Name: DRAM, Rate: 13, Unit: GBps}, llc, l2, {Name: F32, Rate: 160, Unit: GFLOPS}, {Name: F16, Rate: 200, Unit: GFLOPS}, f64,
	}, Failed: []Peak{{Name: F64, Unit: GFLOPS}}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("peaks (-want +got):\n%s", diff)
	}
}

func TestHalfWidthOfAPeak(t *testing.T) {
	p := Peak{Rate: 24, Tried: []Try{{Rate: 20, HalfWidth: 0.5}, {Rate: 24, HalfWidth: 0.01}, {Fault: "it crashed"}}}
	if got := p.HalfWidth(); got != 0.01 {
		t.Errorf("%v", got)
	}
	if got := (Peak{Rate: 24}).HalfWidth(); got != 0 {
		t.Errorf("nothing tried: %v", got)
	}
}

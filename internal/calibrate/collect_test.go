package calibrate

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
	"pawl/internal/roof"
)

func measured(kernel, config string, gbps, gflops float64) *result.Row {
	return &result.Row{Kernel: kernel, Config: config, Timing: &result.Timing{
		HalfWidth: 0.001, Stats: result.Stats{Count: 20, Median: 1e-3, GBps: gbps, GFLOPS: gflops, GHz: 1.9},
	}}
}

func failing(kernel string) *result.Row {
	return &result.Row{Kernel: kernel, Config: "sm", Fault: &result.Fault{Cause: result.CauseCrash, Message: "it crashed"}}
}

func report(rows ...*result.Row) *result.Report {
	return &result.Report{
		Tool: result.Tool{Version: "0.1.0"}, Finished: time.Date(2026, 11, 10, 14, 22, 33, 99, time.UTC), Rows: rows,
		Machine: result.Fingerprint{Compilers: map[string]string{"cuda": "nvcc 13.0"}},
	}
}

var few = []target{
	{roof.DRAM, roof.GBps, []candidate{{kernel: "dram_copy", of: "copy"}, {kernel: "dram_read", of: "read"}}},
	{roof.F16, roof.GFLOPS, []candidate{{kernel: "f16_mma", of: "mma.sync"}, {kernel: "f16_wgmma", of: "wgmma"}}},
}

func TestCollect(t *testing.T) {
	here := &place{class: "nvidia-h200", gpu: gpus["H200"]}
	got, err := collect(here, few, report(
		measured("dram_copy", "once", 4000, 0), measured("dram_copy", "waves", 4100, 0), measured("dram_read", "once", 4050, 0),
		measured("f16_mma", "sm", 1, 600e3), measured("f16_wgmma", "sm", 1, 900e3),
	))
	if err != nil {
		t.Fatal(err)
	}
	try := func(kernel, of string, rate float64) roof.Try {
		return roof.Try{Kernel: kernel, Of: of, Rate: rate, MedianS: 1e-3, HalfWidth: 0.001, GHz: 1.9}
	}
	want := &roof.Peaks{
		Schema: roof.Schema, DeviceClass: "nvidia-h200", Device: "NVIDIA H200", Cell: "cuda", Arch: "sm_90a", Compiler: "nvcc 13.0",
		Tool: result.Tool{Version: "0.1.0"}, Measured: time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC),
		Peaks: []roof.Peak{
			{Name: roof.DRAM, Rate: 4100, Unit: roof.GBps, Of: "copy", GHz: 1.9, Tried: []roof.Try{
				try("dram_copy/once", "copy", 4000), try("dram_copy/waves", "copy", 4100), try("dram_read/once", "read", 4050),
			}},
			{Name: roof.F16, Rate: 900e3, Unit: roof.GFLOPS, Of: "wgmma", GHz: 1.9, Tried: []roof.Try{
				try("f16_mma/sm", "mma.sync", 600e3), try("f16_wgmma/sm", "wgmma", 900e3),
			}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A few samples do not show the best that a device can do.
func TestCollectOfFewSamples(t *testing.T) {
	once := measured("dram_read", "once", 9000, 0)
	once.Timing.HalfWidth, once.Timing.Stats.Count = 1, 2
	got, err := collect(&place{gpu: gpus["H200"]}, few, report(
		measured("dram_copy", "once", 4000, 0), once, measured("f16_mma", "sm", 0, 600e3), measured("f16_wgmma", "sm", 0, 900e3),
	))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Peaks) != 1 || got.Peaks[0].Name != roof.F16 {
		t.Errorf("peaks: %+v", got.Peaks)
	}
	if len(got.Failed) != 1 || got.Failed[0].Tried[1].Fault != "2 samples within --budget are too few to determine a peak" {
		t.Errorf("failed: %+v", got.Failed)
	}
}

// The rate of the second best kernel is no peak: it would reject every kernel that uses the best
// method.
func TestCollectPartly(t *testing.T) {
	got, err := collect(&place{gpu: gpus["H200"]}, few, report(
		measured("dram_copy", "once", 4000, 0), measured("dram_read", "once", 4050, 0), measured("f16_mma", "sm", 0, 600e3), failing("f16_wgmma"),
	))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Peaks) != 1 || got.Peaks[0].Name != roof.DRAM {
		t.Errorf("peaks: %+v", got.Peaks)
	}
	if len(got.Failed) != 1 || got.Failed[0].Name != roof.F16 || got.Failed[0].Tried[1].Fault != "it crashed" {
		t.Errorf("failed: %+v", got.Failed)
	}
}

func TestCollectNothing(t *testing.T) {
	var fault *result.Fault
	if _, err := collect(&place{}, few, report(failing("dram_copy"), failing("f16_mma"))); !errors.As(err, &fault) || fault.Cause != result.CauseCrash {
		t.Errorf("all failed: %v", err)
	}
	if _, err := collect(&place{}, few, report()); err == nil {
		t.Error("nothing measured, no error")
	}
}

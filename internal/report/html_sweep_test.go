package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// drawn returns a timing with samples of a skewed distribution, warm-up first.
func drawn(random *rand.Rand, median float64, samples int) *result.Timing {
	const warmUp = 16
	t := &result.Timing{Repeat: 1, Stopped: "width", WallS: 1.1, PeakMemory: 512 << 20, Footprint: 96 << 20}
	for i := range samples + warmUp {
		v := median * (1 + 0.012*random.ExpFloat64() - 0.006 + 0.004*math.Sin(float64(i)/40))
		if i < warmUp {
			v *= 1 + 0.4*math.Exp(-float64(i)/5)
		}
		if random.IntN(150) == 0 {
			v *= 1.5
		}
		t.Samples.Seconds = append(t.Samples.Seconds, v)
	}
	t.Samples.Dropped = []result.Drop{{From: 0, To: warmUp, Cause: "warm-up"}}
	s := stat.Summarize(t.Samples.Kept())
	t.Stats = result.Stats{
		Count: s.Count, Median: s.Median, Low: s.Low, High: s.High, Mean: s.Mean, Std: s.Std, Min: s.Min,
		P50: s.P50, P95: s.P95, P99: s.P99, CV: s.CV, GFLOPS: 412e3, GBps: 1210, GHz: 1.98,
	}
	t.HalfWidth = (s.High - s.Low) / 2 / s.Median
	return t
}

// sweep returns what a comparison on a GPU looks like: attention over many configs
// against several implementations.
func sweep() *result.Report {
	random := rand.New(rand.NewPCG(1, 2))
	celsius, watt := 54.0, 512.0
	r := &result.Report{
		Schema: result.Schema, Kind: result.KindBench, ID: "20261110T142233Z-7f3a9c2b1d04", Tool: result.Tool{Version: "0.1.0"},
		Command: []string{"pawl", "bench", "attention/*", "--against", "sdpa,sdpa:flash,sdpa:cudnn,sdpa:efficient,sdpa:math", "-o", "report.html"},
		Started: time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC), Finished: time.Date(2026, 11, 10, 14, 23, 24, 4e8, time.UTC),
		Commit: &result.Commit{SHA: "0123456789abcdef0123"}, DeviceClass: "nvidia-h200",
		Machine: result.Fingerprint{
			OS: "Ubuntu 24.04", Kernel: "6.8.0", Arch: "amd64", Libc: "glibc 2.39", MemoryBytes: 128 << 30,
			CPU: result.CPU{Model: "Example CPU", Cores: 16, Threads: 2, Caches: []result.Cache{{Level: 1, Type: "data", Bytes: 48 << 10}, {Level: 2, Type: "unified", Bytes: 2 << 20}}},
			GPU: &result.GPU{
				Name: "NVIDIA H200", Arch: "sm_90a", Driver: "580.65", CUDA: "13.0", SMs: 132, MemoryBytes: 139 << 30,
				L2Bytes: 50 << 20, PowerLimitW: 700, MaxGHz: 1.98, MaxShared: 227 << 10, MaxThreads: 1024, ECC: true, Persistence: true,
			},
			Compilers: map[string]string{"cuda": "nvcc 13.0.88"},
		},
		Method:   result.Method{Cache: "cold", BudgetS: 1, MinSamples: 20, MaxSamples: 20000, HalfWidth: 0.005, Seed: 42},
		Warnings: []result.Warning{{Code: "foreign", Message: "another process used the GPU for 3% of the run", Hint: "stop it"}},
	}
	rivals := []struct {
		label string
		speed float64
	}{{"sdpa", 1.04}, {"sdpa:flash", 0.94}, {"sdpa:cudnn", 0.81}, {"sdpa:efficient", 1.42}, {"sdpa:math", 4.6}}
	for i := range 12 {
		seq := 256 << (i / 2)
		batch, causal := max(1, 16384/seq), i%2
		median := 11e-6 * float64(seq) / 256 * float64(seq) / 256 * float64(batch) / 64 / float64(1+causal) * 1.4
		row := &result.Row{
			Kernel: "attention", Config: fmt.Sprintf("s%d%s", seq, []string{"", "_causal"}[causal]), Cell: "cuda", Trust: "harness",
			Params: map[string]string{"BLOCK_M": "128", "BLOCK_N": "64", "NUM_WARPS": "8", "NUM_STAGES": "2"},
			Vars:   map[string]string{"B": fmt.Sprint(batch), "H": "16", "S": fmt.Sprint(seq), "D": "64"},
			Code:   "a1b2c3d4e5f6", Timing: drawn(random, median, 40+110*(i%4)),
		}
		row.Timing.Resources = []result.Resources{{Entry: "attention_fwd", Registers: 168, Shared: 1024, Dynamic: 96 << 10, Constant: 640, Occupancy: 0.1875}}
		row.Build = &result.Build{Resources: []result.Resources{{Entry: "attention_fwd", Registers: 168, SpillStores: 48, SpillLoads: 96}}}
		row.Timing.State = []result.State{{When: "during", TemperatureC: &celsius, PowerW: &watt}}
		for _, rival := range rivals {
			ratio := rival.speed * (1 + 0.05*random.NormFloat64())
			made := &result.Rival{Label: rival.label, Row: &result.Row{Kernel: rival.label, Config: row.Config, Cell: "python", Trust: "author"}}
			if rival.label == "sdpa:math" && seq > 4096 {
				made.Row.Verdict = result.Broken
				made.Row.Fault = &result.Fault{Stage: "measure", Cause: result.CauseMemory, Message: "it asked for 256 GiB of GPU memory; 139 GiB are there", Hint: "a smaller config"}
			} else {
				made.Row.Timing = drawn(random, median*ratio, 30+90*(i%4))
				made.Ratio = &result.Ratio{Median: ratio, Low: ratio * 0.99, High: ratio * 1.012, Rounds: 24}
			}
			row.Rivals = append(row.Rivals, made)
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

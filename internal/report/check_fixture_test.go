package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"pawl/internal/result"
)

const (
	baseCommit = "89abcdef0123456789ab"
	bestCommit = "1a2b3c4d5e6f70819203"
)

// stage makes rows of a check as if they had been measured.
type stage struct{ *rand.Rand }

// duet makes a row with a base and, where its change is not nil, a best-known version.
func (s stage) duet(name string, verdict result.Verdict, median, change float64, best *float64, reasons ...result.Reason) *result.Row {
	row := &result.Row{Cell: "cuda", Trust: "harness", Verdict: verdict, Reasons: reasons, Vars: map[string]string{"S": "512"}}
	row.Kernel, row.Config, _ = strings.Cut(name, "/")
	row.Timing = drawn(s.Rand, median*(1+change), 480)
	row.Plan = "play against base 89abcde"
	row.Sides = append(row.Sides, s.side(row, result.Base, baseCommit, median, change))
	if best != nil {
		row.Sides = append(row.Sides, s.side(row, result.Best, bestCommit, median*(1+change)/(1+*best), *best))
	}
	return row
}

func (s stage) side(row *result.Row, role result.Role, commit string, median, change float64) *result.Side {
	other := &result.Row{Kernel: row.Kernel, Config: row.Config, Cell: row.Cell, Trust: row.Trust, Timing: drawn(s.Rand, median, 480)}
	c := &result.Change{
		Median: change, Low: change - 0.003, High: change + 0.003, Paired: true, Pairs: 240, Exact: true, Stopped: "width",
		Shift: change * median, Delta: min(1, max(-1, change*20)),
	}
	sets := 1
	if row.Verdict == result.Regression || row.Verdict == result.Improvement {
		sets, c.Confirmed = 2, true
	}
	for set := range sets {
		for i := range 6 {
			c.Cells = append(c.Cells, result.CellChange{Median: change + 0.003*s.NormFloat64(), Pairs: 240 / 6 / sets, Set: set, First: []result.Role{"", role}[i%2]})
		}
	}
	return &result.Side{Role: role, Commit: commit, Row: other, Change: c}
}

func checkOf(rows ...*result.Row) *result.Report {
	for _, row := range rows {
		row.Flush = "clean"
	}
	return &result.Report{
		Schema: result.Schema, Kind: result.KindCheck, ID: "20261110T142233Z-7f3a9c2b1d04", Tool: result.Tool{Version: "0.1.0"},
		Command: []string{"pawl", "check", "--base", "main"},
		Started: time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC), Finished: time.Date(2026, 11, 10, 14, 22, 51, 4e8, time.UTC),
		Cost:   &result.Cost{WallS: 18.4, DeviceS: 15.2, Stages: []result.StageCost{{Name: "plan", Seconds: 0.4}, {Name: "build", Seconds: 2.2}, {Name: "verify", Seconds: 0.9}, {Name: "measure", Seconds: 14.899}, {Name: "judge", Seconds: 0.001}}, Price: &result.Price{PerHour: 3.5, Currency: "USD", Amount: 0.0179}},
		Commit: &result.Commit{SHA: "0123456789abcdef0123"}, Base: &result.BaseRef{Ref: "main", SHA: baseCommit}, DeviceClass: "nvidia-h200",
		Machine: result.Fingerprint{
			OS: "Ubuntu 24.04", Kernel: "6.8.0", Arch: "amd64", CPU: result.CPU{Model: "Example CPU", Cores: 16},
			GPU: &result.GPU{Name: "NVIDIA H200", Arch: "sm_90a", Driver: "580.65", CUDA: "13.0", SMs: 132, MemoryBytes: 139 << 30},
		},
		Method: result.Method{Cache: "cold", BudgetS: 10, MinSamples: 20, MaxSamples: 20000, HalfWidth: 0.005, Seed: 42},
		Rows:   rows,
	}
}

// everything returns a check with one of all that can happen.
func everything() *result.Report {
	s := stage{rand.New(rand.NewPCG(7, 8))}
	percent := func(v float64) *float64 { return &v }

	slower := s.duet("attention/training_512", result.Regression, 52.1e-6, 0.052, percent(0.054))
	slower.Timing.Resources = []result.Resources{{Entry: "attention_fwd", Registers: 168, Dynamic: 96 << 10, Occupancy: 0.1875}}
	slower.Sides[0].Row.Timing.Resources = []result.Resources{{Entry: "attention_fwd", Registers: 128, Dynamic: 96 << 10, Occupancy: 0.25}}
	slower.Why = []*result.Why{spilled("base", "change")}
	creep := s.duet("attention/inference_2k", result.Maintained, 210e-6, 0.001, percent(0.061), result.Creep)
	creep.Warnings = []result.Warning{
		{Code: "cv", Message: "samples vary by 15.0% (more than 12.0%)", Hint: "a quieter machine"},
		{Code: "temperature", Message: "the processor reached 83 °C", Hint: "let it cool down"},
	}
	creep.Timing.Stats.CV = 0.15
	maintained := s.duet("attention/inference_4k", result.Maintained, 861e-6, 0.012, nil, result.Slower)
	wanted := s.duet("softmax/rows_1k", result.Regression, 18.3e-6, 0.081, nil, result.Accepted)
	wanted.Warnings = []result.Warning{{Code: "accepted", Message: "accepted by ann: deterministic sums are worth 8%"}}
	cycles := -0.002
	clocked := s.duet("softmax/rows_8k", result.Regression, 94e-6, 0.041, nil, result.Bistable, result.ClockEffect)
	clocked.Sides[0].Change.Cycles = &cycles
	for i := range clocked.Sides[0].Change.Cells {
		clocked.Sides[0].Change.Cells[i].Median += []float64{-0.03, 0.03}[i/2%2]
	}
	moved := s.duet("gemm/4k", result.Improvement, 1.21e-3, -0.124, nil)
	moved.Moved = &result.Moved{Done: true, FromS: 1.2e-3, From: bestCommit, ToS: 1.09e-3}
	moved.Why = []*result.Why{{
		Kernel: "gemm", Sentence: "it is faster, and no counter shows why", Versions: []result.ExplainedSide{{Version: "base"}, {Version: "change"}},
		Limits: []result.Warning{{Message: "ncu was not found: findings rest on the compiled code", Hint: "it comes with the CUDA toolkit; PAWL_NCU names it"}},
	}}
	would := s.duet("gemm/8k", result.Improvement, 9.3e-3, -0.071, nil)
	would.Moved = &result.Moved{FromS: 9.2e-3, From: bestCommit, Hint: "--update-baseline makes it the best-known version"}
	refused := s.duet("gemm/skinny", result.Improvement, 44e-6, -0.093, nil)
	refused.Moved = &result.Moved{FromS: 44e-6, From: bestCommit, Refused: "the tree has local changes", Hint: "commit them first"}
	unsure := s.duet("layernorm/rows_1k", result.Inconclusive, 7.7e-6, 0.021, nil)
	c := unsure.Sides[0].Change
	c.Low, c.High, c.Exact, c.Stopped = c.Median-0.018, c.Median+0.018, false, "budget"
	for i := range c.Cells {
		c.Cells[i].Median += 0.02 * s.NormFloat64()
	}
	tiny := s.duet("layernorm/rows_16", result.Maintained, 2.1e-6, 0.06, nil, result.TooSmall, result.NotConfirmed)

	incomparable := &result.Row{Kernel: "fused", Config: "mlp", Verdict: result.Incomparable, Timing: drawn(s.Rand, 3e-4, 100), Sides: []*result.Side{
		{Role: result.Base, Commit: baseCommit, Reason: []string{"the base version is not available: nvcc exited with status 1"}, Row: &result.Row{
			Kernel: "fused", Config: "mlp", Fault: &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: "nvcc exited with status 1"},
			Build: &result.Build{Output: "fused.cu(3): error: expected a \";\"\n"},
		}},
		{Role: result.Best, Commit: bestCommit, StoredS: 337e-6, Reason: []string{"the best-known version cannot be rebuilt: commit 1a2b3c4 is not in this clone (git fetch --unshallow)"}},
	}}
	broken := &result.Row{
		Kernel: "reduction", Config: "n_1m", Params: map[string]string{"LANES": "8"}, Verdict: result.Broken, Plan: "nothing: the kernel does not build",
		Fault: &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: "nvcc exited with status 1"},
		Build: &result.Build{Output: "reduction.cu(12): error: identifier \"lanes\" is undefined\n"},
	}
	again := *broken
	again.Config = "n_4m"
	fresh := &result.Row{Kernel: "rope", Config: "s4k", Verdict: result.New, Reasons: []result.Reason{result.NoBaseline}, Timing: drawn(s.Rand, 33e-6, 300), Moved: &result.Moved{Done: true}}
	skipped := &result.Row{Kernel: "hopper_only", Config: "x", Fault: &result.Fault{Stage: "build", Cause: result.CauseUnsupported, Message: "needs sm_100", Hint: "another GPU"}}

	r := checkOf(slower, creep, maintained, wanted, clocked, moved, would, refused, unsure, tiny, incomparable, broken, &again, fresh, skipped)
	for i := range 11 {
		r.Rows = append(r.Rows, unchangedRow([]string{"transpose", "scan", "gemm"}[i%3], fmt.Sprintf("c%d", i)))
	}
	r.FalseAlarms = &result.FalseAlarms{KernelAlarms: result.KernelAlarms{Kernel: "mixed", Decisions: 1200, Sets: 100, PerDecision: 0.0009}, Configs: 3, PerRun: 0.00281, Calibrated: time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)}
	r.Warnings = []result.Warning{{Code: "gate", Message: "this change has a different gate; it is judged by the gate of main"}}
	return r
}

func unchangedRow(kernel, config string) *result.Row {
	return &result.Row{Kernel: kernel, Config: config, Verdict: result.Unchanged, Plan: "nothing: unchanged", Sides: []*result.Side{
		{Role: result.Base, Commit: baseCommit, Row: &result.Row{Kernel: kernel, Config: config}},
	}}
}

// plan returns what check --plan makes.
func plan() *result.Report {
	return checkOf(
		&result.Row{Kernel: "attention", Config: "training_512", Plan: "play against base 89abcde and best 1a2b3c4", Sides: []*result.Side{{Role: result.Base, Commit: baseCommit}}},
		&result.Row{Kernel: "rope", Config: "s4k", Plan: "measure alone"},
		&result.Row{Kernel: "reduction", Config: "n_1m", Plan: "nothing: the kernel does not build", Fault: &result.Fault{
			Stage: "build", Cause: result.CauseCompile, Message: "nvcc exited with status 1",
		}},
		unchangedRow("gemm", "4k"), unchangedRow("gemm", "8k"),
	)
}

// sixty returns a large check: sixty configs that all changed.
func sixty() *result.Report {
	s := stage{rand.New(rand.NewPCG(9, 10))}
	var rows []*result.Row
	for i := range 60 {
		verdict, change := result.Maintained, 0.006*s.NormFloat64()
		switch i {
		case 7, 31:
			verdict, change = result.Regression, 0.03+0.02*s.Float64()
		case 40:
			verdict, change = result.Improvement, -0.2
		}
		rows = append(rows, s.duet(fmt.Sprintf("kernel_%d/config_%d", i/5, i%5), verdict, 1e-5*float64(1+i), change, nil))
	}
	return checkOf(rows...)
}

// spilled says why a kernel with spilled registers is slower.
func spilled(before, after string) *result.Why {
	known := func(registers, local, seconds float64) map[string]result.Fact {
		return map[string]result.Fact{
			"registers": {Value: registers, Unit: "register", From: []string{"ncu"}}, "local_pct": {Value: local, Unit: "%", From: []string{"ncu"}},
			"duration": {Value: seconds, Unit: "s", From: []string{"ncu"}}, "sm_pct": {Value: 40 - local, Unit: "%"}, "memory_pct": {Value: 50 + local, Unit: "%"},
		}
	}
	spills := result.Bottleneck{
		ID: "register-spills", Title: "registers spill to local memory", Evidence: "12.5% of instructions load or store local memory; 168 registers per thread",
		Rests: []string{"ncu"}, Gain: "at most 1.3× faster", Bound: 1.3, Headroom: 0.23, Confidence: 0.8, First: "allow more registers", Next: "rebuild with -Xptxas -v",
	}
	label := "attention_fwd <<<1024, 128>>>"
	return &result.Why{
		Kernel: "attention_fwd", Sentence: "it is slower: registers spill to local memory (registers per thread 128 → 168, LDL 0 → 24)", Cause: &spills,
		Slowdown: 1.05, Repeats: [2]int{3, 3}, Code: []string{"LDL 0 → 24", "code: 1,200 → 1,310 instructions"}, Build: []string{"flag added: -maxrregcount=168"},
		Moves: []result.Move{
			{Metric: "local_pct", Words: "instructions on local memory", Unit: "%", Before: 0, After: 12.5, Noise: 0.01, Limit: true},
			{Metric: "registers", Words: "registers per thread", Unit: "register", Before: 128, After: 168, Noise: 0.01},
			{Metric: "local_loads", Words: "loads of local memory", Unit: "inst", Before: 0, After: 98304, Noise: 0.01, Limit: true},
		},
		Versions: []result.ExplainedSide{
			{Version: before, Label: label, Device: "NVIDIA H200", Repeats: 3, Metrics: known(128, 0, 52.4e-6), Waits: []result.Wait{{Reason: "long_scoreboard", Share: 40}}, Findings: []result.Bottleneck{}},
			{Version: after, Label: label, Device: "NVIDIA H200", Repeats: 3, Metrics: known(168, 12.5, 55e-6), Waits: []result.Wait{{Reason: "long_scoreboard", Share: 61}}, Findings: []result.Bottleneck{spills}},
		},
		Profiler: &result.Profiler{Tool: "ncu 2025.3.1", Cache: "all", Clock: "none", Replay: "kernel"},
	}
}

package dashtest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"pawl/internal/disk"
	"pawl/internal/result"
	"pawl/internal/run"
)

// timing draws samples around a median.
func (t *teller) timing(median float64, count int) *result.Timing {
	m := &result.Timing{Repeat: 1, PairS: 1.5e-6, Stopped: "width", HalfWidth: 0.004, WallS: 2, OnDevice: true, Footprint: 1 << 26, PeakMemory: 1 << 29}
	for range count {
		v := median * math.Exp(0.012*t.random.NormFloat64())
		if t.random.IntN(20) == 0 {
			v *= 1.08
		}
		m.Samples.Seconds = append(m.Samples.Seconds, math.Round(v*1e9)/1e9)
		m.Samples.GHz = append(m.Samples.GHz, 1.755+0.005*t.random.NormFloat64())
	}
	sorted := slices.Sorted(slices.Values(m.Samples.Seconds))
	mid := sorted[count/2]
	m.Stats = result.Stats{
		Count: count, Median: mid, Low: mid * 0.997, High: mid * 1.003, Mean: mid * 1.002, Std: mid * 0.02, Min: sorted[0], P50: mid, P95: sorted[count*95/100], P99: sorted[count-1], CV: 0.02,
		GFLOPS: 412e3 * 52e-6 / mid, RoofPct: min(96, 61*52e-6/mid*(1+0.02*t.random.NormFloat64())+20), Roof: "f16", GHz: 1.755,
	}
	for i, when := range []string{"before", "during", "after"} {
		state := result.State{When: when, GHz: new(1.755), TemperatureC: new(float64(52 + 7*i)), PowerW: new(float64(210 + 180*(i%2)))}
		if i == 1 && t.random.IntN(30) == 0 {
			state.Throttled = []string{"power cap"}
		}
		m.State = append(m.State, state)
	}
	return m
}

// side makes another version that the row took turns with.
func (t *teller) side(role result.Role, commit string, size, wide float64, row *result.Row) *result.Side {
	median := size + 0.002*t.random.NormFloat64()
	change := &result.Change{Median: median, Low: median - wide, High: median + wide, Paired: true, Pairs: 240, Exact: wide < 0.005, Stopped: "width", Delta: math.Tanh(20 * median)}
	for i := range 6 {
		cell := result.CellChange{Median: median + wide/2*t.random.NormFloat64(), Pairs: 40}
		if i%2 == 0 {
			cell.First = role
		}
		change.Cells = append(change.Cells, cell)
	}
	other := &result.Row{Kernel: row.Kernel, Config: row.Config, Cell: row.Cell, Timing: t.timing(row.Timing.Stats.Median/(1+size), 60)}
	return &result.Side{Role: role, Commit: commit, Row: other, Change: change}
}

// why explains a regression, as a profiler would.
func why(row *result.Row) []*result.Why {
	before := result.ExplainedSide{
		Version: "base", Label: row.Kernel, Device: "NVIDIA H200", CC: 90,
		Metrics: map[string]result.Fact{"registers": {Value: 128}, "occupancy": {Value: 25, Unit: "%"}},
		Roof:    &result.Roofline{Intensity: 90, Rate: 410e12, Bandwidth: 4.1e12, Peak: 780e12, Pipe: "f16", Percent: 61, Measured: true},
		Waits:   []result.Wait{{Reason: "long scoreboard", Share: 31}, {Reason: "barrier", Share: 12}},
	}
	after := before
	after.Version = "change"
	after.Metrics = map[string]result.Fact{"registers": {Value: 168}, "occupancy": {Value: 19, Unit: "%"}}
	after.Roof = &result.Roofline{Intensity: 90, Rate: 388e12, Bandwidth: 4.1e12, Peak: 780e12, Pipe: "f16", Percent: 58, Measured: true}
	return []*result.Why{{
		Kernel: row.Kernel, Sentence: "it is slower: registers 128 → 168, occupancy 25% → 19%, 48 B spilled",
		Moves: []result.Move{
			{Metric: "occupancy", Words: "achieved occupancy", Unit: "%", Before: 25, After: 19, Limit: true}, {Metric: "local_loads", Words: "loads of spilled registers", Before: 0, After: 24576},
		},
		Static:   []result.Move{{Metric: "registers", Words: "registers for each thread", Before: 128, After: 168}},
		Versions: []result.ExplainedSide{before, after}, Profiler: &result.Profiler{Tool: "ncu 2025.1", Cache: "all", Clock: "base"},
	}}
}

// search makes the report of a search with so many trials.
func (t *teller) search(n, trials int) *result.Report {
	at := t.End.Add(-time.Duration(n+1) * 30 * time.Hour)
	r := t.head(result.KindTune, at, "tune", "attention", "--budget", "10m")
	r.Commit = &result.Commit{SHA: t.commits[len(t.commits)-1]}
	tuning := &result.Tuning{
		Kernel: "attention", Configs: []string{"training_512", "training_2k"}, Strategy: "portfolio", Objective: "time", Over: "mean", BudgetS: 600, SpentS: 602, Ended: "budget",
		Space: space, Workers: 1, Trials: t.trials(trials), DeviceBusyS: 300,
	}
	best := tuning.Trials[0]
	for _, trial := range tuning.Trials {
		if trial.Measured() && trial.Cost < best.Cost {
			best = trial
		}
	}
	change := &result.Change{Median: best.Cost - 1, Low: best.Cost - 1.004, High: best.Cost - 0.996, Paired: true, Pairs: 240, Exact: true}
	tuning.Finalists = []*result.Finalist{{Trial: best.N, Params: best.Params, Changes: map[string]*result.Change{"training_512": change, "training_2k": change}, Overall: best.Cost - 1}}
	r.Tuning = tuning
	for i, config := range tuning.Configs {
		row := &result.Row{Kernel: "attention", Config: config, Cell: "cuda", Class: Class, Params: best.Params, Timing: t.timing(52e-6*float64(1+i)*best.Cost, 40)}
		row.Sides = []*result.Side{{Role: result.Defaults, Change: change, Row: &result.Row{Kernel: "attention", Config: config, Timing: t.timing(52e-6*float64(1+i), 40)}}}
		r.Rows = append(r.Rows, row)
	}
	r.Outcome = &result.Outcome{Result: result.Passed}
	return r
}

var space = result.Space{
	Params: []result.SpaceParam{
		{Name: "BLOCK_M", Values: []string{"64", "128", "256"}, Default: "128"},
		{Name: "BLOCK_N", Values: []string{"32", "64", "128"}, Default: "64"},
		{Name: "WARPS", Values: []string{"4", "8"}, Default: "4"},
		{Name: "STAGES", Values: []string{"1", "2", "3", "4"}, Default: "2"},
		{Name: "SWIZZLE", Values: []string{"off", "on"}, Default: "off"},
	},
	Constraints: []string{"BLOCK_M % (16 * WARPS) == 0"}, Cartesian: 144, Size: 120, Exact: true,
}

// trials draws settings and what came of them.
func (t *teller) trials(count int) (all []*result.Trial) {
	for n := 1; n <= count; n++ {
		trial := &result.Trial{N: n, Params: space.Defaults(), Status: result.TrialOK, AtS: float64(n) * 4.3, CompileS: 1.5, DeviceS: 0.4}
		cost := 1.0
		for _, p := range space.Params {
			if n > 1 {
				trial.Params[p.Name] = p.Values[t.random.IntN(len(p.Values))]
			}
			at := float64(slices.Index(p.Values, trial.Params[p.Name]))
			cost *= 1 + 0.09*math.Abs(at-1.4)
		}
		cost = cost / 1.45 * math.Exp(0.02*t.random.NormFloat64())
		switch {
		case n == 1:
			cost = 1
		case t.random.IntN(12) == 0:
			trial.Status, trial.Fault, cost = result.TrialResources, &result.Fault{Stage: "measure", Cause: result.CauseLaunch, Message: "too much shared memory"}, 0
		case t.random.IntN(30) == 0:
			trial.Status, trial.Fault, cost = result.TrialWrong, &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: "12 elements differ"}, 0
		case cost > 1.4:
			trial.Status, trial.Cut = result.TrialCut, true
		}
		if trial.Cost = cost; cost > 0 {
			for i, config := range []string{"training_512", "training_2k"} {
				trial.On = append(trial.On, result.TrialConfig{Config: config, MedianS: 52e-6 * float64(1+i) * cost, Samples: 40, Ratio: cost})
			}
		}
		all = append(all, trial)
	}
	return all
}

// LiveRun is the run that is still going on.
const LiveRun = "20990101T000000Z-00000000beef"

// live makes the folder of a search that has not ended.
func (t *teller) live(dir string) error {
	folder := filepath.Join(dir, ".pawl", "runs", LiveRun)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var journal, events []byte
	line := func(to *[]byte, v any) {
		raw, _ := json.Marshal(v)
		*to = append(append(*to, raw...), '\n')
	}
	line(&journal, map[string]any{"schema": 1, "kernel": "attention", "configs": []string{"training_512", "training_2k"}, "objective": "time", "over": "mean", "device_class": Class, "space": space})
	for i, trial := range t.trials(40) {
		line(&journal, trial)
		line(&events, run.Event{Time: t.End, Kind: run.Tune, Done: i + 1, Total: 120, MedianS: 52e-6, Search: &run.Search{Gain: 0.04, Busy: 0.7, LeftS: 400, Params: "BLOCK_M=" + strconv.Itoa(64)}})
	}
	if err := disk.Write(filepath.Join(folder, "trials.jsonl"), journal); err != nil {
		return err
	}
	if err := disk.Write(filepath.Join(folder, "events.jsonl"), events); err != nil {
		return fmt.Errorf("make a run that goes on: %w", err)
	}
	return nil
}

package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"pawl/internal/effect"
	"pawl/internal/result"
)

// hunt makes searches as if they had been run: a space, what each setting takes, and what goes wrong.
type hunt struct {
	*rand.Rand
	kernel  string
	configs []string
	base    []float64 // seconds of today's defaults, by config
	params  []result.SpaceParam
	fits    func(v map[string]int) bool
	cost    func(v map[string]int, config int) float64 // log of the time, relative to some setting
	fails   func(h *hunt, v map[string]int) (result.TrialStatus, *result.Fault)
	watts   func(v map[string]int) float64 // nil: energy is not read
}

func spaceParam(name string, today int, values ...int) result.SpaceParam {
	p := result.SpaceParam{Name: name, Default: strconv.Itoa(today)}
	for _, v := range values {
		p.Values = append(p.Values, strconv.Itoa(v))
	}
	return p
}

func numbersOf(params map[string]string) map[string]int {
	out := map[string]int{}
	for name, value := range params {
		out[name], _ = strconv.Atoi(value)
	}
	return out
}

func (h *hunt) today() map[string]string { return result.Space{Params: h.params}.Defaults() }

// setting draws a setting: any at first, later mostly neighbours of the best.
func (h *hunt) setting(best map[string]string, any bool) map[string]string {
	for {
		out := map[string]string{}
		for _, p := range h.params {
			out[p.Name] = p.Values[h.IntN(len(p.Values))]
			if !any && h.IntN(3) > 0 {
				out[p.Name] = best[p.Name]
			}
		}
		if h.fits(numbersOf(out)) {
			return out
		}
	}
}

// trial tries a setting.
func (h *hunt) trial(n int, params map[string]string, limit float64) *result.Trial {
	t := &result.Trial{N: n, Params: params, Status: result.TrialOK, CompileS: 1.5 + h.Float64(), DeviceS: 0.3, Worker: n % 2}
	v, today := numbersOf(params), numbersOf(h.today())
	if n > 1 {
		if status, fault := h.fails(h, v); status != "" {
			t.Status, t.Fault, t.DeviceS = status, fault, 0.05
			return t
		}
	}
	logs := 0.0
	for i, config := range h.configs {
		ratio := math.Exp(h.cost(v, i) - h.cost(today, i) + 0.004*h.NormFloat64())
		if n == 1 {
			ratio = 1
		}
		on := result.TrialConfig{Config: config, MedianS: h.base[i] * ratio, Low: h.base[i] * ratio * 0.996, High: h.base[i] * ratio * 1.004, Samples: 40, Ratio: ratio}
		if h.watts != nil {
			on.Joules = on.MedianS * h.watts(v)
		}
		t.On = append(t.On, on)
		logs += math.Log(ratio)
	}
	t.Cost = math.Exp(logs / float64(len(h.configs)))
	if t.Cost > 1.6*limit {
		t.Status, t.On = result.TrialCut, t.On[:1]
	}
	return t
}

// run makes the report of a search for n settings, of which the best play as finalists.
func (h *hunt) run(n int, seconds float64) *result.Report {
	t := &result.Tuning{
		Kernel: h.kernel, Configs: h.configs, Strategy: "portfolio", Objective: "time", Over: "mean", BudgetS: seconds, SpentS: seconds * 1.004,
		Space: result.Space{Params: h.params, Cartesian: 1, Exact: true}, Workers: 1, Ended: "budget",
	}
	for _, p := range h.params {
		t.Space.Cartesian *= float64(len(p.Values))
	}
	t.Space.Size = h.size()
	best, seen := (*result.Trial)(nil), map[string]bool{}
	for n := range n {
		params := h.today()
		for n > 0 && seen[fmt.Sprint(params)] {
			params = h.setting(best.Params, n < 40)
		}
		seen[fmt.Sprint(params)] = true
		limit := math.Inf(1)
		if best != nil {
			limit = best.Cost
		}
		trial := h.trial(n+1, params, limit)

		t.Trials = append(t.Trials, trial)
		t.DeviceBusyS += trial.DeviceS
		if trial.Measured() && (best == nil || trial.Cost < best.Cost) {
			best = trial
		}
	}
	for i, trial := range t.Trials {
		trial.AtS = seconds * 0.97 * float64(i+1) / float64(n)
	}
	t.Effects = effect.Of(h.params, t.Trials)
	return h.report(t)
}

func (h *hunt) size() float64 {
	count := 0.0
	var walk func(i int, v map[string]int)
	walk = func(i int, v map[string]int) {
		if i == len(h.params) {
			if h.fits(v) {
				count++
			}
			return
		}
		for _, text := range h.params[i].Values {
			v[h.params[i].Name], _ = strconv.Atoi(text)
			walk(i+1, v)
		}
	}
	walk(0, map[string]int{})
	return count
}

// report adds finalists and the winner's rows.
func (h *hunt) report(t *result.Tuning) *result.Report {
	ranked := slices.DeleteFunc(slices.Clone(t.Trials), func(trial *result.Trial) bool { return !trial.Measured() })
	slices.SortFunc(ranked, func(a, b *result.Trial) int {
		return map[bool]int{true: -1, false: 1}[a.Cost < b.Cost]
	})
	r := checkOf()
	r.Kind, r.Base, r.Command, r.Tuning = result.KindTune, nil, []string{"pawl", "tune", h.kernel, "--budget", seconds(t.BudgetS)}, t
	r.Finished, r.Cost = r.Started.Add(time.Duration(t.SpentS*float64(time.Second))), nil
	s := stage{h.Rand}
	for k, trial := range ranked[:min(4, len(ranked))] {
		f := &result.Finalist{Trial: trial.N, Params: trial.Params, Changes: map[string]*result.Change{}, Tied: k == 1 || k == 2}
		logs := 0.0
		for i, config := range h.configs {
			change := trial.On[i].Ratio - 1
			row := s.duet(h.kernel+"/"+config, result.Improvement, h.base[i], change, nil)
			row.Params, row.Sides[0].Role, row.Sides[0].Commit, row.Plan = trial.Params, result.Defaults, "", ""
			c := row.Sides[0].Change
			for j := range c.Cells {
				c.Cells[j].First = map[bool]result.Role{true: result.Defaults}[c.Cells[j].First != ""]
			}
			f.Changes[config] = c
			logs += math.Log1p(change)
			if k == 0 {
				row.Flush = "clean"
				if change > -result.WorthwhileGain {
					row.Verdict = result.Maintained
				}
				r.Rows = append(r.Rows, row)
			}
		}
		f.Overall = math.Exp(logs/float64(len(h.configs))) - 1
		t.Finalists = append(t.Finalists, f)
	}
	if winner := t.Winner(); winner == nil || winner.Overall > -result.WorthwhileGain {
		t.NoSuggestion = fmt.Sprintf("the best is %.1f%% faster than today's defaults: under 5%% is noise, do not bother", -100*winner.Overall)
	}
	return r
}

// softmaxSearch is a search for a kernel on the processor, which finds nothing worth the while.
func softmaxSearch() *result.Report {
	h := &hunt{
		Rand: rand.New(rand.NewPCG(11, 12)), kernel: "softmax", configs: []string{"rows_8k"}, base: []float64{61.3e-6},
		params: []result.SpaceParam{spaceParam("UNROLL", 4, 1, 2, 4, 8), spaceParam("LANES", 8, 4, 8, 16), spaceParam("PREFETCH", 0, 0, 64, 128, 256), spaceParam("ONLINE", 1, 0, 1)},
		fits:   func(map[string]int) bool { return true },
		cost: func(v map[string]int, _ int) float64 {
			return 0.12*math.Abs(math.Log2(float64(v["UNROLL"]))-2) + 0.2*math.Abs(math.Log2(float64(v["LANES"]))-3) - 0.00009*float64(v["PREFETCH"]) + 0.3*float64(1-v["ONLINE"])
		},
		fails: func(h *hunt, v map[string]int) (result.TrialStatus, *result.Fault) {
			if v["LANES"] == 16 && v["UNROLL"] == 8 {
				return result.TrialWrong, &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: "3 of 8,192 elements are wrong; the first at [0, 8191]"}
			}
			return "", nil
		},
	}
	r := h.run(60, 60)
	r.Tuning.Ended, r.Tuning.BudgetS = "count", 0
	r.Machine.GPU, r.DeviceClass = nil, "host-example"
	for _, row := range r.Rows {
		row.Cell, row.Trust, row.Flush = "host", "author", "clflushopt"
	}
	return r
}

// attentionSearch is a search for a kernel on a GPU, with all that a search can have.
func attentionSearch() *result.Report {
	log := func(v int) float64 { return math.Log2(float64(v)) }
	h := &hunt{
		Rand: rand.New(rand.NewPCG(21, 22)), kernel: "attention", configs: []string{"training_512", "inference_2k", "inference_8k"}, base: []float64{52.1e-6, 214e-6, 1.31e-3},
		params: []result.SpaceParam{
			spaceParam("BLOCK_M", 64, 16, 32, 64, 128, 256), spaceParam("BLOCK_N", 64, 16, 32, 64, 128), spaceParam("NUM_WARPS", 4, 1, 2, 4, 8, 16),
			spaceParam("NUM_STAGES", 2, 1, 2, 3, 4, 5), spaceParam("VECTOR", 4, 1, 2, 4, 8), spaceParam("SWIZZLE", 0, 0, 1), spaceParam("CAUSAL_SKIP", 1, 0, 1),
		},
		fits: func(v map[string]int) bool { return v["BLOCK_M"]*v["BLOCK_N"] >= 32*v["NUM_WARPS"] },
		cost: func(v map[string]int, config int) float64 {
			wanted := 6.6 + 0.35*float64(config)
			return 0.11*math.Pow(log(v["BLOCK_M"])-wanted, 2) + 0.06*math.Pow(log(v["BLOCK_N"])-6, 2) + 0.1*math.Abs(log(v["NUM_WARPS"])-log(v["BLOCK_M"])+4) +
				0.05*math.Abs(float64(v["NUM_STAGES"]-3)) - 0.04*log(v["VECTOR"]) - 0.03*float64(v["SWIZZLE"])
		},
		fails: func(h *hunt, v map[string]int) (result.TrialStatus, *result.Fault) {
			switch shared := v["NUM_STAGES"] * (v["BLOCK_M"] + 2*v["BLOCK_N"]) * 128; {
			case shared > 227<<10:
				return result.TrialResources, &result.Fault{Stage: "load", Cause: result.CauseLaunch, Message: fmt.Sprintf("attention_fwd needs %d B of shared memory a block; this device has 232448", shared), Hint: "smaller tiles or fewer stages"}
			case v["VECTOR"] == 8 && v["BLOCK_N"] == 16:
				return result.TrialCompileError, &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: "attention.cu(88): error: static assertion failed with \"BLOCK_N must be a multiple of 4 * VECTOR\""}
			case v["NUM_WARPS"] == 16 && v["BLOCK_M"] < 64:
				return result.TrialWrong, &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: "1,024 of 33,554,432 elements are wrong; the first at [0, 0, 16, 0]"}
			case v["NUM_STAGES"] == 5 && v["SWIZZLE"] == 1 && h.IntN(2) == 0:
				return result.TrialTimeout, &result.Fault{Stage: "measure", Cause: result.CauseTimeout, Message: "no answer after 10s", Hint: "raise --timeout"}
			case v["VECTOR"] == 8 && v["NUM_WARPS"] == 1:
				return result.TrialCrash, &result.Fault{Stage: "measure", Cause: result.CauseCrash, Message: "CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address"}
			case v["BLOCK_M"] == 256 && v["NUM_WARPS"] == 1:
				return result.TrialUnfit, nil
			}
			return "", nil
		},
		watts: func(v map[string]int) float64 {
			return 380 + 9*log(v["BLOCK_M"])*log(v["NUM_WARPS"]) + 14*float64(v["NUM_STAGES"])
		},
	}
	r := h.run(300, 300)
	t := r.Tuning
	t.Compiler, t.Workers, t.DeviceBusyS, t.LaunchBusyS, t.Warm = "nvcc 13.0.88 sm_90a", 2, 412, 287, []string{"run 20261109T090000Z-0123456789ab"}
	t.Front = effect.Front(t.Trials, len(t.Configs))
	common := t.Trial(t.Winner().Trial)
	for i, config := range t.Configs {
		best := common
		for _, trial := range t.Trials {
			if trial.Measured() && trial.On[i].Ratio < best.On[i].Ratio {
				best = trial
			}
		}
		t.Picks = append(t.Picks, &result.Pick{Config: config, Trial: best.N, Params: best.Params, Gain: 1 - best.On[i].Ratio/common.On[i].Ratio})
	}
	t.Finalists[3].Tied, t.Finalists[3].Fault = false, &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: "2 elements of inference_8k are wrong", Hint: "pawl fuzz attention tries more problems"}
	r.Warnings = []result.Warning{{Code: "foreign", Message: "another process used the GPU for 3% of the run", Hint: "stop it"}}
	return r
}

// searchOfFailures is a search in which no candidate works.
func searchOfFailures() *result.Report {
	r := softmaxSearch()
	t := r.Tuning
	t.Finalists, t.Effects, r.Rows = nil, nil, nil
	for i, trial := range t.Trials[1:] {
		trial.Status, trial.Cost, trial.On = result.TrialCompileError, 0, nil
		trial.Fault = &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: "softmax.c:12:9: error: LANES undeclared (first use in this function)"}
		if i%4 == 0 {
			trial.Status, trial.Fault = result.TrialTimeout, &result.Fault{Cause: result.CauseTimeout, Message: "no answer after 10s"}
		}
	}
	t.NoSuggestion = "none of the 60 settings that were tried works"
	return r
}

// stoppedSearch is one that the user stopped before anything better was found.
func stoppedSearch() *result.Report {
	r := softmaxSearch()
	t := r.Tuning
	t.Trials, t.Finalists, t.Effects, r.Rows = t.Trials[:7], nil, nil, nil
	t.Ended, t.SpentS, t.DeviceBusyS, t.NoSuggestion, r.Interrupted = "interrupted", 6.8, 2.1, "none of 7 settings is faster than today's defaults", true
	return r
}

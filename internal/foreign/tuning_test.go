package foreign

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/formula"
	"pawl/internal/result"
)

// statuses counts trials by what came of them.
func statuses(t *result.Tuning) map[result.TrialStatus]int {
	found := map[result.TrialStatus]int{}
	for _, trial := range t.Trials {
		found[trial.Status]++
	}
	return found
}

// TestReadKernelTuner reads files that Kernel Tuner 1.5.0 has written.
func TestReadKernelTuner(t *testing.T) {
	f, err := ReadTuning("testdata/tuning/kernel_tuner.json")
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != KernelTuner || f.Tuning.Kernel != "add" || f.Tuning.Ended != "exhausted" || f.Notes != nil {
		t.Errorf("%+v", f)
	}
	want := map[result.TrialStatus]int{result.TrialOK: 16, result.TrialUnfit: 1, result.TrialCompileError: 1, result.TrialLaunchError: 1}
	if diff := cmp.Diff(want, statuses(f.Tuning)); diff != "" {
		t.Error(diff)
	}
	space := "[{UNROLL [1 2 3] 1} {STEP [4 8] 4} {SCALE [0.5 2.0] 0.5} {MODE [f16 f32] f16}]"
	if got := fmt.Sprint(f.Tuning.Space.Params); got != space || f.Tuning.Space.Cartesian != 24 {
		t.Errorf("got %s, %g points", got, f.Tuning.Space.Cartesian)
	}
	first := f.Tuning.Trials[0]
	if got := fmt.Sprint(first.Params); got != "map[MODE:f16 SCALE:0.5 STEP:4 UNROLL:1]" {
		t.Error(got)
	}
	if on := first.On[0]; math.Abs(first.Cost-0.049908666561047234e-3) > 1e-12 || math.Abs(on.MedianS-0.03989100083708763e-3) > 1e-12 || on.Samples != 3 || on.Config != "10000" {
		t.Errorf("%+v", first)
	}
	if f := f.Tuning.Trials[17].Fault; f == nil || f.Cause != result.CauseCompile || !strings.Contains(f.Message, "CompilationFailedConfig") {
		t.Errorf("%+v", f)
	}
}

// TestInterruptedCache: a cache can end anywhere in its last line, as after kill -9; all settings before count.
func TestInterruptedCache(t *testing.T) {
	raw, err := os.ReadFile("testdata/tuning/kernel_tuner_interrupted.json")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	last := strings.LastIndex(text, "\n")
	for cut := len(text); cut > last; cut-- {
		f, err := ParseTuning("cache.json", text[:cut])
		if err != nil {
			t.Fatalf("%d bytes cut: %v", len(text)-cut, err)
		}
		want := 15
		if cut >= len(text)-1 { // all but the comma
			want = 16
		}
		if len(f.Tuning.Trials) != want || f.Tuning.Ended != "interrupted" || len(f.Notes) != 1 {
			t.Fatalf("%d bytes cut: %d settings, want %d; %v", len(text)-cut, len(f.Tuning.Trials), want, f.Notes)
		}
	}
}

func TestReadT4(t *testing.T) {
	f, err := ReadTuning("testdata/tuning/t4.json")
	if err != nil {
		t.Fatal(err)
	}
	if f.Format != T4 || len(f.Tuning.Trials) != 16 || statuses(f.Tuning)[result.TrialOK] != 16 {
		t.Errorf("%+v", f)
	}
	first := f.Tuning.Trials[0]
	if math.Abs(first.Cost-0.049908666561047234e-3) > 1e-12 || first.Params["MODE"] != "f16" || first.On[0].Samples != 3 {
		t.Errorf("%+v", first)
	}
}

func TestReadGzip(t *testing.T) {
	raw, err := os.ReadFile("testdata/tuning/t4.json")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "t4.json.gz")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(file)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	z.Close()
	file.Close()
	if f, err := ReadTuning(name); err != nil || len(f.Tuning.Trials) != 16 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestTuningErrors(t *testing.T) {
	head := `{"tune_params_keys": ["a"], "cache": {`
	for text, want := range map[string]string{
		"":                                    "the file is empty",
		"\x00":                                "this is not text",
		"[]":                                  "the format of this file is unknown",
		`{"a": 1}`:                            "the format of this file is unknown",
		`{"a": }`:                             "expected a value",
		`{"ConfigurationSpace": {}}`:          "this is a T1 file",
		`{"cache": {}}`:                       "tune_params_keys is missing",
		head + `}}`:                           "no settings in this Kernel Tuner cache file",
		head + `"1": {"a": 1}}}`:              "cache.1: the setting has neither a time nor an error",
		head + `"1": {"a": 1, "time": -1}}}`:  "expected a time above 0, got -1",
		head + `"1": {"time": 1}}}`:           "setting 1 of the cache has no value of a",
		head + `"1": {"a": [1], "time": 1}}}`: "expected a number, a boolean or a text, got a list",
		`{"tune_params_keys": ["a"], "objective": "GFLOP/s", "cache": {"1": {"a": 1, "GFLOP/s": 1}}}`: "has a value of GFLOP/s, and no time",
		`{"results": []}`: "no settings in this T4 results file",
		`{"results": [{"configuration": {"a": 1}, "invalidity": "odd"}]}`:                                                  `got "odd"`,
		`{"results": [{"configuration": {"a": 1}, "invalidity": "correct"}]}`:                                              "a correct setting without a time",
		`{"results": [{"configuration": {"a": 1}, "invalidity": "compile"}, {"configuration": {}}]}`:                       "results[1]: expected the params a, got ",
		`{"metadata": {"timeunit": "weeks"}, "results": [{"configuration": {"a": 1}}]}`:                                    `expected a unit of time, got "weeks"`,
		`{"schema": 1, "kind": "bench", "rows": []}`:                                                                       "without a search in it",
		`{"schema": 1, "kind": "tune", "rows": [], "tuning": {"kernel": "k", "trials": [{"n": 1, "cost": -1}]}}`:           "tuning.trials[0]: expected a cost of 0 or more",
		`{"results": [{"configuration": {"a": 1}, "invalidity": "correct", "measurements": [{"name":"time","value":0}]}]}`: "expected a time above 0, got 0",
	} {
		_, err := ParseTuning("file.json", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadTuning("testdata/none.json"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// drawnTuning is a search of pawl's own.
func drawnTuning(t *rapid.T) *result.Tuning {
	tuning := &result.Tuning{Kernel: rapid.StringMatching(`[a-z_0-9]{1,8}`).Draw(t, "kernel"), Ended: "exhausted"}
	pools := [][]string{{"1", "2", "-3"}, {"0.5", "2.0", "1e-05"}, {"true", "false"}, {"f16", "ns::half", "yes"}}
	for i, pool := range pools[:rapid.IntRange(1, len(pools)).Draw(t, "params")] {
		values := slices.Clone(pool)
		tuning.Space.Params = append(tuning.Space.Params, result.SpaceParam{Name: fmt.Sprintf("p%d", i), Values: values, Default: values[0]})
	}
	seen := map[string]bool{}
	at := 0.0
	for n := range rapid.IntRange(1, 12).Draw(t, "trials") {
		trial := &result.Trial{N: n + 1, Params: map[string]string{}}
		for _, p := range tuning.Space.Params {
			trial.Params[p.Name] = rapid.SampledFrom(p.Values).Draw(t, p.Name)
		}
		if key := fmt.Sprint(trial.Params); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		trial.Status = rapid.SampledFrom([]result.TrialStatus{
			result.TrialOK, result.TrialOK, result.TrialCut, result.TrialUnfit, result.TrialCompileError, result.TrialCompileTimeout,
			result.TrialResources, result.TrialLaunchError, result.TrialWrong, result.TrialTimeout, result.TrialCrash, result.TrialRejected,
		}).Draw(t, "status")
		trial.CompileS = rapid.Float64Range(0, 2).Draw(t, "compile")
		trial.DeviceS = rapid.Float64Range(0.001, 2).Draw(t, "device")
		at += trial.CompileS + trial.DeviceS
		trial.AtS = at
		if trial.Status == result.TrialOK || trial.Status == result.TrialCut {
			trial.Cost = rapid.Float64Range(1e-7, 10).Draw(t, "cost")
			trial.On = []result.TrialConfig{{Config: "c", MedianS: trial.Cost, Samples: 5}}
		}
		tuning.Trials = append(tuning.Trials, trial)
	}
	return tuning
}

// TestWriteAndRead: what pawl writes in other tools' formats, it reads as the same search.
func TestWriteAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tuning := drawnTuning(t)
		for format, write := range map[Format]func() ([]byte, error){
			T4:          func() ([]byte, error) { return WriteT4(tuning) },
			KernelTuner: func() ([]byte, error) { return WriteKernelTuner(tuning, "H200") },
		} {
			text, err := write()
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(text) {
				t.Fatalf("%s is no JSON:\n%s", format, text)
			}
			f, err := ParseTuning("x.json", string(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if f.Format != format || len(f.Tuning.Trials) != len(tuning.Trials) || f.Notes != nil {
				t.Fatalf("%+v of\n%s", f, text)
			}
			for i, trial := range tuning.Trials {
				got := f.Tuning.Trials[i]
				same := got.Status == trial.Status || format == KernelTuner && (got.Status == result.TrialOK) == hasCost(trial)
				if format == T4 && trial.Status == result.TrialCrash {
					same = got.Status == result.TrialCrash
				}
				if !same || math.Abs(got.Cost-trial.Cost) > 1e-12+1e-9*trial.Cost || math.Abs(got.CompileS-trial.CompileS) > 1e-9 || !cmp.Equal(got.Params, trial.Params) {
					t.Fatalf("%s: got %+v, want %+v\n%s", format, got, trial, text)
				}
				if math.Abs(got.AtS-trial.AtS) > 1e-6 {
					t.Fatalf("%s: at %g, want %g", format, got.AtS, trial.AtS)
				}
			}
		}
	})
}

// TestLostLeftOut: nothing is known of a setting whose worker was lost, so nobody else is told of it.
func TestLostLeftOut(t *testing.T) {
	tuning := &result.Tuning{Kernel: "k", Space: result.Space{Params: []result.SpaceParam{{Name: "a", Values: []string{"1", "2"}}}}, Trials: []*result.Trial{
		{N: 1, Params: map[string]string{"a": "1"}, Status: result.TrialLost}, {N: 2, Params: map[string]string{"a": "2"}, Status: result.TrialWrong},
	}}
	one, err := WriteT4(tuning)
	if err != nil {
		t.Fatal(err)
	}
	two, err := WriteKernelTuner(tuning, "d")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{one, two} {
		if f, err := ParseTuning("x", string(text)); err != nil || len(f.Tuning.Trials) != 1 || f.Tuning.Trials[0].Params["a"] != "2" {
			t.Errorf("%v: %s", err, text)
		}
	}
	tuning.Trials[1].Params = nil
	for _, write := range []func() ([]byte, error){func() ([]byte, error) { return WriteT4(tuning) }, func() ([]byte, error) { return WriteKernelTuner(tuning, "d") }} {
		if _, err := write(); err == nil || !strings.Contains(err.Error(), "trial 2 has no value of a") {
			t.Error(err)
		}
	}
}

// kernelTunerScript simulates a search on a cache that pawl has written, goes on from it as Kernel Tuner would, and
// validates T4 results by the schema that comes with it.
const kernelTunerScript = `
import sys, json, jsonschema, kernel_tuner
from kernel_tuner import util
from kernel_tuner.file_utils import output_file_schema
cache, t4, out = sys.argv[1:]
jsonschema.validate(json.load(open(t4)), output_file_schema("results")[1])
data = util.read_cache(cache, open_cache=False)
tune = data["tune_params"]
results, env = kernel_tuner.tune_kernel(data["kernel_name"], "__global__ void k() {}", 1, [], tune,
    strategy="brute_force", simulation_mode=True, cache=cache, lang="CUDA", quiet=True)
json.dump([[r[k] for k in tune] + [r["time"] if "__error__" not in r else str(r["__error__"])] for r in results], open(out, "w"))
`

// TestKernelTunerReads: today's Kernel Tuner reads and simulates what pawl writes. PAWL_TUNERS names a Python
// that has it.
func TestKernelTunerReads(t *testing.T) {
	python := os.Getenv("PAWL_TUNERS")
	if python == "" {
		t.Skip("PAWL_TUNERS names no Python with kernel_tuner: python3 -m venv v && v/bin/pip install kernel-tuner")
	}
	tuning := &result.Tuning{Kernel: "k", Space: result.Space{Params: []result.SpaceParam{
		{Name: "a", Values: []string{"1", "2"}}, {Name: "b", Values: []string{"2.0"}}, {Name: "c", Values: []string{"true", "false"}}, {Name: "d", Values: []string{"f16"}},
	}}}
	want := map[string]any{}
	for n, params := range [][]string{{"1", "2.0", "true", "f16"}, {"2", "2.0", "false", "f16"}, {"1", "2.0", "false", "f16"}, {"2", "2.0", "true", "f16"}} {
		trial := &result.Trial{N: n + 1, Params: map[string]string{}, Status: []result.TrialStatus{result.TrialOK, result.TrialCut, result.TrialCompileError, result.TrialCrash}[n], CompileS: 1, DeviceS: 2, AtS: 3 * float64(n+1)}
		if n < 2 {
			trial.Cost = 1e-3 * float64(n+1)
		}
		for i, p := range tuning.Space.Params {
			trial.Params[p.Name] = params[i]
		}
		tuning.Trials = append(tuning.Trials, trial)
		want[strings.Join(params, " ")] = []any{1.0, 2.0, "CompilationFailedConfig", "RuntimeFailedConfig"}[n]
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	cache, err := WriteKernelTuner(tuning, "H200")
	if err != nil {
		t.Fatal(err)
	}
	t4, err := WriteT4(tuning)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"cache.json": cache, "t4.json": t4, "run.py": []byte(kernelTunerScript)} {
		if err := os.WriteFile(at(name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, at("run.py"), at("cache.json"), at("t4.json"), at("out.json"))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s\n%s", err, out, cache)
	}
	text, err := os.ReadFile(at("out.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]any
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, row := range rows {
		got[fmt.Sprintf("%v %.1f %v %v", row[:4]...)] = row[4]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzTuning: no file makes a reader fail but with words; what is read can be written and read again.
func FuzzTuning(f *testing.F) {
	for _, name := range []string{"kernel_tuner.json", "kernel_tuner_interrupted.json", "t4.json"} {
		raw, err := os.ReadFile("testdata/tuning/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(raw[:900]))
	}
	f.Add(`{"tune_params_keys":["a"],"tune_params":{"a":[1,true,"x",0.5]},"cache":{"1":{"a":1,"time":2}}}`)
	f.Add(`{"cache":{"1":{"a":1,"time":"InvalidConfig"},"x":{`)
	f.Add(`{"results":[{"configuration":{"a":1,"b":"x"},"times":{"compilation_time":1,"runtimes":[1]},"invalidity":"correct","measurements":[{"name":"time","value":1,"unit":"us"}]}]}`)
	f.Add(`{"schema":1,"kind":"tune","rows":[],"tuning":{"kernel":"k","trials":[{"n":1,"cost":1}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ParseTuning("f.json", text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		if file.Format == Pawl {
			return
		}
		for _, trial := range file.Tuning.Trials {
			if trial.Cost < 0 || trial.Cost-trial.Cost != 0 || (trial.Cost > 0) != (trial.Fault == nil) {
				t.Fatalf("%+v", trial)
			}
		}
		again, err := WriteT4(file.Tuning)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseTuning("g.json", string(again)); err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
	})
}

// TestValueText: what a format holds, and what pawl.yaml does, are the same value.
func TestValueText(t *testing.T) {
	for _, v := range []formula.Value{formula.Int(3), formula.Float(2), formula.Float(1e-5), formula.Bool(true), formula.Bool(false), formula.String("f16"), formula.String("nan"), formula.String("0x40")} {
		if got := textValue(valueText(v)); got != v {
			t.Errorf("%v became %v", v, got)
		}
	}
}

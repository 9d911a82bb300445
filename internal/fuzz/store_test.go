package fuzz

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/formula"
	"pawl/internal/spec"
	"pawl/internal/trial"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func gemmSheet(t *testing.T) *spec.Spec {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  gemm:
    source: gemm.c
    entry: gemm
    params: {TILE: [8, 16]}
    args:
      - {name: a, dtype: f32, shape: [M, K]}
      - {name: b, dtype: f32, shape: [K, N]}
      - {name: c, dtype: f32, shape: [M, N], role: out}
      - {name: flag, dtype: i32, value: FLAG}
    oracle: gemm
    work: {flops: "2 * M * N * K * WEIGHT"}
configs:
  first: {M: 64, N: 64, K: 64, FLAG: 0, WEIGHT: 1, UNUSED: 3}
  second: {M: 32, N: 64, K: 16, FLAG: 0, WEIGHT: 1, UNUSED: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func failing(k *spec.Kernel, m int64) trial.Trial {
	t := trial.Trial{Lane: trial.LaneMatrix, Vars: k.Configs[0].Vars, Repeats: 1, Seed: 0x123456789abc, Batch: 4}
	return t.With("M", formula.Int(m))
}

func TestStore(t *testing.T) {
	root := t.TempDir()
	k := gemmSheet(t).Kernels[0]
	s := OpenStore(root)
	if trials, problems := s.Replays(k); trials != nil || problems != nil {
		t.Errorf("of an empty store: %v, %v", trials, problems)
	}
	kept := failing(k, 17)
	path, err := s.Keep(k, kept, "out: 3 of 1088 elements wrong", "0123abcd", noon)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "schema": 1,
  "kernel": "gemm",
  "vars": {
    "FLAG": 0,
    "K": 64,
    "M": 17,
    "N": 64,
    "UNUSED": 3,
    "WEIGHT": 1
  },
  "repeats": 1,
  "seed": 20015998343868,
  "batch": 4,
  "lane": "matrix",
  "reason": "out: 3 of 1088 elements wrong",
  "fixed": false,
  "first_seen": "2026-11-15T12:00:00Z",
  "commit": "0123abcd"
}
`
	if raw, _ := os.ReadFile(path); string(raw) != want {
		t.Errorf("file (-want +got):\n%s", cmp.Diff(want, string(raw)))
	}
	if name := filepath.Base(path); filepath.Dir(path) != filepath.Join(root, ".pawl", "failures") || !strings.HasPrefix(name, "gemm-") || len(name) != len("gemm-12345678.json") {
		t.Errorf("path %s", path)
	}
	replay := func() trial.Trial {
		t.Helper()
		trials, problems := s.Replays(k)
		if len(trials) != 1 || problems != nil {
			t.Fatalf("%v, %v", trials, problems)
		}
		return trials[0]
	}
	kept.Stored = path
	if diff := cmp.Diff(kept, replay(), cmp.Comparer(func(a, b formula.Value) bool { return a == b })); diff != "" {
		t.Errorf("replay (-want +got):\n%s", diff)
	}

	// Found again with other data: the file stays as it is.
	again := failing(k, 17)
	again.Seed = 5
	if second, err := s.Keep(k, again, "other words", "ffff", noon.Add(time.Hour)); err != nil || second != path {
		t.Errorf("%s, %v", second, err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != want {
		t.Error("the file changed")
	}
	// It passes, and later fails again.
	if err := s.Fixed(replay()); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != strings.Replace(want, `"fixed": false`, `"fixed": true`, 1) {
		t.Errorf("fixed:\n%s", raw)
	}
	if _, err := s.Keep(k, replay(), "wrong again", "ffff", noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if raw, _ := os.ReadFile(path); string(raw) != strings.Replace(want, "out: 3 of 1088 elements wrong", "wrong again", 1) {
		t.Errorf("failing again:\n%s", raw)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// A stored trial that can be shrunk further is a new one.
func TestStoredTrialShrinks(t *testing.T) {
	k := gemmSheet(t).Kernels[0]
	s := OpenStore(t.TempDir())
	first, err := s.Keep(k, failing(k, 17), "", "", noon)
	if err != nil {
		t.Fatal(err)
	}
	trials, _ := s.Replays(k)
	second, err := s.Keep(k, trials[0].With("M", formula.Int(3)), "", "", noon)
	if err != nil || second == first {
		t.Errorf("%s and %s, %v", first, second, err)
	}
	// Those that still fail come first.
	trials, _ = s.Replays(k)
	if err := s.Fixed(trials[0]); err != nil {
		t.Fatal(err)
	}
	after, _ := s.Replays(k)
	if len(after) != 2 || after[1].Stored != trials[0].Stored {
		t.Errorf("%v", after)
	}
	if other, _ := s.Replays(&spec.Kernel{Name: "other", Configs: k.Configs}); len(other) != 0 {
		t.Errorf("another kernel has %v", other)
	}
}

func TestDamagedFiles(t *testing.T) {
	k := gemmSheet(t).Kernels[0]
	s := OpenStore(t.TempDir())
	good, err := s.Keep(k, failing(k, 17), "", "", noon)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := os.ReadFile(good)
	for name, test := range map[string]struct{ text, want string }{
		"empty":     {"", "it is not JSON"},
		"half":      {string(raw[:len(raw)/2]), "it is not JSON"},
		"conflict":  {"<<<<<<< ours\n" + string(raw), "a merge conflict was left in it"},
		"newer":     {strings.Replace(string(raw), `"schema": 1`, `"schema": 9`, 1), "written by a newer pawl"},
		"older":     {strings.Replace(string(raw), `"schema": 1`, `"schema": 0`, 1), "schema 0 is not known"},
		"foreign":   {`{"a": 1}`, "it has no schema"},
		"unknown":   {strings.Replace(string(raw), `"lane"`, `"lame"`, 1), `unknown field "lame"`},
		"lane":      {strings.Replace(string(raw), `"matrix"`, `"motorway"`, 1), `lane "motorway"`},
		"fill":      {strings.Replace(string(raw), `"repeats": 1`, `"fill": "x", "repeats": 1`, 1), `fill "x"`},
		"exact":     {strings.Replace(string(raw), `"repeats": 1`, `"exact": true, "repeats": 1`, 1), "only integers are exact"},
		"repeats":   {strings.Replace(string(raw), `"repeats": 1`, `"repeats": 1000000`, 1), "1000000 repeats"},
		"batch":     {strings.Replace(string(raw), `"batch": 4`, `"batch": -4`, 1), "negative"},
		"kernel":    {strings.Replace(string(raw), `"gemm"`, `"../gemm"`, 1), "not the name of a kernel"},
		"value":     {strings.Replace(string(raw), `"M": 17`, `"M": [17]`, 1), "M: a variable is"},
		"huge":      {strings.Replace(string(raw), `"M": 17`, `"M": 17000000000000000000000`, 1), "not a valid number for a config"},
		"more":      {string(raw) + "{}", "it is not JSON"},
		"variables": {strings.Replace(string(raw), `"M": 17`, `"Q": 17`, 1), "Q is no longer a variable of config first"},
	} {
		path := filepath.Join(s.dir, name+".json")
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		trials, problems := s.Replays(k)
		if len(trials) != 1 || trials[0].Stored != good {
			t.Errorf("%s: the good one is lost: %v", name, trials)
		}
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), test.want) || !strings.Contains(problems[0].Error(), name+".json") {
			t.Errorf("%s: %v, want %q", name, problems, test.want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(s.dir, "folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, problems := s.Load(); len(problems) != 1 || !strings.Contains(problems[0].Error(), "delete it") {
		t.Errorf("%v", problems)
	}
}

func TestKeepFails(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, ".pawl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	k := gemmSheet(t).Kernels[0]
	if _, err := OpenStore(root).Keep(k, failing(k, 1), "", "", noon); err == nil || !strings.Contains(err.Error(), "keep the failing case") {
		t.Errorf("%v", err)
	}
}

// Values keep their types: 2 is not 2.0, and true is not a string.
func TestFailureRoundTrip(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.Int64(), formula.Int),
		rapid.Map(rapid.Float64(), formula.Float),
		rapid.Map(rapid.Bool(), formula.Bool),
		rapid.Map(rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,8}`), formula.String),
	)
	rapid.Check(t, func(t *rapid.T) {
		f := &Failure{
			Kernel: rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}`).Draw(t, "kernel"), Trial: trial.Trial{
				Lane: rapid.SampledFrom(trial.Lanes).Draw(t, "lane"),
				Fill: rapid.SampledFrom(append([]string{""}, trial.Fills...)).Draw(t, "fill"), Repeats: rapid.IntRange(1, 9).Draw(t, "repeats"),
				Seed: rapid.Uint64().Draw(t, "seed"), Batch: rapid.IntRange(0, 1000).Draw(t, "batch"),
			},
			Reason: rapid.String().Draw(t, "reason"), Fixed: rapid.Bool().Draw(t, "fixed"), First: noon, Commit: "abc",
		}
		f.Exact = f.Fill == "integers"
		f.Reason = strings.ToValidUTF8(f.Reason, "?")
		for _, name := range []string{"A", "B_2", "c"} {
			f.Vars = append(f.Vars, spec.Var{Name: name, Value: value.Draw(t, name)})
		}
		raw, err := f.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := parse(raw)
		if err != nil {
			t.Fatalf("%v in\n%s", err, raw)
		}
		if diff := cmp.Diff(f, got, cmp.Comparer(func(a, b formula.Value) bool { return a == b })); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if f.name() != got.name() {
			t.Fatalf("%s became %s", f.name(), got.name())
		}
	})
}

func FuzzParseFailure(f *testing.F) {
	kept := &Failure{Kernel: "gemm", First: noon, Trial: trial.Trial{Lane: trial.LaneIntegers, Fill: "integers", Exact: true, Repeats: 3, Seed: 1, Vars: []spec.Var{
		{Name: "A", Value: formula.Int(1)}, {Name: "B", Value: formula.Float(2)}, {Name: "C", Value: formula.String("x")}, {Name: "D", Value: formula.Bool(true)},
	}}}
	raw, err := kept.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	for _, text := range []string{"", "{}", `{"schema": 1}`, `{"schema": 1, "vars": {"A": null}}`, "[]", "null", `{"schema": 1e9}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := parse(raw)
		if err != nil {
			return
		}
		again, err := got.encode()
		if err != nil {
			t.Fatal(err)
		}
		second, err := parse(again)
		if err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
		third, err := second.encode()
		if err != nil || !bytes.Equal(again, third) {
			t.Fatalf("%v\n%s\nbecame\n%s", err, again, third)
		}
		if name := got.name(); strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") || !slices.Equal([]byte(name), []byte(second.name())) {
			t.Fatalf("file name %q", name)
		}
	})
}

// A failing distribution is one file, however small it could be made with the drawn data; each
// failing shape has its own file.
func TestNameOfFailure(t *testing.T) {
	k := gemmSheet(t).Kernels[0]
	for fill, files := range map[string]int{"": 2, "equal": 2, "large": 1, "integers": 1, "specials": 1, "sparse": 1} {
		s := OpenStore(t.TempDir())
		for m := range int64(2) {
			trial := failing(k, 7+m)
			trial.Fill, trial.Seed = fill, uint64(m)
			if _, err := s.Keep(k, trial, "", "", noon); err != nil {
				t.Fatal(err)
			}
		}
		if failures, problems := s.Load(); len(failures) != files || problems != nil {
			t.Errorf("fill %q: %d files, %v", fill, len(failures), problems)
		}
	}
}

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
)

func TestSecretSeed(t *testing.T) {
	seen := map[uint64]bool{}
	for range 100 {
		seed := secretSeed()
		if seed >= 1<<48 || seen[seed] {
			t.Fatalf("seed %d", seed)
		}
		seen[seed] = true
	}
}

// project writes a pawl.yaml with the kernels good and draft; the second is a draft.
func project(t *testing.T) (file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "pawl.yaml")
	text := `version: 1
kernels:
  good: {source: k.c, entry: k, args: &args [{name: y, dtype: f32, shape: [N], role: out}]}
  draft: {source: k.c, entry: d, args: *args} # TODO is this the entry?
configs: {small: {N: 64}, large: {N: 128}}
`
	for path, text := range map[string]string{file: text, filepath.Join(dir, "k.c"): "void k(float *y) {}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func TestPrepare(t *testing.T) {
	file := project(t)
	seven := uint64(7)
	for _, test := range []struct {
		kind     result.Kind
		patterns []string
		seed     *uint64
		refused  string
		want     uint64 // 0: a secret one
	}{
		{result.KindBench, nil, nil, "", BenchSeed},
		{result.KindBench, nil, new(uint64), "", 0},
		{result.KindBench, []string{"draft"}, &seven, "", 7},
		{result.KindBench, []string{"god"}, nil, "god", 0},
		{result.KindFuzz, nil, nil, "", 0},
		{result.KindFuzz, nil, &seven, "", 7},
		{result.KindCheck, []string{"good"}, nil, "", 0},
		{result.KindCheck, []string{"good/large"}, &seven, "", 7},
		{result.KindCheck, nil, nil, "4:47: kernel draft is a draft, and check does not judge guesses: is this the entry? (line 4)", 0},
		{result.KindCheck, []string{"draft/small"}, nil, "kernel draft is a draft", 0},
		{result.KindCheck, []string{"good", "nope"}, nil, "nope", 0},
	} {
		r, err := Prepare(test.kind, Request{File: file, Patterns: test.patterns, Seed: test.seed})
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s %v: %v, want %s", test.kind, test.patterns, err, test.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %v: %v", test.kind, test.patterns, err)
			continue
		}
		again, _ := Prepare(test.kind, Request{Spec: r.Spec, Patterns: test.patterns, Seed: test.seed})
		secret := test.want == 0 && test.seed == nil
		if !secret && (r.Seed != test.want || again.Seed != test.want) || secret && (r.Seed == again.Seed || r.Seed == BenchSeed) {
			t.Errorf("%s: seeds %d and %d, want %d", test.kind, r.Seed, again.Seed, test.want)
		}
		if report := r.NewReport(t.Context(), result.Method{Seed: r.Seed}); report.Kind != test.kind || report.Spec.SHA256 != r.Spec.SHA256 || report.Started.IsZero() {
			t.Errorf("the report begins with %+v", report)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".pawl*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestSelected(t *testing.T) {
	r, err := Prepare(result.KindBench, Request{File: project(t), Patterns: []string{"good/small"}})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Selections; len(s) != 1 || s[0].Kernel.Name != "good" || len(s[0].Configs) != 1 {
		t.Errorf("selected %+v", s)
	}
}

// A run without a project, and a run inside another, store nothing.
func TestQuietRuns(t *testing.T) {
	file := project(t)
	told := 0
	for _, q := range []Request{{}, {File: file, Quiet: true}} {
		q.Follow, q.Started = func(Event) { told++ }, time.Now()
		r, err := Prepare(result.KindSelftest, q)
		if err != nil {
			t.Fatal(err)
		}
		r.Emit(Event{Kind: Note})
		if r.Dir != "" {
			t.Errorf("it has folder %s", r.Dir)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), ".pawl")); told != 2 || err == nil {
		t.Errorf("told %d times; .pawl: %v", told, err)
	}
}

package lab

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/spec"
)

const rivalSpec = `version: 1
kernels:
  attention: &attention
    source: a.cu
    entry: a
    params: {BLOCK: [64, 128]}
    launch: {grid: 1, block: BLOCK}
    args:
      - {name: out, dtype: f16, shape: [B, H, S, D], role: out}
      - {name: k, dtype: f16, shape: [B, H, S, D]}
      - {name: q, dtype: f16, shape: [B, H, S, D]}
      - {name: v, dtype: f16, shape: [B, H, S, D]}
      - {name: sm_scale, dtype: f32, value: "D ** -0.5"}
      - {name: n, dtype: i32, value: S}
  unnamed:
    <<: *attention
    oracle: attention_causal
    args:
      - {name: a, dtype: f16, shape: [B, H, S, D]}
      - {name: b, dtype: f16, shape: [B, H, S, D]}
      - {name: c, dtype: f16, shape: [B, H, S, D]}
      - {name: d, dtype: f16, shape: [B, H, S, D], role: out}
  causal:
    <<: *attention
    oracle: attention_causal
    args:
      - {name: q, dtype: f16, shape: [B, H, S, D]}
      - {name: k, dtype: f16, shape: [B, H, S, D]}
      - {name: v, dtype: f16, shape: [B, H, S, D]}
      - {name: o, dtype: f16, shape: [B, H, S, D], role: out}
      - {name: is_causal, dtype: i32, value: 0}
  copy:
    source: copy.c
    entry: copy
    args:
      - {name: x, dtype: f32, shape: [B]}
      - {name: y, dtype: f32, shape: [B], role: out}
  scale:
    python: "ops:scale"
    params: {FACTOR: [2.0, 3.0], FAST: [true, false], MODE: [exact, quick], N: [7, 8]}
    args:
      - {name: x, dtype: f32, shape: [B]}
      - {name: y, dtype: f32, shape: [B], role: out}
configs: {small: {B: 2, H: 3, S: 64, D: 32}}
`

func rivals(t *testing.T) *spec.Spec {
	t.Helper()
	dir := t.TempDir()
	s, err := spec.Parse(filepath.Join(dir, "pawl.yaml"), []byte(rivalSpec))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.py"), []byte("import numpy\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

func argNames(k *spec.Kernel) string {
	var names []string
	for _, a := range k.Args {
		names = append(names, a.Name)
	}
	return strings.Join(names, " ")
}

func TestAttentionRivals(t *testing.T) {
	s := rivals(t)
	for _, tc := range []struct {
		kernel, args string
		keywords     map[string]any
	}{
		{"attention", "out k q v scale n", map[string]any{}}, // named, whatever the order
		{"unnamed", "q k v d", map[string]any{"causal": true}},
		{"causal", "q k v o causal", map[string]any{}}, // the argument decides
	} {
		k := s.Kernel(tc.kernel)
		before := argNames(k)
		for _, name := range Attention {
			r, err := FindRival(s, k, name)
			if err != nil {
				t.Fatal(err)
			}
			like := r.Variant.Kernel
			if argNames(like) != tc.args || like.Name != name || like.Cell != spec.CellPython || like.Framework != "torch" || r.module == nil || !r.borrowed {
				t.Errorf("%s against %s: %s of %+v", tc.kernel, name, argNames(like), like)
			}
			if diff := cmp.Diff(tc.keywords, r.keywords); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.kernel, diff)
			}
			in, err := r.Variant.At(s.Configs[0])
			if err != nil {
				t.Fatal(err)
			}
			if len(in.Launches) != 1 || in.Launches[0].Entry != attentionEntries[name] {
				t.Errorf("launches %+v", in.Launches)
			}
		}
		if argNames(k) != before || k.Cell != spec.CellCUDA {
			t.Errorf("the kernel itself was changed: %s", argNames(k))
		}
	}
	if _, err := FindRival(s, s.Kernel("copy"), "sdpa"); err == nil || !strings.Contains(err.Error(), "are not those of attention") {
		t.Errorf("copy against sdpa: %v", err)
	}
}

func TestPythonRivals(t *testing.T) {
	s := rivals(t)
	k := s.Kernel("copy")
	r, err := FindRival(s, k, "mine:run")
	if err != nil {
		t.Fatal(err)
	}
	if like := r.Variant.Kernel; like.Source != "mine.py" || like.Python != "mine:run" || like.Framework != "" || r.module != nil {
		t.Errorf("rival %+v", like)
	}
	for name, says := range map[string]string{
		"sdpa:flsh": "did you mean sdpa:flash?", "other:run": "there is no other.py beside pawl.yaml", "cpoy": "did you mean copy?",
	} {
		if _, err := FindRival(s, k, name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// python: sdpa is PyTorch's, whatever kernels there are: no kernel is its own judge.
func TestKernelsCalledSDPA(t *testing.T) {
	s := rivals(t)
	k := s.Kernel("attention")
	k.Name, k.Oracle = "sdpa", &spec.Oracle{Python: "sdpa"}
	k.Tolerance.Rival = &spec.Oracle{Kernel: "sdpa"}
	a, err := FindAnswers(s, k)
	if err != nil {
		t.Fatal(err)
	}
	if reference := a.reference.Variant.Kernel.Python; reference != attentionEntries["sdpa"] || a.rival.Variant.Kernel != k {
		t.Errorf("the oracle is function %q, the rival kernel %s", reference, a.rival.Variant.Kernel.Name)
	}
}

// Params reach Python with their own types.
func TestKeywords(t *testing.T) {
	s := rivals(t)
	raw, err := json.Marshal(Keywords(s.Kernel("scale").Default()))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"FACTOR":2.0,"FAST":true,"MODE":"exact","N":7}`; string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
	if got := Keywords(s.Kernel("attention").Default()); got != nil {
		t.Errorf("a compiled kernel has keywords: %v", got)
	}
}

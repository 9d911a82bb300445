package verify

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
)

const text = `version: 1
kernels:
  k: &k
    source: k.c
    entry: k
    args:
      - {name: a, dtype: f32, shape: [N, 4]}
      - {name: b, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
    requires: ["M % 2 == 0"]
    work: {flops: N * M}
    configs: {c: {N: 64, M: 16, T: 2}}
  byname:
    <<: *k
    args:
      - {name: out, dtype: f64, shape: [N], role: out}
      - {name: b, dtype: f32, shape: [N]}
      - {name: a, dtype: f32, shape: [N, 4]}
  byorder:
    <<: *k
    args:
      - {name: x, dtype: f32, shape: [N, 4]}
      - {name: y, dtype: f32, shape: [N]}
      - {name: z, dtype: f32, shape: [N], role: out}
  other:
    <<: *k
    args:
      - {name: a, dtype: f32, shape: [N, 4]}
      - {name: mystery, dtype: f32, shape: [N]}
      - {name: more, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
  narrow:
    <<: *k
    args:
      - {name: a, dtype: f16, shape: [N, 4]}
      - {name: b, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
  short:
    <<: *k
    args:
      - {name: a, dtype: f32, shape: [N, 4]}
      - {name: b, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N - 1], role: out}
`

func instance(t *testing.T, kernel string) *spec.Instance {
	t.Helper()
	s, err := spec.Parse(filepath.Join(t.TempDir(), "pawl.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range s.Kernels {
		if k.Name == kernel {
			in, err := k.Default().At(k.Configs[0])
			if err != nil {
				t.Fatal(err)
			}
			return in
		}
	}
	t.Fatalf("no kernel %s", kernel)
	return nil
}

// A reference is given the candidate's data, argument by argument.
func TestMatch(t *testing.T) {
	b := &Bench{Candidate: Side{Instance: instance(t, "k")}}
	b.problem = b.describe()
	for _, tc := range []struct {
		kernel  string
		draws   []int // of its arguments
		outputs map[int]int
		says    string
	}{
		{"k", []int{1, 2, 0}, map[int]int{2: 2}, ""},
		{"byname", []int{0, 2, 1}, map[int]int{0: 2}, ""},
		{"byorder", []int{1, 2, 0}, map[int]int{2: 2}, ""},
		{"other", nil, nil, "the kernel has no argument mystery"},
		{"narrow", nil, nil, "its a is f16[64 4], the kernel's a is f32[64 4]"},
		{"short", nil, nil, "its output out has shape [63], the kernel's out [64]"},
	} {
		a := &answerer{side: Side{Instance: instance(t, tc.kernel)}, bench: b}
		problem, err := a.match()
		if tc.says != "" {
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", tc.kernel, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.kernel, err)
			continue
		}
		if !problem.Reference || problem.Pin || problem.Copies != 1 {
			t.Errorf("%s: %+v", tc.kernel, problem)
		}
		for i, want := range tc.draws {
			if problem.Args[i].Draws != want {
				t.Errorf("%s: argument %d draws as %d, want %d", tc.kernel, i, problem.Args[i].Draws, want)
			}
		}
		for from, to := range tc.outputs {
			if got, there := a.outputs[from]; !there || got != to {
				t.Errorf("%s: outputs %v", tc.kernel, a.outputs)
			}
		}
	}
}

func TestReason(t *testing.T) {
	for name, tc := range map[string]struct {
		e      result.OutputError
		factor float64
		says   string
	}{
		"right":        {result.OutputError{Name: "out", Count: 9, MaxAbs: 1}, 0, ""},
		"wrong":        {result.OutputError{Name: "out", Count: 9, Wrong: 2, Worst: &result.Element{Index: []int64{1, 2}, Got: "NaN", Want: "3"}}, 0, "out: 2 of 9 elements are wrong (out[1, 2] is NaN and must be 3)"},
		"never":        {result.OutputError{Name: "out", Count: 9, Wrong: 9, Blank: 9}, 0, "9 of them never written"},
		"exact":        {result.OutputError{Name: "out", Count: 9, Wrong: 1, Exact: true}, 0, "these inputs have an exact answer"},
		"the rival's":  {result.OutputError{Name: "out", Count: 9, MaxAbs: 3e-3, RivalMaxAbs: 1e-3}, 2, "3.0e-03 is 3.0 times the rival's 1.0e-03; 2 times is allowed"},
		"its RMS":      {result.OutputError{Name: "out", Count: 9, RMS: 3e-3, RivalRMS: 1e-3, MaxAbs: 1, RivalMaxAbs: 1}, 2, "RMS error 3.0e-03"},
		"an exact one": {result.OutputError{Name: "out", Count: 9, MaxAbs: 1e-3, RMS: 1e-3}, 2, ""},
		"as good":      {result.OutputError{Name: "out", Count: 9, MaxAbs: 1.9e-3, RivalMaxAbs: 1e-3}, 2, ""},
	} {
		got := Reason([]result.OutputError{tc.e}, tc.factor)
		if tc.says == "" && got != "" || !strings.Contains(got, tc.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Neighbours are one larger in one variable. Sizes that the kernel is not made for, variables that
// are no size, and sizes that are too small have none.
func TestNeighbours(t *testing.T) {
	here := instance(t, "k")
	near := Neighbours(here)
	if len(near) != 1 || near[0].Footprint <= here.Footprint || differing(here.Config, near[0].Config) != "N=65" {
		t.Fatalf("%d neighbours", len(near))
	}
	s, err := spec.Parse(filepath.Join(t.TempDir(), "pawl.yaml"), []byte(window))
	if err != nil {
		t.Fatal(err)
	}
	here, err = s.Kernels[0].Default().At(s.Kernels[0].Configs[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, next := range Neighbours(here) {
		got = append(got, differing(here.Config, next.Config))
	}
	if !slices.Equal(got, []string{"C=1025", "K=9"}) {
		t.Errorf("neighbours %v", got)
	}
}

// window has an output that becomes smaller as K grows, and a variable that no size depends on.
const window = `version: 1
kernels:
  k:
    source: k.c
    entry: k
    args:
      - {name: x, dtype: f32, shape: [C]}
      - {name: y, dtype: f32, shape: [C - K + 1], role: out}
      - {name: k, dtype: i32, value: K}
      - {name: mode, dtype: i32, value: MODE}
configs: {c: {C: 1024, K: 8, MODE: 9}}
`

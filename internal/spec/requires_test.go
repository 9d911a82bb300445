package spec

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/formula"
)

const required = `version: 1
kernels:
  copy:
    source: copy.c
    entry: copy
    params: {WIDTH: [4, 8]}
    requires: ["N % WIDTH == 0"]
    args:
      - {name: x, dtype: f32, shape: [N]}
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i32, value: COUNT}
    work: {bytes: "8 * N * WEIGHT"}
configs:
  small: {UNUSED: 1, COUNT: 2, WEIGHT: 1, N: 12}
`

// Requirements are checked wherever a variant meets a config, not when variants are
// listed.
func TestRequires(t *testing.T) {
	s, err := Parse("pawl.yaml", []byte(required))
	if err != nil {
		t.Fatal(err)
	}
	k := s.Kernels[0]
	if got := len(names(k)); got != 2 {
		t.Errorf("%d variants", got)
	}
	wide, err := k.Default().With("WIDTH", "8")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wide.At(k.Configs[0]); err == nil || !strings.Contains(err.Error(), "copy/small: N % WIDTH == 0 is false") || !strings.Contains(err.Error(), "with N=12, WIDTH=8") {
		t.Errorf("%v", err)
	}
	if _, err := wide.At(&Config{Name: "other", Vars: []Var{{"N", formula.Int(16)}, {"COUNT", formula.Int(1)}, {"WEIGHT", formula.Int(1)}}}); err != nil {
		t.Error(err)
	}
	if names := k.Variables(); !slices.Equal(names, []string{"COUNT", "N"}) {
		t.Errorf("variables %q", names)
	}
	if names := k.Sizes(); !slices.Equal(names, []string{"N"}) {
		t.Errorf("sizes %q", names)
	}
}

// A matrix without cases does not keep other commands from their work; whether there
// is one at all can be told.
func TestEmptyMatrix(t *testing.T) {
	for rest, want := range map[string]struct {
		given bool
		axes  int
	}{
		"fuzz: {}":                         {false, 0},
		"fuzz: {sample: 3}":                {false, 0},
		"fuzz: {matrix: {}}":               {true, 0},
		"fuzz: {matrix: {N: []}}":          {true, 1},
		"fuzz: {matrix: {N: 8, COUNT: 3}}": {true, 2},
	} {
		s, err := Parse("pawl.yaml", []byte(required+rest+"\n"))
		if err != nil {
			t.Errorf("%s: %v", rest, err)
			continue
		}
		if (s.Fuzz.Matrix != nil) != want.given || len(s.Fuzz.Matrix) != want.axes || s.Fuzz.Specials != SpecialsNone {
			t.Errorf("%s: %+v", rest, s.Fuzz)
		}
	}
}

package spec

import (
	"os"
	"strings"
	"testing"
)

func loadGood(t testing.TB, name string) *Spec {
	t.Helper()
	text, err := os.ReadFile("testdata/good/" + name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("pawl.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAtErrors covers variants whose formulas fail although those of the
// default do not.
func TestAtErrors(t *testing.T) {
	text := `version: 1
kernels:
  k:
    source: k.cu
    entry: k
    params: {BLOCK: [64, 0, 2048], SPLIT: [1, 7]}
    launch: {grid: ["ceildiv(N, BLOCK)"], block: [BLOCK], shared: BLOCK * 4}
    args: [{name: y, dtype: f32, shape: [N // SPLIT - 146], role: out}]
configs:
  small: {N: 1024}
`
	s, err := Parse("pawl.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, value, want string }{
		{"BLOCK", "0", "pawl.yaml:7:22: k/small: grid: division by zero"},
		{"BLOCK", "0", "pawl.yaml:7:51: k/small: block must be between 1 and 1024, and is 0"},
		{"BLOCK", "0", "with N=1024, BLOCK=0"},
		{"BLOCK", "2048", "and is 2048"},
		{"SPLIT", "7", "shape of y must be at least 1, and is 0"},
		{"SPLIT", "7", `  8 |     args: [{name: y`},
	} {
		v, err := s.Kernels[0].Default().With(tt.name, tt.value)
		if err != nil {
			t.Fatal(err)
		}
		in, err := v.At(s.Configs[0])
		if err == nil {
			t.Errorf("%s=%s gave %+v", tt.name, tt.value, in)
		} else if got := strings.ReplaceAll(err.Error(), "BLOCK=0, N=1024", "N=1024, BLOCK=0"); !strings.Contains(got, tt.want) {
			t.Errorf("%s=%s: %s\nwant %s", tt.name, tt.value, got, tt.want)
		}
	}
}

// identityOf returns that of the first config of a file's first kernel.
func identityOf(t *testing.T, text, code string) string {
	t.Helper()
	s, err := Parse("pawl.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	in, err := s.Kernels[0].Default().At(s.Kernels[0].Configs[0])
	if err != nil {
		t.Fatal(err)
	}
	return in.Identity(code)
}

// TestIdentity changes one thing at a time: what decides the speed changes the
// identity, names do not.
func TestIdentity(t *testing.T) {
	const base = `version: 1
kernels:
  k:
    source: k.cu
    launches:
      - {entry: one, args: [x, n], grid: 4, block: 32}
      - {entry: two, args: [x, y], grid: 4, block: 32, cluster: 2, shared: 16, cooperative: false}
    args:
      - {name: x, dtype: f32, shape: [N, 2]}
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i32, value: N}
configs:
  small: {N: 1024}
`
	identity := func(text, code string) string { return identityOf(t, text, code) }
	want := identity(base, "code")
	if len(want) != 64 {
		t.Errorf("identity %q is no SHA-256", want)
	}
	if identity(base, "other") == want {
		t.Error("other code, same identity")
	}
	for _, change := range [][2]string{
		{"grid: 4", "grid: 8"},
		{"block: 32", "block: 64"},
		{"cluster: 2", "cluster: 4"},
		{"shared: 16", "shared: 32"},
		{"cooperative: false", "cooperative: true"},
		{"cooperative: false", "programmatic_dependent: true"},
		{"entry: one", "entry: two"},
		{"args: [x, y]", "args: [y, x]"},
		{"dtype: f32, shape: [N, 2]", "dtype: f16, shape: [N, 2]"},
		{"shape: [N, 2]", "shape: [2, N]"},
		{"role: out", "role: inout"},
		{"value: N", "value: N + 1"},
		{"dtype: i32", "dtype: i64"},
		{"N: 1024", "N: 1025"},
	} {
		if text := strings.Replace(base, change[0], change[1], 1); text == base || identity(text, "code") == want {
			t.Errorf("%s → %s does not change the identity", change[0], change[1])
		}
	}
	for _, rename := range [][2]string{
		{"  k:", "  other:"}, {"small:", "large:"}, {"name: n", "name: m"}, {"{N: 1024}", "{N: 1024, M: 3}"}, {"shape: [N]", `shape: ["N * 1"]`},
	} {
		text := strings.Replace(base, rename[0], rename[1], 1)
		if rename[0] == "name: n" {
			text = strings.Replace(text, "[x, n]", "[x, m]", 1)
		}
		if text == base || identity(text, "code") != want {
			t.Errorf("%s → %s changes the identity", rename[0], rename[1])
		}
	}
}

// Python functions are given their arguments by name.
func TestIdentityOfPythonHasNames(t *testing.T) {
	const base = `version: 1
kernels:
  k:
    python: "k:run"
    framework: numpy
    args:
      - {name: x, dtype: f32, shape: [8]}
      - {name: y, dtype: f32, shape: [8], role: out}
    configs: {small: {N: 1}}
`
	if identityOf(t, base, "code") == identityOf(t, strings.Replace(base, "name: y", "name: out", 1), "code") {
		t.Error("another name, and the same identity")
	}
}

func TestExplain(t *testing.T) {
	k := loadGood(t, "design.yaml").Kernels[0]
	in, err := k.Default().At(k.Configs[0])
	if err != nil {
		t.Fatal(err)
	}
	l := k.Launches[0]
	for want, formulas := range map[string][]*Formula{
		"NUM_STAGES * BLOCK_N * D * 4 with BLOCK_N=32, D=64, NUM_STAGES=1": {l.Shared},
		"ceildiv(S, BLOCK_M), B * H with BLOCK_M=64, S=512, B=32, H=8":     l.Grid,
		"": {nil},
	} {
		if got := in.Explain(formulas...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTensorMapIdentity changes one thing of a tensor map at a time.
func TestTensorMapIdentity(t *testing.T) {
	const base = `version: 1
kernels:
  k:
    source: k.cu
    entry: k
    launch: {grid: 1, block: 32}
    args:
      - {name: x, dtype: f16, shape: [N, 64], role: inout}
      - {name: z, dtype: f16, shape: [N, 64]}
      - {name: m, tensor_map: {of: x, box: [32, 64], dims: [N // 2, 64], strides: [64], element_strides: [1, 1], swizzle: none, l2: none, fill: zero}}
configs: {small: {N: 1024}}
`
	identity := func(text string) string {
		t.Helper()
		s, err := Parse("pawl.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		in, err := s.Kernels[0].Default().At(s.Configs[0])
		if err != nil {
			t.Fatal(err)
		}
		return in.Identity("code")
	}
	want := identity(base)
	for _, change := range [][2]string{
		{"of: x", "of: z"},
		{"[32, 64]", "[64, 64]"},
		{"N // 2", "N // 4"},
		{"strides: [64], e", "strides: [128], e"},
		{"element_strides: [1, 1]", "element_strides: [2, 1]"},
		{"swizzle: none", "swizzle: 128B"},
		{"l2: none", "l2: 128B"},
		{"fill: zero", "fill: nan"},
	} {
		if text := strings.Replace(base, change[0], change[1], 1); text == base || identity(text) == want {
			t.Errorf("%s → %s does not change the identity", change[0], change[1])
		}
	}
	if identity(strings.Replace(base, "name: m", "name: other", 1)) != want {
		t.Error("a name is part of the identity")
	}
}

func TestDefaultConfig(t *testing.T) {
	s, err := Parse("pawl.yaml", []byte("version: 1\nkernels: {k: {source: k.c, entry: k, args: [{name: y, dtype: f32, shape: 16, role: out}]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Kernels[0].Configs; len(c) != 1 || c[0].Name != "default" || len(c[0].Vars) != 0 {
		t.Errorf("configs %+v", c)
	}
}

func TestTODOs(t *testing.T) {
	s, err := Parse("pawl.yaml", []byte(`# TODO first
version: 1 #TODO: second
kernels: {k: {source: k.c, entry: k, # TODO(me) third
  args: [{name: y, dtype: f32, shape: 16, role: out}]}} # no TODO here
# TODOS are none
pools:
  lab:
    launch: |
      ssh # TODO not a comment
  more: {launch: "ssh # TODO neither"}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range s.TODOs {
		got = append(got, p.String())
	}
	if want := "pawl.yaml:1:1 pawl.yaml:2:12 pawl.yaml:3:38"; strings.Join(got, " ") != want {
		t.Errorf("TODOs at %q, want %s", got, want)
	}
}

func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("testdata/good/everything.yaml")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Parse("pawl.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	k := loadGood(b, "design.yaml").Kernels[0]
	v := k.Default()
	for b.Loop() {
		if _, err := v.At(k.Configs[0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVariants(b *testing.B) {
	k := loadGood(b, "design.yaml").Kernels[0]
	for b.Loop() {
		for range k.Variants() {
		}
	}
}

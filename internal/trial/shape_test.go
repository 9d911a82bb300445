package trial

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/oracle"
	"pawl/internal/spec"
)

func shapesOf(p *Plan) []Trial {
	return slices.DeleteFunc(slices.Clone(p.Trials), func(t Trial) bool { return t.Lane != LaneShape })
}

// Whatever the seed, every size is tried at one, beside each tile and at a prime, and
// that with the other sizes small.
func TestEverySizeIsTriedBesideEveryTile(t *testing.T) {
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  gemm:
    source: gemm.c
    entry: gemm
    params: {TILE_M: [32, 64], TILE_N: [64, 128], TILE_K: [8, 16], FAST: [true], UNROLL: [2]}
    args: [{name: a, dtype: f32, shape: [B, M, K]}, {name: b, dtype: f32, shape: [B, K, N]}, {name: c, dtype: f32, shape: [B, M, N], role: out}]
    oracle: gemm
    configs: {a: {B: 4, M: 128, N: 128, K: 128}, b: {B: 5, M: 256, N: 64, K: 64}}
`))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		shapes := shapesOf(plan(t, s, Options{Seed: rapid.Uint64().Draw(r, "seed")}))
		if len(shapes) > mostShapes+mostMixed {
			r.Fatalf("%d shapes", len(shapes))
		}
		for name, prime := range map[string]int64{"B": 3, "M": 131, "N": 131, "K": 131} {
			for _, want := range []int64{1, 7, 9, 15, 17, 31, 33, 63, 65, prime} {
				tried := slices.ContainsFunc(shapes, func(trial Trial) bool {
					n, _ := trial.integer(name)
					for _, other := range []string{"B", "M", "N", "K"} {
						if size, _ := trial.integer(other); other != name && size > small {
							return false
						}
					}
					return n == want
				})
				if !tried {
					r.Fatalf("%s=%d is not tried", name, want)
				}
			}
		}
		mixed := 0
		for _, trial := range shapes {
			odd := 0
			for _, name := range []string{"M", "N", "K"} {
				if n, _ := trial.integer(name); n != small {
					odd++
				}
			}
			if odd > 1 {
				mixed++
			}
		}
		if mixed == 0 {
			r.Fatalf("no shape has several odd sizes")
		}
	})
}

// Where there are too many, all sizes lose alike, and what is left out is said.
func TestShapesAreBounded(t *testing.T) {
	var params []string
	for i, tile := range []int{4, 8, 24, 32, 48, 64, 96, 128, 256, 512} {
		params = append(params, fmt.Sprintf("T%d: [%d]", i, tile))
	}
	p := plan(t, sheetWith(t, "params: {"+strings.Join(params, ", ")+"}"), Options{})
	if shapes := shapesOf(p); len(shapes) > mostShapes+mostMixed || len(shapes) < mostShapes {
		t.Errorf("%d shapes", len(shapes))
	}
	notes := strings.Join(p.Notes, "\n")
	if !strings.Contains(notes, "8 of the shapes beside the tiles were left out, because there are more than 64: ") || !strings.Contains(notes, "K=17") {
		t.Errorf("notes %q", notes)
	}
}

func sheetWith(t *testing.T, line string) *spec.Spec {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  gemm:
    source: gemm.c
    entry: gemm
    `+line+`
    args: [{name: a, dtype: f32, shape: [M, K]}, {name: b, dtype: f32, shape: [K, N]}, {name: c, dtype: f32, shape: [M, N], role: out}]
    oracle: gemm
    configs: {a: {M: 128, N: 128, K: 128}, b: {M: 256, N: 64, K: 64}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A kernel that does not bear small sizes keeps those that it must; what it refuses is
// said once.
func TestShapesOfAParticularKernel(t *testing.T) {
	p := plan(t, sheetWith(t, `requires: ["K >= 64", "M % 4 == 0"]`), Options{})
	shapes := shapesOf(p)
	if !slices.ContainsFunc(shapes, func(t Trial) bool { n, _ := t.integer("N"); return n == 37 }) {
		t.Errorf("N is not tried: %v", names(shapes))
	}
	about := 0
	for _, note := range p.Notes {
		if strings.Contains(note, "M % 4 == 0 is false, with M=") {
			about++
		}
	}
	if about != 1 {
		t.Errorf("notes %q", p.Notes)
	}
}

func TestSmallest(t *testing.T) {
	for _, test := range []struct {
		sizes []int64
		want  int
	}{
		{[]int64{1 << 20, 1 << 16, 1 << 10}, 1},
		{[]int64{1 << 10, 1 << 12}, 1},
		{[]int64{1 << 10, 1 << 40}, 0},
		{[]int64{1 << 40, 1 << 10, 1 << 12}, 2},
		{[]int64{1 << 41, 1 << 40}, 1},
		{[]int64{1 << 10, 1 << 25, 1 << 17}, 2},
	} {
		if got := slices.Index(test.sizes, smallest(test.sizes)); got != test.want {
			t.Errorf("%v: %d, want %d", test.sizes, got, test.want)
		}
	}
}

// specialsIn counts the special values of an input by their bits, and its rows
// without any.
func specialsIn(t *testing.T, p *Plan, trial Trial) (kinds map[uint32]int, clean, rows int64) {
	t.Helper()
	problem, err := p.Resolve(trial)
	if err != nil {
		t.Fatal(err)
	}
	a := problem.Instance.Args[0]
	data := make([]byte, a.Bytes)
	oracle.Generate(data, a.DType, oracle.Fill{Kind: a.Init.Kind, Args: a.Init.Args}, trial.key(0))
	kinds = map[uint32]int{}
	columns := a.Shape[len(a.Shape)-1]
	for r := range a.Elements / columns {
		had := false
		for c := range columns {
			at := 4 * (r*columns + c)
			switch bits := uint32(data[at]) | uint32(data[at+1])<<8 | uint32(data[at+2])<<16 | uint32(data[at+3])<<24; bits {
			case 0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x7f7fffff:
				kinds[bits]++
				had = true
			}
		}
		if rows++; !had {
			clean++
		}
	}
	return kinds, clean, rows
}

func TestSpecialsAreThere(t *testing.T) {
	for name, test := range map[string]struct {
		shape, configs string
		sparse         bool
	}{
		"a vector":       {"[N]", "{a: {N: 16384}, b: {N: 4096}}", false},
		"a short vector": {"[N]", "{a: {N: 300}}", false},
		"a long vector":  {"[N]", "{a: {N: 200000}}", false},
		"many rows":      {"[R, N]", "{a: {R: 1000, N: 64}}", false},
		"few rows":       {"[R, N]", "{a: {R: 8, N: 2048}}", true},
	} {
		// What is added or multiplied has all kinds but the greatest number.
		for formula, greatest := range map[string]bool{"max(x, 0)": true, "2 * x + 1": false} {
			s, err := spec.Parse("pawl.yaml", []byte(`version: 1
fuzz: {specials: propagate}
kernels:
  k:
    source: k.c
    entry: k
    args: [{name: x, dtype: f32, shape: `+test.shape+`}, {name: y, dtype: f32, shape: `+test.shape+`, role: out}]
    oracle: {elementwise: "`+formula+`"}
    configs: `+test.configs+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			specialsOf(t, name+" of "+formula, s, greatest, test.sparse)
		}
	}
}

func specialsOf(t *testing.T, name string, s *spec.Spec, greatest, wantSparse bool) {
	t.Helper()
	tried, dirty := false, 0
	for seed := range uint64(20) {
		cleanest := int64(0)
		p := plan(t, s, Options{Seed: seed})
		for _, trial := range p.Trials {
			if trial.Lane != LaneSpecials {
				continue
			}
			kinds, clean, rows := specialsIn(t, p, trial)
			want := 5
			if greatest {
				want = 6
			}
			if trial.Fill == specials && len(kinds) != want {
				t.Errorf("%s, seed %d: %d of %d kinds", name, seed, len(kinds), want)
			}
			if !greatest && kinds[0x7f7fffff] > 0 {
				t.Errorf("%s, seed %d, %s: the greatest number is among them", name, seed, trial.Fill)
			}
			tried = tried || trial.Fill == sparse
			if cleanest = max(cleanest, clean); rows == 1 {
				cleanest = 1 // there is no other row to keep clean
			}
		}
		if cleanest == 0 {
			dirty++
		}
	}
	if dirty > 1 { // by chance: TestSparseSpecialsLeaveRows
		t.Errorf("%s: with %d of 20 seeds every row has a special value", name, dirty)
	}
	if tried != wantSparse {
		t.Errorf("%s: sparse ones tried: %t", name, tried)
	}
}

// Sparse special values leave at least one of a few rows without any, but for 3% of the seeds.
func TestSparseSpecialsLeaveRows(t *testing.T) {
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
fuzz: {specials: propagate}
kernels:
  k:
    source: k.c
    entry: k
    args: [{name: x, dtype: f32, shape: [R, N]}, {name: y, dtype: f32, shape: [R, N], role: out}]
    oracle: {elementwise: "max(x, 0)"}
    configs: {a: {R: 8, N: 2048}}
`))
	if err != nil {
		t.Fatal(err)
	}
	dirty := 0
	for seed := range uint64(1000) {
		p, cleanest := plan(t, s, Options{Seed: seed}), int64(0)
		for _, trial := range p.Trials {
			if trial.Lane == LaneSpecials {
				_, clean, _ := specialsIn(t, p, trial)
				cleanest = max(cleanest, clean)
			}
		}
		if cleanest == 0 {
			dirty++
		}
	}
	if dirty > 40 {
		t.Errorf("with %d of 1000 seeds every row has a special value", dirty)
	}
}

// Notes say what is so.
func TestNotesAreTrue(t *testing.T) {
	const sheet = `version: 1
fuzz: {specials: propagate}
kernels:
  k:
    source: k.c
    entry: k
    args: [{name: x, dtype: %s, shape: [N]%s}, {name: y, dtype: f32, shape: [N], role: out}%s]
    oracle: %s
    configs: {a: {N: 64}, b: {N: 128}}
`
	const own = "have an init in pawl.yaml"
	for name, test := range map[string]struct {
		dtype, init, more, oracle string
		want, never               string
	}{
		"whole numbers":   {"i32", "", "", "{elementwise: 2 * x}", "other values are not tried: it has no floating-point input", own},
		"an init":         {"f32", ", init: {uniform: [0, 1]}", "", "{elementwise: 2 * x}", "special values are not tried: its inputs " + own, "no floating-point"},
		"python":          {"f32", "", "", `{python: "refs:f"}`, "exact small integers are not tried: the oracle is not built in", "also rounds integers"},
		"several outputs": {"f32", "", ", {name: z, dtype: f32, shape: [N], role: out}", "softmax", "exact small integers are not tried: it has several outputs", "also rounds integers"},
		"softmax":         {"f32", "", "", "softmax", "exact small integers are not tried: the operation also rounds", own},
	} {
		s, err := spec.Parse("pawl.yaml", fmt.Appendf(nil, sheet, test.dtype, test.init, test.more, test.oracle))
		if err != nil {
			t.Fatal(err)
		}
		notes := plan(t, s, Options{}).Notes
		if text := strings.Join(notes, "\n"); !strings.Contains(text, test.want) || strings.Contains(text, test.never) {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// A file with one size is tried at others if the kernel is told its size, and so is the kernel that knows
// its answers.
func TestShapesOfOneConfig(t *testing.T) {
	const told, both, untold = "{name: n, dtype: i32, value: N}", "{name: n, dtype: i32, value: N * M}", "{name: a, dtype: f32, value: 2}"
	for name, test := range map[string]struct {
		scalar, more string
		configs      string
		want         []string // of Free
		note         string
	}{
		"told":               {told, "oracle: {elementwise: x}", "{c: {N: 4000, M: 1}}", []string{"N"}, ""},
		"by a formula":       {both, "oracle: {elementwise: x}", "{c: {N: 4000, M: 1}}", []string{"N"}, ""},
		"not told":           {untold, "oracle: {elementwise: x}", "{c: {N: 4000, M: 1}}", nil, "N: the file has one value, and no scalar argument tells the kernel another"},
		"several configs":    {told, "oracle: {elementwise: x}", "{c: {N: 4000, M: 1}, d: {N: 4000, M: 2}}", nil, "N: the same in all configs of the kernel"},
		"an oracle is told":  {told, "oracle: {kernel: knows}", "{c: {N: 4000, M: 1}}", []string{"N"}, ""},
		"an oracle is not":   {told, "oracle: {kernel: fixed}", "{c: {N: 4000, M: 1}}", nil, ""},
		"a Python function":  {untold, "oracle: {elementwise: x}", "{c: {N: 4000, M: 1}}", []string{"N"}, ""},
		"requires bounds it": {told, "oracle: {elementwise: x}\n    requires: [N % 16 == 0]", "{c: {N: 4000, M: 1}}", []string{"N"}, "of the shapes beside the tiles were left out: N % 16 == 0 is false"},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := "source: k.c\n    entry: k"
			if name == "a Python function" {
				kernel = `python: "k:k"`
			}
			const buffers = "{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}"
			text := fmt.Sprintf("version: 1\nkernels:\n  k:\n    %s\n    args: [%s, %s]\n    %s\n", kernel, buffers, test.scalar, test.more)
			for other, scalar := range map[string]string{"knows": told, "fixed": untold} {
				text += fmt.Sprintf("  %s: {source: k.c, entry: k, oracle: {elementwise: x}, args: [%s, %s]}\n", other, buffers, scalar)
			}
			s, err := spec.Parse("pawl.yaml", []byte(text+"configs: "+test.configs+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPlan(s, s.Kernel("k").Default(), Options{Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Free, test.want) {
				t.Errorf("free are %v, want %v", p.Free, test.want)
			}
			shapes := 0
			for _, trial := range p.Trials {
				if trial.Lane == LaneShape {
					shapes++
					if n, _ := trial.integer("N"); name == "requires bounds it" && n%16 != 0 {
						t.Errorf("tried at N=%d", n)
					}
				}
			}
			if (shapes > 0) != (len(test.want) > 0) {
				t.Errorf("%d shapes", shapes)
			}
			if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, test.note) {
				t.Errorf("notes %q do not say %q", notes, test.note)
			}
		})
	}
}

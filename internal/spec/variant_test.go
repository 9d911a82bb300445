package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/formula"
)

const kernelText = `version: 1
kernels:
  k:
    source: k.c
    entry: k
    params: %s
    constraints: %s
    args: [{name: y, dtype: f32, shape: [1], role: out}]
`

func parseKernel(t interface{ Fatalf(string, ...any) }, params, constraints string) *Kernel {
	s, err := Parse("pawl.yaml", fmt.Appendf(nil, kernelText, params, constraints))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s.Kernels[0]
}

func names(k *Kernel) []string {
	var list []string
	for v := range k.Variants() {
		list = append(list, v.Name())
	}
	return list
}

// TestVariantsAgainstBruteForce compares the pruned enumeration with trying
// every combination.
func TestVariantsAgainstBruteForce(t *testing.T) {
	constraints := []string{
		"A %% 2 == 0 or B > 1", "A + B <= C + 4", "C != 3", "A * B * C <= 12", "12 %% A == 0", "True", "D == 0 or A // D >= 0", "A <= B <= C or D > 1",
	}
	rapid.Check(t, func(t *rapid.T) {
		var params []string
		var values [4][]int64
		for i, name := range []string{"A", "B", "C", "D"} {
			values[i] = rapid.SliceOfNDistinct(rapid.Int64Range(0, 5), 1, 4, rapid.ID[int64]).Draw(t, name)
			params = append(params, fmt.Sprintf("%s: [%s]", name, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(values[i])), ", "), "[]")))
		}
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(constraints), 0, 3, rapid.ID[string]).Draw(t, "constraints")
		k := &Kernel{Name: "k"}
		for i, name := range []string{"A", "B", "C", "D"} {
			p := &Param{Name: name}
			for _, v := range values[i] {
				p.Values = append(p.Values, formula.Int(v))
			}
			k.Params = append(k.Params, p)
		}
		for _, text := range chosen {
			f := &Formula{Text: strings.ReplaceAll(text, "%%", "%"), node: &node{}}
			if err := f.parse(); err != nil {
				t.Fatal(err)
			}
			k.Constraints = append(k.Constraints, f)
		}
		var want []string
		for _, a := range k.Params[0].Values {
			for _, b := range k.Params[1].Values {
				for _, c := range k.Params[2].Values {
					for _, d := range k.Params[3].Values {
						v := Variant{k, []formula.Value{a, b, c, d}}
						if v.allowed() == nil {
							want = append(want, v.Name())
						}
					}
				}
			}
		}
		if got := names(k); !slices.Equal(got, want) {
			t.Fatalf("%v %v:\n got %q\nwant %q", params, chosen, got, want)
		}
	})
}

func TestVariantsStopEarly(t *testing.T) {
	k := parseKernel(t, "{A: [1, 2, 3], B: [1, 2, 3]}", "[]")
	seen := 0
	for range k.Variants() {
		if seen++; seen == 4 {
			break
		}
	}
	if seen != 4 {
		t.Errorf("visited %d", seen)
	}
}

// TestVariantsPrune counts in a space that could not be walked: 8^40 variants
// of which a constraint on the first two params leaves none but a few.
func TestVariantsPrune(t *testing.T) {
	var params, constraints []string
	for i := range 40 {
		params = append(params, fmt.Sprintf("P%d: [1, 2, 3, 4, 5, 6, 7, 8]", i))
		if i > 0 {
			constraints = append(constraints, fmt.Sprintf("P%d == P%d", i, i-1))
		}
	}
	k := parseKernel(t, "{"+strings.Join(params, ", ")+"}", "["+strings.Join(constraints, ", ")+"]")
	if got := len(names(k)); got != 8 {
		t.Errorf("%d variants, want 8", got)
	}
}

func TestVariantText(t *testing.T) {
	k := parseKernel(t, "{BLOCK: [64, 32], FAST: [true, false], ALPHA: [0.5, 2.0], TYPE: [float, 'cutlass::half_t']}", `["BLOCK > 32 or FAST"]`)
	v := k.Default()
	if got, want := v.Name(), "BLOCK=64 FAST=true ALPHA=0.5 TYPE=float"; got != want {
		t.Errorf("Name %q, want %q", got, want)
	}
	v, err := v.With("FAST", "0")
	if err != nil {
		t.Fatal(err)
	}
	if v, err = v.With("ALPHA", "2"); err != nil {
		t.Fatal(err)
	}
	if v, err = v.With("TYPE", "cutlass::half_t"); err != nil {
		t.Fatal(err)
	}
	if got, want := v.Defines(), []string{"BLOCK=64", "FAST=0", "ALPHA=2.0", "TYPE=cutlass::half_t"}; !slices.Equal(got, want) {
		t.Errorf("Defines %q, want %q", got, want)
	}
	if got := v.Params()["FAST"]; got != "false" {
		t.Errorf("FAST is %q", got)
	}
	if k.Default().Name() != "BLOCK=64 FAST=true ALPHA=0.5 TYPE=float" {
		t.Error("With changed the default")
	}
	for _, tt := range []struct{ name, value, want string }{
		{"BLOCK", "16", `"16" is not a value of BLOCK in kernel k: it lists 64, 32`},
		{"BLOK", "64", "did you mean BLOCK?"},
		{"BLOCK", "32", "BLOCK > 32 or FAST is false"},
	} {
		if _, err := v.With(tt.name, tt.value); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("With(%s, %s): %v, want %s", tt.name, tt.value, err, tt.want)
		}
	}
	none := parseKernel(t, "{}", "[]")
	if got := none.Default().Name(); got != "default" {
		t.Errorf("Name without params: %q", got)
	}
	if _, err := none.Default().With("A", "1"); err == nil {
		t.Error("With on a kernel without params succeeded")
	}
	if len(names(none)) != 1 {
		t.Error("a kernel without params has one variant")
	}
}

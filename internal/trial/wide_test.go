package trial

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

func tanh32(x float32) float32 { return float32(math.Tanh(float64(x))) }

// pointwise are formulas, and honest kernels of them in f32.
var pointwise = map[string]func(x, y float32) float32{
	"max(x, 0)": func(x, _ float32) float32 { return max(x, 0) },
	"x if x > 0 else x / 10": func(x, _ float32) float32 {
		if x > 0 {
			return x
		}
		return x * 0.1
	},
	"2 * x + y":             func(x, y float32) float32 { return 2*x + y },
	"2*x+1":                 func(x, _ float32) float32 { return 2*x + 1 },
	"x * y":                 func(x, y float32) float32 { return x * y },
	"100 * x - 100 * y":     func(x, y float32) float32 { return 100 * (x - y) },
	"x * x * x - y * y * y": func(x, y float32) float32 { return x*x*x - y*y*y },
	"(x - y) ** 2 + 1":      func(x, y float32) float32 { d := x - y; return d*d + 1 },
	"tanh(x)":               func(x, _ float32) float32 { e := exp32(2 * x); return 1 - 2/(e+1) },
	"exp(x)":                func(x, _ float32) float32 { return float32(math.Exp2(float64(x * 1.44269504))) },
	"exp(x) - exp(y)":       func(x, y float32) float32 { return exp32(x) - exp32(y) },
	"exp(x * y)":            nil, // overflows
	"x / (1 + exp(-x))":     func(x, _ float32) float32 { return x * (1 / (1 + exp32(-x))) },
	"1 / (1 + exp(-x))":     func(x, _ float32) float32 { return 0.5*tanh32(0.5*x) + 0.5 },
	"log(1 + exp(x))":       func(x, _ float32) float32 { return max(x, 0) + float32(math.Log1p(math.Exp(-math.Abs(float64(x))))) },
	"0.5 * x * (1 + erf(x * 0.7071067811865476))": func(x, _ float32) float32 {
		return 0.5 * x * (1 + float32(math.Erf(float64(x*0.70710678))))
	},
	"0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))": func(x, _ float32) float32 {
		return 0.5 * x * (1 + tanh32(0.7978845608*(x+0.044715*x*x*x)))
	},
	"sin(x) * y":        func(x, y float32) float32 { return float32(math.Sin(float64(x))) * y },
	"sqrt(x)":           func(x, _ float32) float32 { return float32(math.Sqrt(float64(x))) },
	"log(x)":            func(x, _ float32) float32 { return float32(math.Log2(float64(x))) * 0.69314718 },
	"x / y":             func(x, y float32) float32 { return x * (1 / y) },
	"sqrt(x*x + y*y)":   func(x, y float32) float32 { return float32(math.Sqrt(float64(x*x + y*y))) },
	"1 / (x - y)":       nil, // without bound
	"x // 2":            nil,
	"floor(x)":          nil,
	"x if x else y":     nil,
	"exp(x) / exp(x*y)": nil,
}

func wideTrial(t *testing.T, formula string, typ dtype.Type, seed uint64) (*Plan, Trial, bool) {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", fmt.Appendf(nil, `version: 1
kernels:
  k:
    source: k.c
    entry: k
    args: [{name: x, dtype: %[1]s, shape: [N]}, {name: y, dtype: %[1]s, shape: [N]}, {name: out, dtype: %[1]s, shape: [N], role: out}]
    oracle: {elementwise: "%[2]s"}
    configs: {one: {N: 4000}}
`, typ, formula))
	if err != nil {
		t.Fatal(err)
	}
	p := plan(t, s, Options{Seed: seed})
	for _, trial := range p.Trials {
		if trial.Fill == "large" {
			return p, trial, true
		}
	}
	if !strings.Contains(strings.Join(p.Notes, "\n"), "large values are not tried") {
		t.Errorf("%s of %s: not tried, and no note: %q", formula, typ, p.Notes)
	}
	return p, Trial{}, false
}

// filled returns a trial's problem, and its arguments with their inputs generated.
func filled(t *testing.T, p *Plan, trial Trial) (*Problem, []oracle.Value) {
	t.Helper()
	problem, err := p.Resolve(trial)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]oracle.Value, len(problem.Instance.Args))
	for i, a := range problem.Instance.Args {
		values[i] = oracle.Value{Name: a.Name, Role: string(a.Role), Type: a.DType, Shape: a.Shape, Buffer: true, Data: make([]byte, a.Bytes)}
		if a.Role == spec.RoleIn {
			oracle.Generate(values[i].Data, a.DType, oracle.Fill{Kind: a.Init.Kind, Args: a.Init.Args}, trial.key(i))
		}
	}
	return problem, values
}

// wrongOf counts the wrong answers of a kernel.
func wrongOf(t *testing.T, p *Plan, trial Trial, run func(x, y float32) float32) int64 {
	t.Helper()
	problem, values := filled(t, p, trial)
	want, err := oracle.Elementwise(p.variant.Kernel.Oracle.Elementwise, values)
	if err != nil {
		t.Fatal(err)
	}
	out := problem.Instance.Args[2]
	for e := range int(out.Elements) {
		out.DType.Put(values[2].Data, e, run(out.DType.Get(values[0].Data, e), out.DType.Get(values[1].Data, e)))
	}
	right := oracle.Typed[[]byte]{Data: want[2], Type: dtype.F64}
	tolerance := oracle.Tolerance{Abs: problem.Atol, Rel: problem.Rtol}
	size := oracle.Compare(oracle.Typed[[]byte]{Data: values[2].Data, Type: out.DType}, right, out.Elements, tolerance)
	// As the judge does: zeros do not pass for an answer that is small.
	tolerance.Abs = min(tolerance.Abs, math.Sqrt(size.WantSquare/float64(size.Count))/20)
	return oracle.Compare(oracle.Typed[[]byte]{Data: values[2].Data, Type: out.DType}, right, out.Elements, tolerance).Wrong
}

// Honest kernels pass on wide inputs, and one that is wrong beyond what normal inputs
// reach does not.
func TestWideInputs(t *testing.T) {
	for formula, honest := range pointwise {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F16, dtype.BF16} {
			t.Run(formula+" "+string(typ), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(2 * *seeds) {
					p, trial, tried := wideTrial(t, formula, typ, seed)
					if honest == nil || !tried {
						if tried || honest != nil && typ == dtype.F32 {
							t.Errorf("tried: %t", tried)
						}
						return
					}
					if wrong := wrongOf(t, p, trial, honest); wrong > 0 {
						t.Fatalf("seed %d: %d answers of an honest kernel are wrong", seed, wrong)
					}
					if wrongOf(t, p, trial, func(x, y float32) float32 {
						if x >= 5 || x <= -5 {
							return 0
						}
						return honest(x, y)
					}) == 0 {
						t.Fatalf("seed %d: zeros beyond 5 pass", seed)
					}
				}
			})
		}
	}
}

// The tolerance of wide inputs is that of the output which needs most, as long as the others are not
// small beside it.
func TestWideInputsOfSeveralOutputs(t *testing.T) {
	wide := func(formulas string) (atol float64, tried bool) {
		s, err := spec.Parse("pawl.yaml", fmt.Appendf(nil, `version: 1
kernels:
  k:
    source: k.c
    entry: k
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N]}, {name: out, dtype: f32, shape: [N], role: out}, {name: two, dtype: f32, shape: [N], role: out}]
    oracle: {elementwise: %s}
    configs: {one: {N: 4000}}
`, formulas))
		if err != nil {
			t.Fatal(err)
		}
		p := plan(t, s, Options{Seed: 3})
		for _, trial := range p.Trials {
			if trial.Fill == "large" {
				problem, err := p.Resolve(trial)
				if err != nil {
					t.Fatal(err)
				}
				return problem.Atol, true
			}
		}
		return 0, false
	}
	plain, ok := wide(`{out: x, two: y}`)
	most, also := wide(`{out: x, two: "100 * x - 100 * y"}`)
	if !ok || !also || most <= plain {
		t.Errorf("atol %g (%t) of plain outputs, %g (%t) with one that rounds", plain, ok, most, also)
	}
	for _, formulas := range []string{`{out: x, two: 1 / (x - y)}`, `{out: floor(x), two: y}`, `{out: "0.001 * x", two: "1000 * x * x * x - 1000 * y * y * y"}`} {
		if atol, tried := wide(formulas); tried {
			t.Errorf("%s is tried, with atol %g", formulas, atol)
		}
	}
}

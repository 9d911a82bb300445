package trial

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/formula"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// What follows are plain kernels in f32, as people write them first. They must pass
// every trial: a fuzzer that cries wolf is switched off.
type tensor struct {
	shape []int64
	data  []float32
}

type kernel func(in map[string]tensor, scalars map[string]float64) []float32

func honestGemm(in map[string]tensor, _ map[string]float64) []float32 {
	a, b := in["a"], in["b"]
	m, k, n := a.shape[0], a.shape[1], b.shape[1]
	out := make([]float32, m*n)
	for i := range m {
		for j := range n {
			var sum float32
			for l := range k {
				sum += a.data[i*k+l] * b.data[l*n+j]
			}
			out[i*n+j] = sum
		}
	}
	return out
}

func exp32(x float32) float32 { return float32(math.Exp(float64(x))) }

func honestSoftmax(in map[string]tensor, _ map[string]float64) []float32 {
	x := in["x"]
	cols := x.shape[1]
	out := make([]float32, len(x.data))
	for r := range x.shape[0] {
		softmaxRow(out[r*cols:][:cols], x.data[r*cols:][:cols])
	}
	return out
}

func softmaxRow(out, x []float32) {
	greatest, sum := float32(math.Inf(-1)), float32(0)
	for _, v := range x {
		greatest = max(greatest, v)
	}
	for i, v := range x {
		out[i] = exp32(v - greatest)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
}

func honestLayernorm(in map[string]tensor, scalars map[string]float64) []float32 {
	x, gamma, beta := in["x"], in["gamma"].data, in["beta"].data
	cols := x.shape[1]
	out := make([]float32, len(x.data))
	for r := range x.shape[0] {
		row := x.data[r*cols:][:cols]
		var mean, variance float32
		for _, v := range row {
			mean += v
		}
		mean *= 1 / float32(cols)
		for _, v := range row {
			variance += (v - mean) * (v - mean)
		}
		inverse := 1 / float32(math.Sqrt(float64(variance/float32(cols)+float32(scalars["eps"]))))
		for c, v := range row {
			out[r*cols+int64(c)] = (v-mean)*inverse*gamma[c] + beta[c]
		}
	}
	return out
}

func attentionOf(row func(out, scores []float32), narrow func(float32) float32) kernel {
	return func(in map[string]tensor, scalars map[string]float64) []float32 {
		q, k, v := in["q"], in["k"], in["v"]
		s, d := q.shape[1], q.shape[2]
		out := make([]float32, len(q.data))
		weights, scores := make([]float32, s), make([]float32, s)
		for b := range q.shape[0] {
			for i := range s {
				seen := s
				if scalars["causal"] != 0 {
					seen = i + 1
				}
				for j := range seen {
					var dot float32
					for c := range d {
						dot += q.data[(b*s+i)*d+c] * k.data[(b*s+j)*d+c]
					}
					scores[j] = dot * float32(scalars["scale"])
				}
				row(weights[:seen], scores[:seen])
				for c := range d {
					var sum float32
					for j := range seen {
						sum += narrow(weights[j]) * v.data[(b*s+j)*d+c]
					}
					out[(b*s+i)*d+c] = sum
				}
			}
		}
		return out
	}
}

func honestSum(in map[string]tensor, _ map[string]float64) []float32 {
	var lanes [8]float32
	for i, v := range in["x"].data {
		lanes[i%8] += v
	}
	return []float32{((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))}
}

func honestMax(in map[string]tensor, _ map[string]float64) []float32 {
	greatest := float32(math.Inf(-1))
	for _, v := range in["x"].data {
		greatest = max(greatest, v)
	}
	return []float32{greatest}
}

func honestSaxpy(in map[string]tensor, scalars map[string]float64) []float32 {
	out := make([]float32, len(in["x"].data))
	for i, x := range in["x"].data {
		out[i] = float32(scalars["a"])*x + in["y"].data[i]
	}
	return out
}

func same(v float32) float32 { return v }

// sheets are problems of each operation; TYPE is replaced.
var sheets = map[string]string{
	"gemm": `
    args: [{name: a, dtype: TYPE, shape: [M, K]}, {name: b, dtype: TYPE, shape: [K, N]}, {name: out, dtype: TYPE, shape: [M, N], role: out}]
    oracle: gemm
    tolerance: {atol: ATOL}
    configs: {one: {M: 32, N: 64, K: 256}, two: {M: 65, N: 100, K: 100}}`,
	"softmax": `
    args: [{name: x, dtype: TYPE, shape: [ROWS, COLS]}, {name: out, dtype: TYPE, shape: [ROWS, COLS], role: out}]
    oracle: softmax
    configs: {one: {ROWS: 16, COLS: 1024}, two: {ROWS: 7, COLS: 100}}`,
	"layernorm": `
    args: [{name: x, dtype: TYPE, shape: [ROWS, COLS]}, {name: gamma, dtype: TYPE, shape: [COLS], init: {uniform: [0.5, 1.5]}}, {name: beta, dtype: TYPE, shape: [COLS]}, {name: out, dtype: TYPE, shape: [ROWS, COLS], role: out}, {name: eps, dtype: f32, value: 1e-5}]
    oracle: layernorm
    tolerance: {atol: ATOL}
    configs: {one: {ROWS: 16, COLS: 1024}, two: {ROWS: 7, COLS: 100}}`,
	"attention": `
    args: [{name: q, dtype: TYPE, shape: [B, S, D]}, {name: k, dtype: TYPE, shape: [B, S, D]}, {name: v, dtype: TYPE, shape: [B, S, D]}, {name: out, dtype: TYPE, shape: [B, S, D], role: out}, {name: scale, dtype: f32, value: "D ** -0.5"}, {name: causal, dtype: i32, value: CAUSAL}]
    oracle: attention
    tolerance: {atol: ATOL, rtol: RTOL}
    configs: {one: {B: 1, S: 128, D: 64, CAUSAL: 0}, two: {B: 3, S: 50, D: 64, CAUSAL: 0}}`,
	"attention_causal": `
    args: [{name: q, dtype: TYPE, shape: [B, S, D]}, {name: k, dtype: TYPE, shape: [B, S, D]}, {name: v, dtype: TYPE, shape: [B, S, D]}, {name: out, dtype: TYPE, shape: [B, S, D], role: out}, {name: scale, dtype: f32, value: "D ** -0.5"}, {name: causal, dtype: i32, value: 1}]
    oracle: attention_causal
    tolerance: {atol: ATOL, rtol: RTOL}
    configs: {one: {B: 1, S: 128, D: 64}, two: {B: 3, S: 50, D: 64}}`,
	"sum": `
    args: [{name: x, dtype: TYPE, shape: [N], init: {uniform: [0, 1]}}, {name: out, dtype: TYPE, shape: [1], role: out}]
    oracle: sum
    configs: {one: {N: 1500}, two: {N: 1001}}`,
	"max": `
    args: [{name: x, dtype: TYPE, shape: [N]}, {name: out, dtype: TYPE, shape: [1], role: out}]
    oracle: max
    configs: {one: {N: 20000}, two: {N: 1001}}`,
	"elementwise": `
    args: [{name: x, dtype: TYPE, shape: [N]}, {name: y, dtype: TYPE, shape: [N]}, {name: out, dtype: TYPE, shape: [N], role: out}, {name: a, dtype: f32, value: 2}]
    oracle: {elementwise: "a * x + y"}
    configs: {one: {N: 20000}, two: {N: 1001}}`,
}

var tolerances = map[dtype.Type][2]string{
	dtype.F32: {"2e-5", "1e-4"}, dtype.F16: {"2e-3", "1e-3"}, dtype.BF16: {"1.6e-2", "1e-2"},
	dtype.E4M3: {"0.125", "0.125"}, dtype.E5M2: {"0.125", "0.125"},
}

func sheetOf(t *testing.T, name string, typ dtype.Type) *spec.Spec {
	t.Helper()
	atol := tolerances[typ]
	if name == "gemm" { // of numbers that are about as large as sqrt(K)
		atol[0] = map[dtype.Type]string{dtype.F32: "2e-4", dtype.F16: "1e-2", dtype.BF16: "1e-1", dtype.E4M3: "1", dtype.E5M2: "1"}[typ]
	}
	body := strings.NewReplacer("TYPE", string(typ), "ATOL", atol[0], "RTOL", atol[1]).Replace(sheets[name])
	s, err := spec.Parse("pawl.yaml", []byte("version: 1\nkernels:\n  k:\n    source: k.cu\n    entry: k\n    launch: {grid: 1, block: 1}"+body+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compared runs a kernel on a trial and compares it with the float64 reference.
func compared(t *testing.T, p *Plan, trial Trial, run kernel) oracle.Difference {
	t.Helper()
	problem, err := p.Resolve(trial)
	if err != nil {
		t.Fatalf("%s: %v", trial.Name(), err)
	}
	var values []oracle.Value
	in, scalars := map[string]tensor{}, map[string]float64{}
	out := -1
	for i, a := range problem.Instance.Args {
		v := oracle.Value{Name: a.Name, Role: string(a.Role), Type: a.DType, Shape: a.Shape, Buffer: a.Buffer}
		switch {
		case !a.Buffer:
			v.Scalar, _ = a.Scalar.Float()
			scalars[a.Name] = v.Scalar
		case a.Role == spec.RoleOut:
			out = i
		default:
			fill := oracle.Fill{Kind: a.Init.Kind, Args: a.Init.Args}
			if fill.Kind == "" {
				fill = oracle.Defaults(a.DType)
			}
			v.Data = make([]byte, a.Bytes)
			oracle.Generate(v.Data, a.DType, fill, trial.key(i))
			data := make([]float32, a.Elements)
			for e := range data {
				data[e] = a.DType.Get(v.Data, e)
			}
			in[a.Name] = tensor{a.Shape, data}
		}
		values = append(values, v)
	}
	var want []byte
	if p.operation.name == elementwise {
		want = make([]byte, 8*problem.Instance.Args[out].Elements)
		for e, x := range in["x"].data {
			binary.LittleEndian.PutUint64(want[8*e:], math.Float64bits(scalars["a"]*float64(x)+float64(in["y"].data[e])))
		}
	} else {
		answers, err := oracle.Reference(p.operation.name, values)
		if err != nil {
			t.Fatal(err)
		}
		want = answers[out]
	}
	arg := problem.Instance.Args[out]
	got := make([]byte, arg.Bytes)
	for e, v := range run(in, scalars) {
		arg.DType.Put(got, e, v)
	}
	return oracle.Compare(oracle.Typed[[]byte]{Data: got, Type: arg.DType}, oracle.Typed[[]byte]{Data: want, Type: dtype.F64}, arg.Elements,
		oracle.Tolerance{Abs: problem.Atol, Rel: problem.Rtol})
}

var honest = map[string]kernel{
	"gemm": honestGemm, "softmax": honestSoftmax, "layernorm": honestLayernorm, "sum": honestSum, "max": honestMax, "elementwise": honestSaxpy,
	"attention": attentionOf(softmaxRow, same), "attention_causal": attentionOf(softmaxRow, same),
}

// More of them say more, and take longer: 60 of them pass too.
var seeds = flag.Int("seeds", 1, "how many seeds honest kernels are tried with")

func TestHonestKernelsPass(t *testing.T) {
	for name, run := range honest {
		for _, typ := range []dtype.Type{dtype.F32, dtype.F16, dtype.BF16, dtype.E4M3, dtype.E5M2} {
			t.Run(name+"/"+string(typ), func(t *testing.T) {
				t.Parallel()
				run := run
				s := sheetOf(t, name, typ)
				if typ != dtype.F32 && strings.HasPrefix(name, "attention") {
					// Weights in the narrow type, as tensor cores want them.
					weight := typ
					if typ.Size() == 1 {
						weight = dtype.F16
					}
					run = attentionOf(softmaxRow, func(v float32) float32 {
						var raw [2]byte
						weight.Put(raw[:], 0, v)
						return weight.Get(raw[:], 0)
					})
				}
				for seed := range *seeds {
					p := plan(t, s, Options{Seed: uint64(seed) + 10})
					for _, trial := range p.Trials {
						if d := compared(t, p, trial, run); d.Wrong > 0 {
							t.Errorf("%s %s: %+v", trial.Lane, trial.Name(), d)
						}
					}
				}
			})
		}
	}
}

// Each lane has a bug that it alone need not find, but must.
func TestLanesFindTheirBugs(t *testing.T) {
	lastTile := func(tile int64) kernel { // the rows beyond whole tiles are not computed
		return func(in map[string]tensor, s map[string]float64) []float32 {
			out := honestSoftmax(in, s)
			x := in["x"]
			for i := x.shape[0] / tile * tile * x.shape[1]; i < int64(len(out)); i++ {
				out[i] = 0
			}
			return out
		}
	}
	for name, test := range map[string]struct {
		sheet string
		typ   dtype.Type
		run   kernel
		lane  string
		fill  string
	}{
		"rest of the tiles": {"softmax", dtype.F32, lastTile(16), LaneShape, ""},
		"no maximum subtracted": {"softmax", dtype.F32, func(in map[string]tensor, _ map[string]float64) []float32 {
			out := make([]float32, len(in["x"].data))
			cols := in["x"].shape[1]
			for i, v := range in["x"].data {
				out[i] = exp32(v)
			}
			for r := range in["x"].shape[0] {
				var sum float32
				for _, v := range out[r*cols:][:cols] {
					sum += v
				}
				for c := range cols {
					out[r*cols+c] /= sum
				}
			}
			return out
		}, LaneValues, "large"},
		"no maximum subtracted, attention": {"attention", dtype.F32, attentionOf(func(out, x []float32) {
			var sum float32
			for i, v := range x {
				out[i] = exp32(v)
				sum += out[i]
			}
			for i := range out {
				out[i] /= sum
			}
		}, same), LaneValues, "large"},
		"maximum that begins at zero": {"max", dtype.F32, func(in map[string]tensor, s map[string]float64) []float32 {
			return []float32{max(0, honestMax(in, s)[0])}
		}, LaneValues, "negative"},
		"nothing where atol would hide it": {"gemm", dtype.F32, func(in map[string]tensor, s map[string]float64) []float32 {
			return make([]float32, len(honestGemm(in, s)))
		}, LaneValues, "tiny"},
		"one product left out": {"gemm", dtype.F16, func(in map[string]tensor, s map[string]float64) []float32 {
			out := honestGemm(in, s)
			a, b := in["a"], in["b"]
			for i := range a.shape[0] { // of each sum: one of them may be zero
				out[i*b.shape[1]] -= a.data[i*a.shape[1]+1] * b.data[b.shape[1]]
				out[i*b.shape[1]+1] -= a.data[i*a.shape[1]+1] * b.data[b.shape[1]+1]
			}
			return out
		}, LaneIntegers, "integers"},
		"last key left out": {"attention", dtype.F16, func(in map[string]tensor, s map[string]float64) []float32 {
			short := func(out, x []float32) {
				softmaxRow(out[:len(x)-1], x[:len(x)-1])
				out[len(x)-1] = 0
			}
			return attentionOf(short, same)(in, s)
		}, LaneIntegers, "integers"},
		"squares that overflow f16": {"layernorm", dtype.F16, func(in map[string]tensor, s map[string]float64) []float32 {
			out := honestLayernorm(in, s)
			for _, v := range in["x"].data {
				if v*v > 65504 {
					return make([]float32, len(out)) // 1/√∞
				}
			}
			return out
		}, LaneValues, "large"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, sheetOf(t, test.sheet, test.typ), Options{Seed: 7})
			tried, found := 0, 0
			for _, trial := range p.Trials {
				if trial.Lane == test.lane && trial.Fill == test.fill {
					tried++
					if compared(t, p, trial, test.run).Wrong > 0 {
						found++
					}
				}
			}
			if found == 0 {
				t.Errorf("%d trials of lane %s %s did not see it", tried, test.lane, test.fill)
			}
		})
	}
}

func TestFillsAreRefused(t *testing.T) {
	p := plan(t, sheetOf(t, "softmax", dtype.F32), Options{Plain: true})
	for fill, want := range map[string]string{"integers": "also rounds", "noise": "unknown distribution"} {
		trial := p.Trials[0]
		trial.Fill = fill
		if _, err := p.Resolve(trial); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", fill, err)
		}
	}
	trial := p.Trials[0].With("COLS", p.Trials[0].Vars[0].Value).With("ROWS", p.Trials[0].Vars[1].Value)
	if problem, err := p.Resolve(trial); err != nil || problem.Fill != "" || problem.Atol != 1e-5 {
		t.Errorf("%+v, %v", problem, err)
	}
}

// Exactness is checked again at every size: what Shrink makes of a trial may be
// another matter.
func TestExactOnlyWhereItIs(t *testing.T) {
	p := plan(t, sheetOf(t, "attention", dtype.F16), Options{})
	i := len(p.Trials) - 1
	if p.Trials[i].Lane != LaneIntegers || !p.Trials[i].Exact {
		t.Fatalf("last trial %+v", p.Trials[i])
	}
	for value, ok := range map[int64]bool{64: true, 63: false, 1: true, 4096: false} {
		trial := p.Trials[i].With("S", intValue(value))
		if _, err := p.Resolve(trial); (err == nil) != ok {
			t.Errorf("S=%d: %v", value, err)
		}
	}
}

func TestElementwiseReach(t *testing.T) {
	s := sheetOf(t, "elementwise", dtype.F16)
	in, err := s.Kernels[0].Default().At(s.Kernels[0].Configs[0])
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{
		"a * x + y": 6, "x - y": 4, "max(x, 0) * 3": 6, "min(x, y)": 2, "abs(x)": 2, "-x * -y - 1": 5,
		"exp(x)": -1, "x / y": -1, "x ** 2": -1, "0.5 * x": -1, "x if y > 0 else 0": -1, "sqrt(x)": -1,
	} {
		expr, err := formula.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := elementwiseReach(expr.Root(), in, 2)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func ExampleTrial_Name() {
	t := Trial{Lane: LaneIntegers, Fill: "integers", Exact: true, Vars: []spec.Var{{Name: "S", Value: intValue(448)}, {Name: "B", Value: intValue(16)}}}
	fmt.Println(t.Name())
	// Output: S=448 B=16 integers exact
}

package oracle_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// shape is shorter than a slice literal at every call.
func shape(sizes ...int64) []int64 { return sizes }

func input(name string, shape []int64, values ...float64) oracle.Value {
	return oracle.Value{Name: name, Role: "in", Type: dtype.F64, Shape: shape, Data: f64s(values...).Data, Buffer: true}
}

func inout(name string, shape []int64, values ...float64) oracle.Value {
	v := input(name, shape, values...)
	v.Role = "inout"
	return v
}

func output(name string, shape ...int64) oracle.Value {
	return oracle.Value{Name: name, Role: "out", Type: dtype.F32, Shape: shape, Buffer: true}
}

func scalar(name string, t dtype.Type, value float64) oracle.Value {
	return oracle.Value{Name: name, Type: t, Scalar: value}
}

// numbers draws values that no rounding of ours can make wrong by more than 1e-10.
func numbers(t *rapid.T, label string, count int64) []float64 {
	seed := rapid.Uint64().Draw(t, label)
	data := make([]byte, 8*count)
	oracle.Generate(data, dtype.F64, oracle.Defaults(dtype.F64), seed)
	values := make([]float64, count)
	oracle.Values(values, oracle.Typed[[]byte]{Data: data, Type: dtype.F64}, 0)
	return values
}

// pieces are sizes that cut the problems of these tests nowhere, somewhere and
// everywhere.
var pieces = []int{1 << 20, 1000, 1}

func product(shape []int64) int64 {
	count := int64(1)
	for _, size := range shape {
		count *= size
	}
	return count
}

func drawn(t *rapid.T, name string, shape []int64) oracle.Value {
	return input(name, shape, numbers(t, name, product(shape))...)
}

func read(data []byte) []float64 {
	values := make([]float64, len(data)/8)
	oracle.Values(values, oracle.Typed[[]byte]{Data: data, Type: dtype.F64}, 0)
	return values
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// compute asks a reference, or a formula after "= ", and returns its outputs in
// the order of the arguments.
func compute(t fataler, name string, args ...oracle.Value) [][]float64 {
	t.Helper()
	check := slices.Clone(args)
	for i := range check {
		check[i].Data = nil
	}
	var results map[int][]byte
	var err, checked error
	if expression, ok := strings.CutPrefix(name, "= "); ok {
		checked = oracle.CheckElementwise(expression, check)
		results, err = oracle.Elementwise(expression, args)
	} else {
		checked = oracle.CheckReference(name, check)
		results, err = oracle.Reference(name, args)
	}
	if err != nil || checked != nil {
		t.Fatalf("%s: %v, checked: %v", name, err, checked)
	}
	var outputs [][]float64
	for i, v := range args {
		if v.Role == "out" || v.Role == "inout" {
			if int64(len(results[i])) != 8*product(v.Shape) {
				t.Fatalf("%s: %s has %d bytes", name, v.Name, len(results[i]))
			}
			outputs = append(outputs, read(results[i]))
		}
	}
	return outputs
}

// near compares with NaN equal to NaN and infinities to themselves.
func near(t fataler, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range want {
		if got[i] == want[i] || math.IsNaN(got[i]) && math.IsNaN(want[i]) {
			continue
		}
		if !(math.Abs(got[i]-want[i]) <= 1e-12*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// NumPy's answers; testdata/reference.py made them.
func TestReferenceGolden(t *testing.T) {
	raw, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Title, Oracle string
		Args          []struct {
			Name, Role, Type string
			Shape            []int64
			Data             []float64
			Scalar           *float64
		}
		Want [][]float64
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		var args []oracle.Value
		for _, a := range c.Args {
			if a.Scalar != nil {
				args = append(args, scalar(a.Name, dtype.Type(a.Type), *a.Scalar))
				continue
			}
			v := input(a.Name, a.Shape, a.Data...)
			v.Role = a.Role
			args = append(args, v)
		}
		for i, got := range compute(t, c.Oracle, args...) {
			near(t, c.Title, got, c.Want[i])
		}
	}
	if len(cases) < 10 {
		t.Errorf("only %d cases", len(cases))
	}
}

// Whatever type holds the inputs, small integers are the same in it.
func TestReferenceReadsEveryType(t *testing.T) {
	values := []float64{1, 0, 3, 2, 2, 1, 0, 3, 1, 1, 2, 0}
	of := func(t dtype.Type) []byte {
		var data []byte
		for _, v := range values {
			one := binary.LittleEndian.AppendUint64(nil, uint64(v))
			if t.Float() {
				t.Put(one, 0, float32(v))
			}
			data = append(data, one[:t.Size()]...)
		}
		return data
	}
	problems := map[string][]oracle.Value{
		"attention": {input("q", shape(3, 4)), input("k", shape(3, 4)), input("v", shape(3, 4)), output("out", 3, 4)},
		"gemm":      {input("a", shape(4, 3)), input("b", shape(3, 4)), output("c", 4, 4)},
		"softmax":   {input("x", shape(3, 4)), output("out", 3, 4)},
		"layernorm": {input("x", shape(1, 12)), input("gamma", shape(12)), output("out", 1, 12)},
		"sum":       {input("x", shape(12)), output("out", 1)},
		"max":       {input("x", shape(3, 4)), output("out", 3)},
		"= x * 2":   {input("x", shape(12)), output("out", 12)},
	}
	for name, args := range problems {
		var want []float64
		for _, typ := range dtype.All {
			for i := range args {
				if args[i].Role == "in" {
					args[i].Type, args[i].Data = typ, of(typ)
				}
			}
			got := compute(t, name, args...)[0]
			if want == nil {
				want = got
			}
			near(t, name+" of "+string(typ), got, want)
		}
	}
}

// A scalar reaches the kernel in its own type, and the reference as well.
func TestReferenceRoundsScalars(t *testing.T) {
	x := input("x", shape(1), 1)
	third := float64(float32(1. / 3))
	near(t, "f32", compute(t, "= x * a", x, output("y", 1), scalar("a", dtype.F32, 1./3))[0], []float64{third})
	near(t, "f64", compute(t, "= x * a", x, output("y", 1), scalar("a", dtype.F64, 1./3))[0], []float64{1. / 3})
	near(t, "f16", compute(t, "= x * a", x, output("y", 1), scalar("a", dtype.F16, 1./3))[0], []float64{0.333251953125})
}

// The examples' own kernels are understood, at every config.
func TestReferenceUnderstandsTheExamples(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range []string{"../../examples/pawl.yaml", "../../examples/cuda/pawl.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := spec.Parse(file, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range s.Kernels {
			if k.Oracle == nil || k.Oracle.Builtin == "" {
				continue
			}
			seen[k.Oracle.Builtin] = true
			for _, c := range k.Configs {
				in, err := k.Default().At(c)
				if err != nil {
					t.Fatal(err)
				}
				var args []oracle.Value
				for _, a := range in.Args {
					v := oracle.Value{Name: a.Name, Role: string(a.Role), Type: a.DType, Shape: a.Shape, Buffer: a.Buffer}
					if !a.Buffer {
						v.Scalar, _ = a.Scalar.Float()
					}
					args = append(args, v)
				}
				if err := oracle.CheckReference(k.Oracle.Builtin, args); err != nil {
					t.Errorf("%s/%s: %v", k.Name, c.Name, err)
				}
			}
		}
	}
	for _, name := range spec.Oracles {
		if err := oracle.CheckReference(name, nil); err == nil || strings.Contains(err.Error(), "is called") {
			t.Errorf("%s: %v", name, err)
		}
		if !seen[name] && name != "max" {
			t.Errorf("no example uses %s", name)
		}
	}
}

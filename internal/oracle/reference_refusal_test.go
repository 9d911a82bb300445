package oracle_test

import (
	"strings"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
)

// Every refusal says what was expected, what was found, and what to do.
func TestReferenceRefuses(t *testing.T) {
	in := func(name string, sizes ...int64) oracle.Value { return input(name, sizes) }
	q, k, v := in("q", 2, 4, 8), in("k", 2, 4, 8), in("v", 2, 4, 8)
	held := inout("out", shape(2, 4))
	for _, tc := range []struct {
		name string
		args []oracle.Value
		want []string
	}{
		{"conv", nil, []string{`no built-in reference is called "conv"`, "attention, attention_causal, gemm"}},
		{"elementwise", nil, []string{"needs a formula", `oracle: {elementwise: "max(x, 0)"}`}},
		{"softmax", []oracle.Value{in("x", 4)}, []string{"there is no output", "role: out"}},
		{"softmax", []oracle.Value{output("out", 4)}, []string{"expected the inputs x, found none"}},
		{"softmax", []oracle.Value{in("x", 4), in("mask", 4), output("out", 4)}, []string{"does not know the input mask", "it knows x", "{kernel: name}"}},
		{"softmax", []oracle.Value{in("x", 4), output("out", 4), output("sums", 1)}, []string{"does not know the output sums beside out"}},
		{"softmax", []oracle.Value{in("x", 4), output("out", 5)}, []string{"x is [4] and out [5]", "equal shapes"}},
		{"softmax", []oracle.Value{in("x", 2, 4), held}, []string{"out has role inout", "role: out"}},
		{"softmax", []oracle.Value{in("x", 4), output("out", 4), scalar("temperature", dtype.F32, 2)}, []string{"f32 scalar temperature", "no scalars"}},
		{"softmax", []oracle.Value{in("x", 4, 0), output("out", 4, 0)}, []string{"x has the shape [4, 0]", "at least 1"}},
		{"softmax", []oracle.Value{in("x", 1<<40, 1<<40), output("out", 4)}, []string{"x has the shape [1099511627776, 1099511627776]"}},
		{"softmax", []oracle.Value{{Name: "x", Role: "in", Type: "f8", Shape: shape(4), Buffer: true}}, []string{`x has the unknown type "f8"`}},
		{"layernorm", []oracle.Value{in("x", 2, 4), in("gamma", 2), output("out", 2, 4)}, []string{"gamma is [2], expected [4]"}},
		{"layernorm", []oracle.Value{in("x", 2, 4), output("out", 2, 4), output("mean", 4)}, []string{"mean is [4], expected [2]"}},
		{"sum", []oracle.Value{in("x", 2, 4), output("out", 4)}, []string{"x is [2, 4] and out [4]", "one element"}},
		{"max", []oracle.Value{in("x", 2, 4), output("out", 1, 4)}, []string{"out [1, 4]"}},
		{"gemm", []oracle.Value{in("a", 2, 3), in("b", 4, 5), output("c", 2, 5)}, []string{"do not fit: a is [2, 3], b [4, 5] and c [2, 5]", "a [M, K], b [K, N]", "b_t"}},
		{"gemm", []oracle.Value{in("a", 2, 3), in("b_t", 3, 5), output("c", 2, 5)}, []string{"do not fit"}},
		{"gemm", []oracle.Value{in("a", 2, 3), in("b", 3), output("c", 2)}, []string{"each needs two dimensions"}},
		{"gemm", []oracle.Value{in("a", 6, 2, 3), in("b", 7, 3, 5), output("c", 6, 2, 5)}, []string{"leading dimensions"}},
		{"gemm", []oracle.Value{in("a", 2, 3), in("b", 3, 5), in("bias", 5), output("c", 2, 5)}, []string{"does not know the input bias", "a, b, optional c"}},
		{"gemm", []oracle.Value{in("a", 2, 3), in("b", 3, 4), in("c", 4), output("d", 2, 4)}, []string{"c is [4], expected [2, 4]"}},
		{"gemm", []oracle.Value{in("a", 2, 3), in("b", 3, 4), in("c", 2, 4), held}, []string{"both c and what out holds", "role: out"}},
		{"gemm", []oracle.Value{in("a", 2, 3), in("b", 3, 4), output("c", 2, 4), scalar("beta", dtype.F32, 1)}, []string{"beta is 1, and c has role out", "role: inout"}},
		{"gemm", []oracle.Value{in("a", 2, 3), output("c", 2, 4)}, []string{"expected the inputs a, b, optional c, found a"}},
		{"attention", []oracle.Value{q, k, in("v", 4, 8), output("out", 2, 4, 8)}, []string{"numbers of dimensions", "v [4, 8]"}},
		{"attention", []oracle.Value{q, in("k", 2, 4, 7), v, output("out", 2, 4, 8)}, []string{"last dimension", "k [2, 4, 7]"}},
		{"attention", []oracle.Value{q, k, in("v", 2, 5, 8), output("out", 2, 4, 8)}, []string{"differ in length"}},
		{"attention", []oracle.Value{in("q", 3, 4, 8), k, v, output("out", 3, 4, 8)}, []string{"heads of k do not divide"}},
		{"attention", []oracle.Value{in("q", 2, 2, 4, 8), in("k", 1, 2, 4, 8), in("v", 1, 2, 4, 8), output("out", 2, 2, 4, 8)}, []string{"leading dimensions"}},
		{"attention", []oracle.Value{q, k, v, output("out", 2, 4, 9)}, []string{"the output does not fit", "out [2, 4, 9]"}},
		{"attention", []oracle.Value{q, k, v, output("out", 2, 4, 8), output("lse", 2)}, []string{"lse is [2], expected [2, 4]"}},
		{"attention", []oracle.Value{q, k, v, output("out", 2, 4, 8), scalar("softcap", dtype.F32, 30)}, []string{"softcap", "causal, scale"}},
		{"attention_causal", []oracle.Value{q, k, v, output("out", 2, 4, 8), scalar("causal", dtype.I32, 0)}, []string{"causal is 0", "oracle: attention"}},
		{"= x +", []oracle.Value{in("x", 4), output("out", 4)}, []string{`"x +" at character 4: expected a value`}},
		{"= x & 1", []oracle.Value{in("x", 4), output("out", 4)}, []string{"at character 3", "works on integers"}},
		{"= x + z", []oracle.Value{in("x", 4), output("z", 4)}, []string{"uses z, which is not a readable argument", "use x"}},
		{"= x", []oracle.Value{in("x", 4)}, []string{"expected one output, found 0"}},
		{"= x", []oracle.Value{in("x", 4), output("y", 4), output("z", 4)}, []string{"found 2: y, z"}},
		{"= x", []oracle.Value{in("x", 2), output("y", 4)}, []string{"x is [2], expected [4] as the output y, or one element"}},
	} {
		var err error
		if expression, ok := strings.CutPrefix(tc.name, "= "); ok {
			err = oracle.CheckElementwise(expression, tc.args)
		} else {
			err = oracle.CheckReference(tc.name, tc.args)
		}
		if err == nil {
			t.Errorf("%s accepts %v", tc.name, tc.args)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", tc.name, err, want)
			}
		}
	}
}

// Sizes and scratch are nobody's business, and data is wanted whole.
func TestReferenceLooksAtWhatMatters(t *testing.T) {
	args := []oracle.Value{
		input("x", shape(2), 1, 2),
		{Name: "tmp", Role: "scratch", Type: dtype.F32, Shape: shape(0), Buffer: true},
		output("out", 1),
		scalar("n", dtype.I64, 2),
		{Name: "map"},
	}
	near(t, "sum", compute(t, "sum", args...)[0], []float64{3})
	args[0].Data = args[0].Data[:15]
	if _, err := oracle.Reference("sum", args); err == nil || !strings.Contains(err.Error(), "x has 15 bytes, and [2] of f64 are 16") {
		t.Errorf("%v", err)
	}
	if _, err := oracle.Elementwise("x + x", []oracle.Value{args[0], output("out", 2)}); err == nil || !strings.Contains(err.Error(), "x has 15 bytes") {
		t.Errorf("%v", err)
	}
	held := inout("out", shape(1))
	if _, err := oracle.Reference("sum", []oracle.Value{input("x", shape(1), 1), held}); err == nil || !strings.Contains(err.Error(), "out has 0 bytes") {
		t.Errorf("%v", err)
	}
}

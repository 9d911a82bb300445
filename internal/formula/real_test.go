package formula

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReal(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	names := []string{"x", "y", "nan", "inf"}
	values := []float64{-1.5, 4, nan, inf}
	for _, tc := range []struct {
		src  string
		want float64
	}{
		{"max(x, 0) * 2 + y", 4},
		{"1 / 2", 0.5},
		{"y / 0", inf},
		{"x / 0", -inf},
		{"0 / 0", nan},
		{"log(0)", -inf},
		{"sqrt(x)", nan},
		{"exp(1000)", inf},
		{"2 ** 100", 0x1p100},
		{"x ** 0.5", nan},
		{"9007199254740993 + 0", 9007199254740992},
		{"7 // 2 + -7 // 2", -1},
		{"y // 0", inf},
		{"y // inf", 0},
		{"x % y", 2.5},
		{"x % 0", nan},
		{"max(x, nan)", nan},
		{"max(nan, inf)", nan},
		{"min(nan, 0)", nan},
		{"min(y, x, 3)", -1.5},
		{"abs(x) + ceil(x) + floor(x) + int(x)", -2.5},
		{"-x + +y", 5.5},
		{"float(y > 0)", 1},
		{"x < 0 <= y < inf", 1},
		{"x < 0 <= y < nan", 0},
		{"nan == nan", 0},
		{"nan != nan", 1},
		{"not x", 0},
		{"not (x > 0)", 1},
		{"True == 1", 1},
		{"x > 0 or y > 0", 1},
		{"0 and nan", 0},
		{"x if x > 0 else 0.01 * x", -0.015},
		{"y if nan else 0", 4},
		{"0.5 * y * (1 + erf(y / sqrt(2)))", 4 * 0.9999683287581669},
		{"y / (1 + exp(-y))", 4 / (1 + math.Exp(-4))},
		{"tanh(inf) + cos(0) + sin(0) + log2(y) + log(1)", 4},
	} {
		expr, err := Parse(tc.src)
		if err != nil {
			t.Fatal(err)
		}
		real, err := expr.CompileReal(names)
		if err != nil {
			t.Errorf("%s: %v", tc.src, err)
			continue
		}
		got := real.Eval(values)
		if got != tc.want && !(math.IsNaN(got) && math.IsNaN(tc.want)) && math.Abs(got-tc.want) > 1e-15*math.Abs(tc.want) {
			t.Errorf("%s = %v, want %v", tc.src, got, tc.want)
		}
	}
}

func TestRealErrors(t *testing.T) {
	const toInt = "int(x) turns a boolean into 0 or 1"
	for _, tc := range []struct {
		src  string
		want Error
	}{
		{"x + z", Error{Offset: 4, Width: 1, Message: `unknown name "z"`, Name: "z"}},
		{"x & 1", Error{Offset: 2, Width: 1, Message: `"&" works on integers, and these are floats`}},
		{"2 * ceildiv(x, 4)", Error{Offset: 4, Width: 7, Message: "ceildiv works on integers, and these are floats"}},
		{"~x", Error{Offset: 0, Width: 1, Message: `"~" works on integers, and these are floats`}},
		{"next_pow2(x)", Error{Offset: 0, Width: 9, Message: "next_pow2 works on integers, and these are floats"}},
		{"x == 'f16'", Error{Offset: 5, Width: 5, Message: `the string "f16" has no place among numbers`}},
		{"(x > 0) * x", Error{Offset: 8, Width: 1, Message: `"*" needs numbers, not a boolean`, Hint: toInt}},
		{"abs(x > 0)", Error{Offset: 0, Width: 3, Message: `abs needs numbers, not a boolean`, Hint: toInt}},
		{"0 < (x > 0) < 1", Error{Offset: 2, Width: 1, Message: `"<" needs numbers, not a boolean`, Hint: toInt}},
		{"x > 0 and x", Error{Offset: 6, Width: 3, Message: `"and" would give a number here and a boolean there`, Hint: toInt}},
		{"x if x else x > 0", Error{Offset: 2, Width: 2, Message: `"if" would give a number here and a boolean there`, Hint: toInt}},
	} {
		expr, err := Parse(tc.src)
		if err != nil {
			t.Fatal(err)
		}
		var got *Error
		if _, err := expr.CompileReal([]string{"x"}); !errors.As(err, &got) {
			t.Errorf("%s: %v", tc.src, err)
		} else if diff := cmp.Diff(tc.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.src, diff)
		}
	}
}

// Every function is either one of real numbers or refused by name.
func TestRealKnowsEveryFunction(t *testing.T) {
	integers := map[string]bool{"ceildiv": true, "gcd": true, "next_pow2": true, "round_up": true}
	for name, f := range functions {
		if f.one != nil && (f.one.real == nil) != integers[name] || f.two != nil && (f.two.real == nil) != integers[name] {
			t.Errorf("%s", name)
		}
	}
	for symbol, in := range infixes {
		bits := in.power >= powerBitOr && in.power <= powerShift
		if in.op != nil && (in.op.real == nil) != bits {
			t.Errorf("%s", symbol)
		}
	}
}

// Where the language of sizes has a result on floats, this is the same one.
func TestRealAgreesWithEval(t *testing.T) {
	names := []string{"a", "b"}
	atoms := rapid.OneOf(rapid.SampledFrom(names), rapid.Map(rapid.Float64Range(-4, 4), func(f float64) string { return "(" + formatFloat(f) + ")" }))
	var tree func(depth int) *rapid.Generator[string]
	tree = func(depth int) *rapid.Generator[string] {
		if depth == 0 {
			return atoms
		}
		return rapid.Custom(func(t *rapid.T) string {
			x, y := tree(depth-1).Draw(t, "x"), tree(depth-1).Draw(t, "y")
			switch shape := rapid.SampledFrom([]string{
				"+", "-", "*", "/", "//", "%", "**", "min", "max", "and", "or", "if", "chain", "abs", "exp", "log", "tanh", "float",
			}).Draw(t, "shape"); shape {
			case "min", "max":
				return shape + "(" + x + ", " + y + ")"
			case "abs", "exp", "log", "tanh", "float":
				return shape + "(" + x + ")"
			case "if":
				return "(" + x + " if " + x + " < " + y + " else " + y + ")"
			case "chain":
				return "float(-1.0 < " + x + " <= " + y + ")"
			default:
				return "(" + x + " " + shape + " " + y + ")"
			}
		})
	}
	decided := 0
	rapid.Check(t, func(t *rapid.T) {
		src := tree(rapid.IntRange(0, 4).Draw(t, "depth")).Draw(t, "formula")
		a, b := rapid.Float64Range(-8, 8).Draw(t, "a"), rapid.Float64Range(-8, 8).Draw(t, "b")
		expr, err := Parse(src)
		if err != nil {
			t.Skip(err)
		}
		program, err := expr.Compile(names)
		if err != nil {
			t.Fatal(err)
		}
		real, err := expr.CompileReal(names)
		if err != nil {
			t.Fatal(err)
		}
		want, err := program.Eval([]Value{Float(a), Float(b)})
		if err != nil {
			return
		}
		decided++
		if got := real.Eval([]float64{a, b}); got != want.number() {
			t.Fatalf("%s with a=%v b=%v is %v, Eval says %s", src, a, b, got, want)
		}
	})
	if decided == 0 {
		t.Error("no formula had a result")
	}
}

// A formula is a truth where all ways through it end in one.
func TestTruth(t *testing.T) {
	for src, want := range map[string]bool{
		"x > 0": true, "x": false, "1": false, "True": true, "not x": true, "x > 0 or x < -1": true, "x or 1": false, "1 < x < 2": true,
		"x > 0 if x else x < 0": true, "x if x > 0 else 1": false, "int(x > 0)": false, "max(x, 1)": false,
	} {
		expr, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		r, err := expr.CompileReal([]string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Truth() != want {
			t.Errorf("%s: %t", src, r.Truth())
		}
	}
}

package formula

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestValueAccessors(t *testing.T) {
	type read struct {
		kind    Kind
		i       int64
		isInt   bool
		f       float64
		isFloat bool
		b       bool
		isBool  bool
		s       string
		isText  bool
	}
	tests := []struct {
		value Value
		want  read
	}{
		{Value{}, read{kind: KindInt, isInt: true, isFloat: true}},
		{Int(-7), read{kind: KindInt, i: -7, isInt: true, f: -7, isFloat: true}},
		{Int(math.MinInt64), read{kind: KindInt, i: math.MinInt64, isInt: true, f: -0x1p63, isFloat: true}},
		{Float(2), read{kind: KindFloat, f: 2, isFloat: true}},
		{Float(-0.5), read{kind: KindFloat, f: -0.5, isFloat: true}},
		{Bool(true), read{kind: KindBool, b: true, isBool: true}},
		{Bool(false), read{kind: KindBool, isBool: true}},
		{String("f16"), read{kind: KindString, s: "f16", isText: true}},
		{String(""), read{kind: KindString, isText: true}},
	}
	for _, test := range tests {
		got := read{kind: test.value.Kind()}
		got.i, got.isInt = test.value.Int()
		got.f, got.isFloat = test.value.Float()
		got.b, got.isBool = test.value.Bool()
		got.s, got.isText = test.value.Text()
		if got != test.want {
			t.Errorf("%#v reads as %+v, want %+v", test.value, got, test.want)
		}
	}
}

func TestValueEquality(t *testing.T) {
	values := []Value{
		Int(0), Int(1), Int(-1), Float(0), Float(1), Bool(false), Bool(true),
		String(""), String("0"), String("1"), String("True"),
	}
	again := []Value{
		Int(0), Int(1), Int(-1), Float(0), Float(1), Bool(false), Bool(true),
		String(""), String("0"), String("1"), String(string([]byte("True"))),
	}
	for i, a := range values {
		for j, b := range again {
			if (a == b) != (i == j) {
				t.Errorf("%v %s == %v %s is %v", a.Kind(), a, b.Kind(), b, a == b)
			}
		}
	}
}

func TestValueString(t *testing.T) {
	tests := []struct {
		value Value
		want  string
	}{
		{Int(64), "64"},
		{Int(math.MinInt64), "-9223372036854775808"},
		{Float(0.125), "0.125"},
		{Float(2), "2.0"},
		{Float(-2), "-2.0"},
		{Float(0), "0.0"},
		{Float(math.Copysign(0, -1)), "-0.0"},
		{Float(0.1), "0.1"},
		{Float(1234567), "1234567.0"},
		{Float(1e15), "1000000000000000.0"},
		{Float(1e16), "1e+16"},
		{Float(1.5e300), "1.5e+300"},
		{Float(0.0001), "0.0001"},
		{Float(0.00001), "1e-05"},
		{Float(math.Inf(1)), "inf"},
		{Float(math.Inf(-1)), "-inf"},
		{Float(math.NaN()), "nan"},
		{Bool(true), "True"},
		{Bool(false), "False"},
		{String("f16"), "f16"},
	}
	for _, test := range tests {
		if got := test.value.String(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[Kind]string{
		KindInt: "integer", KindFloat: "float", KindBool: "boolean", KindString: "string",
	} {
		if kind.String() != want {
			t.Errorf("got %s, want %s", kind, want)
		}
	}
}

// A number is written so that a formula reads the very same value back.
func TestValueStringReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(
			rapid.Map(rapid.Int64(), Int),
			rapid.Map(rapid.Float64(), Float),
			rapid.Map(rapid.Bool(), Bool),
		).Draw(t, "value")
		expr, err := Parse(value.String())
		if err != nil {
			t.Fatalf("parse %s: %v", value, err)
		}
		program, err := expr.Compile(nil)
		if err != nil {
			t.Fatalf("compile %s: %v", value, err)
		}
		if got, err := program.Eval(nil); err != nil || got != value {
			t.Fatalf("%s reads back as %v, %v", value, got, err)
		}
	})
}

// Evaluation passes Values in registers; a fourth word would slow it down.
func TestValueIsThreeWords(t *testing.T) {
	if size := reflect.TypeFor[Value]().Size(); size > 24 {
		t.Errorf("a Value has %d bytes", size)
	}
}

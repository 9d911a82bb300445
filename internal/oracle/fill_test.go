package oracle

import (
	"math"
	"strings"
	"testing"

	"pawl/internal/dtype"
)

func TestDefaultsAreRight(t *testing.T) {
	for _, typ := range dtype.All {
		if err := CheckFill(typ, Defaults(typ)); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
	for typ, want := range map[dtype.Type]Fill{
		dtype.F16: {Normal, []float64{0, 1}},
		dtype.I8:  {Integers, []float64{-8, 8}},
		dtype.U64: {Integers, []float64{0, 15}},
	} {
		got := Defaults(typ)
		if got.Kind != want.Kind || got.Args[0] != want.Args[0] || got.Args[1] != want.Args[1] {
			t.Errorf("%s: %v, want %v", typ, got, want)
		}
	}
}

func TestCheckFill(t *testing.T) {
	args := func(values ...float64) []float64 { return values }
	for _, test := range []struct {
		typ  dtype.Type
		fill Fill
		want string // in the error; empty: none
	}{
		{dtype.F32, Fill{Normal, args(0, 1)}, ""},
		{dtype.F32, Fill{Normal, args(0, 0)}, ""},
		{dtype.F32, Fill{Uniform, args(2, 2)}, ""},
		{dtype.F16, Fill{Uniform, args(-65504, 65504)}, ""},
		{dtype.I8, Fill{Integers, args(-128, 127)}, ""},
		{dtype.I64, Fill{Integers, args(-0x1p53, 0x1p53)}, ""},
		{dtype.U64, Fill{Constant, args(0x1p53)}, ""},
		{dtype.E4M3, Fill{Constant, args(448)}, ""},
		{dtype.U8, Fill{Zero, nil}, ""},
		{dtype.U8, Fill{Iota, args()}, ""},
		{dtype.F16, Fill{Rows, args(0, 1, 1)}, ""},
		{dtype.E4M3, Fill{Outliers, args(0, 1, 64, -50)}, ""},
		{dtype.F64, Fill{Specials, args(0, 1, 0x1p53)}, ""},

		{"f8", Fill{Zero, nil}, `unknown type "f8"`},
		{dtype.F32, Fill{"nromal", nil}, `unknown fill "nromal": expected one of normal, uniform, integers, constant, zero, iota, rows, outliers, specials`},
		{dtype.F32, Fill{Normal, args(1)}, "fill normal takes 2 arguments (mean, std), not 1"},
		{dtype.F32, Fill{Constant, nil}, "fill constant takes one argument (value), not 0"},
		{dtype.F32, Fill{Zero, args(1)}, "fill zero takes no arguments, not 1"},
		{dtype.F32, Fill{Constant, args(math.NaN())}, "finite numbers"},
		{dtype.F32, Fill{Uniform, args(0, math.Inf(1))}, "finite numbers"},
		{dtype.F32, Fill{Uniform, args(2, 1)}, "fill uniform of f32: low 2 is above high 1"},
		{dtype.I32, Fill{Integers, args(2, 1)}, "low 2 is above high 1"},
		{dtype.F32, Fill{Normal, args(0, -1)}, "std -1 is negative"},
		{dtype.I32, Fill{Normal, args(0, 1)}, "integer types take integers"},
		{dtype.U8, Fill{Uniform, args(0, 1)}, "integer types take integers"},
		{dtype.F32, Fill{Integers, args(0, 1.5)}, "1.5 is not a whole number"},
		{dtype.I64, Fill{Integers, args(0, 0x1p54)}, "not a whole number of at most 2^53"},
		{dtype.I32, Fill{Constant, args(0.5)}, "0.5 is not a whole number"},
		{dtype.U8, Fill{Integers, args(-1, 5)}, "out of its range, 0 to 255"},
		{dtype.U8, Fill{Constant, args(256)}, "out of its range, 0 to 255"},
		{dtype.F16, Fill{Constant, args(1e5)}, "out of its range"},
		{dtype.E4M3, Fill{Normal, args(0, 100)}, "out of its range, -448 to 448"},
		{dtype.E4M3, Fill{Integers, args(0, 500)}, "out of its range, -448 to 448"},
		{dtype.F32, Fill{Rows, args(0, 1)}, "fill rows takes 3 arguments (mean, std, width), not 2"},
		{dtype.I32, Fill{Specials, args(0, 1, 9)}, "integer types take integers"},
		{dtype.F32, Fill{Rows, args(0, 1, 0)}, "width 0 is below 1"},
		{dtype.F32, Fill{Specials, args(0, 1, -3)}, "every -3 is below 1"},
		{dtype.F32, Fill{Outliers, args(0, 1, 1.5, 2)}, "1.5 is not a whole number"},
		{dtype.F32, Fill{Outliers, args(0, -1, 1, 2)}, "std -1 is negative"},
		{dtype.E4M3, Fill{Outliers, args(0, 1, 64, -100)}, "out of its range, -448 to 448"},
		{dtype.F32, Fill{Uniform, args(-3e38, 3e38)}, "wider than its arithmetic holds"},
		{dtype.F64, Fill{Uniform, args(-1e308, 1e308)}, "wider than its arithmetic holds"},
	} {
		err := CheckFill(test.typ, test.fill)
		switch {
		case err == nil && test.want != "":
			t.Errorf("%s %v: no error, want %q", test.typ, test.fill, test.want)
		case err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s %v: got %q, want %q", test.typ, test.fill, err, test.want)
		}
	}
}

package verify

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/oracle"
	"pawl/internal/worker/wire"
)

// Inputs from the middle of their range are inputs that a kernel may get anyway.
func TestNarrowed(t *testing.T) {
	arg := func(dtype, role, kind string, params ...float64) wire.Arg {
		return wire.Arg{Name: "x", DType: dtype, Buffer: true, Count: 9, Role: role, Init: kind, Params: params}
	}
	for _, tc := range []struct {
		name string
		arg  wire.Arg
		kind string // "": it stays as it is
		want []float64
	}{
		{"uniform", arg("f16", "in", oracle.Uniform, 0, 1), oracle.Uniform, []float64{0.25, 0.75}},
		{"in place", arg("f32", "inout", oracle.Uniform, -2, 2), oracle.Uniform, []float64{-1, 1}},
		{"whole", arg("i32", "in", oracle.Integers, 0, 10), oracle.Integers, []float64{3, 7}},
		{"three numbers", arg("u8", "in", oracle.Integers, 0, 2), oracle.Integers, []float64{1, 1}},
		{"two numbers have no middle", arg("u8", "in", oracle.Integers, 0, 1), "", nil},
		{"one number", arg("f32", "in", oracle.Uniform, 3, 3), "", nil},
		{"nothing said", arg("f32", "in", ""), oracle.Normal, []float64{0, 0.25}},
		{"nothing said of whole ones", arg("u8", "in", ""), oracle.Integers, []float64{4, 11}},
		{"not drawn", arg("f32", "in", oracle.Iota), "", nil},
		{"an output", arg("f32", "out", ""), "", nil},
	} {
		got, some := narrowed([]wire.Arg{{Name: "n", DType: "i64", Value: "9"}, tc.arg})
		want := tc.arg
		if tc.kind != "" {
			want.Init, want.Params = tc.kind, tc.want
		}
		if diff := cmp.Diff(want, got[1]); diff != "" || some != (tc.kind != "") {
			t.Errorf("%s: %t\n%s", tc.name, some, diff)
		}
	}
}

package trial

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"pawl/internal/oracle"
	"pawl/internal/spec"
)

func wholeSheet(t *testing.T, args, oracle string) *spec.Spec {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", fmt.Appendf(nil, `version: 1
kernels:
  k:
    source: k.c
    entry: k
    args: %s
    oracle: %s
    configs: {a: {M: 37, N: 53, K: 101}, b: {M: 64, N: 64, K: 128}}
`, args, oracle))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whole numbers lie as far apart as what is computed of them fits, and no further.
func TestFarApart(t *testing.T) {
	const two = "[{name: x, dtype: %s, shape: [N]}, {name: y, dtype: %s, shape: [N]}, {name: o, dtype: %s, shape: [N], role: out}]"
	const one = "[{name: x, dtype: %s, shape: [M, N]}, {name: o, dtype: %s, shape: [M], role: out}]"
	gemm := func(types ...any) string {
		return fmt.Sprintf("[{name: a, dtype: %s, shape: [M, K]}, {name: b, dtype: %s, shape: [K, N]}, {name: c, dtype: %s, shape: [M, N], role: out}]", types...)
	}
	for _, test := range []struct{ args, oracle, want string }{
		{gemm("i32", "i32", "i32"), "gemm", "integers(-4095, 4095)"},
		{gemm("i8", "i8", "i32"), "gemm", "integers(-127, 127)"},
		{gemm("u8", "i8", "i32"), "gemm", "integers(0, 255) and integers(-128, 127)"},
		{gemm("i32", "i32", "i64"), "gemm", "integers(-32767, 32767)"}, // products in int
		{gemm("i8", "i8", "f32"), "gemm", "integers(-127, 127)"},
		{fmt.Sprintf(one, "i32", "i64"), "sum", "integers(-1073741823, 1073741823)"},
		{fmt.Sprintf(one, "i32", "i32"), "sum", "integers(-16777215, 16777215)"},
		{fmt.Sprintf(one, "i32", "i32"), "max", "integers(-2147483648, 2147483647)"},
		{fmt.Sprintf(one, "u8", "u8"), "max", "integers(0, 255)"},
		{fmt.Sprintf(one, "i64", "i64"), "max", "integers(-9007199254740992, 9007199254740992)"},
		{fmt.Sprintf(two, "i32", "i32", "i32"), "{elementwise: x * y + 3}", "integers(-32767, 32767)"},
		{fmt.Sprintf(two, "i64", "i64", "i64"), "{elementwise: x * x * x + 7}", "integers(-131071, 131071)"},
		{fmt.Sprintf(two, "u8", "u8", "u8"), "{elementwise: x + y}", "integers(0, 127)"},
		{fmt.Sprintf(two, "u8", "u8", "u8"), "{elementwise: x - y}", "answers may be negative"},
		{fmt.Sprintf(two, "i8", "i8", "i8"), "{elementwise: x * y}", "is too small"},
		{fmt.Sprintf(two, "i32", "i32", "i32"), "{elementwise: x // 3}", "the size of its answers is unknown"},
		{strings.Replace(fmt.Sprintf(one, "i32", "i64"), "[M, N]}", "[M, N], init: {integers: [0, 3]}}", 1), "sum", "have an init in pawl.yaml"},
		{fmt.Sprintf(one, "i32", "i64"), `{python: "refs:f"}`, "is not built in"},
	} {
		p := plan(t, wholeSheet(t, test.args, test.oracle), Options{Seed: 3})
		last := p.Trials[len(p.Trials)-1]
		got := strings.Join(p.Notes, "\n")
		if last.Lane == LaneIntegers {
			problem, err := p.Resolve(last)
			if err != nil || !last.Exact {
				t.Fatal(err)
			}
			got = problem.Fill
		} else if !strings.Contains(got, "integers that are further apart are not tried: ") {
			t.Errorf("%s of %s: no note", test.oracle, test.args)
		}
		if got != test.want && (last.Lane == LaneIntegers || !strings.Contains(got, test.want)) {
			t.Errorf("%s of %s: %q, want %q", test.oracle, test.args, got, test.want)
		}
	}
}

// Sums in the output's type are right, and those of a narrower one are not.
func TestFarApartTellsTypesApart(t *testing.T) {
	p := plan(t, wholeSheet(t, "[{name: a, dtype: i32, shape: [M, K]}, {name: b, dtype: i32, shape: [K, N]}, {name: c, dtype: i32, shape: [M, N], role: out}]", "gemm"), Options{Seed: 3})
	trial := p.Trials[len(p.Trials)-1]
	_, values := filled(t, p, trial)
	want, err := oracle.Reference("gemm", values)
	if err != nil {
		t.Fatal(err)
	}
	at := func(v oracle.Value, i int64) int32 { return int32(binary.LittleEndian.Uint32(v.Data[4*i:])) }
	m, k, n := values[0].Shape[0], values[0].Shape[1], values[1].Shape[1]
	narrow := 0
	for i := range m {
		for j := range n {
			var wide int32
			var short int16
			for l := range k {
				wide += at(values[0], i*k+l) * at(values[1], l*n+j)
				short += int16(at(values[0], i*k+l)) * int16(at(values[1], l*n+j))
			}
			right := math.Float64frombits(binary.LittleEndian.Uint64(want[2][8*(i*n+j):]))
			if float64(wide) != right {
				t.Fatalf("%d, %d: %d, want %v", i, j, wide, right)
			}
			if float64(short) != right {
				narrow++
			}
		}
	}
	if narrow == 0 {
		t.Error("sums of 16 bits pass")
	}
}

package cell

import (
	"encoding/binary"
	"math"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/worker/wire"
)

func f64s(values ...float64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// Right answers to other data are equal where the output's type cannot distinguish them; a kernel
// that gives one answer to both is then not suspicious.
func TestAlike(t *testing.T) {
	problem := func(kind dtype.Type, count int64) []wire.Arg {
		return []wire.Arg{
			{Name: "x", DType: string(kind), Buffer: true, Count: count, Shape: []int64{count}, Role: "in", Init: "uniform", Params: []float64{0, 1}},
			{Name: "y", DType: string(kind), Buffer: true, Count: 1, Shape: []int64{1}, Role: "out"},
		}
	}
	other := 1
	for _, tc := range []struct {
		name   string
		oracle string
		kind   dtype.Type
		count  int64
		alike  bool
	}{
		{"the greatest of many", "max", dtype.F16, 100_000, true},
		{"the greatest of many, of more precision", "max", dtype.F32, 100_000, false},
		{"a sum that the type does not hold", "sum", dtype.F16, 1 << 20, true},
		{"a sum", "sum", dtype.F32, 1 << 20, false},
	} {
		reply, err := (&bench{}).judge(&wire.Judge{Oracle: tc.oracle, Args: problem(tc.kind, tc.count), Seed: 3, Other: &other})
		if err != nil || len(reply.Outputs) != 1 || (reply.Outputs[0].Wrong == 0) != tc.alike {
			t.Errorf("%s: %+v, %v", tc.name, reply, err)
		}
	}
	for _, tc := range []struct {
		name     string
		kind     dtype.Type
		one, two float64 // what a reference in double precision says
		alike    bool
	}{
		{"one rounded number", dtype.F16, 0.50001, 0.50002, true},
		{"neighbours", dtype.BF16, 0.5, 0.503, true},
		{"two numbers", dtype.F16, 0.5, 0.51, false},
		{"what no f32 holds", dtype.F32, 1, 1 + 1e-9, true},
		{"too small for the type", dtype.F16, 1e-9, 1e-10, true},
		{"too large for the type", dtype.F16, 1e6, 1e7, true},
		{"rounded to whole numbers", dtype.U8, 127.4, 127.6, true},
		{"whole numbers", dtype.U8, 127, 129, false},
		{"double precision", dtype.F64, 1, 1 + 1e-9, false},
	} {
		reply, err := (&bench{}).judge(&wire.Judge{
			Args: problem(tc.kind, 4), Other: &other,
			Want: []wire.Buffer{{Arg: 1, Path: output(t, f64s(tc.one)), DType: "f64"}}, Got: []wire.Buffer{{Arg: 1, Path: output(t, f64s(tc.two)), DType: "f64"}},
		})
		if err != nil || (reply.Outputs[0].Wrong == 0) != tc.alike {
			t.Errorf("%s: %+v, %v", tc.name, reply, err)
		}
	}
	m := &wire.Judge{Args: problem(dtype.F32, 4), Other: &other, Want: []wire.Buffer{{Arg: 1, Path: output(t, f64s(1)), DType: "f64"}}}
	if _, err := (&bench{}).judge(m); err == nil {
		t.Error("the oracle has no answer to the other data, and that passes")
	}
}

package oracle_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
)

func f64s(values ...float64) oracle.Typed[[]byte] {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
	}
	return oracle.Typed[[]byte]{Data: data, Type: dtype.F64}
}

func f16s(values ...float32) oracle.Typed[[]byte] {
	data := make([]byte, 2*len(values))
	for i, v := range values {
		dtype.F16.Put(data, i, v)
	}
	return oracle.Typed[[]byte]{Data: data, Type: dtype.F16}
}

func ints(t dtype.Type, values ...uint64) oracle.Typed[[]byte] {
	var data []byte
	for _, v := range values {
		data = append(data, binary.LittleEndian.AppendUint64(nil, v)[:t.Size()]...)
	}
	return oracle.Typed[[]byte]{Data: data, Type: t}
}

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	nan32, inf32 := float32(nan), float32(inf)
	for _, tc := range []struct {
		name      string
		out, want oracle.Typed[[]byte]
		tol       oracle.Tolerance
		found     oracle.Difference
	}{
		{"equal", f16s(1, -2), f64s(1, -2), oracle.Tolerance{}, oracle.Difference{Count: 2, WantSquare: 5}},
		{"inside", f16s(1.5), f64s(1), oracle.Tolerance{Abs: 0.25, Rel: 0.25}, oracle.Difference{Count: 1, MaxAbs: 0.5, MaxRel: 0.5, Square: 0.25, WantSquare: 1}},
		{"outside", f16s(1.5), f64s(1), oracle.Tolerance{Abs: 0.25, Rel: 0.24}, oracle.Difference{Count: 1, Wrong: 1, MaxAbs: 0.5, MaxRel: 0.5, Square: 0.25, WantSquare: 1}},
		{"NaN on one side", f16s(nan32, 1), f64s(1, nan), oracle.Tolerance{Abs: inf}, oracle.Difference{Count: 2, Wrong: 2, NaNs: 1}},
		{"NaN on both", f16s(nan32), f64s(nan), oracle.Tolerance{}, oracle.Difference{Count: 1, NaNs: 1}},
		{"infinite", f16s(inf32, inf32, 1), f64s(inf, -inf, inf), oracle.Tolerance{Abs: inf}, oracle.Difference{Count: 3, Wrong: 2}},
		{"more than f16 holds", f16s(inf32, 65504, -inf32), f64s(65520, 65519, -1e300), oracle.Tolerance{Abs: 15}, oracle.Difference{
			Count: 3, MaxAbs: 15, MaxRel: 15. / 65519, Square: 225, WantSquare: 65519 * 65519,
		}},
		{"a reference of zero", f16s(0.5), f64s(0), oracle.Tolerance{Abs: 1}, oracle.Difference{Count: 1, MaxAbs: 0.5, Square: 0.25}},
		{"wrong, and a reference of zero", f16s(27, 1.5), f64s(0, 1), oracle.Tolerance{Abs: 1}, oracle.Difference{
			Count: 2, Wrong: 1, MaxAbs: 27, MaxRel: inf, Square: 27*27 + 0.25, WantSquare: 1,
		}},
		{"nothing but zeros, and right", ints(dtype.I32, 0), ints(dtype.I32, 0), oracle.Tolerance{}, oracle.Difference{Count: 1}},
		{"signed bytes", ints(dtype.I8, 0xff), ints(dtype.I8, 1), oracle.Tolerance{}, oracle.Difference{Count: 1, Wrong: 1, MaxAbs: 2, MaxRel: 2, Square: 4, WantSquare: 1}},
		{"unsigned bytes", ints(dtype.U8, 0xff), ints(dtype.U8, 0xff), oracle.Tolerance{}, oracle.Difference{Count: 1, WantSquare: 255 * 255}},
		{
			"one apart, beyond what float64 tells apart", ints(dtype.I64, 1<<62+1), ints(dtype.I64, 1<<62),
			oracle.Tolerance{},
			oracle.Difference{Count: 1, Wrong: 1, MaxAbs: 1, MaxRel: 0x1p-62, Square: 1, WantSquare: 0x1p124},
		},
	} {
		got := oracle.Compare(tc.out, tc.want, tc.found.Count, tc.tol)
		if diff := cmp.Diff(tc.found, got, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// Whatever is compared with itself is equal, and however it is cut into parts the
// numbers are those of all elements.
func TestCompareWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(dtype.All).Draw(t, "type")
		count := rapid.Int64Range(1, 200_000).Draw(t, "count")
		data := make([]byte, count*int64(typ.Size()))
		oracle.Generate(data, typ, oracle.Defaults(typ), rapid.Uint64().Draw(t, "key"))
		same := oracle.Typed[[]byte]{Data: data, Type: typ}
		if got := oracle.Compare(same, same, count, oracle.Tolerance{}); got.Wrong != 0 || got.MaxAbs != 0 || got.Count != count {
			t.Fatalf("%+v", got)
		}
		other := oracle.Typed[[]byte]{Data: append([]byte{}, data...), Type: typ}
		at := rapid.Int64Range(0, count-1).Draw(t, "at")
		if typ == dtype.F64 {
			binary.LittleEndian.PutUint64(other.Data[8*at:], math.Float64bits(1e30))
		} else if typ.Float() {
			typ.Put(other.Data, int(at), 400)
		} else {
			other.Data[at*int64(typ.Size())] ^= 0x40
		}
		if got := oracle.Compare(other, same, count, oracle.Tolerance{}); got.Wrong != 1 {
			t.Fatalf("element %d of %d: %+v", at, count, got)
		}
	})
}

// What no kernel can do better is right, and what nobody has written is wrong, though
// the reference has NaN there as well.
func TestRoundedAndUnwritten(t *testing.T) {
	for _, typ := range []dtype.Type{dtype.F32, dtype.F16, dtype.BF16, dtype.E4M3, dtype.E5M2} {
		refs := []float64{7.39e-06, 1.0 / 3, -0.012345, 3.1415926535, 1e-9}
		out := oracle.Typed[[]byte]{make([]byte, len(refs)*typ.Size()), typ}
		want := oracle.Typed[[]byte]{make([]byte, 8*len(refs)), dtype.F64}
		for i, ref := range refs {
			typ.Put(out.Data, i, float32(ref))
			binary.LittleEndian.PutUint64(want.Data[8*i:], math.Float64bits(ref))
		}
		if d := oracle.Compare(out, want, int64(len(refs)), oracle.Tolerance{Abs: 1e-12, Rel: 1e-12}); d.Wrong != 0 {
			t.Errorf("%s: %d of the nearest numbers are wrong", typ, d.Wrong)
		}
		typ.Put(out.Data, 1, 0.5)
		if d := oracle.Compare(out, want, int64(len(refs)), oracle.Tolerance{Abs: 1e-12, Rel: 1e-12}); d.Wrong != 1 {
			t.Errorf("%s: %d are wrong", typ, d.Wrong)
		}
	}
	for _, typ := range []dtype.Type{dtype.F64, dtype.F32, dtype.F16, dtype.BF16} {
		const count = 1 << 18
		out, want := oracle.Typed[[]byte]{make([]byte, count*typ.Size()), typ}, oracle.Typed[[]byte]{make([]byte, 8*count), dtype.F64}
		oracle.Poison(out.Data[2*typ.Size():4*typ.Size()], typ)
		typ.Put(out.Data, 4, float32(math.NaN()))
		for i := 2; i < 5; i++ {
			binary.LittleEndian.PutUint64(want.Data[8*i:], math.Float64bits(math.NaN()))
		}
		if d := oracle.Compare(out, want, count, oracle.Tolerance{Abs: 1, Rel: 1}); d.Wrong != 2 || d.NaNs != 3 {
			t.Errorf("%s: %d wrong, %d NaNs", typ, d.Wrong, d.NaNs)
		}
		if blanks, first := oracle.Blanks(out, count); blanks != 2 || first != 2 {
			t.Errorf("%s: %d blanks from %d on", typ, blanks, first)
		}
		oracle.Poison(out.Data[(count-1)*typ.Size():], typ)
		oracle.Poison(out.Data[2*typ.Size():3*typ.Size()], typ)
		typ.Put(out.Data, 2, 0)
		typ.Put(out.Data, 3, 0)
		if blanks, first := oracle.Blanks(out, count); blanks != 1 || first != count-1 {
			t.Errorf("%s: %d blanks from %d on", typ, blanks, first)
		}
	}
}

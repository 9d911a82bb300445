package dtype

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestPutGet(t *testing.T) {
	for _, typ := range All {
		if !typ.Float() {
			continue
		}
		buffer := make([]byte, 4*typ.Size())
		for i, v := range []float32{1, -2, 0.5, 3} {
			typ.Put(buffer, i, v)
		}
		for i, want := range []float32{1, -2, 0.5, 3} {
			if got := typ.Get(buffer, i); got != want {
				t.Errorf("%s: element %d is %v, want %v", typ, i, got, want)
			}
		}
	}
	if got := BF16.Get([]byte{0x80, 0x3f}, 0); got != 1 {
		t.Errorf("bf16 80 3f is %v, want 1: little-endian", got)
	}
	wide := binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1))
	if got := F64.Get(wide, 0); got != float32(0.1) {
		t.Errorf("f64 0.1 is read as %v", got)
	}
}

func TestIntegerTypesPanic(t *testing.T) {
	for _, call := range map[string]func(){
		"Put": func() { I32.Put(make([]byte, 4), 0, 1) },
		"Get": func() { U8.Get(make([]byte, 1), 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("an integer type was taken for a float")
				}
			}()
			call()
		}()
	}
}

func TestRange(t *testing.T) {
	for typ, want := range map[Type][2]float64{
		F64: {-math.MaxFloat64, math.MaxFloat64},
		F32: {-math.MaxFloat32, math.MaxFloat32},
		I8:  {-128, 127}, I16: {-32768, 32767}, I32: {math.MinInt32, math.MaxInt32}, I64: {math.MinInt64, 0x1p63},
		U8: {0, 255}, U16: {0, 65535}, U32: {0, math.MaxUint32}, U64: {0, 0x1p64},
	} {
		if low, high := typ.Range(); low != want[0] || high != want[1] {
			t.Errorf("%s: from %v to %v, want %v", typ, low, high, want)
		}
	}
	for _, n := range narrows {
		if low, high := Type(n.name).Range(); high != float64(n.max) || low != -high {
			t.Errorf("%s: from %v to %v", n.name, low, high)
		}
	}
}

// Whole numbers of that many bits survive; of one bit more they do not all.
func TestIntegers(t *testing.T) {
	for _, n := range narrows {
		count := 1 << Type(n.name).Integers()
		for i := range count {
			if got := n.value(n.bits(float32(i))); got != float32(i) {
				t.Errorf("%s: %d became %v", n.name, i, got)
			}
		}
		if odd := float32(count + 1); n.value(n.bits(odd)) == odd {
			t.Errorf("%s: %v survived", n.name, odd)
		}
	}
	for typ, want := range map[Type]int{F64: 53, F32: 24, I8: 7, U8: 8, I16: 15, U16: 16, I32: 31, U32: 32, I64: 63, U64: 64} {
		if got := typ.Integers(); got != want {
			t.Errorf("%s: %d bits, want %d", typ, got, want)
		}
	}
}

func TestAllAreValid(t *testing.T) {
	for _, typ := range All {
		if !typ.Valid() {
			t.Errorf("%s has no size", typ)
		}
	}
	if Type("f8").Valid() {
		t.Error("an unknown type is valid")
	}
}

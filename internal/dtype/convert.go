package dtype

import (
	"encoding/binary"
	"math"
)

var little = binary.LittleEndian

// Put stores v as element i of dst, little-endian, in a floating-point type,
// rounded as that type's conversion says. It panics for an integer type:
// float32 does not hold most integers.
func (t Type) Put(dst []byte, i int, v float32) {
	size := t.Size()
	dst = dst[i*size:][:size]
	switch t {
	case F64:
		little.PutUint64(dst, math.Float64bits(float64(v)))
	case F32:
		little.PutUint32(dst, math.Float32bits(v))
	case F16:
		little.PutUint16(dst, F16Bits(v))
	case BF16:
		little.PutUint16(dst, BF16Bits(v))
	case E4M3:
		dst[0] = E4M3Bits(v)
	case E5M2:
		dst[0] = E5M2Bits(v)
	default:
		panic("dtype: Put of a float32 into " + string(t))
	}
}

// Get is element i of src, little-endian, of a floating-point type. It is exact
// but for F64, which is rounded to nearest. It panics for an integer type.
func (t Type) Get(src []byte, i int) float32 {
	if !t.Float() {
		panic("dtype: Get of a float32 from " + string(t))
	}
	var one [1]float64
	t.Values(one[:], src[i*t.Size():])
	return float32(one[0])
}

// Values reads elements from src, little-endian, whatever their type.
func (t Type) Values(into []float64, src []byte) {
	switch t {
	case F64:
		read(into, src, 8, func(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) })
	case F32:
		read(into, src, 4, func(b []byte) float64 { return float64(math.Float32frombits(little.Uint32(b))) })
	case F16:
		read(into, src, 2, func(b []byte) float64 { return float64(F16Value(little.Uint16(b))) })
	case BF16:
		read(into, src, 2, func(b []byte) float64 { return float64(BF16Value(little.Uint16(b))) })
	case E4M3:
		read(into, src, 1, func(b []byte) float64 { return float64(E4M3Value(b[0])) })
	case E5M2:
		read(into, src, 1, func(b []byte) float64 { return float64(E5M2Value(b[0])) })
	case I8:
		read(into, src, 1, func(b []byte) float64 { return float64(int8(b[0])) })
	case U8:
		read(into, src, 1, func(b []byte) float64 { return float64(b[0]) })
	case I16:
		read(into, src, 2, func(b []byte) float64 { return float64(int16(little.Uint16(b))) })
	case U16:
		read(into, src, 2, func(b []byte) float64 { return float64(little.Uint16(b)) })
	case I32:
		read(into, src, 4, func(b []byte) float64 { return float64(int32(little.Uint32(b))) })
	case U32:
		read(into, src, 4, func(b []byte) float64 { return float64(little.Uint32(b)) })
	case I64:
		read(into, src, 8, func(b []byte) float64 { return float64(int64(little.Uint64(b))) })
	case U64:
		read(into, src, 8, func(b []byte) float64 { return float64(little.Uint64(b)) })
	}
}

// read is small enough to be compiled into its callers, value with it.
func read(into []float64, src []byte, size int, value func(element []byte) float64) {
	for i := range into {
		into[i] = value(src[size*i:])
	}
}

package dtype

import (
	"encoding/binary"
	"math"
)

// Put stores v as element i of dst, little-endian, in a floating-point type,
// rounded as that type's conversion says. It panics for an integer type:
// float32 does not hold most integers.
func (t Type) Put(dst []byte, i int, v float32) {
	size := t.Size()
	dst = dst[i*size:][:size]
	switch t {
	case F64:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(float64(v)))
	case F32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
	case F16:
		binary.LittleEndian.PutUint16(dst, F16Bits(v))
	case BF16:
		binary.LittleEndian.PutUint16(dst, BF16Bits(v))
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
	size := t.Size()
	src = src[i*size:][:size]
	switch t {
	case F64:
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(src)))
	case F32:
		return math.Float32frombits(binary.LittleEndian.Uint32(src))
	case F16:
		return F16Value(binary.LittleEndian.Uint16(src))
	case BF16:
		return BF16Value(binary.LittleEndian.Uint16(src))
	case E4M3:
		return E4M3Value(src[0])
	case E5M2:
		return E5M2Value(src[0])
	}
	panic("dtype: Get of a float32 from " + string(t))
}

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

// Conversions between float32 and the narrower types. All round to nearest,
// ties to even, subnormals included. A NaN becomes the quiet NaN of its sign;
// its payload is lost.

const (
	sign32 = 1 << 31
	inf32  = 0xff << 23
)

// The narrow formats: bits of mantissa, bias of the exponent, and, without the
// sign, the codes of the greatest finite value, infinity and the quiet NaN.
const (
	f16Mantissa, f16Bias   = 10, 15
	f16Max, f16Inf, f16NaN = 0x7bff, 0x7c00, 0x7e00
	bf16NaN                = 0x7fc0
	e4m3Mantissa, e4m3Bias = 3, 7
	e4m3Max, e4m3NaN       = 0x7e, 0x7f
	e5m2Mantissa, e5m2Bias = 2, 15
	e5m2Max, e5m2NaN       = 0x7b, 0x7e
)

// round gives a format's code nearest to a finite magnitude. Past the
// greatest exponent the codes simply go on, so that a caller sees an overflow
// as a code that is too large.
func round(magnitude, mantissa, bias uint32) uint32 {
	shift := 23 - mantissa
	if magnitude < (128-bias)<<23 {
		// Subnormal in the format: a float32 of just the size at which its last
		// bit is worth the format's smallest step rounds in the addition.
		magic := (128 - bias + shift) << 23
		sum := math.Float32frombits(magnitude) + math.Float32frombits(magic)
		return math.Float32bits(sum) - magic
	}
	odd := magnitude >> shift & 1
	return (magnitude - (127-bias)<<23 + 1<<(shift-1) - 1 + odd) >> shift
}

// value returns the number a finite code stands for.
func value(code, mantissa, bias uint32) float32 {
	// Exact also for subnormals: the product moves the exponent only.
	return math.Float32frombits(code<<(23-mantissa)) * math.Float32frombits((254-bias)<<23)
}

func withSign(v float32, negative bool) float32 {
	if negative {
		return -v
	}
	return v
}

// F16Bits converts to IEEE binary16. What is too large becomes infinite.
func F16Bits(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, magnitude := bits>>16&0x8000, bits&^sign32
	if magnitude > inf32 {
		return uint16(sign | f16NaN)
	}
	return uint16(sign | min(round(magnitude, f16Mantissa, f16Bias), f16Inf))
}

// F16Value returns the number that IEEE binary16 bits stand for.
func F16Value(bits uint16) float32 {
	if exponent := bits & 0x7c00; exponent != 0 && exponent != 0x7c00 { // nearly always: the mantissa in place, the bias made up
		return math.Float32frombits(uint32(bits&0x8000)<<16 | (uint32(bits&0x7fff)<<13 + (127-15)<<23))
	}
	return f16Rare(bits)
}

// f16Rare returns the value of zero, a subnormal number, an infinity or a NaN.
func f16Rare(bits uint16) float32 {
	code := uint32(bits & 0x7fff)
	if code > f16Max {
		return math.Float32frombits(uint32(bits&0x8000)<<16 | inf32 | (code&0x3ff)<<13)
	}
	return withSign(value(code, f16Mantissa, f16Bias), bits&0x8000 != 0)
}

// BF16Bits converts to bfloat16, the upper half of a float32. What is too large
// becomes infinite.
func BF16Bits(v float32) uint16 {
	bits := math.Float32bits(v)
	if bits&^sign32 > inf32 {
		return uint16(bits>>16&0x8000 | bf16NaN)
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// BF16Value returns the number that bfloat16 bits stand for.
func BF16Value(bits uint16) float32 { return math.Float32frombits(uint32(bits) << 16) }

// E4M3Bits converts to the OCP E4M3 format (the FN variant: no infinities, one
// NaN of each sign, greatest value 448). It saturates: what is too large,
// infinity included, becomes ±448, as CUDA's cvt.rn.satfinite does.
func E4M3Bits(v float32) uint8 {
	return saturate(v, e4m3Mantissa, e4m3Bias, e4m3Max, e4m3NaN)
}

// E4M3Value returns the number that E4M3 bits stand for.
func E4M3Value(bits uint8) float32 {
	code := uint32(bits & 0x7f)
	v := value(code, e4m3Mantissa, e4m3Bias)
	if code > e4m3Max {
		v = float32(math.NaN())
	}
	return withSign(v, bits&0x80 != 0)
}

// E5M2Bits converts to the OCP E5M2 format, which has infinities as IEEE types
// do. It saturates nevertheless: what is too large, infinity included, becomes
// ±57344, as CUDA's cvt.rn.satfinite does.
func E5M2Bits(v float32) uint8 {
	return saturate(v, e5m2Mantissa, e5m2Bias, e5m2Max, e5m2NaN)
}

// E5M2Value returns the number that E5M2 bits stand for.
func E5M2Value(bits uint8) float32 {
	// Its layout is that of binary16 without the lower eight bits of mantissa.
	return F16Value(uint16(bits) << 8)
}

func saturate(v float32, mantissa, bias, most, nan uint32) uint8 {
	bits := math.Float32bits(v)
	sign, magnitude := bits>>24&0x80, bits&^sign32
	if magnitude > inf32 {
		return uint8(sign | nan)
	}
	return uint8(sign | min(round(magnitude, mantissa, bias), most))
}

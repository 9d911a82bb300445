// Package dtype holds the element types of kernel arguments: their names, sizes
// and exact conversions from float32.
package dtype

import "math"

// Type is an element type by its name in pawl.yaml.
type Type string

// The element types.
const (
	F64  Type = "f64"
	F32  Type = "f32"
	F16  Type = "f16"
	BF16 Type = "bf16"
	E4M3 Type = "e4m3"
	E5M2 Type = "e5m2"
	I8   Type = "i8"
	I16  Type = "i16"
	I32  Type = "i32"
	I64  Type = "i64"
	U8   Type = "u8"
	U16  Type = "u16"
	U32  Type = "u32"
	U64  Type = "u64"
)

// All lists every type, floats first.
var All = []Type{F64, F32, F16, BF16, E4M3, E5M2, I8, I16, I32, I64, U8, U16, U32, U64}

// format is what is known of a type. Integers is the number of bits of the whole numbers,
// counted from 0, that it holds exactly and without a gap; high its greatest finite number,
// 0 for integer types.
type format struct {
	size, integers int
	high           float64
}

var formats = map[Type]format{
	F64:  {8, 53, math.MaxFloat64},
	F32:  {4, 24, math.MaxFloat32},
	F16:  {2, 11, 65504},
	BF16: {2, 8, 0x1.fep127},
	E4M3: {1, 4, 448},
	E5M2: {1, 3, 57344},
	I8:   {1, 7, 0},
	I16:  {2, 15, 0},
	I32:  {4, 31, 0},
	I64:  {8, 63, 0},
	U8:   {1, 8, 0},
	U16:  {2, 16, 0},
	U32:  {4, 32, 0},
	U64:  {8, 64, 0},
}

// Size returns the number of bytes of one element; 0 for an unknown type.
func (t Type) Size() int { return formats[t].size }

// Float reports whether t is a floating-point type.
func (t Type) Float() bool { return formats[t].high > 0 }

// Valid reports whether t is one of the types above.
func (t Type) Valid() bool { return t.Size() > 0 }

// Integers returns the number of bits of the whole numbers, counted from 0, that t
// holds exactly and without a gap: 8 for U8, 7 for I8, 24 for F32.
func (t Type) Integers() int { return formats[t].integers }

// Range returns the least and the greatest finite number that t holds. For I64 and
// U64 the greatest is not a float64: it is then the whole number above,
// 2^63 or 2^64.
func (t Type) Range() (low, high float64) {
	f := formats[t]
	beyond := math.Ldexp(1, f.integers)
	switch {
	case f.high > 0:
		return -f.high, f.high
	case f.integers < 8*f.size:
		return -beyond, beyond - 1
	}
	return 0, beyond - 1
}

// Holds reports whether t holds every value of another type: f64 holds f32 and i32,
// and f32 does not hold i32.
func (t Type) Holds(other Type) bool {
	low, high := t.Range()
	least, most := other.Range()
	switch {
	case !t.Valid() || !other.Valid():
		return false
	case other.Float() && !t.Float():
		return false
	case least < 0 && low == 0:
		return false
	}
	return t.Integers() >= other.Integers() && high >= most
}

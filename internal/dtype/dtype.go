// Package dtype holds the element types of kernel arguments: their names, sizes
// and exact conversions from float32.
package dtype

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

// Size returns the number of bytes of one element; 0 for an unknown type.
func (t Type) Size() int {
	switch t {
	case F64, I64, U64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, I16, U16:
		return 2
	case E4M3, E5M2, I8, U8:
		return 1
	}
	return 0
}

// Float reports whether t is a floating-point type.
func (t Type) Float() bool {
	switch t {
	case F64, F32, F16, BF16, E4M3, E5M2:
		return true
	}
	return false
}

// Valid reports whether t is one of the types above.
func (t Type) Valid() bool { return t.Size() > 0 }

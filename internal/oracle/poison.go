package oracle

import (
	"encoding/binary"

	"pawl/internal/dtype"
)

// Poison fills an output before a launch, so that an element the kernel does
// not write is seen: it is a quiet NaN in floating-point types, with bits that
// arithmetic does not make by itself where the type has room for them, and
// bytes of 0xa5 in integer types.
//
//	f64 7ff8a5a5a5a5a5a5   f16  7ea5   e4m3 7f
//	f32 7fe5a5a5           bf16 7fe5   e5m2 7e
//
// It panics when dst is not a whole number of elements.
func Poison(dst []byte, t dtype.Type) {
	var pattern [8]byte
	switch t {
	case dtype.F64:
		binary.LittleEndian.PutUint64(pattern[:], 0x7ff8a5a5a5a5a5a5)
	case dtype.F32:
		binary.LittleEndian.PutUint32(pattern[:], 0x7fe5a5a5)
	case dtype.F16:
		binary.LittleEndian.PutUint16(pattern[:], 0x7ea5)
	case dtype.BF16:
		binary.LittleEndian.PutUint16(pattern[:], 0x7fe5)
	case dtype.E4M3:
		pattern[0] = 0x7f
	case dtype.E5M2:
		pattern[0] = 0x7e
	default:
		binary.LittleEndian.PutUint64(pattern[:], 0xa5a5a5a5a5a5a5a5)
	}
	if len(dst)%t.Size() != 0 {
		panic("oracle: poison of a part of an element")
	}
	// Doubling copies at the speed of memory.
	for done := copy(dst, pattern[:t.Size()]); done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

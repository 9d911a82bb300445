package oracle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"pawl/internal/dtype"
)

// poisons has the bits of each floating-point type's poison.
var poisons = map[dtype.Type]uint64{
	dtype.F64: 0x7ff8a5a5a5a5a5a5, dtype.F32: 0x7fe5a5a5, dtype.F16: 0x7ea5, dtype.BF16: 0x7fe5, dtype.E4M3: 0x7f, dtype.E5M2: 0x7e,
}

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
	binary.LittleEndian.PutUint64(pattern[:], cmp.Or(poisons[t], 0xa5a5a5a5a5a5a5a5))
	if len(dst)%t.Size() != 0 {
		panic("oracle: poison of a part of an element")
	}
	// Doubling copies at the speed of memory.
	for done := copy(dst, pattern[:t.Size()]); done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// Blank reports whether an element still is poison. Of the types with one NaN or none
// nobody can tell: there it is false.
func Blank(b Typed[[]byte], i int64) bool {
	size := int64(b.Type.Size())
	if !b.Type.Float() || size == 1 {
		return false
	}
	var poison [8]byte
	Poison(poison[:size], b.Type)
	return bytes.Equal(b.Data[i*size:(i+1)*size], poison[:size])
}

// Blanks returns how many elements still are poison, and the first of them; -1: none is.
func Blanks(b Typed[[]byte], count int64) (blanks, first int64) {
	parts := make([][2]int64, (count+share-1)/share)
	each(len(parts), func(n int) {
		from := int64(n) * share
		parts[n][1] = -1
		var values [block]float64
		for i := from; i < min(from+share, count); i += block {
			some := values[:min(block, min(from+share, count)-i)]
			Values(some, b, i)
			for j, v := range some {
				if !math.IsNaN(v) || !Blank(b, i+int64(j)) {
					continue
				}
				if parts[n][0]++; parts[n][1] < 0 {
					parts[n][1] = i + int64(j)
				}
			}
		}
	})
	first = -1
	for _, p := range parts {
		if blanks += p[0]; first < 0 {
			first = p[1]
		}
	}
	return blanks, first
}

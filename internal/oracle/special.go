package oracle

import (
	"encoding/binary"

	"pawl/internal/dtype"
)

// specialBits are, of each type: NaN, the infinities (E4M3 has none), -0, the
// smallest positive number and the greatest. Written as bits, because conversions
// differ between machines in which NaN they make, and pawl's own saturates.
var specialBits = map[dtype.Type][6]uint64{
	dtype.F64:  {0x7ff8 << 48, 0x7ff0 << 48, 0xfff0 << 48, 0x8000 << 48, 1, 0x7fefffffffffffff},
	dtype.F32:  {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x7f7fffff},
	dtype.F16:  {0x7e00, 0x7c00, 0xfc00, 0x8000, 1, 0x7bff},
	dtype.BF16: {0x7fc0, 0x7f80, 0xff80, 0x8000, 1, 0x7f7f},
	dtype.E4M3: {0x7f, 0x7e, 0xfe, 0x80, 1, 0x7e},
	dtype.E5M2: {0x7e, 0x7c, 0xfc, 0x80, 1, 0x7b},
}

// specials writes as another writer does, and special values over some of it.
func specials(t dtype.Type, write func([]byte, uint64), key, every uint64) func([]byte, uint64) {
	codes, size := specialBits[t], t.Size()
	return func(dst []byte, first uint64) {
		write(dst, first)
		var code [8]byte
		state := key + (first+1)*golden
		for ; len(dst) > 0; dst = dst[size:] {
			if u := mix(state); u%every == 0 {
				binary.LittleEndian.PutUint64(code[:], codes[u/every%uint64(len(codes))])
				copy(dst[:size], code[:])
			}
			state += golden
		}
	}
}

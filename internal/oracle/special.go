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

// Held says which special values a buffer holds, and not where: that takes a small
// part of the time that filling it does, for who looks for a key with certain ones.
type Held struct {
	NaN, Infinity, NegativeInfinity, NegativeZero, Smallest bool
	Greatest                                                bool // or what stands for an infinity in a type without
}

// HeldBy returns what Generate would write among count elements of a fill of Specials, up
// to the greatest number: who may not have it need not know the rest.
func HeldBy(t dtype.Type, fill Fill, key uint64, count int64) Held {
	var held Held
	every, state := uint64(fill.Args[2]), mix(key)
	finite := t == dtype.E4M3
	for i := int64(0); i < count && !held.Greatest; i++ {
		state += golden
		u := mix(state)
		if u%every != 0 {
			continue
		}
		switch kind := u / every % uint64(len(specialBits[t])); {
		case kind == 0:
			held.NaN = true
		case kind == 1 && !finite:
			held.Infinity = true
		case kind == 2 && !finite:
			held.NegativeInfinity = true
		case kind == 3:
			held.NegativeZero = true
		case kind == 4:
			held.Smallest = true
		default:
			held.Greatest = true
		}
	}
	return held
}

// And returns what two buffers hold together.
func (h Held) And(other Held) Held {
	return Held{
		NaN: h.NaN || other.NaN, Infinity: h.Infinity || other.Infinity, NegativeInfinity: h.NegativeInfinity || other.NegativeInfinity,
		NegativeZero: h.NegativeZero || other.NegativeZero, Smallest: h.Smallest || other.Smallest, Greatest: h.Greatest || other.Greatest,
	}
}

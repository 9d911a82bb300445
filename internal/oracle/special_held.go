package oracle

import "pawl/internal/dtype"

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
	for range count {
		if held.Greatest {
			break
		}
		state += golden
		u := mix(state)
		if u%every != 0 {
			continue
		}
		switch u / every % uint64(len(specialBits[t])) {
		case 0:
			held.NaN = true
		case 1:
			held.Infinity, held.Greatest = held.Infinity || !finite, held.Greatest || finite
		case 2:
			held.NegativeInfinity, held.Greatest = held.NegativeInfinity || !finite, held.Greatest || finite
		case 3:
			held.NegativeZero = true
		case 4:
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

package oracle

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
)

// What is said to be held is what Generate writes.
func TestHeldBy(t *testing.T) {
	floats := []dtype.Type{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.E4M3, dtype.E5M2}
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(floats).Draw(t, "type")
		count := rapid.IntRange(1, 200).Draw(t, "count")
		key := rapid.Uint64().Draw(t, "key")
		fill := Fill{Specials, []float64{0, 1, float64(rapid.IntRange(1, 60).Draw(t, "every"))}}
		data := make([]byte, count*typ.Size())
		Generate(data, typ, fill, key)
		codes := specialBits[typ]
		var want Held
		for i := range count {
			var raw [8]byte
			copy(raw[:], data[i*typ.Size():][:typ.Size()])
			switch code := binary.LittleEndian.Uint64(raw[:]); {
			case code == codes[0]:
				want.NaN = true
			case code == codes[1] && typ != dtype.E4M3:
				want.Infinity = true
			case code == codes[2] && typ != dtype.E4M3:
				want.NegativeInfinity = true
			case code == codes[3]:
				want.NegativeZero = true
			case code == codes[4]:
				want.Smallest = true
			case code == codes[1] || code == codes[2] || code == codes[5]:
				want.Greatest = true
			}
		}
		got := HeldBy(typ, fill, key, int64(count))
		// A narrow type's ordinary numbers may be special ones too.
		if got.And(want) != want || typ.Size() > 2 && (got.Greatest != want.Greatest || !got.Greatest && got != want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

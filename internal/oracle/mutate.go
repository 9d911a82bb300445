package oracle

import (
	"math/bits"

	"pawl/internal/dtype"
)

// Changes is how many elements a step of Mutate changes, some of them perhaps twice.
const Changes = 8

// Mutate changes a few elements of a buffer that Generate has filled with the same
// type, fill and key. Steps count from 1 and are taken one after the other. It
// panics where Generate does.
func Mutate(data []byte, t dtype.Type, fill Fill, key uint64, step int) {
	count, size := uint64(elements(data, t, fill)), uint64(t.Size())
	fill, changing := Changing(fill)
	if !changing || count == 0 {
		return
	}
	write := writer(t, fill, key)
	for j, place := range Places(key, int64(count), step) {
		write(data[uint64(place)*size:][:size], count+Changes*uint64(step)+uint64(j))
	}
}

// Places returns the elements of a buffer of count that a step of Mutate changes, in
// order.
func Places(key uint64, count int64, step int) [Changes]int64 {
	var places [Changes]int64
	stream := mix(key + 1)
	for j := range places {
		above, _ := bits.Mul64(draw(stream, Changes*uint64(step)+uint64(j)), uint64(count))
		places[j] = int64(above)
	}
	return places
}

// Changing returns the fill that Mutate takes new values from, and whether there are any.
func Changing(fill Fill) (Fill, bool) {
	switch fill.Kind {
	case Constant, Zero, Iota:
		return fill, false
	case Rows, Outliers, Specials:
		return Fill{Normal, fill.Args[:2]}, true
	}
	return fill, true
}

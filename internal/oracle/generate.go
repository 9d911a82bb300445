package oracle

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"pawl/internal/dtype"
)

const (
	// block is how many values are drawn before they are stored: few enough to
	// stay in the nearest cache.
	block = 512
	// share is how many elements a goroutine takes at a time: enough that taking
	// them costs nothing.
	share = 128 * block
)

// Generate fills dst with elements of type t, little-endian, on as many
// processors as GOMAXPROCS allows; the result does not depend on how many. It
// panics when dst is not a whole number of elements, and when CheckFill would
// refuse the fill.
func Generate(dst []byte, t dtype.Type, fill Fill, key uint64) {
	count, size := elements(dst, t, fill), t.Size()
	if fill.Kind == Zero {
		clear(dst)
		return
	}
	write := writer(t, fill, key)
	shares := (count + share - 1) / share
	each(shares, func(n int) {
		first := n * share
		last := min(first+share, count)
		write(dst[first*size:last*size], uint64(first))
	})
}

// elements returns how many a buffer holds, for functions that panic when it cannot
// be filled.
func elements(data []byte, t dtype.Type, fill Fill) int {
	if err := CheckFill(t, fill); err != nil {
		panic("oracle: " + err.Error())
	}
	if len(data)%t.Size() != 0 {
		panic(fmt.Sprintf("oracle: %d bytes are not a whole number of %s", len(data), t))
	}
	return len(data) / t.Size()
}

// writer returns what fills a part of a buffer, given the number of the part's
// first element.
func writer(t dtype.Type, fill Fill, key uint64) func(dst []byte, first uint64) {
	if fill.Kind == Specials {
		return specials(t, writer(t, Fill{Normal, fill.Args[:2]}, key), mix(key), uint64(fill.Args[2]))
	}
	switch {
	case t == dtype.F64:
		return blocks(8, drawerOf(t, fill, key, normal64, uniform64), store64)
	case t.Float():
		return blocks(t.Size(), drawerOf(t, fill, key, normal32, uniform32), stores32[t])
	}
	return blocks(t.Size(), drawerInt(t, fill, key), storesInt[t.Size()])
}

func blocks[T any](size int, draw drawer[T], store func([]byte, []T)) func([]byte, uint64) {
	return func(dst []byte, first uint64) {
		buffer := make([]T, min(block, len(dst)/size)) // on the heap, as draw is not known: Mutate asks for single elements, often
		for len(dst) > 0 {
			values := buffer[:min(block, len(dst)/size)]
			draw(values, first)
			store(dst, values)
			dst = dst[len(values)*size:]
			first += uint64(len(values))
		}
	}
}

// drawerOf draws floating-point numbers, by the functions for their type.
func drawerOf[T real](t dtype.Type, fill Fill, key uint64, normal, uniform func(key uint64, a, b T) drawer[T]) drawer[T] {
	a := fill.Args
	switch fill.Kind {
	case Normal:
		return normal(key, T(a[0]), T(a[1]))
	case Uniform:
		return uniform(key, T(a[0]), T(a[1]))
	case Integers:
		return integers[T](key, int64(a[0]), int64(a[1]))
	case Constant:
		return constant(T(a[0]))
	case Rows:
		return rows(normal(key, T(a[0]), T(a[1])), uint64(a[2]))
	case Outliers:
		return outliers(normal(key, T(a[0]), T(a[1])), key, uint64(a[2]), T(a[3]))
	}
	return index[T](t)
}

func drawerInt(t dtype.Type, fill Fill, key uint64) drawer[int64] {
	a := fill.Args
	switch fill.Kind {
	case Integers:
		return integers[int64](key, int64(a[0]), int64(a[1]))
	case Constant:
		return constant(int64(a[0]))
	}
	return index[int64](t)
}

var little = binary.LittleEndian

var stores32 = map[dtype.Type]func([]byte, []float32){
	dtype.F32: func(dst []byte, values []float32) {
		store(dst, values, 4, func(b []byte, v float32) { little.PutUint32(b, math.Float32bits(v)) })
	},
	dtype.F16: func(dst []byte, values []float32) {
		store(dst, values, 2, func(b []byte, v float32) { little.PutUint16(b, dtype.F16Bits(v)) })
	},
	dtype.BF16: func(dst []byte, values []float32) {
		store(dst, values, 2, func(b []byte, v float32) { little.PutUint16(b, dtype.BF16Bits(v)) })
	},
	dtype.E4M3: func(dst []byte, values []float32) {
		store(dst, values, 1, func(b []byte, v float32) { b[0] = dtype.E4M3Bits(v) })
	},
	dtype.E5M2: func(dst []byte, values []float32) {
		store(dst, values, 1, func(b []byte, v float32) { b[0] = dtype.E5M2Bits(v) })
	},
}

func store64(dst []byte, values []float64) {
	store(dst, values, 8, func(b []byte, v float64) { little.PutUint64(b, math.Float64bits(v)) })
}

// storesInt is by size: the lower bytes of an int64 are the same for signed and
// unsigned types.
var storesInt = map[int]func([]byte, []int64){
	1: func(dst []byte, values []int64) {
		store(dst, values, 1, func(b []byte, v int64) { b[0] = byte(v) })
	},
	2: func(dst []byte, values []int64) {
		store(dst, values, 2, func(b []byte, v int64) { little.PutUint16(b, uint16(v)) })
	},
	4: func(dst []byte, values []int64) {
		store(dst, values, 4, func(b []byte, v int64) { little.PutUint32(b, uint32(v)) })
	},
	8: func(dst []byte, values []int64) {
		store(dst, values, 8, func(b []byte, v int64) { little.PutUint64(b, uint64(v)) })
	},
}

// store is small enough to be compiled into its callers, put with it.
func store[T any](dst []byte, values []T, size int, put func(element []byte, v T)) {
	for _, v := range values {
		put(dst, v)
		dst = dst[size:]
	}
}

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

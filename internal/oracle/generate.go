package oracle

import (
	"encoding/binary"
	"fmt"
	"math"

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

var stores32 = map[dtype.Type]func([]byte, []float32){
	dtype.F32: func(dst []byte, values []float32) {
		for _, v := range values {
			binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
			dst = dst[4:]
		}
	},
	dtype.F16:  store16(dtype.F16Bits),
	dtype.BF16: store16(dtype.BF16Bits),
	dtype.E4M3: store8(dtype.E4M3Bits),
	dtype.E5M2: store8(dtype.E5M2Bits),
}

func store16(bits func(float32) uint16) func([]byte, []float32) {
	return func(dst []byte, values []float32) {
		for _, v := range values {
			binary.LittleEndian.PutUint16(dst, bits(v))
			dst = dst[2:]
		}
	}
}

func store8(bits func(float32) uint8) func([]byte, []float32) {
	return func(dst []byte, values []float32) {
		for i, v := range values {
			dst[i] = bits(v)
		}
	}
}

func store64(dst []byte, values []float64) {
	for _, v := range values {
		binary.LittleEndian.PutUint64(dst, math.Float64bits(v))
		dst = dst[8:]
	}
}

// storesInt is by size: the lower bytes of an int64 are the same for signed and
// unsigned types.
var storesInt = map[int]func([]byte, []int64){
	1: func(dst []byte, values []int64) {
		for i, v := range values {
			dst[i] = byte(v)
		}
	},
	2: func(dst []byte, values []int64) {
		for _, v := range values {
			binary.LittleEndian.PutUint16(dst, uint16(v))
			dst = dst[2:]
		}
	},
	4: func(dst []byte, values []int64) {
		for _, v := range values {
			binary.LittleEndian.PutUint32(dst, uint32(v))
			dst = dst[4:]
		}
	},
	8: func(dst []byte, values []int64) {
		for _, v := range values {
			binary.LittleEndian.PutUint64(dst, uint64(v))
			dst = dst[8:]
		}
	},
}

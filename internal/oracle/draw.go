package oracle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"

	"pawl/internal/dtype"
)

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func draw(key, n uint64) uint64 { return mix(key + (n+1)*golden) }

// Key returns the key of a kernel's argument number arg, filled for batch number
// batch.
func Key(seed uint64, arg, batch int) uint64 {
	return draw(draw(draw(seed, 0), uint64(arg)), uint64(batch))
}

// BatchBits is the number of bits of a batch's number as a cell gets it. Above them a cell counts
// the copies of the arguments, each of which has data of its own.
const BatchBits = 40

// ForCell returns the seed and the number of a batch that a cell gets. Neither they nor the data tell
// the cell a run's seed or the data of another batch: candidate code could compute answers before it
// is asked for them.
func ForCell(seed uint64, batch int) (cellSeed uint64, cellBatch int) {
	hash := func(n uint64) uint64 {
		h := hmac.New(sha256.New, binary.LittleEndian.AppendUint64([]byte("pawl"), seed))
		h.Write(binary.LittleEndian.AppendUint64(nil, n))
		return binary.LittleEndian.Uint64(h.Sum(nil))
	}
	low := uint64(1)<<BatchBits - 1
	number := max(1, hash(uint64(batch)&low+1)&low)
	return hash(0), int(number | uint64(batch)&^low)
}

// A drawer gives the elements of a stream from number first on.
type drawer[T any] func(values []T, first uint64)

// Conversions around each product keep it from being fused with the sum after
// it, as the language allows otherwise and some processors do.

func uniform32(key uint64, low, high float32) drawer[float32] {
	width := high - low
	return func(values []float32, first uint64) {
		state := key + (first+1)*golden
		for i := range values {
			x := float32(int32(mix(state)>>40)) * 0x1p-24
			values[i] = float32(width*x) + low
			state += golden
		}
	}
}

func uniform64(key uint64, low, high float64) drawer[float64] {
	width := high - low
	return func(values []float64, first uint64) {
		state := key + (first+1)*golden
		for i := range values {
			x := float64(int64(mix(state)>>11)) * 0x1p-53
			values[i] = float64(width*x) + low
			state += golden
		}
	}
}

const (
	scale32 = 0x1.3988e2p-16
	scale64 = 0x1.3988e1409212ep-32
)

func normal32(key uint64, mean, std float32) drawer[float32] {
	const pairs = 0x0000ffff0000ffff
	return func(values []float32, first uint64) {
		state := key + (2*first+1)*golden
		for i := range values {
			a := mix(state)
			state += golden
			b := mix(state)
			state += golden
			sums := a&pairs + a>>16&pairs + b&pairs + b>>16&pairs
			sum := int32(sums>>32) + int32(uint32(sums)) - 262140
			z := float32(float32(sum) * scale32)
			values[i] = float32(z*std) + mean
		}
	}
}

func normal64(key uint64, mean, std float64) drawer[float64] {
	return func(values []float64, first uint64) {
		state := key + (4*first+1)*golden
		for i := range values {
			sum := int64(-4 * (1<<32 - 1))
			for range 4 {
				u := mix(state)
				sum += int64(u>>32) + int64(uint32(u))
				state += golden
			}
			z := float64(float64(sum) * scale64)
			values[i] = float64(z*std) + mean
		}
	}
}

type real interface{ float32 | float64 }

// rows gives every element of a row the value of the row's number.
func rows[T real](normal drawer[T], width uint64) drawer[T] {
	return func(values []T, first uint64) {
		for len(values) > 0 {
			row := values[:min(uint64(len(values)), width-first%width)]
			normal(row[:1], first/width)
			for i := range row {
				row[i] = row[0]
			}
			values = values[len(row):]
			first += uint64(len(row))
		}
	}
}

// channels is how far apart the columns are that outliers makes larger.
const channels = 16

func outliers[T real](normal drawer[T], key, width uint64, factor T) drawer[T] {
	chosen := draw(key, math.MaxUint64) % channels
	return func(values []T, first uint64) {
		normal(values, first)
		column := first % width
		for i := range values {
			if column%channels == chosen {
				values[i] *= factor
			}
			if column++; column == width {
				column = 0
			}
		}
	}
}

func integers[T real | int64](key uint64, low, high int64) drawer[T] {
	count := uint64(high-low) + 1
	return func(values []T, first uint64) {
		state := key + (first+1)*golden
		for i := range values {
			above, _ := bits.Mul64(mix(state), count)
			values[i] = T(low + int64(above))
			state += golden
		}
	}
}

func constant[T real | int64](v T) drawer[T] {
	return func(values []T, _ uint64) {
		for i := range values {
			values[i] = v
		}
	}
}

// index counts; its values are exact in T for all types t that T stands for,
// but as int64 the upper half of U64, which the store undoes.
func index[T real | int64](t dtype.Type) drawer[T] {
	mask := ^uint64(0) >> (64 - t.Integers())
	return func(values []T, first uint64) {
		for i := range values {
			values[i] = T(int64((first + uint64(i)) & mask))
		}
	}
}

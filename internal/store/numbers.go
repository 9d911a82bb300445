package store

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// Lists of numbers are most of a report. They are packed exactly: every number comes back with all
// its bits. A list becomes whole numbers first, in the way that makes them smallest; these lie
// around their median, and the differences to it, or to the number before, take few bits. Where none is
// far from the others, all take the same number of bits, counted from the smallest.

// way says how numbers become whole numbers.
type way byte

const (
	// From 0 to 15: numbers with so many decimals. A clock counts nanoseconds: 9.
	floatBits way = 16 // their bits as they are; the number follows it in order

	// A GPU's events: (milliseconds, a float32)*1e-3 - pair, over repeat. Whole are the bits of the
	// float32, or its nanoseconds.
	eventBits  way = 17
	eventNanos way = 18

	lastWay = eventNanos
)

// scale is what numbers were made with.
type scale struct{ pair, repeat float64 }

// Orders of the code from 1 to 62 are of Golomb's; from 64 on all numbers have the same width.
const (
	fixed    = 64
	maxWidth = 63
)

var errNumbers = errors.New("its packed numbers are damaged")

// pack appends a list. scales are those that its numbers may have been made with.
func pack(out []byte, list []float64, scales []scale) []byte {
	how, used, whole := wholeNumbers(list, scales)
	middle := slices.Sorted(slices.Values(whole))[len(whole)/2]
	smallest, largest := slices.Min(whole), slices.Max(whole)
	step := int64(1)
	if largest-smallest >= 0 { // else they are so far apart that differences do not fit
		step = stepOf(whole, middle)
	}
	fromMiddle, fromLast := make([]uint64, len(whole)), make([]uint64, len(whole))
	last := int64(0)
	for i, v := range whole {
		d := (v - middle) / step
		fromMiddle[i], fromLast[i] = zigzag(d), zigzag(d-last)
		last = d
	}
	order, size := bestOrder(fromMiddle)
	chosen, delta := fromMiddle, byte(0)
	if o, s := bestOrder(fromLast); s < size {
		order, size, chosen, delta = o, s, fromLast, 1
	}
	width := bits.Len64(uint64(largest-smallest) / uint64(step))
	if len(list)*width < size && width <= maxWidth {
		order, delta, middle = fixed+width, 0, smallest
		for i, v := range whole {
			chosen[i] = uint64(v-smallest) / uint64(step)
		}
	}
	out = append(out, byte(how)|delta<<7, byte(order))
	if how >= eventBits {
		out = append(out, byte(slices.Index(scales, used)))
	}
	out = binary.AppendUvarint(out, uint64(len(list)))
	out = binary.AppendVarint(out, middle)
	out = binary.AppendVarint(out, step)
	w := bitWriter{out: out}
	for _, v := range chosen {
		if order >= fixed {
			w.bits(v, width)
		} else {
			w.golomb(v, order)
		}
	}
	return w.close()
}

// unpack reads a list, and returns what follows it. scales are those that pack had; most is how many
// numbers the list may have.
func unpack(in []byte, scales []scale, most int) (list []float64, rest []byte, err error) {
	if len(in) < 2 {
		return nil, nil, errNumbers
	}
	how, delta, order := way(in[0]&0x7f), in[0]>>7 != 0, int(in[1])
	in = in[2:]
	var used scale
	if how >= eventBits {
		if len(in) == 0 || int(in[0]) >= len(scales) {
			return nil, nil, errNumbers
		}
		used, in = scales[in[0]], in[1:]
	}
	count, n := binary.Uvarint(in)
	if n <= 0 || how > lastWay || order < 1 || order > fixed+maxWidth || count > uint64(most) {
		return nil, nil, errNumbers
	}
	in = in[n:]
	middle, n := binary.Varint(in)
	if n <= 0 {
		return nil, nil, errNumbers
	}
	in = in[n:]
	step, n := binary.Varint(in)
	if n <= 0 {
		return nil, nil, errNumbers
	}
	r := bitReader{in: in[n:]}
	if order != fixed && count > uint64(len(r.in))*8 {
		return nil, nil, errNumbers // every number has at least a bit
	}
	list = make([]float64, count)
	last := int64(0)
	for i := range list {
		var d int64
		if order >= fixed {
			d = int64(r.bits(order - fixed))
		} else if d = unzigzag(r.golomb(order)); delta {
			d += last
		}
		last, list[i] = d, how.number(middle+d*step, used)
	}
	if r.short {
		return nil, nil, errNumbers
	}
	return list, r.in[(r.at+7)/8:], nil
}

// stepOf returns what all differences to the middle are multiples of: clocks advance in steps.
func stepOf(whole []int64, middle int64) int64 {
	step := int64(0)
	for _, v := range whole {
		for d := v - middle; d != 0; {
			step, d = d, step%d
		}
	}
	return max(step, -step, 1)
}

// wholeNumbers returns the way that makes a list's numbers smallest.
func wholeNumbers(list []float64, scales []scale) (way, scale, []int64) {
	whole := make([]int64, len(list))
	for how := way(0); how < floatBits; how++ {
		if how.all(list, scale{}, whole) {
			return how, scale{}, whole
		}
	}
	for _, how := range []way{eventNanos, eventBits} {
		for _, s := range scales {
			if how.all(list, s, whole) {
				return how, s, whole
			}
		}
	}
	floatBits.all(list, scale{}, whole)
	return floatBits, scale{}, whole
}

// all reports whether every number comes back exactly, and sets the whole numbers.
func (how way) all(list []float64, s scale, whole []int64) bool {
	for i, v := range list {
		k, ok := how.whole(v, s)
		if !ok || math.Float64bits(how.number(k, s)) != math.Float64bits(v) {
			return false
		}
		whole[i] = k
	}
	return true
}

func (how way) whole(v float64, s scale) (int64, bool) {
	switch how {
	case floatBits:
		return ordered(math.Float64bits(v)), true
	case eventNanos:
		return int64(math.Round((v*s.repeat + s.pair) * 1e9)), true
	case eventBits:
		return int64(math.Float32bits(float32((v*s.repeat + s.pair) * 1e3))), true
	}
	k := math.Round(v * tens[how])
	return int64(k), math.Abs(k) < 1<<53
}

func (how way) number(k int64, s scale) float64 {
	switch how {
	case floatBits:
		return math.Float64frombits(unordered(k))
	case eventNanos:
		return max(float64(float32(float64(k)/1e6))*1e-3-s.pair, 1e-9) / s.repeat
	case eventBits:
		return max(float64(math.Float32frombits(uint32(k)))*1e-3-s.pair, 1e-9) / s.repeat
	}
	return float64(k) / tens[how]
}

// Powers of ten up to 1e22 are exact, so the quotient of a whole number by one is the number that its
// decimals mean.
var tens = [floatBits]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// ordered makes the bits of a number a whole number, so that larger numbers have larger ones.
func ordered(b uint64) int64 {
	if b>>63 != 0 {
		return int64(b ^ 1<<63 ^ math.MaxUint64)
	}
	return int64(b)
}

func unordered(k int64) uint64 {
	if k < 0 {
		return uint64(k) ^ math.MaxUint64 ^ 1<<63
	}
	return uint64(k)
}

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// bestOrder returns the order of the code that takes the fewest bits, and about how many.
func bestOrder(list []uint64) (order, size int) {
	var lengths [65]int
	for _, v := range list {
		lengths[bits.Len64(v)]++
	}
	first, last := 0, 64
	for lengths[first] == 0 {
		first++
	}
	for lengths[last] == 0 {
		last--
	}
	size = math.MaxInt
	for try := max(1, first-1); try <= min(62, max(1, last)); try++ {
		total := 0
		for length := first; length <= last; length++ {
			total += lengths[length] * golombBits(uint64(1)<<length*3/4, try)
		}
		if total < size {
			order, size = try, total
		}
	}
	return order, size
}

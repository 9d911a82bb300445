package store

import "math/bits"

// bitWriter writes numbers of any width, the highest bit first.
type bitWriter struct {
	out  []byte
	next uint64 // at its low end, bits that are no whole byte yet
	n    int    // how many
}

func (w *bitWriter) bits(v uint64, width int) {
	if width > 32 { // so that next never overflows
		w.bits(v>>32, width-32)
		width = 32
	}
	w.next, w.n = w.next<<width|v&(1<<width-1), w.n+width
	for w.n >= 8 {
		w.n -= 8
		w.out = append(w.out, byte(w.next>>w.n))
	}
}

// close fills the last byte.
func (w *bitWriter) close() []byte {
	if w.n > 0 {
		w.bits(0, 8-w.n)
	}
	return w.out
}

// golomb writes a number with the exponential Golomb code of an order, from 1 to 62: numbers below
// 2^order take order+1 bits, and each doubling takes two more.
func (w *bitWriter) golomb(v uint64, order int) {
	high := v>>order + 1
	width := bits.Len64(high)
	w.bits(0, width-1)
	w.bits(high, width)
	w.bits(v, order)
}

func golombBits(v uint64, order int) int { return 2*bits.Len64(v>>order+1) - 1 + order }

// bitReader reads what a bitWriter wrote. Behind the end it reads zeros, and short is set.
type bitReader struct {
	in    []byte
	at    int // bit
	short bool
}

func (r *bitReader) bits(width int) (v uint64) {
	for width > 0 {
		if r.at>>3 >= len(r.in) {
			r.short = true
			return 0
		}
		free := 8 - r.at&7
		take := min(free, width)
		v = v<<take | uint64(r.in[r.at>>3]>>(free-take))&(1<<take-1)
		r.at, width = r.at+take, width-take
	}
	return v
}

func (r *bitReader) golomb(order int) uint64 {
	width := 1
	for r.bits(1) == 0 {
		if width++; r.short || width > 64 {
			r.short = true
			return 0
		}
	}
	high := uint64(1)<<(width-1) | r.bits(width-1)
	return (high-1)<<order | r.bits(order)
}

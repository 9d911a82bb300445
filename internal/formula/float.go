package formula

import (
	"cmp"
	"math"
	"math/big"
)

// isFinite reports whether f is neither infinite nor NaN.
func isFinite(f float64) bool { return math.Abs(f) <= math.MaxFloat64 }

// floorDivide is Python's // on floats: the quotient that belongs to modulo,
// which need not be the floor of a / b once that is rounded.
func floorDivide(a, b float64) float64 {
	if b == 0 || !isFinite(a) || !isFinite(b) {
		return math.Floor(a / b)
	}
	quotient := (a - math.Mod(a, b)) / b
	if r := math.Mod(a, b); r != 0 && (b < 0) != (r < 0) {
		quotient--
	}
	if quotient == 0 {
		return math.Copysign(0, a/b)
	}
	floor := math.Floor(quotient)
	if quotient-floor > 0.5 {
		floor++
	}
	return floor
}

// modulo is Python's % on floats: it has the sign of b.
func modulo(a, b float64) float64 {
	r := math.Mod(a, b)
	switch {
	case r == 0:
		return math.Copysign(0, b)
	case (b < 0) != (r < 0):
		return r + b
	}
	return r
}

// divideInt returns the float nearest to a / b.
func divideInt(a, b int64) float64 {
	const exactFloat = 1 << 53
	if -exactFloat <= a && a <= exactFloat && -exactFloat <= b && b <= exactFloat {
		return float64(a) / float64(b)
	}
	quotient, _ := big.NewRat(a, b).Float64()
	return quotient
}

// compare orders any two values that are no strings, by size and exactly: a
// float is never rounded to an integer or the other way round.
func compare(a, b Value) int {
	switch {
	case a.kind == KindFloat && b.kind == KindFloat:
		return cmp.Compare(a.float(), b.float())
	case a.kind == KindFloat:
		return -compareIntFloat(b.int(), a.float())
	case b.kind == KindFloat:
		return compareIntFloat(a.int(), b.float())
	}
	return cmp.Compare(a.int(), b.int())
}

func compareIntFloat(i int64, f float64) int {
	const beyond = 1 << 63
	switch {
	case f >= beyond:
		return -1
	case f < -beyond:
		return 1
	}
	whole := math.Trunc(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 {
		return c
	}
	return cmp.Compare(whole, f)
}

// toInt returns the integer that f, a whole number, is.
func toInt(f float64) (int64, bool) { return int64(f), -1<<63 <= f && f < 1<<63 }

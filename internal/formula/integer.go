package formula

import (
	"math"
	"math/bits"
)

// The exact integer operations. Each returns false when there is no result
// that fits in 64 bits, or none at all; why is worked out only then.

func addInt(a, b int64) (int64, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func subtractInt(a, b int64) (int64, bool) {
	difference := a - b
	return difference, (difference < a) == (b > 0)
}

func multiplyInt(a, b int64) (int64, bool) {
	high, low := bits.Mul64(uint64(a), uint64(b))
	// Mul64 reads a negative factor as 2^64 too much; take the other factor
	// back out of the high word for each.
	signed := int64(high) - (a>>63)&b - (b>>63)&a
	return int64(low), signed == int64(low)>>63
}

func floorDivideInt(a, b int64) (int64, bool) {
	switch b {
	case 0:
		return 0, false
	case -1:
		return negateInt(a)
	}
	quotient := a / b
	if a%b != 0 && (a^b) < 0 {
		quotient--
	}
	return quotient, true
}

func moduloInt(a, b int64) (int64, bool) {
	if b == 0 {
		return 0, false
	}
	remainder := a % b
	if remainder != 0 && (remainder^b) < 0 {
		remainder += b
	}
	return remainder, true
}

func powerInt(base, exponent int64) (int64, bool) {
	if exponent < 0 {
		return 0, false
	}
	result := int64(1)
	for {
		var ok bool
		if exponent&1 != 0 {
			if result, ok = multiplyInt(result, base); !ok {
				return 0, false
			}
		}
		if exponent >>= 1; exponent == 0 {
			return result, true
		}
		// A higher bit is still set, so this square, if not a higher one,
		// becomes a factor of the result: when it does not fit, neither does
		// the result.
		if base, ok = multiplyInt(base, base); !ok {
			return 0, false
		}
	}
}

func shiftLeftInt(a, count int64) (int64, bool) {
	if count < 0 || count > 63 {
		return 0, count > 0 && a == 0
	}
	shifted := a << count
	return shifted, shifted>>count == a
}

func shiftRightInt(a, count int64) (int64, bool) { return a >> min(uint64(count), 63), count >= 0 }

func bitOrInt(a, b int64) (int64, bool)  { return a | b, true }
func bitXorInt(a, b int64) (int64, bool) { return a ^ b, true }
func bitAndInt(a, b int64) (int64, bool) { return a & b, true }

func lessInt(a, b int64) (int64, bool)         { return bit(a < b), true }
func lessEqualInt(a, b int64) (int64, bool)    { return bit(a <= b), true }
func greaterInt(a, b int64) (int64, bool)      { return bit(a > b), true }
func greaterEqualInt(a, b int64) (int64, bool) { return bit(a >= b), true }
func equalInt(a, b int64) (int64, bool)        { return bit(a == b), true }
func notEqualInt(a, b int64) (int64, bool)     { return bit(a != b), true }

func minInt(a, b int64) (int64, bool) { return min(a, b), true }
func maxInt(a, b int64) (int64, bool) { return max(a, b), true }

func negateInt(a int64) (int64, bool) { return -a, a != math.MinInt64 }
func invertInt(a int64) (int64, bool) { return ^a, true }
func sameInt(a int64) (int64, bool)   { return a, true }
func notInt(a int64) (int64, bool)    { return bit(a == 0), true }

func absInt(a int64) (int64, bool) {
	if a < 0 {
		return negateInt(a)
	}
	return a, true
}

func ceilDivInt(a, b int64) (int64, bool) {
	switch b {
	case 0:
		return 0, false
	case -1:
		return negateInt(a)
	}
	quotient := a / b
	if a%b != 0 && (a^b) >= 0 {
		quotient++
	}
	return quotient, true
}

// roundUpInt has no result for a multiple below 1.
func roundUpInt(a, multiple int64) (int64, bool) {
	if multiple < 1 {
		return 0, false
	}
	blocks, _ := ceilDivInt(a, multiple)
	return multiplyInt(blocks, multiple)
}

func gcdInt(a, b int64) (int64, bool) {
	for b != 0 {
		a, b = b, a%b
	}
	return absInt(a)
}

// nextPow2Int returns the smallest power of two that is not below a; 1 is the
// smallest of all.
func nextPow2Int(a int64) (int64, bool) {
	if a <= 1 {
		return 1, true
	}
	return 1 << min(bits.Len64(uint64(a-1)), 62), a <= 1<<62
}

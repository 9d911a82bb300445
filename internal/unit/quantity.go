package unit

import (
	"math"
	"strconv"
)

// Quantity writes a number with its unit, in as few digits as a sentence needs: "459 µs", "12.5%".
func Quantity(v float64, of string) string {
	switch of {
	case "%":
		return strconv.FormatFloat(v, 'f', Digits(v), 64) + "%"
	case "s":
		return Duration(v)
	case "J":
		return Energy(v)
	case "Hz":
		return GHz(v / 1e9)
	case "B/s":
		return Bandwidth(v / 1e9)
	case "B":
		return Bytes(int64(math.Round(v)))
	case "×":
		return strconv.FormatFloat(v, 'f', Digits(v), 64) + "×"
	}
	if (v == math.Trunc(v) || Digits(v) == 0) && math.Abs(v) < 1e15 { // a median of whole numbers may be none
		return Count(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'f', Digits(v), 64)
}

// Digits is the number of decimals that a number in a sentence has.
func Digits(v float64) int {
	switch {
	case v == 0:
		return 0
	case math.Abs(v) >= 20:
		return 0
	case math.Abs(v) >= 0.95:
		return 1
	}
	return 2
}

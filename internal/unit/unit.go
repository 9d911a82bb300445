// Package unit writes numbers the way people read them, and reads the ones they
// write. Every number pawl shows goes through here, so that the same quantity
// looks the same in a table, a comment and a chart.
//
// Measured quantities have three significant digits. Negative numbers have a
// real minus sign. What is not a finite number is shown as "n/a".
package unit

import (
	"math"
	"strconv"
	"strings"
)

const (
	minus        = "−"
	notAvailable = "n/a"
)

// A step is a unit and how many base units it is.
type step struct {
	name string
	size float64
}

var (
	timeSteps   = []step{{"ns", 1e-9}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}}
	flopSteps   = []step{{"FLOP/s", 1e-9}, {"kFLOP/s", 1e-6}, {"MFLOP/s", 1e-3}, {"GFLOP/s", 1}, {"TFLOP/s", 1e3}, {"PFLOP/s", 1e6}}
	energySteps = []step{{"nJ", 1e-9}, {"µJ", 1e-6}, {"mJ", 1e-3}, {"J", 1}, {"kJ", 1e3}}
	rateSteps   = []step{{"B/s", 1e-9}, {"kB/s", 1e-6}, {"MB/s", 1e-3}, {"GB/s", 1}, {"TB/s", 1e3}, {"PB/s", 1e6}}
)

// Duration writes seconds: "52.1 µs", "861 µs", "1.21 ms".
func Duration(seconds float64) string { return scaled(seconds, timeSteps) }

// Durations writes two durations in one unit, the one that suits the longer:
// "52.1", "54.8", "µs".
func Durations(a, b float64) (first, second, unit string) {
	s := fit(math.Max(math.Abs(a), math.Abs(b)), timeSteps)
	return significant(a / s.size), significant(b / s.size), s.name
}

// Pair writes a change of duration: "52.1 → 54.8 µs". Durations that lie too
// far apart to share a unit keep their own: "52.1 ns → 1.20 s".
func Pair(a, b float64) string {
	long := math.Max(math.Abs(a), math.Abs(b))
	short := math.Min(math.Abs(a), math.Abs(b))
	if !finite(a) || !finite(b) || short != 0 && short < long/100 {
		return Duration(a) + " → " + Duration(b)
	}
	first, second, unit := Durations(a, b)
	return first + " → " + second + " " + unit
}

// GFLOPS writes a rate of computation given in GFLOP/s: "812 GFLOP/s",
// "1.21 TFLOP/s".
func GFLOPS(gflops float64) string { return scaled(gflops, flopSteps) }

// Bandwidth writes a rate of transfer given in GB/s, in decimal units:
// "23.4 GB/s", "3.91 TB/s".
func Bandwidth(gbps float64) string { return scaled(gbps, rateSteps) }

// Energy writes joules: "12.3 mJ", "1.21 kJ".
func Energy(joules float64) string { return scaled(joules, energySteps) }

// GHz writes a clock rate given in GHz: "2.10 GHz".
func GHz(ghz float64) string {
	if !finite(ghz) {
		return notAvailable
	}
	return sign(strconv.FormatFloat(ghz, 'f', 2, 64)) + " GHz"
}

// Percent writes a change given as a fraction, always with its sign: "+5.2%",
// "−12.4%". What rounds to nothing has none: "0.0%".
func Percent(fraction float64) string {
	text := PercentPlain(fraction)
	if fraction > 0 && finite(fraction) && text != "0.0%" {
		return "+" + text
	}
	return text
}

// PercentPlain writes a share given as a fraction: "3.1%".
func PercentPlain(fraction float64) string {
	if !finite(fraction) {
		return notAvailable
	}
	return sign(strconv.FormatFloat(100*fraction, 'f', 1, 64)) + "%"
}

// Count writes a whole number with its thousands apart: "1,234".
func Count(n int) string {
	digits := strconv.Itoa(n)
	start := strings.IndexFunc(digits, func(r rune) bool { return r != '-' })
	for i := len(digits) - 3; i > start; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign(digits)
}

// Plural counts things: 1 row, 2,000 rows.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Few names some words and counts the rest.
func Few(words []string, most int) string {
	if len(words) <= most {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:most], ", ") + " and " + strconv.Itoa(len(words)-most) + " more"
}

var binarySteps = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Scientific returns a small or large number with two digits: 1.2e-03.
func Scientific(v float64) string { return strconv.FormatFloat(v, 'e', 1, 64) }

// Bytes writes a size in binary units, to a tenth: "512 B", "64 KiB",
// "1.5 GiB".
func Bytes(n int64) string {
	v, unit := float64(n), 0
	// 1023.95 would be written as 1024.0, which is the next unit's 1.
	for math.Abs(v) >= 1023.95 && unit < len(binarySteps)-1 {
		v /= 1024
		unit++
	}
	return sign(strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")) + " " + binarySteps[unit]
}

func scaled(v float64, steps []step) string {
	if !finite(v) {
		return notAvailable
	}
	s := fit(v, steps)
	return significant(v/s.size) + " " + s.name
}

// fit finds the least step in which v, once rounded, has at most three digits
// before the point: 999.6 ns is 1.00 µs.
func fit(v float64, steps []step) step {
	v = math.Abs(v)
	for _, s := range steps[:len(steps)-1] {
		if v/s.size < 999.5 {
			return s
		}
	}
	return steps[len(steps)-1]
}

// significant writes three significant digits, without an exponent: 1234 stays
// 1234, as a whole number is easier read than 1230.
func significant(v float64) string {
	switch {
	case !finite(v):
		return notAvailable
	case v == 0:
		return "0"
	}
	scientific := strconv.FormatFloat(v, 'e', 2, 64)
	exponent, _ := strconv.Atoi(scientific[strings.IndexByte(scientific, 'e')+1:])
	return sign(strconv.FormatFloat(v, 'f', max(0, 2-exponent), 64))
}

// sign replaces a hyphen by a minus sign, and leaves it out before a zero.
func sign(number string) string {
	magnitude, negative := strings.CutPrefix(number, "-")
	if negative && strings.Trim(magnitude, "0.") != "" {
		return minus + magnitude
	}
	return magnitude
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

package profile

import (
	"math"
	"strconv"
	"strings"
)

// Value is one reading, in a base unit: s, B, Hz, %, or what ncu counts (inst, sector).
type Value struct {
	Number float64 `json:"value"`
	Unit   string  `json:"unit,omitempty"`
}

// absent are the words with which ncu says that there is no reading.
var absent = map[string]bool{
	"": true, "n/a": true, "N/A": true, "no data": true, "nan": true, "-nan": true, "NaN": true, "-nan(ind)": true,
	"inf": true, "-inf": true, "Infinity": true, "-": true, "<error>": true, "ERROR": true,
}

// number reads a number as ncu writes it, with or without thousands apart: "3,422,990.46". It
// refuses what may mean something else, such as the decimal comma of "3,2".
func number(text string) (float64, bool) {
	if text == "" || text[0] > '9' || absent[text] {
		return 0, false
	}
	if text == "0" {
		return 0, true
	}
	plain := text
	if strings.IndexByte(text, ',') >= 0 || strings.ContainsAny(text, "'\u00a0\u202f\u2019") {
		var ok bool
		if plain, ok = ungroup(text); !ok {
			return 0, false
		}
	}
	for i := range len(plain) { // ParseFloat also reads words, hexadecimals and underscores
		if c := plain[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false
	}
	return v, true
}

// ungroup removes the separators of thousands, if they stand every three digits before the point.
func ungroup(text string) (string, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for _, separator := range []string{"\u00a0", "\u202f", "\u2019", "'"} {
		whole = strings.ReplaceAll(whole, separator, ",")
	}
	groups := strings.Split(whole, ",")
	for i, group := range groups {
		if len(group) > 3 || len(group) == 0 || i > 0 && len(group) != 3 {
			return "", false
		}
	}
	plain := sign + strings.Join(groups, "")
	if fraction != "" {
		if strings.IndexByte(fraction, ',') >= 0 {
			return "", false
		}
		plain += "." + fraction
	}
	return plain, true
}

// scale is a base unit, and how many of it a unit of ncu is.
type scale struct {
	base string
	size float64
}

// words of ncu's units. Its kilobyte is a thousand bytes. Older versions write usecond, newer us.
var unitWords = map[string]scale{
	"byte": {"B", 1}, "Kbyte": {"B", 1e3}, "Mbyte": {"B", 1e6}, "Gbyte": {"B", 1e9}, "Tbyte": {"B", 1e12}, "Pbyte": {"B", 1e15},
	"nsecond": {"s", 1e-9}, "usecond": {"s", 1e-6}, "msecond": {"s", 1e-3}, "second": {"s", 1},
	"ns": {"s", 1e-9}, "us": {"s", 1e-6}, "ms": {"s", 1e-3}, "s": {"s", 1},
	"hz": {"Hz", 1}, "Khz": {"Hz", 1e3}, "Mhz": {"Hz", 1e6}, "Ghz": {"Hz", 1e9}, "Thz": {"Hz", 1e12},
	"Hz": {"Hz", 1}, "kHz": {"Hz", 1e3}, "MHz": {"Hz", 1e6}, "GHz": {"Hz", 1e9},
	"sectors": {"sector", 1}, "instr": {"inst", 1}, "percent": {"%", 1}, "Kcycle": {"cycle", 1e3}, "Mcycle": {"cycle", 1e6},
}

// unitOf returns what a unit of ncu is in base units. One that is not known stays as it is.
func unitOf(unit string) scale {
	if s, known := unitWords[unit]; known {
		return s
	}
	above, below, ratio := strings.Cut(unit, "/")
	if !ratio {
		return scale{unit, 1}
	}
	a, b := unitOf(above), unitOf(below)
	if b.base == "Hz" {
		b = scale{below, 1} // nothing is per hertz
	}
	s := scale{a.base + "/" + b.base, a.size / b.size}
	if s.base == "cycle/s" {
		s.base = "Hz"
	}
	return s
}

package unit

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// ParsePercent reads a share as a fraction: "3%" and "0.03" are both 0.03. A
// number of 1 or more needs its percent sign, since "3" may mean 3% or 300%.
func ParsePercent(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimSpace(number)
	v, err := strconv.ParseFloat(number, 64)
	// ParseFloat knows words and hexadecimal too, which nobody means here.
	if err != nil || strings.Trim(number, "0123456789.eE+-") != "" {
		return 0, fmt.Errorf("%q is not a percentage: expected one like 3%% or 0.03", text)
	}
	if math.Signbit(v) && v != 0 {
		return 0, fmt.Errorf("%q is negative: expected a percentage like 3%% or 0.03", text)
	}
	if percent {
		return v / 100, nil
	}
	if v >= 1 {
		return 0, fmt.Errorf("%q may mean %s%% or a fraction: write %s%%", text, number, number)
	}
	return math.Abs(v), nil
}

var byteUnits = map[string]int64{
	"": 1, "b": 1,
	"k": 1 << 10, "kib": 1 << 10, "kb": 1e3,
	"m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
	"g": 1 << 30, "gib": 1 << 30, "gb": 1e9,
	"t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
}

// ParseBytes reads a size: "2GiB", "500MB", "64k", "1.5 GiB", "4096". As GNU
// tools have it, a bare letter and KiB are powers of 1024, kB is 1000. The case
// of letters does not matter, and a part of a byte is dropped.
func ParseBytes(text string) (int64, error) {
	trimmed := strings.TrimSpace(text)
	end := strings.IndexFunc(trimmed, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(trimmed)
	}
	number, name := trimmed[:end], strings.TrimSpace(trimmed[end:])
	v, ok := new(big.Rat), len(number) <= 40 // a longer one is a mistake, and slow to read
	if ok {
		v, ok = v.SetString(number)
	}
	if !ok {
		return 0, fmt.Errorf("%q is not a size: expected one like 2GiB, 500MB or 64k", text)
	}
	unit, ok := byteUnits[strings.ToLower(name)]
	if !ok {
		return 0, fmt.Errorf("%q has an unknown unit %q: expected B, or k, M, G, T with B, iB or nothing after it", text, name)
	}
	v.Mul(v, new(big.Rat).SetInt64(unit))
	whole := new(big.Int).Quo(v.Num(), v.Denom())
	if !whole.IsInt64() {
		return 0, fmt.Errorf("%q is more than there are bytes anywhere", text)
	}
	return whole.Int64(), nil
}

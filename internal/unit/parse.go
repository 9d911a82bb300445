package unit

import (
	"fmt"
	"math"
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

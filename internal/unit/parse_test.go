package unit

import (
	"math"
	"strings"
	"testing"
)

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]float64{
		"3%": 0.03, " 3 % ": 0.03, "0.03": 0.03, ".5": 0.5, "0.3%": 0.003, "0": 0, "-0": 0,
		"0%": 0, "150%": 1.5, "1e-2": 0.01, "12.5%": 0.125,
	} {
		got, err := ParsePercent(text)
		if err != nil || got != want || math.Signbit(got) {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":       "not a percentage",
		"%":      "not a percentage",
		"three":  "not a percentage",
		"3%%":    "not a percentage",
		"nan":    "not a percentage",
		"inf%":   "not a percentage",
		"0x1p-4": "not a percentage",
		"1e999%": "not a percentage",
		"-3%":    "negative",
		"3":      "write 3%",
		"1":      "write 1%",
	} {
		if got, err := ParsePercent(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func FuzzParsePercent(f *testing.F) {
	for _, seed := range []string{"3%", "0.03", "", "%", "-1", "1e308%", "nan", "0x1p-4", "3 %", "1_0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParsePercent(text)
		if err == nil && (!finite(v) || v < 0) {
			t.Errorf("%q gives %v", text, v)
		}
	})
}

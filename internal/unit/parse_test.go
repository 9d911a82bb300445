package unit

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
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

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "512B": 512, "64k": 64 << 10, "64K": 64 << 10, "64kB": 64000, "64KiB": 64 << 10,
		"2GiB": 2 << 30, "500MB": 500e6, "1.5 GiB": 3 << 29, " 1 t ": 1 << 40, "1TB": 1e12, "0.1k": 102,
		"9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "not a size", "GiB": "not a size", "-1": "not a size", "1.2.3": "not a size",
		strings.Repeat("0", 100): "not a size",
		"2 XB":                   "unknown unit", "1e3": "unknown unit", "1/2": "unknown unit",
		"9223372036854775808": "more than", "9000000TiB": "more than",
	} {
		if got, err := ParseBytes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestBytesReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<49).Draw(t, "n")
		back, err := ParseBytes(Bytes(n))
		if err != nil {
			t.Fatal(err)
		}
		// A tenth of a unit, of which there is at least one.
		if off := math.Abs(float64(back - n)); off > 0.051*float64(n)+1 {
			t.Fatalf("%d is written %q, which is %d", n, Bytes(n), back)
		}
	})
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

func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"2GiB", "500MB", "64k", "1.5 GiB", "", ".", "1e9", "9223372036854775807", "0.0000001t", "١"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseBytes(text)
		if err == nil && n < 0 {
			t.Errorf("%q gives %v", text, n)
		}
	})
}

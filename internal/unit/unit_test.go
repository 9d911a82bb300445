package unit

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, test := range []struct{ got, want string }{
		{Duration(52.1e-6), "52.1 µs"},
		{Duration(861e-6), "861 µs"},
		{Duration(1.21e-3), "1.21 ms"},
		{Duration(1e-9), "1.00 ns"},
		{Duration(0.25e-9), "0.250 ns"},
		{Duration(3.4567e-12), "0.00346 ns"},
		{Duration(999.4e-9), "999 ns"},
		{Duration(999.6e-9), "1.00 µs"},
		{Duration(9.996e-6), "10.0 µs"},
		{Duration(99.96e-6), "100 µs"},
		{Duration(0.99951), "1.00 s"},
		{Duration(1), "1.00 s"},
		{Duration(12.34), "12.3 s"},
		{Duration(1234.5), "1234 s"},
		{Duration(0), "0 ns"},
		{Duration(-52.1e-6), "−52.1 µs"},
		{Duration(nan), "n/a"},
		{Duration(-inf), "n/a"},

		{Pair(52.1e-6, 54.8e-6), "52.1 → 54.8 µs"},
		{Pair(861e-6, 862e-6), "861 → 862 µs"},
		{Pair(1.21e-3, 1.06e-3), "1.21 → 1.06 ms"},
		{Pair(0.99e-3, 1.02e-3), "0.990 → 1.02 ms"},
		{Pair(1.02e-3, 0.9996e-3), "1.02 → 1.00 ms"},
		{Pair(52.1e-9, 1.2), "52.1 ns → 1.20 s"},
		{Pair(0, 1e-6), "0 → 1.00 µs"},
		{Pair(nan, 1e-6), "n/a → 1.00 µs"},

		{GFLOPS(812), "812 GFLOP/s"},
		{GFLOPS(1210), "1.21 TFLOP/s"},
		{GFLOPS(1979e3), "1.98 PFLOP/s"},
		{GFLOPS(0.5), "500 MFLOP/s"},
		{GFLOPS(0), "0 FLOP/s"},
		{GFLOPS(nan), "n/a"},
		{Bandwidth(3910), "3.91 TB/s"},
		{Energy(0.0123), "12.3 mJ"},
		{Energy(2e3), "2.00 kJ"},
		{Quantity(2.5e-6, "J"), "2.50 µJ"},
		{Bandwidth(23.4), "23.4 GB/s"},
		{Bandwidth(0.0123), "12.3 MB/s"},
		{GHz(2.1), "2.10 GHz"},
		{GHz(0.8), "0.80 GHz"},
		{GHz(nan), "n/a"},

		{Percent(0.052), "+5.2%"},
		{Percent(-0.124), "−12.4%"},
		{Percent(0.001), "+0.1%"},
		{Percent(0.0004), "0.0%"},
		{Percent(-0.0004), "0.0%"},
		{Percent(0), "0.0%"},
		{Percent(12.5), "+1250.0%"},
		{Percent(inf), "n/a"},
		{PercentPlain(0.031), "3.1%"},
		{PercentPlain(-0.031), "−3.1%"},
		{PercentPlain(1), "100.0%"},
		{PercentPlain(nan), "n/a"},

		{Count(0), "0"},
		{Count(999), "999"},
		{Count(1234), "1,234"},
		{Count(100000), "100,000"},
		{Count(1234567), "1,234,567"},
		{Count(-999), "−999"},
		{Count(-1234), "−1,234"},
		{Count(-100000), "−100,000"},
		{Count(math.MinInt64), "−9,223,372,036,854,775,808"},

		{Bytes(0), "0 B"},
		{Bytes(512), "512 B"},
		{Bytes(1023), "1023 B"},
		{Bytes(1024), "1 KiB"},
		{Bytes(64 << 10), "64 KiB"},
		{Bytes(3 << 29), "1.5 GiB"},
		{Bytes(1<<20 - 1), "1 MiB"},
		{Bytes(1<<20 - 100), "1023.9 KiB"},
		{Bytes(math.MaxInt64), "8 EiB"},
		{Bytes(-1536), "−1.5 KiB"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, test := range []struct {
		a, b                float64
		first, second, unit string
	}{
		{52.1e-6, 54.8e-6, "52.1", "54.8", "µs"},
		{999e-6, 1001e-6, "0.999", "1.00", "ms"},
		{1e-9, 1, "0.00000000100", "1.00", "s"},
		{math.NaN(), 2, "n/a", "2.00", "s"},
	} {
		first, second, unit := Durations(test.a, test.b)
		if first != test.first || second != test.second || unit != test.unit {
			t.Errorf("%v, %v: got %q, %q, %q", test.a, test.b, first, second, unit)
		}
	}
}

func TestDurationHasThreeDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exponent := rapid.Float64Range(-9, 2.99).Draw(t, "exponent")
		seconds := math.Pow(10, exponent)
		text := Duration(seconds)
		number, name, ok := strings.Cut(text, " ")
		if !ok || len(strings.Trim(number, "0123456789.")) > 0 {
			t.Fatalf("%v is written %q", seconds, text)
		}
		if digits := strings.ReplaceAll(number, ".", ""); len(digits) != 3 || digits[0] == '0' {
			t.Fatalf("%v is written %q: want three significant digits", seconds, text)
		}
		if !slices.Contains([]string{"ns", "µs", "ms", "s"}, name) {
			t.Fatalf("%v is written %q", seconds, text)
		}
	})
}

func TestQuantity(t *testing.T) {
	for _, test := range []struct {
		v    float64
		of   string
		want string
	}{
		{85.4, "%", "85%"},
		{5.34, "%", "5.3%"},
		{0.125, "%", "0.12%"},
		{0, "%", "0%"},
		{1.5, "×", "1.5×"},
		{2048, "B", "2 KiB"},
		{4.1e12, "B/s", "4.10 TB/s"},
		{2e-5, "s", "20.0 µs"},
		{1.98e9, "Hz", "1.98 GHz"},
		{12345, "inst", "12,345"},
		{1023.6, "", "1,024"},
		{2.75, "warp", "2.8"},
		{0.25, "", "0.25"},
	} {
		if got := Quantity(test.v, test.of); got != test.want {
			t.Errorf("%v %s: %q, expected %q", test.v, test.of, got, test.want)
		}
	}
}

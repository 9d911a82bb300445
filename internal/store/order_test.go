package store

import "testing"

// Numbers in names are ordered by value, and every two names have an order.
func TestSeriesInOrder(t *testing.T) {
	names := []string{
		"", "0", "00", "01", "1", "2", "10", "16_32", "16x", "99999999999999999998", "99999999999999999999", "100000000000000000000",
		"Kernel", "kernel", "kernel1", "kernel1_n2", "kernel1_n10", "kernel02", "kernel2", "kernel10", "kernel10_n1", "kernel_1", "kernels", "käse",
	}
	for i, a := range names {
		for j, b := range names {
			if got := compareNames(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q: %d, want the order of %d and %d", a, b, got, i, j)
			}
		}
	}
	for _, c := range [][2]Series{
		{{Kernel: "a9", Config: "z"}, {Kernel: "a10", Config: "a"}},
		{{Kernel: "a", Config: "n_9", Class: "z"}, {Kernel: "a", Config: "n_10", Class: "a"}},
		{{Kernel: "a", Config: "n", Class: "gpu9"}, {Kernel: "a", Config: "n", Class: "gpu10"}},
	} {
		if c[0].Compare(c[1]) >= 0 || c[1].Compare(c[0]) <= 0 || c[0].Compare(c[0]) != 0 {
			t.Errorf("%v is not before %v", c[0], c[1])
		}
	}
}

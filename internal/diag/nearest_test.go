package diag

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	keys := []string{"source", "entry", "params", "constraints", "launch", "args", "oracle", "work", "configs"}
	tests := []struct {
		word  string
		names []string
		want  string
	}{
		{"sorce", keys, "source"},
		{"soucre", keys, "source"},
		{"sources", keys, "source"},
		{"Params", keys, "params"},
		{"param", keys, "params"},
		{"constrains", keys, "constraints"},
		{"contraint", keys, "constraints"},
		{"lanuch", keys, "launch"},
		{"arg", keys, "args"},
		{"wrok", keys, "work"},
		{"banana", keys, ""},
		{"x", keys, ""},
		{"", keys, ""},
		{"source", nil, ""},
		{"BLOCKM", []string{"BLOCK_M", "BLOCK_N"}, "BLOCK_M"},
		{"BLOCK_K", []string{"BLOCK_N", "BLOCK_M"}, "BLOCK_M"}, // equally near: the first by name
		{"N", []string{"B", "H", "S", "D"}, ""},
		{"s", []string{"B", "H", "S", "D"}, "S"},
		{"", []string{"B"}, ""},
		{"BM", []string{"BN"}, "BN"},
		{"cos", []string{"abs", "gcd"}, ""},
		{"größe", []string{"grösse", "grobe"}, "grobe"},
	}
	for _, test := range tests {
		if got := Nearest(test.word, test.names); got != test.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", test.word, test.names, got, test.want)
		}
	}
}

func TestNearestLeavesNamesAlone(t *testing.T) {
	names := []string{"b", "a"}
	Nearest("ab", names)
	Meant("zzzz", names)
	if !slices.Equal(names, []string{"b", "a"}) {
		t.Errorf("names are now %q", names)
	}
}

func TestMeant(t *testing.T) {
	tests := []struct {
		word  string
		names []string
		want  string
	}{
		{"gemn", []string{"softmax", "gemm"}, "did you mean gemm?"},
		{"conv", []string{"softmax", "gemm"}, "expected one of: gemm, softmax"},
		{"conv", nil, ""},
	}
	for _, test := range tests {
		if got := Meant(test.word, test.names); got != test.want {
			t.Errorf("Meant(%q, %q) = %q, want %q", test.word, test.names, got, test.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "ab", 1},
		{"abc", "xabc", 1},
		{"abcd", "abdc", 1},
		{"abcd", "badc", 2},
		{"ca", "abc", 3}, // a swapped pair is not changed again
		{"kitten", "sitting", 3},
		{"größe", "grösse", 2},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// The table-free definition of the distance, slow and plain.
func plainDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	best := min(plainDistance(a[1:], b), plainDistance(a, b[1:])) + 1
	change := 1
	if a[0] == b[0] {
		change = 0
	}
	best = min(best, plainDistance(a[1:], b[1:])+change)
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		best = min(best, plainDistance(a[2:], b[2:])+1)
	}
	return best
}

func TestDistanceIsPlainDistance(t *testing.T) {
	words := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		if got, want := distance(a, b), plainDistance(a, b); got != want {
			t.Errorf("distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

package formula

import (
	"math"
	"slices"
	"testing"
)

func TestWith(t *testing.T) {
	expr, err := Parse("K % (A * B) == 0 and K > A")
	if err != nil {
		t.Fatal(err)
	}
	bound := expr.With(map[string]Value{"A": Int(2), "B": Int(4), "unused": Int(1)})
	if got := bound.Names(); !slices.Equal(got, []string{"K"}) {
		t.Errorf("names %q, want K alone", got)
	}
	program, err := bound.Compile([]string{"K"})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[int64]bool{16: true, 12: false} {
		if v, err := program.Eval([]Value{Int(k)}); err != nil || v != Bool(want) {
			t.Errorf("K=%d: %s, %v; want %v", k, v, err, want)
		}
	}
	if got := expr.Names(); !slices.Equal(got, []string{"A", "B", "K"}) {
		t.Errorf("With changed the formula: its names are %q", got)
	}
}

// What is fixed is folded, and an infinite value is an error where it is reached, as with Eval.
func TestWithFolds(t *testing.T) {
	expr, err := Parse("A * 2 + B if C else X")
	if err != nil {
		t.Fatal(err)
	}
	all := expr.With(map[string]Value{"A": Int(3), "B": Int(4), "C": Bool(true), "X": Float(math.Inf(1))})
	if got := all.Names(); !slices.Equal(got, []string{"X"}) {
		t.Errorf("names %q, want X, which is infinite", got)
	}
	if n, ok := resolve(all.root, map[string]int{"X": 0}).(*constantNode); !ok || n.value != Int(10) {
		t.Errorf("folds to %+v, want 10", n)
	}
}

package stat

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTailShare(t *testing.T) {
	flat := slices.Repeat([]float64{1}, 20)
	tail := func(n int) []float64 {
		return append(slices.Repeat([]float64{1}, 20-n), slices.Repeat([]float64{2}, n)...)
	}
	for _, test := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"nothing", nil, nil, 0},
		{"one side only", flat, nil, 0},
		{"all alike", flat, flat, 0},
		{"all slow ones are a's", tail(4), flat, 1},
		{"all slow ones are b's", flat, tail(4), -1},
		{"three to one", tail(3), tail(1), 0.5},
		{"a is longer than b: shares count", slices.Concat(tail(2), tail(2)), tail(2), 0},
		{"most of a is slow, all of it alike", tail(15), flat, 1},
		{"a tie for the last place", append(tail(3), 3), append(tail(3), 1), 0.2},
	} {
		if got := TailShare(test.a, test.b); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %g, want %g", test.name, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(0.1, 10), 1, 60)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		before := slices.Clone(a)
		got := TailShare(a, b)
		if got != -TailShare(b, a) || got < -1 || got > 1 {
			t.Fatalf("%g, the other way %g", got, TailShare(b, a))
		}
		if !slices.Equal(before, a) {
			t.Fatal("the samples were changed")
		}
	})
}

func TestPositiveMean(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 1},
		{[]float64{1}, 1},
		{[]float64{1, 1}, 0},
		{[]float64{0, 0}, 1},
		{[]float64{-1, -1}, 1},
		{[]float64{-1, 0.5}, 1},
		{[]float64{1, 2, 3, 4, 5}, 0.0066177998}, // scipy.stats.ttest_1samp(…, 0, alternative="greater")
		{[]float64{0.3, -0.1, 0.2, 0.4}, 0.0805809236},
	} {
		if got := PositiveMean(test.values); math.Abs(got-test.want) > 1e-6 {
			t.Errorf("%v: %g, want %g", test.values, got, test.want)
		}
	}
}

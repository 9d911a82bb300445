package stat

import (
	"math"
	"slices"
	"testing"
)

func TestCountTail(t *testing.T) {
	for n := range 12 {
		even := slices.Repeat([]float64{0.5}, n)
		for count := range n + 1 {
			if got, want := CountTail(count, even), SignTail(count, n); math.Abs(got-want) > 1e-12 {
				t.Errorf("%d of %d: %g, want %g", count, n, got, want)
			}
		}
	}
	for _, test := range []struct {
		count   int
		chances []float64
		want    float64
	}{
		{1, nil, 0},
		{0, nil, 1},
		{-1, []float64{0.2}, 1},
		{3, []float64{0.5, 0.5}, 0},
		{2, []float64{0.5, 0.1}, 0.05},
		{1, []float64{0.5, 0.1}, 0.55},
		{1, []float64{0, 1}, 1},
	} {
		if got := CountTail(test.count, test.chances); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%d of %v: %g, want %g", test.count, test.chances, got, test.want)
		}
	}
}

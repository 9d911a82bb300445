package term

import (
	"math"
	"testing"
)

func TestSpark(t *testing.T) {
	gap := math.NaN()
	for _, c := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 10, ""},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8}, 0, "▁▂▃▄▅▆▇█"},
		{[]float64{5, 5, 5}, 10, "▄▄▄"},
		{[]float64{1, gap, 8, math.Inf(1), 1}, 10, "▁ █ ▁"},
		{[]float64{gap, gap, gap, gap}, 2, "  "},
		{[]float64{1, 1, 1, 1, 1, 9, 1, 1}, 4, "▁▁█▁"}, // a peak stays
		{[]float64{1, 1, gap, gap, 2, 2}, 3, "▁ █"},
	} {
		if got := Spark(c.values, c.width); got != c.want {
			t.Errorf("%v in %d columns: %q, expected %q", c.values, c.width, got, c.want)
		}
	}
}

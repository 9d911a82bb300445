package term

import (
	"math"
	"slices"
	"strings"
)

// Spark draws values as a line of blocks, one column each, the least lowest. What is not finite is
// a gap. More values than the width has columns share them: a column shows the one of its values
// that is farthest from their median over all, so that a peak is not averaged away. A width of 0 or less has no bound.
func Spark(values []float64, width int) string {
	if width > 0 && len(values) > width {
		values = shared(values, width)
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	var line strings.Builder
	for _, v := range values {
		switch {
		case !finite(v):
			line.WriteByte(' ')
		case low == high:
			line.WriteRune(blocks[len(blocks)/2-1])
		default:
			line.WriteRune(blocks[int(math.Round((v-low)/(high-low)*float64(len(blocks)-1)))])
		}
	}
	return line.String()
}

// shared returns a value for each column.
func shared(values []float64, width int) []float64 {
	all := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	if len(all) == 0 {
		return values[:width]
	}
	slices.Sort(all)
	middle := all[len(all)/2]
	out := make([]float64, width)
	for i := range out {
		out[i] = math.NaN()
		for _, v := range values[i*len(values)/width : (i+1)*len(values)/width] {
			if finite(v) && !(math.Abs(v-middle) <= math.Abs(out[i]-middle)) {
				out[i] = v
			}
		}
	}
	return out
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

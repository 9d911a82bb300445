package plot

import "math"

// Scale maps values to positions between 0, the left end, and 1. The zero Scale
// puts everything in the middle.
type Scale struct {
	low, high float64 // low < high; both positive when log
	log       bool
}

// wide is the spread beyond which small values would be squeezed against the left
// end of a linear scale.
const wide = 20

// The shares of the width left free on either side of the outermost values; labels
// stand on both sides of ratios.
const (
	margin      = 0.04
	ratioMargin = 0.15
)

// Linear returns a scale from low to high. A range without width is widened.
func Linear(low, high float64) Scale {
	low, high = ordered(low, high)
	if high-low < 1e-9*math.Max(math.Abs(low), math.Abs(high)) || high-low < tiny {
		by := math.Max(math.Abs(low)/10, 2*tiny)
		low, high = low-by, high+by
	}
	return Scale{low: low, high: high}
}

// Log returns a logarithmic scale. It is linear where a bound is not positive.
func Log(low, high float64) Scale {
	low, high = ordered(low, high)
	if low < tiny {
		return Linear(low, high)
	}
	if high/low < 1+1e-9 {
		low, high = low/1.1, high*1.1
	}
	return Scale{low: low, high: high, log: true}
}

// ordered sorts two bounds and replaces those that cannot be used.
func ordered(low, high float64) (float64, float64) {
	switch {
	case !usable(low) && !usable(high):
		return 0, 1
	case !usable(low):
		low = high
	case !usable(high):
		high = low
	}
	return math.Min(low, high), math.Max(low, high)
}

// Fit returns a scale for amounts: from zero, so that twice as long looks twice as
// long, or logarithmic where the values spread over more than twentyfold.
func Fit(values []float64) Scale {
	low, high, ok := bounds(values)
	switch {
	case !ok:
		return Linear(0, 1)
	case low > 0 && high/low > wide:
		return logAround(low, high, margin)
	case low >= 0:
		return Linear(0, high*(1+margin))
	}
	free := margin * (high - low)
	return Linear(math.Min(low-free, 0), math.Max(high+free, 0))
}

// FitRatios returns a logarithmic scale for ratios, on which twice and half lie
// equally far from 1, which is always on it.
func FitRatios(values []float64) Scale {
	positive := []float64{1}
	for _, v := range values {
		if v > 0 {
			positive = append(positive, v)
		}
	}
	low, high, _ := bounds(positive)
	// Differences of less than this are noise, and are not to fill the width.
	const least = 1.02
	return logAround(math.Min(low, 1/least), math.Max(high, least), ratioMargin)
}

// logAround returns a scale that leaves a share of its width free on either side.
func logAround(low, high, share float64) Scale {
	free := math.Exp((math.Log(high) - math.Log(low)) * share / (1 - 2*share))
	return Log(math.Max(low/free, tiny), math.Min(high*free, huge))
}

// bounds returns the least and the greatest of the usable values.
func bounds(values []float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if usable(v) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	return low, high, low <= high
}

// Low returns the value at the left end.
func (s Scale) Low() float64 { return s.low }

// High returns the value at the right end.
func (s Scale) High() float64 { return s.high }

// Logarithmic reports whether equal distances are equal ratios.
func (s Scale) Logarithmic() bool { return s.log }

// holds reports whether a value is on the scale.
func (s Scale) holds(v float64) bool { return usable(v) && v >= s.low && v <= s.high }

// At returns the position of a value; what lies outside is at the end it lies beyond,
// and what is not a number in the middle.
func (s Scale) At(v float64) float64 {
	switch {
	case math.IsNaN(v) || s.low >= s.high:
		return 0.5
	case v <= s.low:
		return 0
	case v >= s.high:
		return 1
	case s.log:
		low := math.Log(s.low)
		return within((math.Log(v)-low)/(math.Log(s.high)-low), 0, 1)
	}
	return within((v-s.low)/(s.high-s.low), 0, 1)
}

func within(v, low, high float64) float64 { return math.Min(math.Max(v, low), high) }

package stat

import "math"

// CliffDelta is Cliff's δ of two lists: how much more often a sample of b is
// larger than one of a than smaller, over all pairs of them. Positive: b is
// larger, that is slower. It is NaN when a list is empty.
func CliffDelta(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 || hasNaN(a) || hasNaN(b) {
		return math.NaN()
	}
	smaller, equal := dominance(sorted(a), sorted(b))
	pairs := float64(len(a)) * float64(len(b))
	return (2*smaller + equal - pairs) / pairs
}

// dominance counts the pairs in which the sample of a is smaller than that of b,
// and those in which they are equal. Counts are whole numbers in a float64:
// exact to 2⁵³, that is for lists of ninety million each.
func dominance(a, b []float64) (smaller, equal float64) {
	less, upTo := 0, 0
	for _, x := range b {
		for less < len(a) && a[less] < x {
			less++
		}
		for upTo < len(a) && a[upTo] <= x {
			upTo++
		}
		smaller += float64(less)
		equal += float64(upTo - less)
	}
	return smaller, equal
}

// HodgesLehmann returns the shift of b against a: the median of all differences
// between a sample of b and one of a. It is NaN when a list is empty or holds
// anything but finite numbers.
//
// The differences, sorted by row and column, are a matrix that is never made: its
// middle is found by bisection, counting in each step the differences at or
// below, which a walk along the border does. A million samples on each side take
// less than a second.
func HodgesLehmann(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 || Check(a) != nil || Check(b) != nil {
		return math.NaN()
	}
	a, b = sorted(a), sorted(b)
	pairs := len(a) * len(b)
	middle := kthDifference(a, b, (pairs-1)/2)
	if pairs%2 == 1 {
		return middle
	}
	atMost, next := countDifferences(a, b, middle)
	if atMost >= pairs/2+1 {
		return middle
	}
	return midpoint(middle, next)
}

// kthDifference returns the k-th smallest difference, counted from 0.
func kthDifference(a, b []float64, k int) float64 {
	low, high := b[0]-a[len(a)-1], b[len(b)-1]-a[0]
	below, upTo := 0, len(a)*len(b) // how many are less than low, and at most high
	for step := 1; low < high; step++ {
		if upTo-below <= len(a)+len(b) {
			return nth(differencesBetween(a, b, low, high), k-below)
		}
		pivot := low + (high-low)/2
		// Halving the distance is quick unless few samples lie far off; halving the
		// float64 in between always ends.
		if pivot >= high || step%4 == 0 {
			from, to := ordered(low), ordered(high)
			pivot = unordered(from + (to-from)/2)
		}
		if count, next := countDifferences(a, b, pivot); count > k {
			high, upTo = pivot, count
		} else {
			low, below = next, count
		}
	}
	return low
}

func differencesBetween(a, b []float64, low, high float64) []float64 {
	var all []float64
	first := 0
	for _, v := range a {
		for first < len(b) && b[first]-v < low {
			first++
		}
		for j := first; j < len(b) && b[j]-v <= high; j++ {
			all = append(all, b[j]-v)
		}
	}
	return all
}

// countDifferences counts the differences up to x and finds the least above it.
func countDifferences(a, b []float64, x float64) (atMost int, next float64) {
	next = math.Inf(1)
	j := 0
	for _, v := range a {
		for j < len(b) && b[j]-v <= x {
			j++
		}
		atMost += j
		if j < len(b) {
			next = min(next, b[j]-v)
		}
	}
	return atMost, next
}

// ordered numbers all float64 in their order.
func ordered(x float64) uint64 {
	bits := math.Float64bits(x)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

func unordered(n uint64) float64 {
	if n>>63 == 1 {
		return math.Float64frombits(n &^ (1 << 63))
	}
	return math.Float64frombits(^n)
}

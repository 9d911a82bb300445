package stat

import (
	"math"
	"slices"
)

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

// MannWhitney computes the two-sided Mann–Whitney U test of two lists: u counts the
// pairs in which a's sample is larger, equal ones as half, as
// scipy.stats.mannwhitneyu(a, b) does.
//
// p is exact for small lists (n·m ≤ 400, or without ties n·m ≤ 2500 or a list of
// at most eight): the part of all ways to deal the pooled samples out to the two
// lists that give a u at least as extreme, twice the smaller tail, ties included.
// Else it is the normal approximation with SciPy's corrections for ties and
// continuity. SciPy's own exact p takes no account of ties and is not used by it
// when there are any; where it is used, the two agree.
//
// Both are NaN when a list is empty or holds a NaN.
func MannWhitney(a, b []float64) (u, p float64, exact bool) {
	t := rankTest(a, b)
	return t.u, min(1, 2*min(t.less, t.greater)), t.exact
}

// TOSTLists is TOST for two lists that were not measured in turns: two one-sided
// Mann–Whitney tests, of b being slower than a made slower by the log-ratio low,
// and of b being faster than a made slower by high. Times must be positive: it is
// NaN otherwise, and when a list is empty.
func TOSTLists(a, b []float64, low, high float64) float64 {
	if slices.ContainsFunc(slices.Concat(a, b), func(x float64) bool { return !(x > 0) }) {
		return math.NaN()
	}
	// Both tails have b first, so that "greater" is: b is larger.
	slower := rankTest(b, scaled(a, math.Exp(low))).greater
	faster := rankTest(b, scaled(a, math.Exp(high))).less
	return max(slower, faster)
}

func scaled(samples []float64, factor float64) []float64 {
	s := make([]float64, len(samples))
	for i, x := range samples {
		s[i] = x * factor
	}
	return s
}

// rankResult holds U and the chances of one that is at most, or at least, as large.
type rankResult struct {
	u, less, greater float64
	exact            bool
}

func rankTest(a, b []float64) rankResult {
	if len(a) == 0 || len(b) == 0 || hasNaN(a) || hasNaN(b) {
		nan := math.NaN()
		return rankResult{u: nan, less: nan, greater: nan}
	}
	sa, sb := sorted(a), sorted(b)
	smaller, equal := dominance(sb, sa)
	t := rankResult{u: smaller + equal/2}
	ties := tieGroups(sa, sb)
	n, m := len(a), len(b)
	tied := len(ties) < n+m
	switch {
	case tied && n*m <= 400:
		t.less, t.greater = tiedTails(ties, n, m, t.u)
	case !tied && (n*m <= 2500 || min(n, m) <= 8 && n*m <= 1<<20):
		t.less, t.greater = untiedTails(n, m, t.u)
	default:
		t.less, t.greater = normalTails(ties, n, m, t.u)
		return t
	}
	t.exact = true
	return t
}

// tieGroups returns the sizes of the groups of equal samples of two sorted lists, in order.
func tieGroups(a, b []float64) []int {
	groups := make([]int, 0, len(a)+len(b))
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		var x float64
		switch {
		case i == len(a):
			x = b[j]
		case j == len(b):
			x = a[i]
		default:
			x = min(a[i], b[j])
		}
		size := 0
		for ; i < len(a) && a[i] == x; i++ {
			size++
		}
		for ; j < len(b) && b[j] == x; j++ {
			size++
		}
		groups = append(groups, size)
	}
	return groups
}

func normalTails(ties []int, n, m int, u float64) (less, greater float64) {
	fn, fm := float64(n), float64(m)
	total := fn + fm
	sum := 0.0
	for _, t := range ties {
		ft := float64(t)
		sum += float64(ft*ft*ft) - ft
	}
	std := math.Sqrt(fn * fm / 12 * (total + 1 - sum/(total*(total-1))))
	tail := func(distance float64) float64 {
		if std == 0 {
			return 1 // all samples are equal
		}
		return normalAbove((distance - 0.5) / std)
	}
	return tail(fn*fm/2 - u), tail(u - fn*fm/2)
}

// untiedTails counts the ways to deal n of n+m different samples so that U is
// some number: the coefficients of the Gaussian binomial, a product of quotients
// (1−q^(m+i))/(1−q^i). U is a whole number here and its distribution symmetric.
func untiedTails(n, m int, u float64) (less, greater float64) {
	n, m = min(n, m), max(n, m)
	// The lower half is enough: the upper mirrors it.
	ways := make([]float64, n*m/2+1)
	ways[0] = 1
	for i := 1; i <= n; i++ {
		for k := len(ways) - 1; k >= m+i; k-- {
			ways[k] -= ways[k-m-i]
		}
		for k := i; k < len(ways); k++ {
			ways[k] += ways[k-i]
		}
	}
	all := 1.0
	for i := 1; i <= n; i++ {
		all = all * float64(m+i) / float64(i)
	}
	upTo := func(u int) float64 {
		sum := 0.0
		for k := 0; k <= u; k++ {
			sum += ways[k]
		}
		return sum / all
	}
	cumulative := func(u int) float64 {
		switch {
		case u < 0:
			return 0
		case u < len(ways):
			return upTo(u)
		}
		return 1 - upTo(n*m-u-1)
	}
	at := int(u)
	return cumulative(at), cumulative(n*m - at)
}

// tiedTails deals the pooled samples out group by group: ways[c][s] is the number
// of ways to give c samples to the first list with the rank sum s/2. Mean ranks of
// tied groups are halves, hence the two.
func tiedTails(ties []int, n, m int, u float64) (less, greater float64) {
	if n > m { // fewer ways to follow
		greater, less = tiedTails(ties, m, n, float64(n*m)-u)
		return less, greater
	}
	most := n * (n + 2*m + 1) // the largest n ranks, doubled: n·(n+1) + 2·n·m
	ways := make([][]float64, n+1)
	for c := range ways {
		ways[c] = make([]float64, most+1)
	}
	ways[0][0] = 1
	before := 0 // samples dealt so far
	for _, size := range ties {
		rank := 2*before + size + 1 // of each in the group, doubled
		left := n + m - before - size
		for c := min(n, before+size); c >= max(1, n-left); c-- {
			choose := 1.0
			for k := 1; k <= min(size, c); k++ {
				choose = choose * float64(size-k+1) / float64(k)
				if c-k > before {
					continue
				}
				// From the sum of the smallest ranks to that of the largest.
				from, to := ways[c-k], ways[c][k*rank:]
				for s := (c - k) * (c - k + 1); s <= (c-k)*(2*before-c+k+1); s++ {
					to[s] += float64(choose * from[s])
				}
			}
		}
		before += size
	}
	at := int(2*u) + n*(n+1)
	all := 0.0
	for s, w := range ways[n] {
		all += w
		if s <= at {
			less += w
		}
		if s >= at {
			greater += w
		}
	}
	return less / all, greater / all
}

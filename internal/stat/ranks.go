package stat

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"
)

// middleRanks is the distribution of the middle one or two ranks, counted from
// 0, of n draws with replacement from n sorted samples.
//
// The rank of a draw is ⌊n·U⌋, U uniform. Ranks keep the order of the U, so the
// k-th smallest rank is ⌊n·U₍ₖ₎⌋, and U₍ₖ₎ has the density u^(k−1)·(1−u)^(n−k) up
// to a constant. The probability of rank r is the integral of that from r/n to
// (r+1)/n, which is the difference of two binomial tails written without a
// difference. For even n the two middle ranks belong together: given U₍ₖ₎ = u,
// the n−k larger draws are uniform above u, so that the next one exceeds v with
// probability ((1−v)/(1−u))^(n−k).
//
// Everything is made of sums, products and quotients, which are the same on
// every processor; exponentials are not.
type middleRanks struct {
	n, k  int // the k-th of n draws is the (lower) middle one
	first int // the least rank that is kept: those further out have less than 1e-18
	rows  int // how many are
	width int // the upper middle rank is less than this above the lower; 1 for odd n

	// upTo[i·width+d] adds up the probabilities of all pairs (lower, upper) up to
	// lower = first+i, upper = lower+d, in that order.
	upTo []float64
}

// The two middle ranks are about one apart: the probability falls by about e
// with every rank, to 1e-14 here.
const farApart = 32

// ranksOf is newMiddleRanks, less the work when asked again for the same number:
// the benchmarks of a file usually have equally many samples.
func ranksOf(n int) *middleRanks {
	if m := lastRanks.Load(); m != nil && m.n == n {
		return m
	}
	m := newMiddleRanks(n)
	lastRanks.Store(m)
	return m
}

var lastRanks atomic.Pointer[middleRanks]

func newMiddleRanks(n int) *middleRanks {
	m := &middleRanks{n: n, k: (n + 1) / 2, width: 1}
	if n%2 == 0 {
		m.width = min(n, farApart)
	}
	mode := m.k - 1
	lower, upper := m.outwards(mode, -1), m.outwards(mode+1, 1)
	slices.Reverse(lower)
	m.first = mode + 1 - len(lower)
	m.rows = len(lower) + len(upper)
	m.accumulate(append(lower, upper...))
	return m
}

// rank is how likely a lower middle rank is, up to a constant, and how likely the
// upper one is then another.
type rank struct{ weight, parted float64 }

// outwards weighs ranks going away from the mode, until they are too unlikely to
// be met.
func (m *middleRanks) outwards(r, direction int) []rank {
	ranks := make([]rank, 0, 64)
	peak := 0.0
	for ; r >= 0 && r < m.n; r += direction {
		w := m.weigh(r)
		peak = max(peak, w.weight)
		if w.weight < 1e-18*peak {
			break
		}
		ranks = append(ranks, w)
	}
	return ranks
}

// Gauss–Legendre with eight points on [0, 1]: exact for polynomials up to degree
// 15, and so for n ≤ 16; beyond, one rank is so small a part of the density's
// width that its error is below that of rounding.
var (
	gaussNode = [8]float64{
		0.019855071751231884, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
		0.5917173212478249, 0.7627662049581645, 0.8983332387068134, 0.9801449282487681,
	}
	gaussWeight = [8]float64{
		0.05061426814518813, 0.11119051722668723, 0.15685332293894363, 0.18134189168918100,
		0.18134189168918100, 0.15685332293894363, 0.11119051722668723, 0.05061426814518813,
	}
)

// weigh integrates the density of the k-th draw over a rank.
func (m *middleRanks) weigh(r int) rank {
	n := float64(m.n)
	weight, parted := 0.0, 0.0
	for i, node := range gaussNode {
		u := (float64(r) + node) / n
		left := 1 - u
		// u^(k−1)·(1−u)^(n−k) with its powers taken together, near 1 at the middle:
		// one of them alone would overflow.
		w := float64(gaussWeight[i] * power(4*u*left, m.k-1))
		if m.width > 1 {
			w = float64(w * left)
			parted += float64(w * power((n-float64(r)-1)/(n*left), m.n-m.k))
		}
		weight += w
	}
	return rank{weight, parted / weight}
}

func (m *middleRanks) accumulate(ranks []rank) {
	total := 0.0
	for _, r := range ranks {
		total += r.weight
	}
	m.upTo = make([]float64, m.rows*m.width)
	// further[i]: that the upper middle rank is above first+i when it is at least
	// that and the lower is below.
	further := make([]float64, m.rows+m.width)
	if m.width > 1 {
		for i := range further {
			if left := float64(m.n - m.first - i); left > 0 {
				further[i] = power((left-1)/left, m.n-m.k)
			}
		}
	}
	before := 0.0
	for i, r := range ranks {
		p := r.weight / total
		row := m.upTo[i*m.width : (i+1)*m.width]
		for d := range row {
			row[d] = before + float64(p*(1-r.parted))
			r.parted = float64(r.parted * further[i+d+1])
		}
		before += p
		row[m.width-1] = before
	}
}

// count draws the middle ranks of that many resamples, by inversion, and counts
// them. The counts add up as upTo does.
func (m *middleRanks) count(resamples int, random *rand.PCG) []float64 {
	// The leading bits of a random number say where to begin looking for it.
	size := 1024
	for size < len(m.upTo) {
		size *= 2
	}
	guide := make([]int32, size+1)
	at := 0
	for g := range guide {
		for at < len(m.upTo)-1 && m.upTo[at] <= float64(g)/float64(size) {
			at++
		}
		guide[g] = int32(at)
	}
	counts := make([]float64, len(m.upTo))
	for range resamples {
		u := unit(random.Uint64())
		at := int(guide[int(u*float64(size))])
		for m.upTo[at] <= u && at < len(m.upTo)-1 {
			at++
		}
		counts[at]++
	}
	sum := 0.0
	for i, c := range counts {
		sum += c
		counts[i] = sum
	}
	return counts
}

// quantile returns the least median of a resample up to which upTo (or counts in its
// place) adds up to p.
func (m *middleRanks) quantile(sorted, upTo []float64, p float64) float64 {
	s := sorted[m.first : m.first+m.rows]
	upper := sort.Search(len(s)-1, func(i int) bool { return m.atMost(s, upTo, s[i]) >= p })
	if upper == 0 || m.width == 1 {
		return s[upper]
	}
	// The answer is a midpoint that lies above the sample before.
	reached := m.atMost(s, upTo, s[upper-1])
	var between []weighted
	for i := 0; i <= upper; i++ {
		for d := m.furthest(s, i, m.width-1, s[upper]); d >= 0 && midpoint(s[i], s[i+d]) > s[upper-1]; d-- {
			at := i*m.width + d
			if w := upTo[at] - precedes(upTo, at); w > 0 {
				between = append(between, weighted{midpoint(s[i], s[i+d]), w})
			}
		}
	}
	slices.SortFunc(between, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
	for _, w := range between {
		if reached += w.weight; reached >= p {
			return w.value
		}
	}
	return s[upper]
}

type weighted struct{ value, weight float64 }

// atMost adds up all pairs whose midpoint is at most x.
func (m *middleRanks) atMost(s, upTo []float64, x float64) float64 {
	sum := 0.0
	d := m.width - 1
	for i := 0; i < len(s) && s[i] <= x; i++ {
		// The next partner is at most as high, and so at most one step further off.
		d = m.furthest(s, i, min(d+1, m.width-1), x)
		sum += upTo[i*m.width+d] - precedes(upTo, i*m.width)
	}
	return sum
}

// furthest returns the largest d, from a bound downwards, for which the midpoint of
// samples i and i+d is at most x. Sample i itself must be.
func (m *middleRanks) furthest(s []float64, i, d int, x float64) int {
	d = min(d, len(s)-1-i)
	for d > 0 && midpoint(s[i], s[i+d]) > x {
		d--
	}
	return d
}

func precedes(upTo []float64, at int) float64 {
	if at == 0 {
		return 0
	}
	return upTo[at-1]
}

// power is x to an integer power, by squaring.
func power(x float64, n int) float64 {
	result := 1.0
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			result *= x
		}
		x *= x
	}
	return result
}

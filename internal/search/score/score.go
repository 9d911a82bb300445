// Package score plays strategies on recorded spaces and says how good they are, by the methodology of
// the autotuning community (Willemsen et al., FGCS 2024) on the axis of evaluations.
//
// The score P of a strategy on a space is the mean over evaluations x = 1…N of
//
//	(R(x) − S(x)) / (R(x) − optimum)
//
// R(x) is the expected best time after x evaluations of random search without replacement, exactly; S(x)
// is the best time of the strategy, averaged over its runs. 0 is as good as random search, 1 is the
// optimum at once. Every setting costs one evaluation, one that fails too. Until something has
// succeeded the best time is the slowest of the space, for both. A run that ends early keeps its best.
package score

import (
	"math"
	"slices"

	"pawl/internal/search/recorded"
)

// At are the numbers of evaluations at which the fraction of the optimum is shown.
var At = [3]int{50, 100, 200}

// Tolerance says how near the best setting others count as optimum, for the second score.
const Tolerance = 0.01

// Truth is what the score needs to know of a space.
type Truth struct {
	Space   *recorded.Space
	Optimum float64   // milliseconds
	Slowest float64   // milliseconds, of those that succeed
	random  []float64 // R(x), from x = 1
	floor   float64   // times below count as this one
}

// NewTruth computes what random search is expected to reach in so many evaluations. Times within a
// tolerance of the optimum count as the optimum.
func NewTruth(s *recorded.Space, evals int, tolerance float64) *Truth {
	t := &Truth{Space: s, Optimum: math.Inf(1)}
	times := make([]float64, s.Len())
	for i := range times {
		ms, ok := s.Time(i)
		if !ok {
			times[i] = math.Inf(1)
			continue
		}
		times[i], t.Optimum, t.Slowest = ms, min(t.Optimum, ms), max(t.Slowest, ms)
	}
	t.floor = t.Optimum * (1 + tolerance)
	for i, ms := range times {
		times[i] = max(t.floor, min(t.Slowest, ms))
	}
	t.random = expected(times, evals)
	return t
}

// expected returns the expected minimum of x times drawn without replacement, for x from 1 on. When all
// are drawn it stays.
func expected(times []float64, evals int) []float64 {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	best := make([]float64, evals)
	for x := 1; x <= evals && n > 0; x++ {
		// none is the probability that the i fastest are not among x drawn.
		none, sum := 1.0, sorted[0]
		for i := 1; i < n && none > 0; i++ {
			none *= float64(max(0, n-i+1-x)) / float64(n-i+1)
			sum += (sorted[i] - sorted[i-1]) * none
		}
		best[x-1] = sum
	}
	return best
}

// Random returns R(x), the expected best time of random search after x evaluations, in milliseconds.
func (t *Truth) Random(x int) float64 { return t.random[x-1] }

// Best returns the best time after each evaluation of a run.
func (t *Truth) Best(seq []int) []float64 {
	best, at := t.Slowest, make([]float64, len(t.random))
	for x := range at {
		if x < len(seq) {
			if ms, ok := t.Space.Time(seq[x]); ok {
				best = min(best, max(t.floor, ms))
			}
		}
		at[x] = best
	}
	return at
}

// P returns the score of one run. The score of a strategy is the mean of those of its runs.
func (t *Truth) P(seq []int) float64 {
	sum, n := 0.0, 0
	for x, best := range t.Best(seq) {
		// Where random search has certainly found the optimum, nothing can be better or worse.
		if room := t.random[x] - t.floor; room > 1e-9*t.floor {
			sum += (t.random[x] - best) / room
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// Fraction returns optimum over best after x evaluations; 0 where nothing has succeeded.
func (t *Truth) Fraction(seq []int, x int) float64 {
	best := math.Inf(1)
	for _, number := range seq[:min(x, len(seq))] {
		if ms, ok := t.Space.Time(number); ok {
			best = min(best, ms)
		}
	}
	return t.Optimum / best
}

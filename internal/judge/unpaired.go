package judge

import (
	"math"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// alpha is the significance level of the tests: 5%, the complement of the intervals' 95%.
const alpha = 0.05

// Unpaired compares two lists of times that were measured separately, before and after a change,
// given the summaries whose intervals the report shows.
//
// The interval of the change reaches from the smallest ratio that the medians' intervals allow to
// the largest: it excludes 0 exactly when the intervals do not overlap.
func Unpaired(before, after []float64, was, is result.Stats, gate spec.Gate) (*result.Change, result.Verdict, []result.Reason) {
	c, apart := medianChange(before, after, was, is)
	c.Shift = stat.HodgesLehmann(before, after)
	if c.P == nil {
		rankSum(c, before, after)
	}
	if !enough(len(before), len(after)) {
		return c, result.Inconclusive, []result.Reason{result.TooFew}
	}
	// Ranks test for a shift of all samples. Where samples have two states, medians can jump
	// between them although hardly anything has shifted: such a jump shows nothing.
	margin := math.Log1p(gate.Regression)
	equivalent := !apart && math.Abs(math.Log1p(c.Median)) <= margin && stat.TOSTLists(before, after, -margin, margin) < alpha
	verdict, reasons := unpairedVerdict(c, apart, equivalent, gate)
	return c, verdict, reasons
}

// medianChange returns the change of the medians with its effect size, and whether the medians'
// intervals are apart.
func medianChange(before, after []float64, was, is result.Stats) (c *result.Change, apart bool) {
	c = &result.Change{
		Median: is.Median/was.Median - 1,
		Low:    is.Low/was.High - 1,
		High:   is.High/was.Low - 1,
		Delta:  stat.CliffDelta(before, after),
	}
	apart = c.Low > 0 || c.High < 0
	if min(len(before), len(after)) < stat.MinInterval {
		// A 95% interval needs more samples: these may be apart by chance more often than that, so
		// the ranks must agree.
		rankSum(c, before, after)
		apart = apart && *c.P < alpha
	}
	return c, apart
}

func rankSum(c *result.Change, before, after []float64) {
	u, p, _ := stat.MannWhitney(before, after)
	c.U, c.P = &u, &p
}

// enough reports whether lists of these lengths can show anything. One sample shows nothing. Where
// even complete separation of the two lists would not be significant, no other order is.
func enough(n, m int) bool {
	if n < 2 || m < 2 {
		return false
	}
	orders := 1.0 // ways to arrange both lists: n+m over n
	for i := 1; i <= min(n, m) && orders*alpha < 2; i++ {
		orders *= float64(max(n, m)+i) / float64(i)
	}
	return orders*alpha >= 2
}

// unpairedVerdict applies the decision table. Medians are apart if their intervals do not overlap, and
// equivalent if they are shown to lie within the gate of each other.
func unpairedVerdict(c *result.Change, apart, equivalent bool, gate spec.Gate) (result.Verdict, []result.Reason) {
	switch {
	case apart && c.Median > gate.Regression:
		return result.Regression, nil
	case apart && c.Median < -gate.Claim && math.Abs(c.Delta) >= gate.Delta:
		return result.Improvement, nil
	case apart && c.Median > 0:
		return result.Maintained, []result.Reason{result.Slower}
	case apart:
		return result.Maintained, []result.Reason{result.Faster}
	case equivalent:
		return result.Maintained, nil
	}
	return result.Inconclusive, nil
}

// Lists measured in turns are cut into this many stretches.
const (
	leastStretches = 4
	mostStretches  = 10
	leastStretch   = 5 // pairs, once there are enough for more than the least number
	leastPairs     = 8
)

// narrow is the half-width at which an interval decides by its middle alone.
const narrow = 0.005

// Paired compares two lists measured in turns, sample by sample, as a duet: by the ratios inside
// pairs, in which disturbances of both sides cancel out.
//
// Files do not say where one process ended and the next began, so stretches of neighbouring pairs
// take the place of cells: drift during the measurement widens the interval, as it should.
// Differences between processes show only when the lists hold several: on an H200 intervals from
// 100 pairs of one process covered the truth in 86% of rounds, those from four rounds in a row in
// 93%.
func Paired(before, after []float64, gate spec.Gate) (*result.Change, result.Verdict, []result.Reason) {
	ratios := make([]float64, len(before))
	for i := range ratios {
		ratios[i] = math.Log(after[i] / before[i])
	}
	c := duetOf(ratios)
	c.Shift = stat.HodgesLehmann(before, after)
	if len(ratios) < leastPairs {
		return c, result.Inconclusive, []result.Reason{result.TooFew}
	}
	for _, s := range cut(ratios) {
		c.Cells = append(c.Cells, result.CellChange{Median: math.Expm1(stat.Median(s)), Pairs: len(s)})
	}
	verdict, reasons := pairedVerdict(c, gate)
	return c, verdict, reasons
}

// duetOf computes the change from log-ratios in order of time.
func duetOf(ratios []float64) *result.Change {
	c := &result.Change{Paired: true, Pairs: len(ratios), Delta: stat.SignDelta(ratios)}
	if len(ratios) < leastPairs {
		c.Median = math.Expm1(stat.Median(ratios))
		c.Low, c.High = c.Median, c.Median
		return c
	}
	estimate := stat.CellEstimate(cut(ratios), 0)
	c.Median, c.Low, c.High = math.Expm1(estimate.Median), math.Expm1(estimate.Low), math.Expm1(estimate.High)
	c.Exact = c.HalfWidth() <= narrow
	return c
}

// cut makes stretches of neighbours, as equal in length as possible.
func cut(ratios []float64) [][]float64 {
	n := max(leastStretches, min(mostStretches, len(ratios)/leastStretch))
	out := make([][]float64, n)
	for i := range out {
		out[i] = ratios[i*len(ratios)/n : (i+1)*len(ratios)/n]
	}
	return out
}

// pairedVerdict applies the table of a duet without its absolute floor: other tools' benchmarks may be
// far shorter than the variation of a launch.
func pairedVerdict(c *result.Change, gate spec.Gate) (result.Verdict, []result.Reason) {
	other := &Opponent{Change: c, Median: math.Inf(1)}
	where, decided := region(gate, other)
	switch {
	case !decided:
		return result.Inconclusive, nil
	case where > 0:
		return result.Regression, nil
	case where < 0:
		return result.Improvement, nil
	}
	return result.Maintained, remarks(Case{Gate: gate}, other, result.Maintained)
}

// ByClock reports whether a verdict is explained by the clock that the device ran at.
func ByClock(v result.Verdict, c *result.Change) bool { return Confirm(v) && clockEffect(c) }

package judge

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// contrast is a benchmark whose samples can be reassigned to the two files at random: two lists as
// a whole, pairs by exchanging their sides. A difference is that of the means of logarithms, with
// outliers clipped.
type contrast struct {
	paired   bool
	first    int       // samples of the first file
	times    []float64 // of both files in order of size; for pairs: the log-ratios in order of time
	values   []float64 // the same, clipped: the differences are computed from these
	observed float64

	size    float64 // of the lists together: variance/size is that of the difference
	degrees float64
	total   float64 // sum of squares, the same for every assignment
	reach   float64 // no assignment changes the median by more
}

// pulledIn is the distance from the middle, in standard deviations, at which a sample is clipped.
const pulledIn = 2.5

// scaleOfMAD turns a median of absolute deviations into a standard deviation.
const scaleOfMAD = 1.4826

func newUnpaired(before, after []float64) *contrast {
	n, m := len(before), len(after)
	type sample struct {
		time  float64
		after bool
	}
	pooled := make([]sample, 0, n+m)
	for _, t := range before {
		pooled = append(pooled, sample{t, false})
	}
	for _, t := range after {
		pooled = append(pooled, sample{t, true})
	}
	slices.SortFunc(pooled, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
	x := &contrast{
		first: n, times: make([]float64, n+m), values: make([]float64, n+m),
		size: float64(n) * float64(m) / float64(n+m), degrees: float64(n + m - 2),
	}
	for i, s := range pooled {
		x.times[i], x.values[i] = s.time, math.Log(s.time)
	}
	middle := stat.Median(x.values)
	pullIn(x.values, middle)
	mean := stat.Mean(x.values)
	var sums [2]float64
	for i, s := range pooled {
		x.values[i] -= mean
		x.total += x.values[i] * x.values[i]
		if s.after {
			sums[1] += x.values[i]
		} else {
			sums[0] += x.values[i]
		}
	}
	x.observed = sums[1]/float64(m) - sums[0]/float64(n)
	x.reach = max(
		math.Log(stat.Median(x.times[n:])/stat.Median(x.times[:n])),
		math.Log(stat.Median(x.times[m:])/stat.Median(x.times[:m])))
	return x
}

func newPaired(before, after []float64) *contrast {
	n := len(before)
	x := &contrast{paired: true, times: make([]float64, n), size: float64(n), degrees: float64(n - 1)}
	sizes := make([]float64, n)
	for i := range before {
		x.times[i] = math.Log(after[i] / before[i])
		sizes[i] = math.Abs(x.times[i])
	}
	x.values = slices.Clone(x.times)
	x.reach = stat.Median(sizes)
	pullIn(x.values, 0) // it must not matter on which side of a pair the excess is
	for _, v := range x.values {
		x.total += v * v
		x.observed += v / float64(n)
	}
	return x
}

func pullIn(values []float64, middle float64) {
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - middle)
	}
	limit := pulledIn * scaleOfMAD * stat.Median(deviations)
	if limit == 0 {
		return // most samples are equal: the others are the only spread there is
	}
	for i, v := range values {
		values[i] = max(middle-limit, min(middle+limit, v))
	}
}

// scratch holds one random assignment of a contrast's samples.
type scratch struct {
	order []int32 // for two lists: the samples of the shorter one first
	bits  []uint64
	after []bool
}

// deal assigns the samples to the two files at random, and returns the difference of the means.
func (x *contrast) deal(source *rand.PCG, s *scratch) float64 {
	if x.paired {
		return x.exchange(source, s)
	}
	n := len(x.values)
	s.order = slices.Grow(s.order[:0], n)[:n]
	order := s.order
	for i := range order {
		order[i] = int32(i)
	}
	sum, drawn := 0.0, min(x.first, n-x.first)
	for i := range drawn {
		j := i + int((source.Uint64()>>32)*uint64(n-i)>>32)
		order[i], order[j] = order[j], order[i]
		sum += x.values[order[i]]
	}
	// The sum of all values is 0, so the sum of the other list is -sum.
	difference := sum/float64(drawn) + sum/float64(n-drawn)
	if drawn == x.first {
		return -difference
	}
	return difference
}

// exchange exchanges the sides of pairs at random.
func (x *contrast) exchange(source *rand.PCG, s *scratch) float64 {
	s.bits = s.bits[:0]
	sum := 0.0
	for i, v := range x.values {
		if i%64 == 0 {
			s.bits = append(s.bits, source.Uint64())
		}
		if s.exchanged(i) {
			v = -v
		}
		sum += v
	}
	return sum / float64(len(x.values))
}

func (s *scratch) exchanged(i int) bool { return s.bits[i/64]>>(i%64)&1 == 1 }

// judge returns the verdict on the samples as they were assigned.
func (x *contrast) judge(s *scratch, gate spec.Gate) result.Verdict {
	if x.paired {
		ratios := slices.Clone(x.times)
		for i := range ratios {
			if s.exchanged(i) {
				ratios[i] = -ratios[i]
			}
		}
		verdict, _ := pairedVerdict(duetOf(ratios), gate)
		return verdict
	}
	n := len(x.times)
	drawn := min(x.first, n-x.first)
	s.after = make([]bool, n)
	for at, i := range s.order[:n] {
		s.after[i] = at < drawn != (drawn == x.first)
	}
	before, after := make([]float64, 0, x.first), make([]float64, 0, n-x.first)
	for i, t := range x.times {
		if s.after[i] {
			after = append(after, t)
		} else {
			before = append(before, t)
		}
	}
	c, apart := medianChange(before, after, closedForm(before), closedForm(after))
	verdict, _ := unpairedVerdict(c, apart, false, gate)
	return verdict
}

func closedForm(samples []float64) result.Stats {
	low, high := stat.BootstrapMedianExact(samples)
	return result.Stats{Median: stat.Median(samples), Low: low, High: high}
}

package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// EffectiveSize returns how many independent values say as much as these do, which came
// in groups whose members may be alike: as many as there are values where members
// are no more alike than any two, as many as there are groups where they are equal.
//
// It divides by the design effect, 1 + (m−1)ρ for groups of m. ρ is the upper end of
// the 95% interval of the correlation inside groups (one-way analysis of variance),
// so few groups count as little more than themselves: they cannot show that their
// members differ. Ranks are analysed, of the values and of their distance from the
// median, and the larger correlation counts: a disturbance may move all members of a
// group the same way, or each its own way.
func EffectiveSize(groups [][]float64) float64 {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g []float64) bool { return len(g) == 0 })
	values := slices.Concat(groups...)
	if len(groups) == len(values) || len(groups) < 2 || hasNaN(values) {
		return float64(len(groups))
	}
	middle := Median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	effect := max(designEffect(groups, midranks(values)), designEffect(groups, midranks(distances)))
	return max(float64(len(values))/effect, float64(len(groups)))
}

// midranks returns the places of values in their order; equal ones share theirs.
func midranks(values []float64) []float64 {
	order := sorted(values)
	ranks := make([]float64, len(values))
	for i, v := range values {
		first, _ := slices.BinarySearch(order, v)
		after, _ := slices.BinarySearchFunc(order, v, func(x, v float64) int {
			if x <= v {
				return -1
			}
			return 1
		})
		ranks[i] = float64(first+after-1) / 2
	}
	return ranks
}

// designEffect returns by how much groups of these sizes overstate their values' number.
// The ranks are those of the groups' members, in their order.
func designEffect(groups [][]float64, ranks []float64) float64 {
	n, k := float64(len(ranks)), float64(len(groups))
	all := Mean(ranks)
	between, within, squares := 0.0, 0.0, 0.0
	for _, g := range groups {
		members := ranks[:len(g)]
		ranks = ranks[len(g):]
		mean, size := Mean(members), float64(len(g))
		between += size * (mean - all) * (mean - all)
		squares += size * size
		for _, r := range members {
			within += (r - mean) * (r - mean)
		}
	}
	size := (n - squares/n) / (k - 1) // of a group, as the analysis needs it
	if within == 0 {
		return size
	}
	f := (between / (k - 1)) / (within / (n - k))
	high := f / fQuantile(1-level, k-1, n-k)
	correlation := min(1, max(0, (high-1)/(high+size-1)))
	return 1 + (size-1)*correlation
}

// fQuantile returns the value that a variable of the F distribution with a and b degrees
// of freedom stays below with probability p.
func fQuantile(p, a, b float64) float64 {
	x := mathext.InvRegIncBeta(a/2, b/2, p)
	return b * x / (a * (1 - x))
}

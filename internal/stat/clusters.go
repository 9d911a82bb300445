package stat

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

const (
	// ordinaryNoise is the standard deviation of a cell's estimate that nobody
	// need be told about: medians of rounds on an H200 have 0.29% to 0.33%.
	ordinaryNoise = 0.003
	// bistableGap is the least distance of two groups worth a word: they then lie
	// outside of each other's ±0.5%.
	bistableGap = 0.01
)

// ClustersOf reports whether the medians of cells of log-ratios fall into two
// groups: a bistable kernel, of which each cell is dealt one state. The split lies
// between the groups; it is NaN when there are not two.
//
// Groups have at least two members each, and means at least 1% apart. The gap
// between them must be 3.6 times the spread inside them, where one degree of
// freedom speaks for the ordinary spread, since few cells know their own too
// poorly. With fewer than twelve cells the spread inside must not exceed 0.5%
// either. What is ordinary is 0.3%, or more where the noise inside the cells is: on
// a noisy machine cells differ more, and nothing is bistable about that.
//
// Cells with normal noise of up to 0.4% are called bistable in less than 1%, two
// groups 2% apart with noise of 0.2% are found in more than 98%.
func ClustersOf(cells [][]float64) (split float64, two bool) {
	var medians, errors []float64
	for _, cell := range cells {
		if len(cell) > 0 {
			medians = append(medians, Median(cell))
			errors = append(errors, medianError(cell))
		}
	}
	// Medians of real rounds vary by 1.3 times what the noise inside them explains;
	// the rest is for not knowing that noise well.
	return clusters(medians, max(ordinaryNoise, 1.5*rms(errors)))
}

// medianError returns the standard error of a median if the samples are roughly
// normal in their middle half.
func medianError(samples []float64) float64 {
	s := sorted(samples)
	std := (percentile(s, 75) - percentile(s, 25)) / 1.349
	return 1.2533 * std / math.Sqrt(float64(len(s)))
}

func rms(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += float64(x * x)
	}
	return math.Sqrt(sum / float64(len(values)))
}

func clusters(values []float64, noise float64) (split float64, two bool) {
	n := len(values)
	if n < 4 || Check(values) != nil || !(noise < math.Inf(1)) {
		return math.NaN(), false
	}
	s := sorted(values)
	at, inside := partition(s)
	apart := Mean(s[at:]) - Mean(s[:at])
	free := float64(n - 2)
	spread := math.Sqrt((inside + float64(noise*noise)) / (free + 1))
	tight := n >= 12 || math.Sqrt(inside/free) <= noise/ordinaryNoise*0.005
	if apart < bistableGap || s[at]-s[at-1] <= 3.6*spread || !tight {
		return math.NaN(), false
	}
	return midpoint(s[at-1], s[at]), true
}

// partition cuts sorted values in two, at least two on each side, so that the
// sum of squares inside the parts is least.
func partition(sorted []float64) (at int, inside float64) {
	backwards := slices.Clone(sorted)
	slices.Reverse(backwards)
	head, tail := squares(sorted), squares(backwards)
	inside = math.Inf(1)
	for k := 2; k <= len(sorted)-2; k++ {
		if sum := head[k-1] + tail[len(tail)-k-1]; sum < inside {
			at, inside = k, sum
		}
	}
	return at, inside
}

// squares returns the sums of squares about their mean of the first one, two, … values.
func squares(values []float64) []float64 {
	sums := make([]float64, len(values))
	mean, sum := 0.0, 0.0
	for i, x := range values {
		d := x - mean
		mean += d / float64(i+1)
		sum += float64(d * (x - mean))
		sums[i] = sum
	}
	return sums
}

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
		after := sort.Search(len(order), func(i int) bool { return order[i] > v })
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

package trend

import (
	"math"

	"pawl/internal/stat"
)

// A machine may run at one of two speeds and change between them by chance. It may keep a speed for many runs: such a
// stay is a level of its own to potts, like the time of changed code. What tells the two apart: a machine comes back to
// the same two levels, and code hardly ever does. A flip is a cut between two stays of the machine.
const (
	apart    = 4.0 // two levels are speeds only if they lie so many standard deviations of their points apart
	evidence = 7.4 // a stay is too long for the machine if this logarithm of a ratio of likelihoods says so
	matched  = 2.5 // the medians of two stays at one speed lie at most so many standard errors apart
)

// How often a series must cross from one level to the other before they count as speeds. Twice, A B A, may be a slow while of
// the machine, or a change of the code that was reverted. Times of separate runs do not say which of the two, and are
// taken for the machine's. The index is made of duets, whose sides meet the same speed: there A B A was the code.
const (
	crossingsOfTimes = 2
	crossingsOfIndex = 3
)

// Labels of points: the level that a point is near. 0: it is near neither.
const (
	nearLeft  = int8(1)
	nearRight = int8(2)
)

// flip reports whether the cut between the segments [from, cut) and [cut, to), which have the levels left and right, is
// a change of the machine's speed. It is if all of this holds:
//   - the levels lie apart, and the series crosses from one to the other least times or more;
//   - neither segment lies beside the other points at its level (elsewhere);
//   - neither segment is longer than the other stays at its level make likely (unusual);
//   - the levels are as common, and follow each other as often, after the cut as before it (differ).
func (n *noise) flip(values []float64, from, cut, to int, left, right float64, least int) bool {
	labels := make([]int8, len(values))
	close := math.Abs(right-left) / apart / madScale
	var distances tally
	last, crossings := int8(0), 0
	for i, v := range values {
		// A point is near a level if it lies closer than half the way to the other, and is no outlier.
		near := min(math.Abs(right-left)/2, outlier*n.scales[i])
		l, r := math.Abs(v-left), math.Abs(v-right)
		if min(l, r) >= near {
			continue
		}
		labels[i] = nearLeft
		if r < l {
			labels[i] = nearRight
		}
		distances.add(min(l, r) > close)
		if last != 0 && last != labels[i] {
			crossings++
		}
		last = labels[i]
	}
	if crossings < least || distances.mostly() {
		return false
	}
	if n.elsewhere(values, labels, from, cut, nearLeft) || n.elsewhere(values, labels, cut, to, nearRight) {
		return false
	}
	return !unusual(labels, from, cut, nearLeft) && !unusual(labels, cut, to, nearRight) && !differ(labels, cut)
}

// tally counts which numbers are beyond a bound. Where most are, their median is, and nothing need be sorted: a long series has
// many cuts, and each looks at all points.
type tally struct{ beyond, all int }

func (t *tally) add(beyond bool) {
	t.all++
	if beyond {
		t.beyond++
	}
}

func (t *tally) mostly() bool { return 2*t.beyond > t.all }

// elsewhere reports whether the points of a segment have another median than all other points with its label. A machine
// comes back to the same speed; changed code hardly ever takes the very time of earlier code.
func (n *noise) elsewhere(values []float64, labels []int8, from, to int, level int8) bool {
	var in []float64
	variance := 0.0
	for i := from; i < to; i++ {
		if labels[i] == level {
			in = append(in, values[i])
			variance += float64(n.scales[i] * n.scales[i])
		}
	}
	out := -len(in)
	for _, l := range labels {
		if l == level {
			out++
		}
	}
	if len(in) < 2 || out < 2 {
		return false
	}
	variance *= math.Pi / 2 / float64(len(in)) // a median varies π/2 times as much as a mean
	middle, most := stat.Median(in), matched*math.Sqrt(variance/float64(len(in))+variance/float64(out))
	var above, below tally
	for i, l := range labels {
		if l == level && (i < from || i >= to) {
			above.add(values[i] > middle+most)
			below.add(values[i] < middle-most)
		}
	}
	return above.mostly() || below.mostly()
}

// unusual reports whether a segment stays at its level longer than the other stays make likely. Two explanations are
// compared by their likelihoods. One is the code: a level that is kept with the probability that fits this segment
// best. The other is the machine: from point to point it keeps the level with the same probability as in the other
// stays, which is known only as well as these few show it, so the likelihood is the mean over all values that they leave
// possible (Krichevsky and Trofimov); and the segment begins at this level as often as points elsewhere have it. With one or two other
// stays nearly every probability is possible, and hardly any length is unusual.
func unusual(labels []int8, from, to int, level int8) bool {
	type chain struct {
		points, at    float64 // with a label; at the level
		after, stayed float64 // after a point at the level; those of them that are at it, too
		last          int8    // label of the last point
	}
	var in, out chain // the segment, and all else
	for i, l := range labels {
		if l == 0 {
			continue
		}
		c := &out
		if from <= i && i < to {
			c = &in
		}
		c.points++
		if l == level {
			c.at++
		}
		if c.last == level {
			c.after++
			if l == level {
				c.stayed++
			}
		}
		c.last = l
	}
	if in.at == 0 {
		return false
	}
	share := (out.at + 0.5) / (out.points + 1)
	left := in.after - in.stayed
	stayed, gone := out.stayed+0.5, out.after-out.stayed+0.5
	expected := logBeta(stayed+in.stayed, gone+left) - logBeta(stayed, gone)
	return likeliest(in.stayed, left)-expected-math.Log(share) > evidence
}

// likeliest returns the logarithm of the largest probability that so many points stay and so many leave.
func likeliest(stayed, left float64) float64 {
	sum := 0.0
	for _, n := range []float64{stayed, left} {
		if n > 0 {
			sum += float64(n * math.Log(n/(stayed+left)))
		}
	}
	return sum
}

// logBeta returns the logarithm of the beta function.
func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	both, _ := math.Lgamma(a + b)
	return x + y - both
}

// differ reports whether the levels follow each other in another way after a cut than before it, as they do where the
// code has changed: whether a chain of labels for each side describes them better than one chain for both.
func differ(labels []int8, cut int) bool {
	return chainLikelihood(labels[:cut])+chainLikelihood(labels[cut:])-chainLikelihood(labels) > math.Log(float64(len(labels)))
}

// chainLikelihood returns the logarithm of the probability of labels, where each depends on the one before it. With which
// probabilities is not known: it is the mean over all of them (Krichevsky and Trofimov). So a second chain must describe
// labels clearly better than one alone to be worth it.
func chainLikelihood(labels []int8) float64 {
	var follows [3][3]float64
	last := int8(0)
	for _, l := range labels {
		if l != 0 {
			follows[last][l]++
			last = l
		}
	}
	sum := 0.0
	for _, f := range follows {
		a, _ := math.Lgamma(f[nearLeft] + 0.5)
		b, _ := math.Lgamma(f[nearRight] + 0.5)
		n, _ := math.Lgamma(f[nearLeft] + f[nearRight] + 1)
		sum += a + b - n - math.Log(math.Pi)
	}
	return sum
}

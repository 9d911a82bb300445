package trend

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"pawl/internal/stat"
)

// noise is what a series says about its own noise. All of it comes from differences inside
// the levels found so far, and from medians of them, which a change that was not found does
// not move.
type noise struct {
	scales []float64 // standard deviation at each point
	// memory is by how much the variance of a mean exceeds that of as many independent
	// points: 1 for independent ones, (1+φ)/(1−φ) for an autoregression.
	memory  float64
	degrees float64 // degrees of freedom that the scales rest on
}

const (
	window       = 40             // differences that a local scale is made of
	madScale     = 1.482602218506 // standard deviation of a normal over its median absolute deviation
	clip         = 2.0            // standard deviations at which a difference stops to count for more
	clipped      = 0.920536       // mean of min(z², clip²) of a normal z
	worth        = 0.5            // degrees of freedom of one difference
	rounding     = 0.288675134595 // standard deviation of what rounding to whole numbers leaves
	lone         = 0.35           // of one step, how much rounding there can be
	enough       = 16             // differences without which nothing is said about memory
	longest      = 8              // points of the longest blocks: changes are farther apart than that
	mostPhi      = 0.95
	manyDegrees  = 1e6
	knownDegrees = 20.0 // degrees of freedom that the points' own errors are worth
)

// noiseOf estimates the noise of a series that is cut at these starts. errors, if there are
// any, are the points' own standard errors: no point is better known than that.
func noiseOf(values, errors []float64, starts []int) noise {
	part := parts(len(values), starts)
	diffs := lagDiffs(values, 1, part)
	whole := scaleOf(diffs, 0)
	out := noise{scales: make([]float64, len(values)), memory: 1, degrees: worth * float64(len(diffs))}
	local(out.scales, diffs, whole)
	phi := 0.0
	// Where most values are equal, lags say more about rounding than about memory.
	if lag2 := lagDiffs(values, 2, part); len(lag2) >= enough && stat.Median(diffs) > 0 {
		phi = correlation(diffs, lag2)
	}
	for i := range out.scales {
		out.scales[i] /= math.Sqrt(1 - phi)
	}
	out.know(errors, whole)
	if len(values) >= enough && whole > 0 {
		out.memory = max((1+phi)/(1-phi), blockMemory(values, out.scales, part))
	}
	return out
}

// correlation returns the φ of an autoregression whose differences at lags 1 and 2 are these:
// their variances are as 1 to 1+φ. Both are clipped at the same distance, lest moves between two
// speeds count at one lag and not at the other.
func correlation(lag1, lag2 []float64) float64 {
	most := 3.5 * math.Sqrt2 * scaleOf(lag2, 0)
	square := func(diffs []float64) float64 {
		sum := 0.0
		for _, d := range diffs {
			d = min(d, most)
			sum += float64(d * d)
		}
		return sum / float64(len(diffs))
	}
	return max(min(square(lag2)/square(lag1)-1, mostPhi), 0)
}

// know takes in the points' own errors, of which none is better known than that. Where the
// series varies no more than they and chance explain, they speak for its noise as well as
// knownDegrees do; else they have missed something, and only the series counts.
func (n *noise) know(errors []float64, whole float64) {
	if len(errors) == 0 {
		return
	}
	mean := 0.0
	for _, e := range errors {
		mean += float64(e*e) / float64(len(errors))
	}
	if mean == 0 {
		return
	}
	// The chance that the errors alone make the series vary like this.
	if free := n.degrees; free > 0 && chiTail(free*float64(whole*whole)/mean, free) > 0.001 {
		for i, e := range errors {
			n.scales[i] = math.Sqrt((float64(free*n.scales[i]*n.scales[i]) + float64(knownDegrees*e*e)) / (free + knownDegrees))
		}
		n.degrees += knownDegrees
	}
	for i, e := range errors {
		n.scales[i] = max(n.scales[i], e)
	}
}

// chiTail returns the probability that a variable of the χ² distribution is larger.
func chiTail(q, free float64) float64 { return mathext.GammaIncRegComp(free/2, q/2) }

// parts numbers the segments of points.
func parts(n int, starts []int) []int {
	out := make([]int, n)
	for i, s := range starts {
		end := n
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		for j := s; j < end; j++ {
			out[j] = i
		}
	}
	return out
}

// lagDiffs returns the absolute differences between points so far apart in one segment.
func lagDiffs(values []float64, lag int, part []int) []float64 {
	out := make([]float64, 0, len(values))
	for i := lag; i < len(values); i++ {
		if part[i] == part[i-lag] {
			out = append(out, math.Abs(values[i]-values[i-lag]))
		}
	}
	return out
}

// scaleOf returns the standard deviation of points from the absolute differences between
// them: two steps of Huber's proposal from the median absolute deviation, which keep its
// robustness and gain much of the efficiency that it lacks. Rounded values may be mostly
// equal: their noise is at least that of rounding, to steps of the usual difference that is
// not 0, or of a smaller one that is given.
func scaleOf(diffs []float64, step float64) float64 {
	unequal := slices.DeleteFunc(slices.Clone(diffs), func(d float64) bool { return d == 0 })
	if len(unequal) == 0 {
		return rounding * step
	}
	usual := stat.Median(unequal)
	if step == 0 || usual < step {
		step = usual
	}
	if len(unequal) <= len(diffs)/8+1 && len(unequal) <= 2 {
		step *= lone // one step in a series of equal values is hardly a matter of rounding
	}
	scale := max(madScale*stat.Median(diffs), rounding*math.Sqrt2*step)
	for range 2 {
		sum, most := 0.0, float64(clip*clip*scale*scale)
		for _, d := range diffs {
			sum += min(float64(d*d), most)
		}
		scale = math.Sqrt(sum / float64(len(diffs)) / clipped)
	}
	return max(scale/math.Sqrt2, rounding*step)
}

// local sets the scale of each point: a mean of the scale around it and that of the whole
// series, weighted by how alike the scales of its stretches are (Smyth 2004, as in
// stat.PriorVariance).
func local(scales, diffs []float64, whole float64) {
	for i := range scales {
		scales[i] = whole
	}
	stretches := len(diffs) / window
	if stretches < 3 {
		return
	}
	variances, degrees := make([]float64, stretches), make([]float64, stretches)
	for i := range variances {
		s := scaleOf(diffs[i*window:(i+1)*window], whole/rounding)
		variances[i], degrees[i] = float64(s*s), worth*window
	}
	typical, weight := stat.PriorVariance(variances, degrees)
	if math.IsInf(weight, 1) || typical == 0 {
		return
	}
	const stride = 5 // points that share a window
	for i := range scales {
		if i%stride != 0 {
			scales[i] = scales[i-1]
			continue
		}
		from := min(max(i-window/2, 0), len(diffs)-window)
		s := scaleOf(diffs[from:from+window], whole/rounding)
		scales[i] = math.Sqrt((float64(worth*window*s*s) + float64(weight*typical)) / (worth*window + weight))
	}
}

// blockMemory returns by how much means of blocks vary more than those of independent
// points would: the largest over a few lengths, each less one standard error. Points far off
// count as they do in the loss.
func blockMemory(values, scales []float64, part []int) float64 {
	most := 1.0
	both := make([]float64, 0, 2*longest)
	for length := 2; length <= longest; length *= 2 {
		var diffs []float64
		for i := 0; i+2*length <= len(values); i += length / 2 {
			if part[i] != part[i+2*length-1] {
				continue
			}
			both = append(both[:0], values[i:i+2*length]...)
			slices.Sort(both)
			middle := (both[length-1] + both[length]) / 2
			d, variance := 0.0, 0.0
			for j := i; j < i+2*length; j++ {
				c := min(max(values[j]-middle, -outlier*scales[j]), outlier*scales[j])
				if j < i+length {
					c = -c
				}
				d += c
				variance += float64(scales[j] * scales[j])
			}
			diffs = append(diffs, math.Abs(d)/math.Sqrt(variance))
		}
		blocks := float64(len(values) / length)
		if blocks < enough || len(diffs) < enough {
			break
		}
		r := madScale * stat.Median(diffs)
		most = max(most, float64(r*r)*math.Exp(-math.Sqrt(2/(worth*blocks))))
	}
	return most
}

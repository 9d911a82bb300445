package trend

import (
	"cmp"
	"math"
	"slices"
)

// Estimate is a number with its 95% interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"ci_95_low"`
	High  float64 `json:"ci_95_high"`
}

// Point is what one run found about a kernel's config at a commit. Points come in first-parent order, several runs
// of one commit one after the other. A commit that no run has measured is a point without a Run.
type Point struct {
	Commit string
	Run    string

	Base   string    // commit that ToBase is against; empty: the commit before
	ToBase *Estimate // time over the base's, in a duet
	Best   string    // commit of the best-known version, as the baseline names it
	ToBest *Estimate // time over the best-known version's, in the same duet

	Median    *Estimate // own time, in seconds
	Reference *Estimate // time of a kernel that never changes, measured alongside, in seconds
	Machine   string    // digest of the fingerprint
	Identity  string    // of code, launch and arguments; empty: unknown. Equal ones are equally fast

	Moved       bool // the run made this commit the best-known version
	New         bool // there was nothing to compare with
	Unchanged   bool // identical to the base: not measured, and exactly as fast
	PullRequest bool
	Dirty       bool // the tree had changes that no commit has
	Invalid     bool // somebody marked it so
}

// off says why a point is not on main's line, if it is not.
func (p *Point) off() string {
	switch {
	case p.Invalid:
		return "marked invalid"
	case p.PullRequest:
		return "pull request"
	case p.Dirty:
		return "uncommitted changes"
	}
	return ""
}

// usable reports whether an estimate can be a ratio or a time.
func (e *Estimate) usable() bool {
	return e != nil && e.Low > 0 && e.Value >= e.Low && e.High >= e.Value && !math.IsInf(e.High, 0)
}

// reading is a logarithm with its variance.
type reading struct{ value, variance float64 }

const normal95 = 1.959963984540054

// reading returns an estimate's logarithm.
func (e *Estimate) reading() reading {
	error := math.Log(e.High/e.Low) / 2 / normal95
	return reading{math.Log(e.Value), error * error}
}

// estimate is the inverse of reading.
func (r reading) estimate() *Estimate {
	half := normal95 * math.Sqrt(r.variance)
	return &Estimate{math.Exp(r.value), math.Exp(r.value - half), math.Exp(r.value + half)}
}

func (r reading) plus(o reading) reading {
	return reading{r.value + o.value, r.variance + o.variance}
}

func (r reading) minus(o reading) reading {
	return reading{r.value - o.value, r.variance + o.variance}
}

// merge is the mean of readings of the same thing, weighted by precision. They agree where their spread around it is
// one that chance makes in 99 cases of 100 (Cochran's Q); else the variance is raised to what they show (Birge's ratio).
func merge(readings []reading) (mean reading, agree bool) {
	if len(readings) == 1 {
		return readings[0], true
	}
	// An interval of no width would silence all others.
	floor := slices.MaxFunc(readings, func(a, b reading) int { return cmp.Compare(a.variance, b.variance) }).variance / 1e4
	if floor == 0 {
		floor = 1e-12
	}
	sum, weight := 0.0, 0.0
	for _, r := range readings {
		w := 1 / max(r.variance, floor)
		sum += float64(w * r.value)
		weight += w
	}
	mean = reading{sum / weight, 1 / weight}
	q := 0.0
	for _, r := range readings {
		d := r.value - mean.value
		q += float64(d*d) / max(r.variance, floor)
	}
	free := float64(len(readings) - 1)
	if chance := chiTail(q, free); chance < 0.01 {
		mean.variance *= max(q/free, 1)
		return mean, false
	}
	return mean, true
}

package trend

import (
	"cmp"
	"math"
	"slices"
)

// LineChange is a change of the level of the index. Places are indices of Line.Places.
type LineChange struct {
	Change
	Commit string `json:"commit"`           // the first of the new level
	Direct bool   `json:"direct,omitempty"` // one duet shows it by itself: candidate against base
}

// directly is how many standard errors a duet must show of a change by itself: chance does that in
// 6 of 100,000 duets.
const directly = 4.0

// leastDirect is the least such step: smaller ones, which a mere change of layout makes, count as soon as
// they are levels.
const leastDirect = 0.01

// changes finds the changes of level, in each stretch by itself.
func (l *line) changes() {
	for from := 0; from < len(l.Places); {
		to := from + 1
		for to < len(l.Places) && l.Places[to].Stretch == l.Places[from].Stretch {
			to++
		}
		l.stretchChanges(from, to)
		from = to
	}
	slices.SortStableFunc(l.Changes, func(a, b LineChange) int { return cmp.Compare(a.At, b.At) })
}

// stretchChanges finds those of the places [from, to).
func (l *line) stretchChanges(from, to int) {
	places := l.Places[from:to]
	values, errors := make([]float64, len(places)), make([]float64, len(places))
	for i := range places {
		p := &places[i]
		values[i] = math.NaN()
		switch p.Link {
		case NotLinked, Same: // unchanged code is no further measurement
			continue
		case ByBase:
			errors[i] = math.Sqrt(p.Index.reading().variance) // with all duets before it
		default:
			errors[i] = p.own
		}
		values[i] = math.Log(p.Index.Value)
	}
	found := detectIn(values, errors, crossingsOfIndex)
	for _, s := range found.Segments {
		l.Segments = append(l.Segments, Segment{From: from + s.From, To: from + s.To, Level: math.Exp(s.Level), Error: s.Error})
	}
	for _, c := range found.Changes {
		a, b := found.Segments[c.Segment-1], found.Segments[c.Segment]
		// Versions that others are compared with have errors that all places after them share.
		shared := math.Abs(sharedVariance(places[b.From:b.To]) - sharedVariance(places[a.From:a.To]))
		half := math.Hypot((c.High-c.Low)/2, normal95*math.Sqrt(shared))
		if math.Abs(c.Size) <= half {
			continue
		}
		c.Low, c.High = c.Size-half, c.Size+half
		l.Changes = append(l.Changes, l.relative(c, from, false))
	}
	for _, d := range found.Drifts {
		l.Drifts = append(l.Drifts, Drift{From: from + d.From, To: from + d.To, Size: math.Expm1(d.Size)})
	}
	l.direct(from, to)
}

// sharedVariance returns the typical variance of indices that is not the places' own.
func sharedVariance(places []Place) float64 {
	var all []float64
	for i := range places {
		if p := &places[i]; p.Index != nil && p.Link != ByBase && p.Link != Same {
			all = append(all, max(0, p.Index.reading().variance-float64(p.own*p.own)))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// direct adds the changes that the duet of a commit with its base shows. The last commits are too
// few for a level; and in a chain of duets the errors add up, so that levels are less certain than each of
// its steps.
func (l *line) direct(from, to int) {
	for i := from; i < to; i++ {
		p := &l.Places[i]
		if p.step == nil || p.step.variance == 0 {
			continue
		}
		t := math.Abs(p.step.value) / math.Sqrt(p.step.variance)
		known := slices.ContainsFunc(l.Changes, func(c LineChange) bool { return c.First-1 <= i && i <= c.Last+1 })
		if known || t < directly || math.Abs(p.step.value) < leastDirect || l.contradicted(i, to) {
			continue
		}
		half := normal95 * math.Sqrt(p.step.variance)
		l.Changes = append(l.Changes, l.relative(Change{
			At: i - from, First: i - from, Last: i - from,
			Size: p.step.value, Low: p.step.value - half, High: p.step.value + half,
			Confidence: math.Pow(1-tTail(t, manyDegrees), float64(to-from)),
		}, from, true))
	}
}

// contradicted reports whether the next place, by its own duets, says that a place lies elsewhere.
func (l *line) contradicted(i, to int) bool {
	if i+1 >= to {
		return false
	}
	p, next := &l.Places[i], &l.Places[i+1]
	if next.step == nil || next.Link != ByBest || next.Gap {
		return false
	}
	d := next.Index.reading().minus(p.Index.reading()).minus(*next.step)
	return math.Abs(d.value) > directly*math.Sqrt(d.variance)
}

// relative makes a change of logarithms one of ratios.
func (l *line) relative(c Change, from int, direct bool) LineChange {
	c.At, c.First, c.Last = c.At+from, c.First+from, c.Last+from
	c.Size, c.Low, c.High = math.Expm1(c.Size), math.Expm1(c.Low), math.Expm1(c.High)
	return LineChange{Change: c, Commit: l.Places[c.At].Commit, Direct: direct}
}

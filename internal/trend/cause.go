package trend

import (
	"math"

	"pawl/internal/stat"
)

// Cause says what made times of separate runs change.
type Cause string

// The causes.
const (
	Kernel  Cause = "kernel"  // duets changed likewise, or the reference kernel did not
	Machine Cause = "machine" // duets did not change, or the reference kernel did likewise
	Both    Cause = "both"
	Unknown Cause = "unknown" // no duets and no reference kernel around it, or intervals too wide to tell
)

// TimeChange is a change of the level of times, in relative sizes.
type TimeChange struct {
	Change
	Commit string    `json:"commit"`
	Cause  Cause     `json:"cause"`
	Index  *Estimate `json:"index,omitempty"`     // change of the index meanwhile: 0.05 is 5% slower; nil: unknown
	Ref    *Estimate `json:"reference,omitempty"` // change of the reference kernel's time meanwhile; nil: unknown
}

// Times are the levels of the times of separate runs.
type Times struct {
	Segments []Segment    `json:"segments"` // in seconds
	Changes  []TimeChange `json:"changes"`
	Drifts   []Drift      `json:"drifts,omitempty"`
	Flips    int          `json:"flips,omitempty"` // how often the machine changed between two speeds
}

const (
	beside = 20  // places on either side of a change that are asked
	part   = 0.1 // share of a change below which the other cause need not be named
)

// Times finds where times of separate runs moved, and says what did it. Changes where the
// fingerprint of the machine changes are found as any others: the duets tell.
func (l *Line) Times() *Times {
	values, errors := make([]float64, len(l.Places)), make([]float64, len(l.Places))
	for i, p := range l.Places {
		values[i] = math.NaN()
		if p.Median != nil {
			r := p.Median.reading()
			values[i], errors[i] = r.value, math.Sqrt(r.variance)
		}
	}
	found := Detect(values, errors)
	out := &Times{Segments: []Segment{}, Changes: []TimeChange{}, Flips: len(found.Flips)}
	for _, s := range found.Segments {
		out.Segments = append(out.Segments, Segment{From: s.From, To: s.To, Level: math.Exp(s.Level), Error: s.Error})
	}
	for _, d := range found.Drifts {
		out.Drifts = append(out.Drifts, Drift{From: d.From, To: d.To, Size: math.Expm1(d.Size)})
	}
	for _, c := range found.Changes {
		from, to := found.Segments[c.Segment-1].From, found.Segments[c.Segment].To
		t := TimeChange{Commit: l.Places[c.At].Commit}
		index := l.shift(from, c, to, byDuets)
		if l.Places[c.Last].Stretch != l.Places[max(c.First-1, 0)].Stretch {
			index = nil // nothing leads from one to the other
		}
		ref := l.shift(from, c, to, func(p *Place) *Estimate { return p.Ref })
		t.Cause = causeOf(shift{c.Size, (c.High - c.Low) / 2}, index, ref)
		t.Index, t.Ref = index.relative(), ref.relative()
		c.Size, c.Low, c.High = math.Expm1(c.Size), math.Expm1(c.Low), math.Expm1(c.High)
		t.Change = c
		out.Changes = append(out.Changes, t)
	}
	return out
}

// byDuets returns a place's index, unless it was only guessed from times.
func byDuets(p *Place) *Estimate {
	if p.Link == Bridged {
		return nil
	}
	return p.Index
}

// shift is a change of logarithms, and half its 95% interval.
type shift struct{ size, half float64 }

func (s *shift) relative() *Estimate {
	if s == nil {
		return nil
	}
	return &Estimate{math.Expm1(s.size), math.Expm1(s.size - s.half), math.Expm1(s.size + s.half)}
}

// shows reports whether it is there, and large enough beside the whole to be named.
func (s shift) shows(whole float64) bool {
	return math.Abs(s.size) > s.half && math.Abs(s.size) >= part*math.Abs(whole)
}

func (s shift) less(o shift) shift {
	return shift{s.size - o.size, math.Hypot(s.half, o.half)}
}

// causeOf says what made times change: duets first, since the machine does the same to both their sides.
func causeOf(times shift, index, ref *shift) Cause {
	kernel := index
	if kernel == nil && ref != nil {
		rest := times.less(*ref)
		kernel = &rest
	}
	if kernel == nil {
		return Unknown
	}
	machine := times.less(*kernel)
	if index == nil {
		machine = *ref
	}
	switch k, m := kernel.shows(times.size), machine.shows(times.size); {
	case k && m:
		return Both
	case k:
		return Kernel
	case m:
		return Machine
	}
	return Unknown
}

// shift returns how something changed from the places before a change to those after it; nil
// where too little is known. Places between First and Last belong to neither.
func (l *Line) shift(from int, c Change, to int, of func(*Place) *Estimate) *shift {
	before := l.side(max(from, c.First-beside), c.First, of)
	after := l.side(c.Last, min(to, c.Last+beside), of)
	if len(before) == 0 || len(after) == 0 {
		return nil
	}
	a, b := middle(before), middle(after)
	return &shift{b.value - a.value, normal95 * math.Sqrt(a.variance+b.variance)}
}

func (l *Line) side(from, to int, of func(*Place) *Estimate) (out []reading) {
	for i := from; i < to; i++ {
		if e := of(&l.Places[i]); e.usable() {
			out = append(out, e.reading())
		}
	}
	return out
}

// middle returns the median of readings. Its variance is what their spread shows, or their own
// if that is more.
func middle(readings []reading) reading {
	var values []float64
	least := math.Inf(1)
	for _, r := range readings {
		values, least = append(values, r.value), min(least, r.variance)
	}
	m := reading{value: stat.Median(values)}
	for i, v := range values {
		values[i] = math.Abs(v - m.value)
	}
	spread := madScale * stat.Median(values)
	n := float64(len(values))
	m.variance = max(math.Pi/2*spread*spread/n, least/n)
	if n < 3 {
		m.variance = max(m.variance, least)
	}
	return m
}

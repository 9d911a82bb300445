package trend

import (
	"math"
	"slices"

	"pawl/internal/stat"
)

// Link says how a place was joined to the line.
type Link string

// The links.
const (
	Start     Link = "start"       // the first of its stretch: nothing before it can be compared with it
	ByBest    Link = "best-known"  // by its duet with the best-known version, whose own place is known
	ByBase    Link = "base"        // by its duet with its base
	Same      Link = "unchanged"   // the base's code
	Bridged   Link = "own medians" // by times of separate runs on one machine: no duet leads to it
	NotLinked Link = "gap"         // not measured, or not comparable with anything
)

// Place is a commit on main's line.
type Place struct {
	Commit string   `json:"commit"`
	Runs   []string `json:"runs,omitempty"`
	Link   Link     `json:"link"`
	// Index is the commit's time over that of the first best-known version, with all uncertainty that came together
	// on the way there; nil in a gap.
	Index   *Estimate `json:"index,omitempty"`
	Debt    *Estimate `json:"debt,omitempty"`        // time over the best-known version's at that time
	Stretch int       `json:"stretch"`               // places of different stretches cannot be compared
	Gap     bool      `json:"gap,omitempty"`         // commits between the place before and this one were not measured
	Moved   bool      `json:"moved,omitempty"`       // it became the best-known version
	Differs bool      `json:"differs,omitempty"`     // its runs disagree; the interval is as wide as that
	Median  *Estimate `json:"median_s,omitempty"`    // seconds: of all its runs
	Ref     *Estimate `json:"reference_s,omitempty"` // seconds: of the reference kernel
	Machine string    `json:"machine,omitempty"`     // of its first run

	own  float64  // standard error that it shares with no other place
	step *reading // from its base, which is on the line
}

// Left is a run that is not on the line.
type Left struct {
	Commit string `json:"commit"`
	Run    string `json:"run"`
	Why    string `json:"why"`
}

// Line is main's line.
type Line struct {
	Places []Place `json:"places"`
	Left   []Left  `json:"left,omitempty"`
	// Levels of the index, as ratios, and the changes between them. Sizes are relative: 0.05 is 5% slower.
	Segments []Segment    `json:"segments"`
	Changes  []LineChange `json:"changes"`
	Drifts   []Drift      `json:"drifts,omitempty"` // relative, too
}

// line is a line while it grows.
type line struct {
	Line
	known   map[string]reading // index of commits, in this stretch
	same    map[string]reading // and of identities
	stretch int
	last    int // last place with an index, -1: none
	scatter float64
}

// NewLine chains points into main's line.
func NewLine(points []Point) *Line {
	l := &line{known: map[string]reading{}, same: map[string]reading{}, last: -1, scatter: scatter(points)}
	for from := 0; from < len(points); {
		to := from + 1
		for to < len(points) && points[to].Commit == points[from].Commit {
			to++
		}
		var runs []Point
		empty := false
		for _, p := range points[from:to] {
			if why := p.off(); why != "" {
				l.Left = append(l.Left, Left{p.Commit, p.Run, why})
			} else if p.Run == "" {
				empty = true
			} else {
				runs = append(runs, p)
			}
		}
		if len(runs) > 0 || empty || invalidOnly(points[from:to]) {
			l.add(points[from].Commit, runs)
		}
		from = to
	}
	l.Changes, l.Segments = []LineChange{}, []Segment{}
	l.changes()
	return &l.Line
}

// invalidOnly reports whether main's commit was measured, and all of it marked invalid: a gap. A pull request's
// commit is no place at all.
func invalidOnly(points []Point) bool {
	return slices.ContainsFunc(points, func(p Point) bool { return p.Invalid && !p.PullRequest })
}

// scatter returns the standard deviation of medians of separate runs, as logarithms, that duets do not explain: what a
// bridge by medians must allow for. Few runs show too little of it, so that it is never taken for less than 10%.
func scatter(points []Point) float64 {
	const least = 0.10
	var diffs []float64
	for i := 1; i < len(points); i++ {
		a, b := &points[i-1], &points[i]
		if a.off() == "" && b.off() == "" && a.Median.usable() && b.Median.usable() && b.ToBase.usable() && (b.Base == "" || b.Base == a.Commit) {
			diffs = append(diffs, math.Abs(math.Log(b.Median.Value/a.Median.Value)-math.Log(b.ToBase.Value)))
		}
	}
	if len(diffs) < 5 {
		return 3 * least
	}
	return max(madScale*stat.Median(diffs), least)
}

// merged are the runs of a commit as one.
type merged struct {
	base, best     *reading
	baseOf, bestOf string
	median, ref    *reading
	unchanged      bool
	identity       string
	agree          bool
}

func mergeRuns(runs []Point) (m merged) {
	m.agree = true
	m.base, m.baseOf = m.pick(runs, func(p *Point) (*Estimate, string) { return p.ToBase, p.Base })
	m.best, m.bestOf = m.pick(runs, func(p *Point) (*Estimate, string) { return p.ToBest, p.Best })
	m.unchanged = len(runs) > 0 && slices.ContainsFunc(runs, func(p Point) bool { return p.Unchanged })
	if m.unchanged && m.baseOf == "" {
		m.baseOf = runs[slices.IndexFunc(runs, func(p Point) bool { return p.Unchanged })].Base
	}
	for _, r := range runs {
		m.identity = r.Identity
	}
	agree := m.agree // medians of separate runs never agree
	m.median, _ = m.pick(runs, func(p *Point) (*Estimate, string) { return p.Median, p.Machine })
	m.ref, _ = m.pick(runs, func(p *Point) (*Estimate, string) { return p.Reference, p.Machine })
	m.agree = agree
	return m
}

// pick merges the estimates against that version which is measured best.
func (m *merged) pick(runs []Point, of func(*Point) (*Estimate, string)) (*reading, string) {
	by := map[string][]reading{}
	var names []string
	for i := range runs {
		if e, name := of(&runs[i]); e.usable() {
			if by[name] == nil {
				names = append(names, name)
			}
			by[name] = append(by[name], e.reading())
		}
	}
	var best *reading
	of1 := ""
	for _, name := range names {
		r, agree := merge(by[name])
		m.agree = m.agree && agree
		if best == nil || r.variance < best.variance {
			best, of1 = &r, name
		}
	}
	return best, of1
}

// add adds a commit and its runs.
func (l *line) add(commit string, runs []Point) {
	m := mergeRuns(runs)
	p := Place{Commit: commit, Link: NotLinked, Differs: !m.agree, Stretch: l.stretch}
	for _, r := range runs {
		p.Runs = append(p.Runs, r.Run)
		p.Moved = p.Moved || r.Moved
	}
	if len(runs) > 0 {
		p.Machine = runs[0].Machine
	}
	if m.median != nil {
		p.Median = m.median.estimate()
	}
	if m.ref != nil {
		p.Ref = m.ref.estimate()
	}
	if m.best != nil {
		p.Debt = m.best.estimate()
	}
	n := len(l.Places)
	p.Gap = n > 0 && l.last < n-1
	baseOf := m.baseOf
	if baseOf == "" && l.last >= 0 && !p.Gap {
		baseOf = l.Places[l.last].Commit
	}
	index, ok := l.link(&p, m, baseOf)
	if ok {
		p.Index = index.estimate()
		l.known[commit] = index
		if old, there := l.same[m.identity]; m.identity != "" && (!there || index.variance < old.variance) {
			l.same[m.identity] = index
		}
		if _, there := l.known[m.bestOf]; !there && m.best != nil && m.bestOf != "" {
			l.known[m.bestOf] = index.minus(*m.best)
		}
		l.last = n
	}
	l.Places = append(l.Places, p)
}

// link finds a commit's index by the narrowest way.
func (l *line) link(p *Place, m merged, baseOf string) (index reading, ok bool) {
	consider := func(by Link, at reading, own float64) {
		if !ok || at.variance < index.variance {
			index, ok, p.Link, p.own = at, true, by, own
		}
	}
	if m.best != nil {
		if anchor, there := l.known[m.bestOf]; there {
			consider(ByBest, anchor.plus(*m.best), math.Sqrt(m.best.variance))
		}
	}
	if base, there := l.known[baseOf]; there && baseOf != "" {
		if m.unchanged {
			consider(Same, base, 0)
		} else if m.base != nil {
			p.step = m.base
			consider(ByBase, base.plus(*m.base), math.Sqrt(m.base.variance))
		}
	}
	if twin, there := l.same[m.identity]; there && m.identity != "" {
		consider(Same, twin, 0)
	}
	if ok {
		return index, true
	}
	measured := m.best != nil || m.base != nil || m.median != nil || m.unchanged
	if !measured {
		return reading{}, false
	}
	if l.last >= 0 {
		if at, there := l.bridge(p, m); there {
			p.Link, p.own = Bridged, math.Sqrt(at.variance)
			return at, true
		}
		l.stretch++
		l.known, l.same = map[string]reading{}, map[string]reading{}
		p.Stretch = l.stretch
	}
	p.Link = Start
	if m.best != nil && m.bestOf != "" {
		p.own = math.Sqrt(m.best.variance)
		l.known[m.bestOf] = reading{} // 1, by definition
		return *m.best, true
	}
	return reading{}, true
}

// bridge joins a place to the last one by times of separate runs on the same machine.
func (l *line) bridge(p *Place, m merged) (reading, bool) {
	last := &l.Places[l.last]
	if m.median == nil || last.Median == nil || p.Machine == "" || p.Machine != last.Machine {
		return reading{}, false
	}
	ratio := m.median.minus(last.Median.reading())
	if m.ref != nil && last.Ref != nil {
		ratio = ratio.minus(m.ref.minus(last.Ref.reading()))
	}
	ratio.variance += 2 * l.scatter * l.scatter
	return last.Index.reading().plus(ratio), true
}

package advice

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/unit"
)

// Finding is a bottleneck that the facts show.
type Finding struct {
	ID         string   `json:"id"`
	Title      string   `json:"title"`
	Evidence   string   `json:"evidence"`
	Rests      []Source `json:"rests_on"`          // which evidence
	Bound      float64  `json:"bound,omitempty"`   // the speed-up is at most this, also with less work; 0: not known
	Headroom   float64  `json:"headroom"`          // share of the time that is in reach with the work as it is
	Confidence float64  `json:"confidence"`        //
	Score      float64  `json:"score"`             // headroom × confidence
	First      string   `json:"first"`             // what to do
	Deeper     []string `json:"deeper,omitempty"`  //
	Next       string   `json:"next,omitempty"`    // the exact next step
	Also       []string `json:"also,omitempty"`    // rules of thumb that agree
	Settled    bool     `json:"settled,omitempty"` // nothing is left to gain here
	Own        bool     `json:"own,omitempty"`     // an entry of the user
	Row        int      `json:"row,omitempty"`     // in the catalogue
	Static     bool     `json:"static,omitempty"`  // by the weaker evidence, without ncu
}

// Remark is a rule of thumb that the facts break without any sign that it costs time.
type Remark struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Excepted is an entry whose conditions hold, and that does not apply.
type Excepted struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// Unseen is an entry that could not be judged.
type Unseen struct {
	ID      string   `json:"id"`
	Missing []string `json:"missing"`
}

// Advice is all that the catalogue has to say.
type Advice struct {
	Findings []Finding  `json:"findings"`
	Remarks  []Remark   `json:"remarks,omitempty"`
	Excepted []Excepted `json:"excepted,omitempty"`
	Unseen   []Unseen   `json:"unseen,omitempty"`
}

// unknownHeadroom stands for a gain that nobody can bound, where findings are ordered.
const unknownHeadroom = 0.3

// mostBound caps bounds: nobody is helped by a promise of thousands.
const mostBound = 1000

// worth is the least headroom of a finding; what promises less is not said, unless it settles the matter or less work
// would gain far more.
const worth = 0.02

// far is the share of the time, between a bound and what is in reach, from which on both are said.
const far = 0.1

// Judge returns what the catalogue says of the facts, the most promising first.
func (c *Catalogue) Judge(f Facts) *Advice {
	a := &Advice{}
	for _, e := range c.entries {
		if !e.concerns(f) {
			continue
		}
		found, ok := e.judge(f, a)
		if !ok {
			continue
		}
		if e.Stops {
			return &Advice{Findings: []Finding{found}}
		}
		a.add(found)
	}
	a.Unseen = slices.DeleteFunc(a.Unseen, func(u Unseen) bool { return a.Has(u.ID) })
	slices.SortStableFunc(a.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(truth(y.Settled), truth(x.Settled)), cmp.Compare(y.Score, x.Score))
	})
	if len(a.Findings) > 0 && a.Findings[0].Settled {
		for _, other := range a.Findings[1:] {
			a.Remarks = append(a.Remarks, Remark{other.ID, other.Title + ": " + other.Evidence})
		}
		a.Findings = a.Findings[:1]
	}
	c.remark(f, a)
	return a
}

// concerns reports whether an entry is about kernels that run where this one does. The user's own
// say so in their conditions.
func (e Entry) concerns(f Facts) bool { return e.Row == 0 || e.Host == f.onHost() }

// onHost reports whether the facts are of a kernel on the CPU.
func (f Facts) onHost() bool { return f["host"].Value > 0 }

// add keeps the better of two faces of one finding: the one that knows that nothing is left, or promises more.
func (a *Advice) add(found Finding) {
	for i, other := range a.Findings {
		if other.ID == found.ID {
			if !other.Settled && (found.Settled || found.Score > other.Score) {
				a.Findings[i] = found
			}
			return
		}
	}
	a.Findings = append(a.Findings, found)
}

// unseen keeps the face of an entry that lacks least.
func (a *Advice) unseen(u Unseen) {
	for i, other := range a.Unseen {
		if other.ID == u.ID {
			if len(u.Missing) < len(other.Missing) {
				a.Unseen[i] = u
			}
			return
		}
	}
	a.Unseen = append(a.Unseen, u)
}

// Has reports whether there is a finding with an id.
func (a *Advice) Has(id string) bool {
	return slices.ContainsFunc(a.Findings, func(x Finding) bool { return x.ID == id })
}

func (e compiled) judge(f Facts, a *Advice) (Finding, bool) {
	found := Finding{
		ID: e.ID, Title: e.Title, Confidence: e.Confidence, First: e.First, Deeper: e.Deeper, Next: e.Next, Settled: e.Settled, Own: e.Row == 0, Row: e.Row,
	}
	if e.Python != nil && f["python"].Value > 0 {
		found.First, found.Deeper, found.Next = e.Python.First, e.Python.Deeper, e.Python.Next
	}
	conditions, gain, evidence := e.when, e.gain, e.Evidence
	holds, missing := all(conditions, f)
	if !holds && missing != nil && e.Less != nil {
		conditions, gain, evidence = e.less, e.lessGain, e.Less.Evidence
		found.Confidence, found.Static = e.Less.Confidence, true
		holds, missing = all(conditions, f)
	}
	if !holds {
		if missing != nil {
			a.unseen(Unseen{e.ID, missing})
		}
		return found, false
	}
	for i, x := range e.unless {
		if is, _ := x.holds(f); is {
			a.Excepted = append(a.Excepted, Excepted{e.ID, e.Unless[i].Why})
			return found, false
		}
	}
	found.Rests = sources(conditions, f)
	found.Evidence = Fill(evidence, f)
	found.Headroom = unknownHeadroom
	if gain != nil {
		if v, absent := gain.value(f); absent == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
			found.Bound = math.Min(math.Max(v, 1), mostBound)
			found.Headroom = 1 - 1/found.Bound
		}
	}
	if e.reach != nil && !found.Static {
		if v, absent := e.reach.value(f); absent == nil && !math.IsNaN(v) {
			v = math.Min(math.Max(v, 1), mostBound)
			found.Headroom = 1 - 1/v
			found.Bound = math.Max(found.Bound, v)
		}
	}
	if !e.Launching && e.Row != 0 {
		found.Headroom *= f.working()
	}
	if e.Settled || e.Stops {
		found.Bound, found.Headroom = math.Max(found.Bound, 1), 0
	}
	found.Score = found.Headroom * found.Confidence
	return found, e.Settled || e.Stops || found.Headroom >= worth || e.reach != nil && 1-1/found.Bound >= far
}

// working returns the share of the time in which an SM works: what is done about the work gains none of the rest. Of work that
// is divided into several launches the rest lasts until the next one begins. Bounds stay as they are: where stores are what takes
// long, a part of the rest is their way to memory after the last block.
func (f Facts) working() float64 {
	idle, known := f["start_pct"]
	if f["launches"].Value > 1 {
		if between, timed := f["launch_pct"]; timed {
			idle, known = between, true
		}
	}
	if !known {
		return 1
	}
	return 1 - math.Min(99, idle.Value)/100
}

// Fill writes facts into a sentence. One that is not known is "?".
func Fill(sentence string, f Facts) string {
	return placeholder.ReplaceAllStringFunc(sentence, func(m string) string {
		fact, known := f[strings.Trim(m, "{}")]
		if !known {
			return "?"
		}
		return unit.Quantity(fact.Value, fact.Unit)
	})
}

// Gain writes the upper bound: "at most 2.3× faster". Where only less work comes near it, what is in reach
// without that stands first.
func (x Finding) Gain() string {
	switch {
	case x.Bound > 1 && x.Headroom < worth:
		return "nothing to gain as it is; at most " + times(x.Bound)
	case x.Settled:
		return "nothing to gain here"
	case x.Bound <= 1: // 1: of a measurement that is not valid
		return "gain not known"
	case 1-1/x.Bound > x.Headroom+far:
		return times(1/(1-x.Headroom)) + " faster as it is; at most " + times(x.Bound)
	}
	return "at most " + times(x.Bound) + " faster"
}

func times(speedUp float64) string {
	if speedUp < 1.2 {
		return strconv.FormatFloat(100*(speedUp-1), 'f', 0, 64) + "%"
	}
	return strconv.FormatFloat(speedUp, 'f', unit.Digits(speedUp), 64) + "×"
}

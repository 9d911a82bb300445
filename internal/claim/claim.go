package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Trust says who ran the job that wrote a report.
type Trust string

// The kinds of trust.
const (
	Claimed  Trust = "claimed"  // the pull request's own job: it may have written anything
	Approved Trust = "approved" // a workflow of the default branch, on a commit that a maintainer approved
	Own      Trust = "own"      // a branch of the repository itself
)

// Known reports whether t is one of the kinds of trust.
func (t Trust) Known() bool { return t == Claimed || t == Approved || t == Own }

// Words says it as people read it.
func (t Trust) Words() string {
	switch t {
	case Approved:
		return "measured in the approved lane"
	case Own:
		return "measured on the repository's own branch"
	}
	return "claimed by the pull request's own job"
}

// Options say what is to be admitted, and what the caller knows by itself.
type Options struct {
	Report string // the report, or the folder or zip that it lies in
	Limits Limits // zero: DefaultLimits

	Base    *spec.Spec // of the base branch: gate, configs, tolerances and oracles are taken from here
	Head    *spec.Spec // of the change, as data; nil: it cannot be read
	BaseSHA string     // full commits; the report must be about these
	HeadSHA string
	First   bool // no commit before Head has kernels: Head's rules are used in place of Base's, and every row is new

	Classes  []string // device classes that were asked for; none: any, or the one that Base names
	Patterns []string // rows that the run was asked for; none: all
	Cache    string   // state of the caches that was asked for; "": cold
	Peaks    string   // folder of peaks by device class; "": .pawl/peaks beside Base
	Trust    Trust
	Strict   bool      // what is undecided or suspicious does not pass
	Now      time.Time // zero: now
}

// Contradiction is a claim of the report that does not hold.
type Contradiction struct {
	Row   string `json:"row,omitempty"` // kernel/config; "": the whole report
	What  string `json:"what"`          // in words
	Claim string `json:"claim,omitempty"`
	Found string `json:"found,omitempty"`
}

// String says it in one line.
func (c Contradiction) String() string {
	out := c.What
	if c.Row != "" {
		out = c.Row + ": " + out
	}
	if c.Claim != "" || c.Found != "" {
		out += fmt.Sprintf(": it claims %s, but it is %s", c.Claim, c.Found)
	}
	return out
}

// Admitted is what a report comes to.
type Admitted struct {
	Report         *result.Report  // with verdicts and statistics computed anew
	Outcome        *result.Outcome // the same as the report's
	Trust          Trust
	Contradictions []Contradiction // each makes the outcome a failure
	Loosened       []string        // rules that the change's pawl.yaml would loosen; the base's were used
}

// Conclusion is what a forge's check says.
type Conclusion string

// The conclusions.
const (
	Success Conclusion = "success"
	Neutral Conclusion = "neutral" // nothing speaks against it, and nobody vouches for it
	Failure Conclusion = "failure"
)

// Conclusion returns what a forge's check may say: success only if somebody other than the pull
// request's author measured it.
func (a *Admitted) Conclusion() Conclusion {
	switch {
	case a.Outcome.Result == result.Passed && a.Trust != Claimed:
		return Success
	case a.Outcome.Result == result.Passed || a.Outcome.Result == result.Undecided && !a.Outcome.Strict:
		return Neutral
	}
	return Failure
}

// Passes reports whether the report passes, and somebody other than its author vouches for it.
func (a *Admitted) Passes() bool { return a.Conclusion() == Success }

// admission is the work of Admit.
type admission struct {
	Options
	file     string     // for messages
	rules    *spec.Spec // Base without its drafts
	report   *result.Report
	found    []Contradiction
	loosened []string

	baselines map[string]baselines // by device class
}

// Admit reads a report and comes to its own verdict. The error is about a report that is not used at
// all: it breaks a limit, or is about something else than was asked for.
func Admit(ctx context.Context, opts Options) (*Admitted, error) {
	if opts.Limits == (Limits{}) {
		opts.Limits = DefaultLimits()
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	if opts.Cache == "" {
		opts.Cache = measure.Default().Cache
	}
	if !opts.Trust.Known() {
		return nil, fmt.Errorf("trust %q: expected %s, %s or %s", opts.Trust, Claimed, Approved, Own)
	}
	if opts.First && opts.Head != nil {
		rules := *opts.Head
		rules.Kernels = nil
		opts.Base = &rules
	}
	if opts.Base == nil {
		return nil, fmt.Errorf("nothing is admitted without the base's pawl.yaml")
	}
	artifact, err := Read(opts.Report, opts.Limits)
	if err != nil {
		return nil, err
	}
	a := &admission{Options: opts, file: opts.Report, rules: finished(opts.Base), baselines: map[string]baselines{}}
	if a.report, err = decode(a.file, artifact.Report, opts.Limits); err != nil {
		return nil, err
	}
	if err := a.checkValues(); err != nil {
		return nil, err
	}
	disarm(a.report)
	if err := a.checkSubject(); err != nil {
		return nil, err
	}
	claimed := a.report.Outcome
	a.loosened = loosened(a.rules, opts.Head)
	a.checkGate()
	for _, row := range a.report.Rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a.admitRow(row)
	}
	a.addMissing()
	a.report.Outcome = judge.Outcome(a.report)
	a.compareOutcomes(claimed)
	a.doubt()
	return a.conclude(), nil
}

// contradict notes a claim that does not hold.
func (a *admission) contradict(c Contradiction) { a.found = append(a.found, c) }

// checkGate compares the gate that the report was judged by with the base's.
func (a *admission) checkGate() {
	gate := result.Gate{Regression: a.gate().Regression, Improvement: a.gate().Improvement}
	if a.report.Gate != nil && *a.report.Gate != gate {
		a.contradict(Contradiction{
			What: "the report was judged by a gate that is not the base's", Claim: gateWords(*a.report.Gate), Found: gateWords(gate),
		})
	}
	a.report.Gate = &gate
}

// gate returns the gate that judges: the base's, unless that is a draft.
func (a *admission) gate() spec.Gate {
	_, draft := a.Base.Unfinished["gate"]
	_, all := a.Base.Unfinished["version"]
	if (draft || all) && a.Head != nil {
		return a.Head.Gate
	}
	return a.Base.Gate
}

// compareOutcomes notes an outcome that the report's own rows do not come to.
func (a *admission) compareOutcomes(claimed *result.Outcome) {
	if claimed == nil {
		a.contradict(Contradiction{What: "the report has no outcome"})
		return
	}
	if now := a.report.Outcome.Result; claimed.Result != now && len(a.found) == 0 {
		a.contradict(Contradiction{What: "the report contradicts its own rows", Claim: string(claimed.Result), Found: string(now)})
	}
}

// conclude makes the result. A report that contradicts itself has failed, whatever its rows say.
func (a *admission) conclude() *Admitted {
	out := judge.Outcome(a.report)
	out.Strict = a.Strict
	if len(a.found) > 0 && out.Result != result.Failed {
		out.Result, out.Reasons = result.Failed, nil
	}
	if n := len(a.found); n > 0 {
		first := a.found[0].String()
		if n > 1 {
			first += fmt.Sprintf(" (and %d more)", n-1)
		}
		out.Reasons = slices.Compact(append(out.Reasons, first))
	}
	a.report.Outcome = out
	return &Admitted{Report: a.report, Outcome: out, Trust: a.Trust, Contradictions: a.found, Loosened: a.loosened}
}

// checkSubject refuses a report about something else than was asked for.
func (a *admission) checkSubject() error {
	r := a.report
	no := func(place, format string, args ...any) error { return refuse(a.file, place, format, args...) }
	switch {
	case r.Kind != result.KindCheck:
		return no("kind", "expected the report of a check, got %s", shown(string(r.Kind)))
	case a.HeadSHA != "" && (r.Commit == nil || r.Commit.SHA != a.HeadSHA):
		return no("commit", "the report is about commit %s; expected %s", shaOf(r.Commit), a.HeadSHA)
	case a.HeadSHA != "" && r.Commit.Dirty:
		return no("commit.dirty", "the report is about commit %s with changes that are not in it", a.HeadSHA)
	case a.BaseSHA != "" && (r.Base == nil || r.Base.SHA != a.BaseSHA):
		base := "none"
		if r.Base != nil {
			base = shown(r.Base.SHA)
		}
		return no("base", "the report compares with base %s; expected %s", base, a.BaseSHA)
	case r.Method.Cache != a.Cache:
		return no("method.cache", "it was measured with caches %s; expected %s", shown(r.Method.Cache), a.Cache)
	case r.Method.HalfWidth != measure.Default().HalfWidth:
		return no("method.half_width", "expected %g, got %g", measure.Default().HalfWidth, r.Method.HalfWidth)
	}
	classes := a.Classes
	if class := a.Base.DeviceClass; len(classes) == 0 && class != "" && a.Base.Unfinished["device_class"].Line == 0 {
		classes = []string{class}
	}
	for i, row := range r.Rows {
		if len(classes) > 0 && !slices.Contains(classes, row.Class) {
			return no(fmt.Sprintf("rows[%d].class", i), "it was measured on device class %s; expected %s", shown(row.Class), strings.Join(classes, " or "))
		}
	}
	return nil
}

func shaOf(c *result.Commit) string {
	if c == nil {
		return "none"
	}
	return shown(c.SHA)
}

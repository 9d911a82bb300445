// Package check is the loop: the versions of every kernel are built from their own
// commits, play against each other, are judged, and the best-known moves forward.
package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pawl/internal/curve"
	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/stand"
)

// Options are what a check needs to know.
type Options struct {
	Base     string // what it is compared with; "": where the branch left main
	Update   bool   // move the baseline
	Fork     bool   // the change is a stranger's
	PlanOnly bool   // build, and say what would be measured
	Duet     measure.DuetOptions
	Stand    stand.Options
	Curves   string // folder of calibrations; "": none

	// Explain is told of rows that became slower or much faster; it may be nil.
	Explain func(ctx context.Context, s *stand.Stand, candidate, base *stand.Job) error
}

// Default returns the options of a plain `pawl check`.
func Default() Options {
	opts := Options{
		Duet: measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor}, Stand: stand.Options{Peaks: roof.Folder()}, Curves: curve.Folder(),
	}
	opts.Duet.Budget, opts.Duet.Keep = 10*time.Second, true
	return opts
}

// check is a run under way.
type check struct {
	Options
	Spec     *spec.Spec // the candidate's
	Patterns []string   // what to check: kernel[/config]
	run      *run.Run
	report   *result.Report
	stand    *stand.Stand

	base     *version                 // nil: there is none
	gate     spec.Gate                // the base's, where there is one
	store    *ratchet.Store           //
	best     map[string]*ratchet.File // by device class: what counts
	mine     map[string]*ratchet.File // by device class, as the candidate has it
	former   map[string]*ratchet.File // by device class, as the base has it
	trees    map[string]*version      // by commit
	loose    []string                 // files that are used and not in git
	contests []*contest
	answers  map[*spec.Kernel]*stand.Answers
	curves   map[string]*curve.Curve // by device class, nil for those that are not calibrated
}

// contest is one row: the candidate and what it plays against.
type contest struct {
	row       *result.Row
	candidate *stand.Job
	class     string
	base      *opponent
	best      *opponent      // nil also when it is the base
	entry     *ratchet.Entry // the best-known that counts
	mine      *ratchet.Entry // as this change has it
	at        *spec.Config   // what its opponents play
	former    *ratchet.Entry // as the base has it
	own       *opponent      // what mine names, where the base does not know it and the row is other code; nil: nothing
	accepted  bool
	draft     bool // the base, or the best-known version, is only a draft of the kernel
	draftBest bool // the latter
	same      bool // it is the best-known version, and the commit that the entry names could not be built
	gone      bool // nor will it ever be

	exam    *exam // of its answers; nil: they are not looked at
	alone   bool  // it is measured without anybody to play against
	match   *measure.Match
	playing []*opponent // the match's sides after the candidate
}

// opponent is another version of a contest's kernel.
type opponent struct {
	side *result.Side
	job  *stand.Job // nil: it could not be had, and side says why
	gone bool       // then: nobody has it any more
	odd  bool       // then: it could be had, and solves another problem
}

// Run builds, measures and judges everything selected. It returns a report
// whatever happens to the rows; the error is for what concerns the whole run. With a
// *StaysError there are both: all is measured, but the baseline could not be moved.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	opts.Duet.Seed = r.Seed
	c := &check{
		Options: opts, Spec: r.Spec, Patterns: r.Patterns, run: r, gate: r.Spec.Gate, store: ratchet.Open(r.Spec.Dir),
		report: r.NewReport(opts.Duet.Method()),
		best:   map[string]*ratchet.File{}, mine: map[string]*ratchet.File{}, former: map[string]*ratchet.File{}, trees: map[string]*version{},
		answers: map[*spec.Kernel]*stand.Answers{}, curves: map[string]*curve.Curve{},
	}
	defer c.closeTrees()
	if err := c.findBase(ctx); err != nil {
		return nil, err
	}
	place := opts.Stand
	place.Class, place.Timeout = c.deviceClass(), opts.Duet.Timeout
	place.Build.Checkout = c.Spec.Dir
	c.stand = stand.New(r, c.report, place)
	defer c.stand.Close()
	c.report.Gate = &result.Gate{Regression: c.gate.Regression, Improvement: c.gate.Improvement}
	if err := c.stand.Start(ctx); err != nil {
		return nil, err
	}
	if err := c.plan(ctx); err != nil {
		return nil, err
	}
	var jobs []*stand.Job
	for _, k := range c.contests {
		jobs = append(jobs, k.jobs()...)
	}
	if err := c.stand.Build(ctx, jobs); err != nil {
		for _, k := range c.contests {
			if k.row.Fault == nil {
				k.candidate.Fail("load", err)
			}
		}
	}
	c.buildOwn(ctx)
	for _, k := range c.contests {
		k.pair(c.Update && k.entry == nil && !k.row.Dropped)
	}
	c.consult()
	var stays error
	if !opts.PlanOnly {
		c.verify(ctx)
		c.play(ctx)
		c.judge()
		c.cite()
		c.report.Finished = time.Now().UTC() // which the baseline remembers
		stays = c.move(ctx)
		c.explain(ctx)
		c.recall(ctx)
	}
	run.Finish(ctx, c.report)
	return c.report, stays
}

// judge gives every row its verdict.
func (c *check) judge() {
	for _, k := range c.contests {
		k.judge(c.gate)
	}
}

func (k *contest) judge(gate spec.Gate) {
	k.row.Verdict, k.row.Reasons = judge.Verdict(k.evidence(gate))
}

// evidence is what the verdict depends on.
func (k *contest) evidence(gate spec.Gate) judge.Case {
	best := k.best.evidence(k.candidate)
	if best != nil && k.same {
		best.Same = true
	}
	return judge.Case{
		Gate: gate, Fault: k.row.Fault, Incorrect: k.row.Verdict == result.Incorrect, Accepted: k.accepted, Draft: k.draft,
		Base: k.base.evidence(k.candidate), Best: best,
	}
}

func (o *opponent) evidence(candidate *stand.Job) *judge.Opponent {
	if o == nil {
		return nil
	}
	e := &judge.Opponent{Missing: o.missing(), Change: o.side.Change}
	if !e.Missing {
		e.Same = o.job.Row.Identity == candidate.Row.Identity && candidate.Row.Identity != ""
		if t := o.job.Row.Timing; t != nil {
			e.Median = t.Stats.Median
		}
	}
	return e
}

// explain asks why rows changed.
func (c *check) explain(ctx context.Context) {
	if c.Explain == nil {
		return
	}
	for _, k := range c.contests {
		if len(k.playing) == 0 || !judge.Confirm(k.row.Verdict) {
			continue
		}
		if err := c.Explain(ctx, c.stand, k.candidate, k.playing[0].job); err != nil {
			k.row.Warnings = append(k.row.Warnings, result.Warning{Code: "explain", Message: err.Error()})
		}
	}
}

// warn adds a remark about the whole run.
func (c *check) warn(code, hint, format string, args ...any) {
	c.report.Warnings = append(c.report.Warnings, result.Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// hintOf is what git, or a missing commit's error, advises.
func hintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

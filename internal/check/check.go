// Package check is pawl's main loop. It builds the versions of every kernel from their own commits,
// measures them against each other, judges them, and moves the best-known version forward.
//
// Every stage takes the value of the stage before it and returns its own, which nobody changes
// afterwards: planned → built → verified → played → judged → moved → explained.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"pawl/internal/curve"
	"pawl/internal/explain"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// Options are the options of a check.
type Options struct {
	Base     string // the base's revision; "": where the branch left main
	Update   bool   // move the baseline
	Fork     bool   // the change is a stranger's
	PlanOnly bool   // build, and say what would be measured
	Strict   bool   // what is undecided or suspicious does not pass
	Duet     measure.DuetOptions
	Lab      lab.Options
	Curves   string // folder of calibrations; "": none

	Explain *explain.Settings // how rows are explained that became slower or much faster; nil: they are not
}

// Default returns the options of a plain `pawl check`.
func Default() Options {
	opts := Options{
		Duet: measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor}, Lab: lab.Options{Peaks: roof.Folder()}, Curves: curve.Folder(),
		Explain: &explain.Settings{Most: mostExplained, Budget: mostExplaining},
	}
	opts.Duet.Budget = 10 * time.Second
	return opts
}

// A check explains so many rows, and spends so much time on all of them. A profile of each version takes up
// to a second; code that hangs where it is profiled or counted must not cost the check its report.
const (
	mostExplained  = 8
	mostExplaining = 5 * time.Minute
)

// Check refuses settings that make no sense.
func (o Options) Check() error { return cmp.Or(o.Duet.Check(), o.Lab.Check()) }

// check is what the stages of a run share.
type check struct {
	Options
	Spec     *spec.Spec // the candidate's
	Patterns []string   // what to check: kernel[/config]
	run      *run.Run
	report   *result.Report // the parts that are known before the rows
	lab      *lab.Lab

	base      *version  // nil: there is no base
	gate      spec.Gate // the base's, where there is one
	loose     []string  // files that are used but not in git
	store     *ratchet.Store
	baselines map[string]baselines // by device class
	trees     map[string]*version  // by commit
	answers   map[*spec.Kernel]*lab.Answers
	curves    map[string]*curve.Curve // by device class, nil for classes without a calibration
	largest   map[string]int64        // by kernel: bytes of the largest problem

	total int           // rows to measure
	done  *atomic.Int64 // rows that are measured
}

// Run builds, measures and judges everything selected. It returns a report whatever happens to the
// rows; the error concerns the whole run. A *StaysError comes with a report: everything was
// measured, but the baseline could not be moved.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	if err := cmp.Or(r.Of(result.KindCheck), opts.Check()); err != nil {
		return nil, err
	}
	r.Fork = r.Fork || opts.Fork
	opts.Duet.Seed, opts.Duet.Keep = r.Seed, true // whoever asks: timed samples are always verified, too
	c := &check{
		Options: opts, Spec: r.Spec, Patterns: r.Patterns, run: r, gate: r.Spec.Gate, store: ratchet.Open(r.Spec.Dir),
		report:    r.NewReport(ctx, opts.Duet.Method()),
		baselines: map[string]baselines{}, trees: map[string]*version{}, answers: map[*spec.Kernel]*lab.Answers{}, curves: map[string]*curve.Curve{}, largest: map[string]int64{}, done: &atomic.Int64{},
	}
	defer c.closeTrees()
	err := c.open(ctx)
	if c.lab != nil {
		defer c.lab.Close()
	}
	if err != nil {
		return nil, err
	}
	if why := c.unrecorded(); opts.Update && why != "" { // before anybody waits for the measurements
		r.Emit(run.Event{Kind: run.Note, Text: "nothing will become the baseline: " + why})
	}
	rows, err := c.plan(ctx)
	if err != nil {
		return nil, err
	}
	r.Stage("build")
	built := c.build(ctx, rows)
	if opts.PlanOnly {
		return c.finish(ctx, rowsOf(built)), nil
	}
	r.Stage("verify")
	examined := c.verify(ctx, built)
	c.count(examined)
	c.forecast(ctx, examined)
	parties := c.parties(groupsOf(examined))
	r.Stage("measure")
	judged, err := c.share(ctx, parties, func(lane *check, party []*verified) []*judged {
		return lane.decide(ctx, party)
	})
	if err != nil {
		return nil, err
	}
	r.Stage("judge")
	c.cite(judged)
	moved, stays := c.move(ctx, judged)
	return c.finish(ctx, rowsOf(c.explain(ctx, moved))), stays
}

// open finds the base and starts the worker.
func (c *check) open(ctx context.Context) error {
	if err := c.findBase(ctx); err != nil {
		return err
	}
	if err := c.findings(); err != nil {
		return err
	}
	place := c.Options.Lab
	place.Class, place.Timeout = c.deviceClass(), c.Duet.Timeout
	place.Build.Checkout = c.Spec.Dir
	c.lab = lab.New(c.run, c.report, place)
	c.report.Gate = &result.Gate{Regression: c.gate.Regression, Improvement: c.gate.Improvement}
	return c.lab.Start(ctx)
}

// share lets the workers of a pool process the groups, each worker as soon as it is free. The rows
// keep the order of the plan.
func (c *check) share(ctx context.Context, groups [][]*verified, do func(lane *check, group []*verified) []*judged) ([]*judged, error) {
	done := make([][]*judged, len(groups))
	err := c.lab.Share(ctx, lab.Work{Pieces: len(groups), Devices: []int{c.lab.Device}}, func(lane *lab.Lab, pieces iter.Seq[lab.Piece]) {
		own := *c
		own.lab = lane
		for piece := range pieces {
			group := groups[piece.N]
			if piece.Again {
				c.done.Add(-int64(len(slices.DeleteFunc(slices.Clone(group), func(v *verified) bool { return !v.isMeasured() }))))
			}
			done[piece.N] = do(&own, group)
			for _, j := range done[piece.N] {
				j.fault = piece.Explain(lane, j.fault)
			}
		}
		lane.Release(ctx)
	})
	if err != nil {
		return nil, err
	}
	rows := c.hear(slices.Concat(done...))
	slices.SortFunc(rows, func(a, b *judged) int { return a.index - b.index })
	return rows, nil
}

// decide plays and judges the rows of a party. Whatever is wrong with one of them may be another's
// fault: such rows play again in cells of their own.
func (c *check) decide(ctx context.Context, party []*verified) []*judged {
	rows := c.judge(ctx, c.play(ctx, party))
	if !mixed(party) {
		return rows
	}
	var again []*verified
	for i, j := range rows {
		if ctx.Err() == nil && j.doubtful() {
			rows[i].candidate.Record.Log = ""
			again = append(again, party[i])
		}
	}
	c.done.Add(-int64(len(again)))
	for _, group := range groupsOf(again) {
		for _, j := range c.judge(ctx, c.play(ctx, group)) {
			rows[slices.Index(party, j.verified)] = j
		}
	}
	return rows
}

// doubtful reports whether playing has shown something wrong with a row or its opponents.
func (j *judged) doubtful() bool {
	found := func(v *result.Verification) int {
		if v == nil {
			return 0
		}
		return len(v.Findings)
	}
	return j.fault != nil || j.incorrect || found(j.verification) > found(j.verified.verification) ||
		slices.ContainsFunc(j.playing(), func(s *side) bool { return s.fault != nil })
}

// finish completes the report.
func (c *check) finish(ctx context.Context, rows []*result.Row) *result.Report {
	c.report.Rows = rows
	c.run.Finish(ctx, c.report, c.lab.Held())
	c.report.Outcome.Strict = c.Strict
	return c.report
}

// warn adds a warning about the whole run.
func (c *check) warn(code, hint, format string, args ...any) {
	c.report.Warnings = append(c.report.Warnings, result.Warning{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// hintOf returns the hint of git's error, or of the error about a missing commit.
func hintOf(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		return hinted.Hint()
	}
	return ""
}

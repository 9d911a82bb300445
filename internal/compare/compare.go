// Package compare judges two result files against each other, whoever wrote them. It makes a row
// for every benchmark that both have, and lists the benchmarks that only one has.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pawl/internal/diag"
	"pawl/internal/foreign"
	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/unit"
)

// Options say how to judge.
type Options struct {
	Tool    result.Tool
	Command []string
	Started time.Time

	Gate   spec.Gate
	Paired bool    // both lists were measured in turns, sample by sample
	Force  bool    // judge results of different devices too
	Unit   float64 // of plain lists without a unit, in seconds; 0 means 1
}

// Unit returns the seconds of a named unit of time; 0 if there is none of that name.
func Unit(name string) float64 { return foreign.Unit(name) }

// mostResampled is the number of benchmarks up to which intervals are resampled; beyond it, their
// closed form gives the same result faster.
const mostResampled = 1000

// Files reads two files and compares their contents: before, and after a change.
func Files(ctx context.Context, before, after string, opts Options) (*result.Report, error) {
	var files [2]*foreign.File
	var errs [2]error
	var reading sync.WaitGroup
	for i, path := range []string{before, after} {
		reading.Go(func() { files[i], errs[i] = foreign.Read(path, foreign.Options{Unit: opts.Unit}) })
	}
	reading.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return nil, err
	}
	return Parsed(ctx, files[0], files[1], opts)
}

// File compares the two commands of one hyperfine file; the first is the state before a change.
func File(ctx context.Context, path string, opts Options) (*result.Report, error) {
	file, err := foreign.Read(path, foreign.Options{Unit: opts.Unit})
	if err != nil {
		return nil, err
	}
	before, after, err := file.Halves()
	if err != nil {
		return nil, err
	}
	return Parsed(ctx, before, after, opts)
}

// Parsed compares two files that were read already.
func Parsed(ctx context.Context, before, after *foreign.File, opts Options) (*result.Report, error) {
	c := &comparison{opts: opts, before: before, after: after, differ: differences(before.Report, after.Report)}
	// The names in pawl's own reports are those of kernels and sizes, which nobody compares by mistake.
	pairs := match(before.Report.Rows, after.Report.Rows, before.Format == foreign.Pawl && after.Format == foreign.Pawl)
	if opts.Paired {
		if err := c.checkPairs(pairs); err != nil {
			return nil, err
		}
	}
	if err := c.checkCommon(pairs); err != nil {
		return nil, err
	}
	c.resample = len(pairs) <= mostResampled
	rows, err := c.rows(ctx, pairs)
	if err == nil {
		err = c.adjust(ctx, rows)
	}
	if err != nil {
		return nil, err
	}
	r := &result.Report{
		Schema: result.Schema, Kind: result.KindCompare, Tool: opts.Tool, Command: opts.Command, Started: opts.Started,
		Commit: after.Report.Commit, DeviceClass: class(after.Report), Machine: after.Report.Machine,
		Method: result.Method{Interval: c.interval()}, Inputs: []result.Input{input(before), input(after)}, Rows: rows,
	}
	r.Warnings = c.warnings(rows)
	run.Finish(ctx, r)
	return r, nil
}

func input(f *foreign.File) result.Input {
	r := f.Report
	return result.Input{File: f.Path, Format: string(f.Format), DeviceClass: class(r), Machine: r.Machine, Commit: r.Commit, Measured: r.Started}
}

// comparison is a comparison in progress.
type comparison struct {
	opts          Options
	before, after *foreign.File
	differ        difference
	resample      bool
}

// interval names the method of the medians' intervals.
func (c *comparison) interval() string {
	if c.resample {
		return fmt.Sprintf("percentile bootstrap, %s resamples, seed %d", unit.Count(stat.BootstrapResamples), stat.BootstrapSeed)
	}
	return "percentile bootstrap, closed form"
}

func (c *comparison) medianInterval(samples []float64) (low, high float64) {
	if c.resample {
		return stat.BootstrapMedian(samples, stat.BootstrapResamples, stat.BootstrapSeed)
	}
	return stat.BootstrapMedianExact(samples)
}

// rows judges all pairs, on all cores.
func (c *comparison) rows(ctx context.Context, pairs []pair) ([]*result.Row, error) {
	rows := make([]*result.Row, len(pairs))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(pairs)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(pairs)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				rows[i] = c.row(pairs[i])
			}
		})
	}
	workers.Wait()
	return rows, ctx.Err()
}

// checkCommon refuses files that have no benchmark in common.
func (c *comparison) checkCommon(pairs []pair) error {
	if slices.ContainsFunc(pairs, func(p pair) bool { return p.before != nil && p.after != nil }) {
		return nil
	}
	const named = 3
	some := func(f *foreign.File) string {
		var names []string
		for _, row := range f.Report.Rows {
			names = append(names, row.Name())
		}
		if len(names) == 0 {
			return "none"
		}
		return unit.Few(names, named)
	}
	return &diag.Problem{
		Message: fmt.Sprintf("the files have no benchmark in common: %s has %s, and %s has %s", c.before.Path, some(c.before), c.after.Path, some(c.after)),
		Hint:    "benchmarks are compared with those of the same name; pawl bench KERNEL --against OTHER compares two kernels",
	}
}

// checkPairs refuses lists that cannot have been measured in turns.
func (c *comparison) checkPairs(pairs []pair) error {
	var problems diag.Errors
	for _, p := range pairs {
		if p.before == nil || p.after == nil || p.before.Timing == nil || p.after.Timing == nil {
			continue
		}
		n, m := len(p.before.Timing.Samples.Kept()), len(p.after.Timing.Samples.Kept())
		if n != m {
			problems = append(problems, &diag.Problem{
				Pos:     diag.Pos{File: c.after.Path},
				Message: fmt.Sprintf("%s has %s samples, and in %s %s; expected as many of both, measured in turns", p.after.Name(), unit.Count(m), c.before.Path, unit.Count(n)),
			})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	const shown = 5
	problems = problems[:min(shown, len(problems))]
	problems[len(problems)-1].Hint = "omit --paired for lists that were measured separately"
	return problems
}

// row judges one benchmark.
func (c *comparison) row(p pair) *result.Row {
	switch {
	case p.before == nil:
		row, _ := c.side(p.after)
		row.Verdict, _ = judge.Verdict(judge.Case{})
		return row
	case p.after == nil:
		was, _ := c.side(p.before)
		return &result.Row{
			Kernel: p.before.Kernel, Config: p.before.Config, Reasons: []result.Reason{result.Removed},
			Sides: []*result.Side{{Role: result.Other, Row: was}},
		}
	}
	was, from := c.side(p.before)
	is, to := c.side(p.after)
	other := &result.Side{Role: result.Other, Row: was}
	is.Sides = []*result.Side{other}
	// Neither was measured where the code is identical.
	same := sameCode(was, is) && p.before.Verdict == result.Unchanged && p.after.Verdict == result.Unchanged
	if is.Verdict = judge.Unmeasured(judge.Case{Base: &judge.Opponent{Same: same}}); is.Verdict != "" {
		return is
	}
	incomparable, _ := judge.Verdict(judge.Case{Base: &judge.Opponent{Missing: true}})
	if why := c.unfit(p, was, is); len(why) > 0 {
		is.Verdict, other.Reason = incomparable, why
		is.Warnings = slices.DeleteFunc(is.Warnings, func(w result.Warning) bool { return w.Code == foreign.Exit }) // that is why
		return is
	}
	if c.opts.Paired {
		other.Change, is.Verdict, is.Reasons = judge.Paired(was.Timing.Samples.Kept(), is.Timing.Samples.Kept(), c.opts.Gate)
	} else {
		other.Change, is.Verdict, is.Reasons = judge.Unpaired(from, to, was.Timing.Stats, is.Timing.Stats, c.opts.Gate)
	}
	other.Change.Cycles = cycles(&was.Timing.Samples, &is.Timing.Samples)
	if !c.opts.Force && (c.differ.class || otherDevice(was, is)) {
		is.Verdict, is.Reasons = incomparable, []result.Reason{result.FingerprintDiffers}
	}
	return is
}

// adjust adjusts the verdicts for the number of comparisons in the files, and adds what depends on
// the verdicts.
func (c *comparison) adjust(ctx context.Context, rows []*result.Row) error {
	var judged []*result.Row
	var family []judge.Comparison
	for _, row := range rows {
		if len(row.Sides) == 0 || row.Sides[0].Change == nil || row.Verdict == result.Incomparable || slices.Contains(row.Reasons, result.TooFew) {
			continue
		}
		judged = append(judged, row)
		family = append(family, judge.Comparison{Before: row.Sides[0].Row.Timing.Samples.Kept(), After: row.Timing.Samples.Kept(), Verdict: row.Verdict})
	}
	if len(family) > 1 {
		adjusted, err := judge.AdjustP(ctx, family, c.opts.Paired, c.opts.Gate)
		if err != nil {
			return err
		}
		for i, row := range judged {
			if p := adjusted[i]; !math.IsNaN(p) {
				row.Sides[0].Change.PAdjusted, row.Sides[0].Change.Family = &p, len(family)
				row.Verdict, row.Reasons = judge.AmongMany(row.Verdict, row.Reasons, p)
			}
		}
	}
	for _, row := range rows {
		if len(row.Sides) == 0 || row.Sides[0].Change == nil { // it is the second file's
			row.Warnings = c.labelled(c.after.Path, row.Warnings)
			continue
		}
		if judge.Confirm(row.Verdict) && c.alike(row.Sides[0].Row, row) {
			row.Verdict, row.Reasons = result.Inconclusive, []result.Reason{result.SameCode}
		}
		if !c.opts.Paired && coarse(row.Verdict, row.Sides[0].Change, c.opts.Gate) {
			row.Verdict, row.Reasons = result.Inconclusive, []result.Reason{result.TooCoarse}
		}
		if judge.ByClock(row.Verdict, row.Sides[0].Change) {
			row.Reasons = append(row.Reasons, result.ClockEffect)
		}
		row.Warnings = c.doubts(row.Sides[0].Row, row)
	}
	return nil
}

// coarseWidth is from which width on an interval that reaches into the gate shows nothing: four times the usual gate. At
// a coefficient of variation of 3% six samples a side are enough for less. It is the same for every gate: what fails a
// wide one fails a narrow one, too.
const coarseWidth = 0.12

// coarse reports whether a claim rests on a wide interval that reaches into the gate: so are those of equal code on a
// machine that does other work.
func coarse(v result.Verdict, change *result.Change, gate spec.Gate) bool {
	switch {
	case change.High-change.Low <= coarseWidth:
		return false
	case v == result.Regression:
		return change.Low <= gate.Regression
	}
	return v == result.Improvement && change.High >= -gate.Claim
}

// otherDevice compares the devices of rows, where files name them: nvbench may use several.
func otherDevice(was, is *result.Row) bool {
	a, b := was.Vars["device"], is.Vars["device"]
	return a != "" && b != "" && a != b
}

// side returns what a comparison keeps of a row: its description, its samples, and their
// statistics, computed anew in the same way for both sides. It also returns the samples sorted:
// everything computed from them sorts them first, which is fast on sorted samples.
func (c *comparison) side(r *result.Row) (*result.Row, []float64) {
	row := &result.Row{
		Kernel: r.Kernel, Config: r.Config, Params: r.Params, Vars: r.Vars, Cell: r.Cell, Trust: r.Trust,
		Key: r.Key, Code: r.Code, Identity: r.Identity, Former: r.Former, Build: r.Build, Fault: r.Fault, Warnings: r.Warnings,
	}
	if r.Timing == nil {
		return row, nil
	}
	timing := *r.Timing
	row.Timing = &timing
	kept := timing.Samples.Kept() // a copy
	slices.Sort(kept)
	sum := stat.Summarize(kept)
	s := &timing.Stats
	s.Count, s.Median, s.Mean, s.Std, s.Min, s.P50, s.P95, s.P99, s.CV = sum.Count, sum.Median, sum.Mean, sum.Std, sum.Min, sum.P50, sum.P95, sum.P99, sum.CV
	if len(kept) > 0 {
		s.Low, s.High = c.medianInterval(kept)
	}
	return row, kept
}

// unfit says which side cannot be compared, and why. A side that gives wrong answers, or fails
// where the other does not, is not faster.
func (c *comparison) unfit(p pair, was, is *result.Row) []string {
	why := otherSizes(was.Vars, is.Vars)
	for _, side := range []struct {
		file               string
		given, read, other *result.Row
	}{{c.before.Path, p.before, was, is}, {c.after.Path, p.after, is, was}} {
		failed := exits(side.read)
		switch {
		case side.read.Fault != nil:
			why = append(why, fmt.Sprintf("in %s: %s", side.file, side.read.Fault.Message))
		case side.given.Verdict == result.Incorrect || side.given.Verdict == result.Rejected || side.given.Verdict == result.Broken:
			why = append(why, fmt.Sprintf("in %s it is %s", side.file, side.given.Verdict))
		case side.read.Timing == nil || side.read.Timing.Stats.Count == 0:
			why = append(why, "no samples in "+side.file)
		case failed != "" && exits(side.other) == "":
			why = append(why, fmt.Sprintf("in %s: %s", side.file, failed))
		}
	}
	return why
}

// otherSizes lists the variables of a config that both files have, with other values: those are two problems.
func otherSizes(was, is map[string]string) (why []string) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if value, has := is[name]; has && value != was[name] && name != "device" { // which --force compares
			why = append(why, fmt.Sprintf("%s is %s in one file and %s in the other", name, was[name], value))
		}
	}
	return why
}

// exits returns what a file says of failed runs; "" when none failed.
func exits(row *result.Row) string {
	for _, w := range row.Warnings {
		if w.Code == foreign.Exit {
			return w.Message
		}
	}
	return ""
}

// cycles returns the change in clock cycles, where both sides know their clock.
func cycles(was, is *result.Samples) *float64 {
	before, after := cycleCount(was), cycleCount(is)
	if before == nil || after == nil {
		return nil
	}
	change := stat.Median(after)/stat.Median(before) - 1
	if math.IsNaN(change) || math.IsInf(change, 0) {
		return nil // a clock of 0 was recorded
	}
	return &change
}

func cycleCount(s *result.Samples) []float64 {
	if len(s.GHz) != len(s.Seconds) {
		return nil
	}
	product := result.Samples{Seconds: slices.Clone(s.Seconds), Dropped: s.Dropped}
	for i, ghz := range s.GHz {
		product.Seconds[i] *= ghz
	}
	return product.Kept()
}

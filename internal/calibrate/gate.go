package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"pawl/internal/curve"
	"pawl/internal/diag"
	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// overtime is how long a set of decisions may go on after the given time.
var overtime = 10 * time.Second

// visit is how long a match plays in one cell, as in measure.DuetOptions: tests make it short.
var visit time.Duration

// GateOptions say how long the gate is tried.
type GateOptions struct {
	Options
	Gate   spec.Gate
	Folder string        // of curves
	For    time.Duration // the longest time; more can be added later
	Fresh  bool          // discard the existing curve
}

// gate is a calibration in progress.
type gate struct {
	GateOptions
	lab    *lab.Lab
	run    *run.Run
	curve  *curve.Curve
	jobs   []*lab.Job // pawl's own kernels
	duet   measure.DuetOptions
	trials []trial
}

// Gate tries the gate on kernels whose slowdown is known, and saves the curve as it grows:
// decisions are not lost when it is interrupted, and a later call continues from there. It reports
// whether the curve is complete: has all decisions that are wanted.
func Gate(ctx context.Context, opts GateOptions) (c *curve.Curve, complete bool, err error) {
	err = with(ctx, opts, func(g *gate) error {
		c = g.curve
		err := g.try(ctx)
		complete = len(nextSet(g.trials, g.made, 1, 0)) == 0
		return err
	})
	return c, complete, err
}

// Duet plays pawl's own kernel against itself once, and returns the change.
func Duet(ctx context.Context, opts GateOptions) (*result.Change, error) {
	var change *result.Change
	err := with(ctx, opts, func(g *gate) error {
		host := g.lab.NewHost()
		m, err := g.match(host, trial{}, "the same kernel twice")
		if err != nil {
			return err
		}
		measure.Play(ctx, []*measure.Match{m}, host, 0, g.duet, g.progress(1, 1))
		change = g.change(m, 1)
		return cmp.Or(ctx.Err(), m.Err())
	})
	return change, err
}

// with builds pawl's own kernels in a lab, and calls do with them.
func with(ctx context.Context, opts GateOptions, do func(*gate) error) error {
	here, err := findPlace(ctx, opts.Options)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pawl-gate-")
	if err != nil {
		return fmt.Errorf("make a folder for the kernels: %w", err)
	}
	defer os.RemoveAll(folder)
	s, err := here.load("gate/"+here.cell(), folder)
	if err != nil {
		return err
	}
	g := &gate{GateOptions: opts}
	if g.run, err = run.Prepare(result.KindBench, run.Request{Tool: g.Tool, Command: g.Command, Started: g.Started, Follow: g.Follow, Spec: s}); err != nil {
		return err
	}
	defer g.run.Close()
	g.duet = measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor, Visit: visit}
	g.duet.Budget, g.duet.Seed = 10*time.Second, g.run.Seed
	if err := g.load(here); err != nil {
		return err
	}
	g.lab = lab.New(g.run, g.run.NewReport(ctx, g.duet.Method()), lab.Options{Sandbox: g.Sandbox, Device: here.device, Timeout: g.duet.Timeout})
	defer g.lab.Close()
	if err := g.build(ctx, s); err != nil {
		return err
	}
	return do(g)
}

// load continues the existing curve, unless another driver made it.
func (g *gate) load(here *place) error {
	driver, device := "", here.machine.CPU.Model
	if here.gpu != nil {
		driver, device = here.gpu.Driver, here.gpu.Name
	}
	c, err := curve.Load(g.Folder, here.class, g.GateOptions.Gate)
	if err != nil && !g.Fresh {
		return &diag.Problem{Message: err.Error(), Hint: "pawl calibrate --fresh starts over"}
	}
	if c == nil || g.Fresh || !c.Fits(g.GateOptions.Gate, driver) {
		now := time.Now().UTC()
		c = &curve.Curve{
			Schema: curve.Schema, Method: curve.Method, DeviceClass: here.class, Device: device, Cell: here.cell(), Driver: driver, Started: now, Updated: now,
			Gate: curve.Gate{Regression: g.GateOptions.Gate.Regression, Improvement: g.GateOptions.Gate.Improvement, HalfWidth: g.duet.HalfWidth},
		}
	}
	c.Tool = g.Tool
	g.curve = c
	return nil
}

func (g *gate) build(ctx context.Context, s *spec.Spec) error {
	for _, k := range s.Kernels {
		set(k.Configs[0], "MOST", g.slower(mostSlower))
		g.jobs = append(g.jobs, lab.NewJob(s.Dir, k.Default(), k.Configs[0]))
	}
	g.trials = slices.DeleteFunc(slices.Clone(trials), func(t trial) bool { return t.kernel >= len(g.jobs) || t.wanted == 0 })
	if err := g.lab.Build(ctx, g.jobs); err != nil {
		return err
	}
	for _, job := range g.jobs {
		if job.Record.Fault != nil {
			return job.Record.Fault
		}
	}
	return nil
}

// slower converts a part of the gate's regression into the kernels' unit: parts of a hundred
// thousand.
func (g *gate) slower(part float64) int64 {
	return int64(math.Round(1e5 * part * g.GateOptions.Gate.Regression))
}

// nominal returns the slowdown of a trial, by the work that its kernel is given.
func (g *gate) nominal(t trial) float64 { return float64(g.slower(t.part)) / 1e5 }

func (g *gate) level(t trial) *curve.Level {
	return g.curve.At(g.jobs[t.kernel].Variant.Kernel.Name, g.nominal(t), t.behind)
}

// made returns how many decisions of a trial there are.
func (g *gate) made(t trial) int { return len(g.level(t).Decisions) }

// match plays a kernel with the trial's slowdown against itself: the candidate, the base and, for
// trials behind it, the best-known version.
func (g *gate) match(host *lab.Host, t trial, name string) (*measure.Match, error) {
	parts := []float64{t.part, 0}
	if t.behind {
		parts = []float64{t.part + behindBy, behindBy, 0}
	}
	job := g.jobs[t.kernel]
	var jobs []*lab.Job
	for _, part := range parts {
		config := *job.Variant.Kernel.Configs[0]
		config.Vars = slices.Clone(config.Vars)
		set(&config, "SLOWER", g.slower(part))
		in, err := job.Variant.At(&config)
		if err != nil {
			return nil, fmt.Errorf("read pawl's own kernels: %w", err)
		}
		own := *job
		own.Instance = in
		jobs = append(jobs, &own)
	}
	return host.Admit(name, jobs), nil
}

// turn is how long the device is kept before others who wait for it are next.
var turn = time.Minute

// take waits for the device, and returns how long that took.
func (g *gate) take(ctx context.Context) (time.Duration, error) {
	g.lab.Close() // whoever waits for it gets it now
	began := time.Now()
	lease, err := g.lab.Lease(ctx, g.jobs[0], lab.Purpose{})
	if err != nil {
		return 0, fmt.Errorf("wait for the device: %w", err)
	}
	took := time.Since(began)
	_, err = lease.Cell.Close(ctx)
	return took, err
}

// try goes on until all wanted decisions are made, or time is up, not counting time that it waits for
// other runs. A set of decisions counts completely or not at all: those that end first differ from the
// rest.
func (g *gate) try(ctx context.Context) error {
	end := g.Started.Add(g.For)
	var taken time.Time
	longest := time.Duration(0)
	first := g.curve.Sets
	for number := first; ; number++ {
		count := perSet(g.curve.Cell)
		if g.curve.Decisions() == 0 {
			count = firstSet
		}
		chosen := nextSet(g.trials, g.made, count, number)
		if len(chosen) == 0 {
			return ctx.Err()
		}
		if taken.IsZero() || time.Since(taken) >= turn {
			waited, err := g.take(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return err
			}
			end, taken = end.Add(waited), time.Now()
		}
		began := time.Now()
		within, cancel := context.WithDeadline(ctx, end.Add(overtime))
		defer cancel()
		if err := g.decide(within, chosen, number, end); err != nil {
			return err
		}
		if within.Err() != nil && ctx.Err() == nil && number == first {
			nothing := &diag.Problem{
				Message: fmt.Sprintf("no set of %d decisions ended within %v", len(chosen), g.For),
				Hint:    "give it more time: --for 10m",
			}
			n := g.curve.Decisions()
			if n == 0 {
				return nothing
			}
			g.run.Emit(run.Event{Kind: run.Note, Text: fmt.Sprintf("%s: the %d that were there are all there are; %s", nothing.Message, n, nothing.Hint)})
		}
		longest = max(longest, time.Since(began))
		if within.Err() != nil || !time.Now().Before(end) || time.Now().Add(longest).After(end.Add(overtime)) {
			return ctx.Err()
		}
	}
}

// decide makes the decisions of one set of cells and saves them.
func (g *gate) decide(ctx context.Context, chosen []trial, number int, end time.Time) error {
	host := g.lab.NewHost()
	var duels []*lab.Duel
	for i, t := range chosen {
		m, err := g.match(host, t, g.name(t, i+1, len(chosen)))
		if err != nil {
			return err
		}
		duels = append(duels, &lab.Duel{Match: m, Settle: func() result.Verdict { return g.judge(m, judge.Provisional) }})
	}
	began := time.Now()
	lab.PlayOut(ctx, host, duels, g.duet, g.progress(len(chosen), g.expected(end)))
	if ctx.Err() != nil {
		if g.curve.Decisions() == 0 {
			return nil
		}
		g.curve.Seconds += time.Since(began).Seconds() // it is part of the pace that the next call can expect
		_, err := curve.Save(g.Folder, g.curve)
		return err
	}
	for _, d := range duels {
		if err := d.Match.Err(); err != nil {
			return fmt.Errorf("%s: %w", d.Match.Name, err)
		}
	}
	for i, d := range duels {
		level := g.level(chosen[i])
		level.Decisions = append(level.Decisions, curve.Decision{Set: number, Verdict: g.judge(d.Match, judge.Verdict), Change: g.change(d.Match, 1).Median})
	}
	g.curve.Sets = number + 1
	g.curve.Seconds += time.Since(began).Seconds()
	g.curve.Updated = time.Now().UTC()
	_, err := curve.Save(g.Folder, g.curve)
	return err
}

func (g *gate) name(t trial, nth, of int) string {
	name := fmt.Sprintf("%s +%.3g%%", g.jobs[t.kernel].Variant.Kernel.Name, 100*g.nominal(t))
	if t.behind {
		name += ", behind the best"
	}
	return fmt.Sprintf("%s, %d of %d in a set", name, nth, of)
}

// expected returns how many decisions there will be when time is up.
func (g *gate) expected(end time.Time) int {
	total := 0
	for _, t := range g.trials {
		total += t.wanted
	}
	return min(total, g.curve.Decisions()+max(1, int(time.Until(end).Seconds()/g.each())))
}

// each returns how many seconds a decision took so far, or may take if none was made.
func (g *gate) each() float64 {
	if made := g.curve.Decisions(); made > 0 && g.curve.Seconds > 0 {
		return g.curve.Seconds / float64(made)
	}
	return g.duet.Budget.Seconds()
}

// progress reports how far a set of count decisions is, out of total. They end together: until
// then, the elapsed time is the measure.
func (g *gate) progress(count, total int) func(*measure.Match, measure.Progress) {
	before, each, began := g.curve.Decisions(), g.each(), time.Now()
	return func(m *measure.Match, p measure.Progress) {
		done := before + min(count-1, int(time.Since(began).Seconds()/each))
		g.run.Emit(run.Event{Kind: run.Measure, Row: m.Name, Done: done, Total: max(total, done+1), Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
	}
}

// change returns the candidate's change against one of the other sides.
func (g *gate) change(m *measure.Match, side int) *result.Change {
	return m.Change(side, make([]result.Role, len(m.Sides)), g.duet)
}

// judge decides as a check does, with either of package judge's verdicts.
func (g *gate) judge(m *measure.Match, by func(judge.Case) (result.Verdict, []result.Reason)) result.Verdict {
	var others []*judge.Opponent
	for side := 1; side < len(m.Sides); side++ {
		change := g.change(m, side)
		if change == nil {
			return result.Inconclusive
		}
		others = append(others, &judge.Opponent{Change: change, Median: m.Timings()[side].Stats.Median})
	}
	c := judge.Case{Gate: g.GateOptions.Gate, Base: others[0]}
	if len(others) > 1 {
		c.Best = others[1]
	}
	verdict, _ := by(c)
	return verdict
}

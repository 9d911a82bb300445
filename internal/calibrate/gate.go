package calibrate

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/curve"
	"pawl/internal/formula"
	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/stand"
)

// Slowdowns that the gate is tried with, and how many decisions are wanted of
// each: equal code most, because the claim about it is the strongest. A round
// makes perRound of them in one set of cells, as a check of so many configs would.
var levels = []struct {
	percent  int64
	wanted   int
	perRound int
}{{0, 400, 16}, {1, 100, 4}, {2, 200, 8}, {3, 100, 4}, {4, 200, 8}, {5, 200, 8}}

// A level's truth is established by one long duet.
const (
	truthWidth  = 0.001
	truthBudget = 10 * time.Minute
)

// GateOptions say how long the gate is tried.
type GateOptions struct {
	Options
	Gate   spec.Gate
	Folder string        // of curves
	For    time.Duration // at most so long; more can be added later
	Fresh  bool          // forget what there is
	Report func(*curve.Curve)
}

// gate is a calibration under way.
type gate struct {
	GateOptions
	stand *stand.Stand
	run   *run.Run
	curve *curve.Curve
	job   *stand.Job
	duet  measure.DuetOptions
	host  *stand.Host
}

// Gate tries the gate on kernels whose slowdown is known, and keeps the curve as
// it grows: what was decided is not lost when it is interrupted, and a later call
// goes on from there.
func Gate(ctx context.Context, opts GateOptions) (*curve.Curve, error) {
	g, leave, err := enter(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer leave()
	return g.curve, g.try(ctx)
}

// Duet lets pawl's own kernel play against itself once, and says what it found.
func Duet(ctx context.Context, opts GateOptions) (*result.Change, error) {
	g, leave, err := enter(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer leave()
	m, err := g.match(0, "the same kernel twice")
	if err != nil {
		return nil, err
	}
	measure.Play(ctx, []*measure.Match{m}, g.host, 0, g.duet, g.progress(0))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if _, err := m.Err(); err != nil {
		return nil, err
	}
	return m.Change(1, make([]result.Role, 2), g.duet), nil
}

// enter builds pawl's own kernel and opens a stand for it.
func enter(ctx context.Context, opts GateOptions) (*gate, func(), error) {
	here, err := look(ctx, opts.Options)
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "pawl-gate-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the kernels: %w", err)
	}
	g := &gate{GateOptions: opts}
	leave := func() {
		if g.stand != nil {
			g.stand.Close()
		}
		_ = os.RemoveAll(folder)
	}
	if err := g.enter(ctx, here, folder); err != nil {
		leave()
		return nil, nil, err
	}
	return g, leave, nil
}

func (g *gate) enter(ctx context.Context, here *place, folder string) error {
	if err := writeKernels("gate/"+here.cell(), folder); err != nil {
		return err
	}
	s, err := spec.Load(filepath.Join(folder, spec.FileName))
	if err != nil {
		return fmt.Errorf("read pawl's own kernels: %w", err)
	}
	g.run = run.New(folder, g.Started, g.Follow)
	g.duet = measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor}
	g.duet.Budget = 10 * time.Second
	if err := g.load(here); err != nil {
		return err
	}
	report := stand.NewReport(g.run, result.KindBench, g.Tool, g.Command, s, g.duet.Options)
	g.stand = stand.New(g.run, report, stand.Options{Sandbox: g.Sandbox, Device: here.device, Timeout: g.duet.Timeout})
	return g.build(ctx, s, here)
}

// load continues the curve there is, unless another gate or driver made it.
func (g *gate) load(here *place) error {
	driver, device := "", here.machine.CPU.Model
	if here.gpu != nil {
		driver, device = here.gpu.Driver, here.gpu.Name
	}
	c, err := curve.Load(g.Folder, here.class)
	if err != nil && !g.Fresh {
		return err
	}
	if c == nil || g.Fresh || !c.Fits(g.GateOptions.Gate, driver) {
		now := time.Now().UTC()
		c = &curve.Curve{
			Schema: curve.Schema, DeviceClass: here.class, Device: device, Cell: here.cell(), Driver: driver, Started: now, Updated: now,
			Gate: curve.Gate{Regression: g.GateOptions.Gate.Regression, Improvement: g.GateOptions.Gate.Improvement, HalfWidth: g.duet.HalfWidth},
		}
	}
	c.Tool = g.Tool
	g.curve = c
	return nil
}

func (g *gate) build(ctx context.Context, s *spec.Spec, here *place) error {
	k := s.Kernels[0]
	if here.gpu != nil {
		for _, c := range k.Configs {
			for i := range c.Vars {
				if c.Vars[i].Name == "SMS" {
					c.Vars[i].Value = formula.Int(int64(here.gpu.SMs))
				}
			}
		}
	}
	g.job = stand.NewJob(s.Dir, k.Default(), k.Configs[0])
	if err := g.stand.Build(ctx, []*stand.Job{g.job}); err != nil {
		return err
	}
	if g.job.Row.Fault != nil {
		return g.job.Row.Fault
	}
	g.host = g.stand.NewHost([]*stand.Job{g.job, g.job})
	return nil
}

// match lets a kernel that is so much slower play against itself.
func (g *gate) match(percent int64, name string) (*measure.Match, error) {
	k := g.job.Variant.Kernel
	m := &measure.Match{Name: name}
	for _, p := range []int64{percent, 0} {
		var config *spec.Config
		for _, c := range k.Configs {
			for _, v := range c.Vars {
				if n, ok := v.Value.Int(); ok && v.Name == "SLOWER" && n == p {
					config = c
				}
			}
		}
		if config == nil {
			return nil, fmt.Errorf("pawl's own kernel has no config that is %d%% slower", p)
		}
		in, err := g.job.Variant.At(config)
		if err != nil {
			return nil, fmt.Errorf("read pawl's own kernels: %w", err)
		}
		m.Sides = append(m.Sides, measure.Entrant{Instance: in, Symbols: g.job.Artifact.Symbols})
	}
	return m, nil
}

// try goes on until all decisions that are wanted are made and the truth of every
// level is known, or time is up.
func (g *gate) try(ctx context.Context) error {
	began := time.Now()
	for round := 0; ctx.Err() == nil && time.Since(began) < g.For; round++ {
		done, err := g.round(ctx, round)
		if err != nil {
			return err
		}
		if done {
			return g.truths(ctx, began)
		}
	}
	return ctx.Err()
}

// truths establishes what the slowdowns really are.
func (g *gate) truths(ctx context.Context, began time.Time) error {
	for _, l := range levels {
		level := g.curve.At(float64(l.percent) / 100)
		if level.Truth != nil || ctx.Err() != nil || time.Since(began) > g.For {
			continue
		}
		m, err := g.match(l.percent, fmt.Sprintf("the truth of +%d%%", l.percent))
		if err != nil {
			return err
		}
		opts := g.duet
		opts.HalfWidth, opts.Budget, opts.Floor = truthWidth, truthBudget, 0
		measure.Play(ctx, []*measure.Match{m}, g.host, 0, opts, g.progress(0))
		if ctx.Err() != nil {
			return ctx.Err() // half a truth is none
		}
		if _, err := m.Err(); err != nil {
			return fmt.Errorf("find out what +%d%% truly is: %w", l.percent, err)
		}
		c := m.Change(1, make([]result.Role, 2), opts)
		level.Truth = &curve.Truth{Median: c.Median, Low: c.Low, High: c.High, Cells: len(c.Cells), Pairs: c.Pairs}
		if err := g.save(); err != nil {
			return err
		}
	}
	return nil
}

func (g *gate) progress(done int) func(*measure.Match, measure.Progress) {
	return func(m *measure.Match, p measure.Progress) {
		g.run.Emit(run.Event{Kind: run.Measure, Row: m.Name, Done: done, Total: g.total(), Samples: p.Samples, MedianS: p.Median, HalfWidth: p.HalfWidth})
	}
}

func (g *gate) total() int {
	n := 0
	for _, l := range levels {
		n += l.wanted
	}
	return n
}

// round makes as many decisions as one set of cells serves.
func (g *gate) round(ctx context.Context, number int) (done bool, err error) {
	var duels []*stand.Duel
	var percents []int64
	made := 0
	for _, l := range levels {
		made += g.curve.At(float64(l.percent) / 100).Decisions()
	}
	for _, l := range levels {
		left := l.wanted - g.curve.At(float64(l.percent)/100).Decisions()
		for i := range min(left, l.perRound) {
			m, err := g.match(l.percent, fmt.Sprintf("+%d%%, decision %d", l.percent, l.wanted-left+i+1))
			if err != nil {
				return false, err
			}
			duels = append(duels, &stand.Duel{Match: m, Settle: func() result.Verdict { return g.judge(m) }})
			percents = append(percents, l.percent)
		}
	}
	if len(duels) == 0 {
		return true, nil
	}
	// Neighbours in a cell should not be of one level in every round.
	for i := range duels {
		j := (i*7 + number*5) % len(duels)
		duels[i], duels[j] = duels[j], duels[i]
		percents[i], percents[j] = percents[j], percents[i]
	}
	began := time.Now()
	stand.PlayOut(ctx, g.host, duels, g.duet, g.progress(made))
	if ctx.Err() != nil {
		return false, nil // half a round is no decision
	}
	alarm := false
	for i, d := range duels {
		if _, err := d.Match.Err(); err != nil {
			return false, fmt.Errorf("%s: %w", d.Match.Name, err)
		}
		verdict := g.judge(d.Match)
		g.curve.At(float64(percents[i])/100).Count(verdict, d.Match.Change(1, make([]result.Role, 2), g.duet).Median)
		alarm = alarm || percents[i] == 0 && verdict == result.Regression
	}
	g.curve.Runs++
	if alarm {
		g.curve.FalseRuns++
	}
	g.curve.Seconds += time.Since(began).Seconds()
	return false, g.save()
}

// judge decides as a check does.
func (g *gate) judge(m *measure.Match) result.Verdict {
	change := m.Change(1, make([]result.Role, 2), g.duet)
	if change == nil || math.IsNaN(change.Median) {
		return result.Inconclusive
	}
	verdict, _ := judge.Verdict(judge.Case{
		Gate: g.GateOptions.Gate, Base: &judge.Opponent{Change: change, Median: m.Timings()[1].Stats.Median},
	})
	return verdict
}

func (g *gate) save() error {
	g.curve.Updated = time.Now().UTC()
	_, err := curve.Save(g.Folder, g.curve)
	if g.GateOptions.Report != nil {
		g.GateOptions.Report(g.curve)
	}
	return err
}

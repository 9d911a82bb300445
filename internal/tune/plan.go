package tune

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"pawl/internal/diag"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/search"
	"pawl/internal/space"
	"pawl/internal/spec"
)

// tune is one search.
type tune struct {
	Options
	run     *run.Run
	report  *result.Report
	lab     *lab.Lab
	kernel  *spec.Kernel
	configs []*spec.Config
	began   time.Time

	answers  *lab.Answers
	exams    []lab.Exam // by config
	space    *space.Space
	compiler *lab.Compiler
	defaults *candidate
	tuning   *result.Tuning
	journal  *journal

	mu        sync.Mutex // guards what follows, the strategy and the tuning
	wake      sync.Cond
	strategy  search.Strategy
	ready     []*candidate // built, and waiting for a device
	asked     int
	inFlight  int  // asked for, and not told of
	dropped   int  // asked for, and never told of
	building  int  // compilers at work
	exhausted bool // the strategy has no point left
	claims    map[string]*claim
	best      *result.Trial // nil: none is right
	scale     []float64     // by config: what a cost of 1 is, in seconds; set by the defaults or, where those fail, by the first that is right
	joules    []float64     // likewise
	pace      pace
	verifyS   []float64 // by config: the longest that verifying a candidate has taken

	defaultsWork bool      // the scale is that of today's defaults
	byTime       bool      // the finals are decided by time, though energy counts: there was no time to compare it
	sure         bool      // the winner's interval says that it is faster than them
	deserted     error     // why no worker is left; nil: there is one
	until        time.Time // when the search ends, and the finals begin
	clock        clock
}

// candidate is a point on its way through compiler and device.
type candidate struct {
	point    space.Point
	variant  spec.Variant
	jobs     []*lab.Job // by config
	identity string     // of its code with its launches on all configs; "" until it is built
	compileS float64
	lost     int // workers that ended while they had it
}

// identify finds out what a candidate that was built shares with others.
func (c *candidate) identify() {
	var each []string
	for _, job := range c.jobs {
		each = append(each, job.Identity())
	}
	c.identity = strings.Join(each, " ")
}

// claim is the first trial of an identity.
type claim struct {
	trial   *result.Trial // nil: it is not over
	waiting []*candidate  // equal ones
}

// prepare finds the space and the answers.
func (t *tune) prepare() error {
	var err error
	if t.space, err = t.kernel.Space(); err != nil {
		return err
	}
	if t.space.Exact() && t.space.Size() == 1 {
		return &diag.Problem{
			Pos: t.kernel.Pos, Message: fmt.Sprintf("there is nothing to search: the params of %s have one setting that the constraints allow", t.kernel.Name),
			Hint: "list more values, or relax a constraint",
		}
	}
	if t.answers, err = lab.FindAnswers(t.run.Spec, t.kernel); err != nil {
		return err
	}
	for name := range t.Weights {
		known := false
		for _, c := range t.configs {
			known = known || c.Name == name
		}
		if !known {
			return &diag.SettingError{Setting: "weight", Value: name, Expected: "the name of a config that is searched on"}
		}
	}
	t.defaults = t.candidate(t.kernel.Default())
	for i, config := range t.configs {
		exam := t.answers.On(config)
		if exam.Oracle == nil { // whoever answers as the defaults do is right
			reference := *t.defaults.jobs[i]
			reference.Untimed, reference.Beside = true, true
			exam.Reference = &reference
		}
		t.exams = append(t.exams, exam)
	}
	t.tuning = &result.Tuning{
		Kernel: t.kernel.Name, Strategy: t.Strategy, Objective: t.Objective, Over: t.Over, BudgetS: t.Budget.Seconds(), Space: t.describe(), Workers: 1,
	}
	for _, config := range t.configs {
		t.tuning.Configs = append(t.tuning.Configs, config.Name)
	}
	t.report.Tuning = t.tuning
	return nil
}

// describe returns what the report says of the space.
func (t *tune) describe() result.Space {
	out := result.Space{Cartesian: t.space.Cartesian(), Size: t.space.Size(), Exact: t.space.Exact()}
	defaults := t.kernel.Default().Params()
	for at, p := range t.kernel.Params {
		param := result.SpaceParam{Name: p.Name, Default: defaults[p.Name]}
		point := t.kernel.Default().Point()
		for i := range p.Values {
			point[at] = uint16(i)
			param.Values = append(param.Values, t.kernel.At(point).Params()[p.Name])
		}
		out.Params = append(out.Params, param)
	}
	for _, c := range t.kernel.Constraints {
		out.Constraints = append(out.Constraints, c.Text)
	}
	return out
}

// candidate returns a variant with its jobs, not yet built.
func (t *tune) candidate(v spec.Variant) *candidate {
	c := &candidate{point: v.Point(), variant: v}
	for _, config := range t.configs {
		c.jobs = append(c.jobs, lab.NewJob(t.run.Spec.Dir, v, config))
	}
	return c
}

// begin builds the defaults and whoever knows the answers, and with that learns of the machine.
func (t *tune) begin(ctx context.Context) error {
	jobs := append([]*lab.Job(nil), t.defaults.jobs...)
	for _, exam := range t.exams {
		jobs = append(jobs, exam.Jobs()...)
	}
	if err := t.lab.Build(ctx, jobs); err != nil {
		return err
	}
	for i, exam := range t.exams {
		for _, job := range exam.Jobs() {
			fault := job.Record.Fault
			if fault == nil {
				continue
			}
			if exam.Oracle == nil {
				return fmt.Errorf("%s has no oracle, and today's defaults, which would say what is right, do not work on %s: %w", t.kernel.Name, t.configs[i].Name, fault)
			}
			return fmt.Errorf("the oracle %s of %s is not available: %w", t.answers, t.kernel.Name, fault)
		}
		if exam.Oracle != nil && t.defaults.jobs[i].Instance != nil {
			if err := exam.Unasked(t.defaults.jobs[i].Instance); err != nil {
				return fmt.Errorf("the oracle %s cannot be asked about %s/%s: %w", t.answers, t.kernel.Name, t.configs[i].Name, err)
			}
		}
	}
	if fault := t.defaults.jobs[0].Record.Fault; fault != nil && fault.Cause == result.CauseUnsupported {
		return fault // no setting can run here
	}
	if ctx.Err() != nil {
		return errors.New("interrupted before anything was tried")
	}
	var err error
	t.compiler, err = t.lab.NewCompiler()
	t.Compilers = compilers(t.Compilers, t.defaults.jobs[0].GPU())
	return err
}

// compilers returns how many compilers work at once. What is timed on the CPU needs cores of its own.
func compilers(asked int, onGPU bool) int {
	cores := runtime.GOMAXPROCS(0)
	switch {
	case asked > 0:
		return asked
	case onGPU:
		return cores
	}
	return max(1, cores/2)
}

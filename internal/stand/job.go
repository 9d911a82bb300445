package stand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"pawl/internal/build"
	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
)

// Job is one variant on one config: something to build and to measure.
type Job struct {
	Row      *result.Row
	Variant  spec.Variant
	Instance *spec.Instance // nil when it could not be resolved: the row says why
	Artifact *build.Artifact
	Dir      string // its sources are relative to
	Module   []byte // of a Python rival that ships with pawl
	Keywords map[string]any
	Beside   bool // it is no row's own but an oracle, a rival or an earlier version
	Untimed  bool // it is only asked for answers
}

// NewJob resolves one variant on one config.
func NewJob(dir string, variant spec.Variant, config *spec.Config) *Job {
	row := &result.Row{
		Kernel: variant.Kernel.Name, Config: config.Name, Cell: variant.Kernel.Cell,
		Params: variant.Params(), Vars: vars(config),
	}
	p := &Job{Row: row, Variant: variant, Dir: dir, Keywords: Keywords(variant)}
	var err error
	if p.Instance, err = variant.At(config); err != nil {
		row.Verdict = result.Broken
		row.Fault = &result.Fault{Stage: "plan", Cause: result.CauseSpec, Message: briefly(err)}
	}
	return p
}

// briefly is the first of an error's problems, in one line.
func briefly(err error) string {
	problems := diag.Problems(err)
	if len(problems) < 2 {
		return err.Error()
	}
	return fmt.Sprintf("%s (and %d more problems)", problems[0].Error(), len(problems)-1)
}

func vars(c *spec.Config) map[string]string {
	out := map[string]string{}
	for _, v := range c.Vars {
		out[v.Name] = v.Value.String()
	}
	return out
}

// Keywords are the params of a Python function, by name.
func Keywords(v spec.Variant) map[string]any {
	if v.Kernel.Cell != spec.CellPython {
		return nil
	}
	out := map[string]any{}
	for i, p := range v.Kernel.Params {
		out[p.Name] = plain(v.Values[i])
	}
	return out
}

// plain is a value as JSON has it.
func plain(v formula.Value) any {
	if b, ok := v.Bool(); ok {
		return b
	}
	if n, ok := v.Int(); ok {
		return n
	}
	if _, ok := v.Float(); ok {
		return json.RawMessage(v.String()) // 2.0 stays a float
	}
	return v.String()
}

// Fail records on the row why it has no (trustworthy) number.
func (p *Job) Fail(stage string, err error) {
	var fault *result.Fault
	if !errors.As(err, &fault) {
		fault = &result.Fault{Cause: result.CauseInternal, Message: err.Error()}
		if errors.Is(err, context.Canceled) {
			fault = &result.Fault{Cause: result.CauseInterrupted, Message: "interrupted"}
		}
	}
	if fault.Stage == "" {
		fault.Stage = stage
	}
	p.Row.Fault = fault
	p.Row.Verdict = judge.OfFault(fault)
	var failed *worker.Failed
	if errors.As(err, &failed) {
		if failed.Log != "" {
			p.Row.Log = failed.Log
		}
		if failed.Sandbox != nil {
			p.held(*failed.Sandbox)
		}
	}
}

// GPU tells whether the job's kernel runs on a GPU where there is one.
func (p *Job) GPU() bool {
	switch p.Row.Cell {
	case spec.CellCUDA:
		return true
	case spec.CellPython:
		return framework(p.Variant.Kernel, p.Artifact) != "numpy"
	}
	return false
}

// framework is what a Python kernel is written for; "numpy" until it is known.
func framework(k *spec.Kernel, made *build.Artifact) string {
	switch {
	case made != nil:
		return made.Framework
	case k.Framework != "":
		return k.Framework
	}
	return "numpy"
}

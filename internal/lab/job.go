package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/build"
	"pawl/internal/diag"
	"pawl/internal/formula"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
)

// Job is one variant on one config: something to build and to measure.
type Job struct {
	Variant  spec.Variant
	Config   *spec.Config
	Instance *spec.Instance // nil if it could not be resolved: the record says why
	Dir      string         // the folder that its sources are relative to
	Module   []byte         // text of a Python rival that ships with pawl
	Keywords map[string]any
	Beside   bool // it is not a row's own job but an oracle, a rival or an earlier version
	Untimed  bool // it only gives answers
	Borrowed bool // its params are another kernel's

	Artifact *build.Artifact // once it is built
	Record   Record
}

// Record holds what the lab has learnt of a job: how it was built, what sandbox held its cells, and
// what the cells reported.
type Record struct {
	Fault      *result.Fault // why it cannot be built, or the fault that closing its last cell revealed
	Build      *result.Build
	Trust      string
	Flush      string
	Sandbox    *result.Sandbox
	Log        string
	PeakMemory int64
	Warnings   []result.Warning
}

// NewJob resolves one variant on one config.
func NewJob(dir string, variant spec.Variant, config *spec.Config) *Job {
	p := &Job{Variant: variant, Config: config, Dir: dir, Keywords: Keywords(variant)}
	var err error
	if p.Instance, err = variant.At(config); err != nil {
		p.Record.Fault = &result.Fault{Stage: "plan", Cause: result.CauseSpec, Message: briefly(err)}
	}
	return p
}

// Name returns kernel/config.
func (p *Job) Name() string { return p.Variant.Kernel.Name + "/" + p.Config.Name }

// Cell returns the kind of cell that the job runs in.
func (p *Job) Cell() string { return p.Variant.Kernel.Cell }

// Key returns the key of the job's artifact; "" until it is built.
func (p *Job) Key() string {
	if p.Artifact == nil {
		return ""
	}
	return p.Artifact.Key
}

// Identity returns the identity of the job's code with its launch; "" until it is built.
func (p *Job) Identity() string {
	if p.Artifact == nil || p.Instance == nil {
		return ""
	}
	return p.Instance.Identity(p.Artifact.Code)
}

// former returns the identity in the form that older versions of pawl stored; "" where there is no
// other.
func (p *Job) former() string {
	if a := p.Artifact; a == nil || p.Instance == nil || a.Former == "" || a.Former == a.Code {
		return ""
	}
	return p.Instance.Identity(p.Artifact.Former)
}

// Is reports whether the job has an identity that was stored, by this version of pawl or an older
// one.
func (p *Job) Is(stored string) bool {
	return stored != "" && (stored == p.Identity() || stored == p.former())
}

// Vars returns the config's own values.
func (p *Job) Vars() map[string]string { return vars(p.Config) }

// Row returns what the report says of the job, apart from the measurements.
func (p *Job) Row() *result.Row {
	r := p.Record
	row := &result.Row{
		Kernel: p.Variant.Kernel.Name, Config: p.Config.Name, Cell: p.Cell(), Params: p.Variant.Params(), Vars: p.Vars(),
		Fault: r.Fault, Build: r.Build, Trust: r.Trust, Flush: r.Flush, Sandbox: r.Sandbox, Log: r.Log, Warnings: slices.Clone(r.Warnings),
	}
	if p.Borrowed {
		row.Params = nil
	}
	if p.Artifact != nil {
		row.Key, row.Code, row.Identity, row.Former = p.Artifact.Key, p.Artifact.Code, p.Identity(), p.former()
	}
	return row
}

// Timed returns a timing of the job, completed with the memory that its cells took.
func (p *Job) Timed(t *result.Timing) *result.Timing {
	if t == nil || t.PeakMemory >= p.Record.PeakMemory {
		return t
	}
	out := *t
	out.PeakMemory = p.Record.PeakMemory
	return &out
}

// briefly returns the first of an error's problems, in one line.
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

// Keywords returns the params of a Python function, by name.
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

// plain returns a value as JSON represents it.
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

// FaultOf turns an error of the job at a stage into the report's fault. What the ended cell left
// behind goes to the record.
func (p *Job) FaultOf(stage string, err error) *result.Fault {
	if failed, ok := errors.AsType[*worker.Failed](err); ok {
		if failed.Log != "" {
			p.Record.Log = failed.Log
		}
		if failed.Sandbox != nil {
			p.Record.held(*failed.Sandbox)
		}
	}
	fault := result.Fault{Cause: result.CauseInternal, Message: err.Error()}
	if known, ok := errors.AsType[*result.Fault](err); ok {
		fault = *known // other rows may have failed for the same reason
	} else if errors.Is(err, context.Canceled) {
		fault = result.Fault{Cause: result.CauseInterrupted, Message: "interrupted"}
	}
	fault.Stage = cmp.Or(fault.Stage, stage)
	return &fault
}

// fail records why the job cannot be built.
func (p *Job) fail(stage string, err error) { p.Record.Fault = p.FaultOf(stage, err) }

// GPU reports whether the job's kernel runs on a GPU where there is one.
func (p *Job) GPU() bool {
	switch p.Cell() {
	case spec.CellCUDA:
		return true
	case spec.CellPython:
		return framework(p.Variant.Kernel, p.Artifact) != "numpy"
	}
	return false
}

// OnGPU reports whether a job's kernel runs on the lab's GPU. A Python function may be written for GPUs,
// and run on the CPU where there is none.
func (l *Lab) OnGPU(p *Job) bool {
	return p.GPU() && (p.Cell() == spec.CellCUDA || l.machine().GPU != nil)
}

// framework returns the framework that a Python kernel is written for; "numpy" until it is known.
func framework(k *spec.Kernel, made *build.Artifact) string {
	switch {
	case made != nil:
		return made.Framework
	case k.Framework != "":
		return k.Framework
	}
	return "numpy"
}

// Doubts returns the warnings about a job that was measured, or whose measurement failed; cv is the
// gate's bound. The timing may be nil.
func (l *Lab) Doubts(p *Job, t *result.Timing, cv float64) []result.Warning {
	var out []result.Warning
	if t != nil {
		out = measure.Doubts(t, cv)
	}
	if box := p.Record.Sandbox; box != nil && len(box.Attempts) > 0 {
		out = append(out, result.Warning{
			Code: "sandbox", Message: fmt.Sprintf("the kernel attempted something that its sandbox refuses: %s", listed(box.Attempts)),
		})
	}
	return append(out, l.checkLock(p, t)...)
}

// checkLock warns when a locked clock did not stay at its frequency.
func (l *Lab) checkLock(p *Job, t *result.Timing) []result.Warning {
	const slack = 0.02
	if l.LockMHz == 0 || t == nil || t.Stats.GHz == 0 || p.Cell() != spec.CellCUDA {
		return nil
	}
	if locked := float64(l.LockMHz) / 1e3; t.Stats.GHz < locked*(1-slack) || t.Stats.GHz > locked*(1+slack) {
		return []result.Warning{{
			Code: "lock", Message: fmt.Sprintf("the clock was locked at %.2f GHz but ran at %.2f GHz", locked, t.Stats.GHz),
			Hint: "the GPU could not hold it because of its power or temperature limit",
		}}
	}
	return nil
}

func listed(items []string) string {
	const most = 5
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], "; "), len(items)-most)
	}
	return strings.Join(items, "; ")
}

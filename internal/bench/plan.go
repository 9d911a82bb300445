package bench

import (
	"context"
	"fmt"

	"pawl/internal/build"
	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// plan resolves every selected kernel on every selected config.
func (b *bench) plan() ([]*plan, error) {
	used := make([]bool, len(b.Set))
	var plans []*plan
	for _, s := range b.Selections {
		variant := s.Kernel.Default()
		for i, set := range b.Set {
			if !hasParam(s.Kernel, set.Name) {
				continue
			}
			used[i] = true
			var err error
			if variant, err = variant.With(set.Name, set.Value); err != nil {
				return nil, err
			}
		}
		rivals, err := b.rivals(s.Kernel)
		if err != nil {
			return nil, err
		}
		for _, config := range s.Configs {
			p := newPlan(variant, config)
			p.keywords = keywords(variant)
			b.report.Rows = append(b.report.Rows, p.row)
			for i, rival := range rivals {
				other := newPlan(rival.variant, config)
				other.module, other.keywords = rival.module, rival.keywords
				if rival.borrowed {
					other.row.Params = nil // they are the kernel's, not its
				}
				p.rivals = append(p.rivals, other)
				p.row.Rivals = append(p.row.Rivals, &result.Rival{Label: b.Against[i], Row: other.row})
			}
			plans = append(plans, p)
			for _, side := range p.sides() {
				if side.instance != nil {
					b.largest = max(b.largest, side.instance.Footprint)
				}
			}
		}
	}
	for i, set := range b.Set {
		if !used[i] {
			return nil, fmt.Errorf("no selected kernel has a param %q (%s)", set.Name, diag.Meant(set.Name, paramNames(b.Selections)))
		}
	}
	return plans, nil
}

// newPlan resolves one variant on one config.
func newPlan(variant spec.Variant, config *spec.Config) *plan {
	row := &result.Row{
		Kernel: variant.Kernel.Name, Config: config.Name, Cell: variant.Kernel.Cell,
		Params: variant.Params(), Vars: vars(config),
	}
	p := &plan{row: row, variant: variant}
	var err error
	if p.instance, err = variant.At(config); err != nil {
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

// sides are the plan itself and its rivals.
func (p *plan) sides() []*plan { return append([]*plan{p}, p.rivals...) }

func kernelNamed(s *spec.Spec, name string) *spec.Kernel {
	for _, k := range s.Kernels {
		if k.Name == name {
			return k
		}
	}
	return nil
}

func kernelNames(s *spec.Spec) []string {
	var names []string
	for _, k := range s.Kernels {
		names = append(names, k.Name)
	}
	return names
}

func hasParam(k *spec.Kernel, name string) bool {
	for _, p := range k.Params {
		if p.Name == name {
			return true
		}
	}
	return false
}

func paramNames(selections []spec.Selection) []string {
	var names []string
	for _, s := range selections {
		for _, p := range s.Kernel.Params {
			names = append(names, p.Name)
		}
	}
	return names
}

func vars(c *spec.Config) map[string]string {
	out := map[string]string{}
	for _, v := range c.Vars {
		out[v.Name] = v.Value.String()
	}
	return out
}

// build compiles what the rows need, each variant once.
func (b *bench) build(ctx context.Context, plans []*plan) {
	var requests []build.Request
	var waiting []*plan
	for _, p := range plans {
		for _, side := range p.sides() {
			if side.row.Fault == nil {
				requests = append(requests, build.Request{Dir: b.Spec.Dir, Variant: side.variant, Module: side.module})
				waiting = append(waiting, side)
			}
		}
	}
	opts := b.Options.Build
	opts.OnProgress = func(p build.Progress) {
		b.run.Emit(run.Event{Kind: run.Build, Done: p.Done, Total: p.Total, Text: p.Current})
	}
	builder, err := build.New(opts)
	if err != nil {
		for _, p := range waiting {
			p.fail("build", err)
		}
		return
	}
	for i, outcome := range builder.Build(ctx, requests) {
		p := waiting[i]
		for _, note := range outcome.Notes {
			p.row.Warnings = append(p.row.Warnings, result.Warning{Code: "cache", Message: note})
		}
		if outcome.Fault != nil {
			p.fail("build", outcome.Fault)
			p.row.Build = &result.Build{Output: outcome.Output}
			continue
		}
		a := outcome.Artifact
		p.artifact = a
		p.row.Key, p.row.Code, p.row.Identity = a.Key, a.Code, p.instance.Identity(a.Code)
		p.row.Build = &result.Build{Cached: a.Cached, Seconds: a.Seconds, Compiler: a.Compiler, Output: a.Output, Resources: a.Resources}
	}
}

func (b *bench) describeCompilers(plans []*plan) {
	for _, p := range plans {
		if p.artifact == nil || p.artifact.Compiler == "" {
			continue
		}
		b.compiler(p.row.Cell, p.artifact.Compiler)
	}
}

// compiler notes what kernels of a kind are made or run with.
func (b *bench) compiler(cell, name string) {
	b.note(func(r *result.Report) {
		if r.Machine.Compilers == nil {
			r.Machine.Compilers = map[string]string{}
		}
		r.Machine.Compilers[cell] = name
	})
}

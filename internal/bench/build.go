package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// BuildOptions say what variants are compiled for, and how.
type BuildOptions struct {
	Arch    []string // GPU architectures; none: PAWL_CUDA_ARCH, else those of this machine's GPUs
	Jobs    int      // compilers at once; 0: one per core
	Sandbox string   // auto, require, off
	Export  string   // folder for build.ninja and compile_commands.json; "": neither
}

// Built is the outcome of building one variant.
type Built struct {
	build.Outcome
	Arch string // the architecture it was compiled for; "": there is only one
}

// Build compiles every variant of the run's kernels into the cache, for every architecture. A
// variant that cannot be built says so in its Built.
func Build(ctx context.Context, r *run.Run, opts BuildOptions) ([]Built, error) {
	targets, err := targets(ctx, r, opts.Arch)
	if err != nil {
		return nil, err
	}
	if opts.Export != "" && len(targets) > 1 {
		return nil, fmt.Errorf("-o writes build.ninja for one architecture, but there are %s: choose one with --arch", strings.Join(targets, ", "))
	}
	var all []Built
	for i, arch := range targets {
		var requests []build.Request
		var outcomes []build.Outcome
		for _, s := range r.Selections {
			if i > 0 && s.Kernel.Cell != spec.CellCUDA { // other code has no architecture
				continue
			}
			for variant := range s.Kernel.Variants() {
				request := build.Request{Dir: r.Spec.Dir, Variant: variant}
				if fault := lab.Unfit(variant, arch); fault != nil {
					outcomes = append(outcomes, build.Outcome{Request: request, Fault: fault})
					continue
				}
				requests = append(requests, request)
			}
		}
		made, err := buildFor(ctx, r, arch, opts, requests)
		if err != nil {
			return nil, err
		}
		for _, o := range append(outcomes, made...) {
			b := Built{Outcome: o}
			if len(targets) > 1 && o.Request.Variant.Kernel.Cell == spec.CellCUDA {
				b.Arch = arch
			}
			all = append(all, b)
		}
	}
	return all, nil
}

// buildFor compiles for one architecture.
func buildFor(ctx context.Context, r *run.Run, arch string, opts BuildOptions, requests []build.Request) ([]build.Outcome, error) {
	r.Stage("build")
	builder, err := build.New(build.Options{Jobs: opts.Jobs, Arch: arch, Sandbox: opts.Sandbox, OnProgress: func(p build.Progress) {
		r.Emit(run.Event{Kind: run.Build, Done: p.Done, Total: p.Total, Text: p.Current})
	}})
	if err != nil {
		return nil, err
	}
	if opts.Export != "" {
		if err := builder.Export(ctx, opts.Export, requests); err != nil {
			return nil, err
		}
	}
	return builder.Build(ctx, requests), nil
}

// targets returns the architectures to build for: the named ones, else those of this machine's
// GPUs. Where neither is known, it returns one without a name.
func targets(ctx context.Context, r *run.Run, named []string) ([]string, error) {
	var out []string
	for _, arch := range named {
		if !build.ValidArch(arch) {
			return nil, fmt.Errorf("--arch %s: not a GPU architecture; expected a name such as sm_90a", arch)
		}
		if !slices.Contains(out, arch) {
			out = append(out, arch)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	own := build.Arch("")
	if own != "" || !slices.ContainsFunc(r.Selections, func(s spec.Selection) bool { return s.Kernel.Cell == spec.CellCUDA }) {
		return []string{own}, nil
	}
	found, why, err := lab.Architectures(ctx)
	switch {
	case err != nil:
		r.Emit(run.Event{Kind: run.Note, Text: fmt.Sprintf("the GPUs of this machine are unknown: %v", err)})
	case len(found) > 0:
		return found, nil
	case why != "":
		r.Emit(run.Event{Kind: run.Note, Text: why})
	}
	return []string{""}, nil
}

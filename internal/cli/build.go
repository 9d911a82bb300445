package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

type buildOpts struct {
	project projectOptions
	output  string
	jobs    int
	arch    []string
	sandbox sandboxOptions
}

func (o *buildOpts) AddFlags(f *pflag.FlagSet) {
	o.project.AddFlags(f)
	f.StringVarP(&o.output, "output", "o", "", "also write build.ninja and compile_commands.json into this folder")
	f.StringSliceVar(&o.arch, "arch", nil, "GPU architectures to compile CUDA for, as sm_80,sm_90a (default: PAWL_CUDA_ARCH, else those of this machine's GPUs)")
	f.IntVarP(&o.jobs, "jobs", "j", 0, "compilers to run at once (default: one per core)")
	o.sandbox.AddFlags(f)
}

func newBuild(e *env) *cobra.Command {
	opts := &buildOpts{}
	cmd := &cobra.Command{
		Use: "build [kernel…]", Short: "compile every variant into the cache", GroupID: groupMachine,
		RunE: func(_ *cobra.Command, args []string) error { return runBuild(e, opts, args) },
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runBuild(e *env, opts *buildOpts, patterns []string) error {
	if err := makeable(opts.output); err != nil {
		return err
	}
	project, err := opts.project.load()
	if err != nil {
		return err
	}
	selections, err := project.Select(patterns)
	if err != nil {
		return err
	}
	mode, err := opts.sandbox.mode()
	if err != nil {
		return err
	}
	targets, err := opts.targets(e, selections)
	if err != nil {
		return err
	}
	if opts.output != "" && len(targets) > 1 {
		return usage("-o writes build.ninja for one architecture, and there are %s: --arch names one", strings.Join(targets, ", "))
	}
	var all []builtFor
	for i, arch := range targets {
		var requests []build.Request
		var outcomes []build.Outcome
		for _, s := range selections {
			if i > 0 && s.Kernel.Cell != spec.CellCUDA { // other code knows no architecture
				continue
			}
			for variant := range s.Kernel.Variants() {
				request := build.Request{Dir: project.Dir, Variant: variant}
				if fault := lab.Unfit(variant, arch); fault != nil {
					outcomes = append(outcomes, build.Outcome{Request: request, Fault: fault})
					continue
				}
				requests = append(requests, request)
			}
		}
		made, err := opts.buildFor(e, arch, mode, requests)
		if err != nil {
			return err
		}
		for _, o := range append(outcomes, made...) {
			b := builtFor{Outcome: o}
			if len(targets) > 1 && o.Request.Variant.Kernel.Cell == spec.CellCUDA {
				b.arch = arch
			}
			all = append(all, b)
		}
	}
	return showBuild(e, all, opts.output)
}

// makeable refuses a folder where there is a file, before anything is built for it.
func makeable(folder string) error {
	for at := folder; folder != ""; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			return usage("-o %s: %s is a file; name a folder", folder, at)
		} else if err == nil || at == filepath.Dir(at) {
			break
		}
	}
	return nil
}

// targets are the architectures to build for: those that are named, else what the
// GPUs of this machine are. It is one without a name where there is nothing to tell.
func (o *buildOpts) targets(e *env, selections []spec.Selection) ([]string, error) {
	for _, arch := range o.arch {
		if !build.ValidArch(arch) {
			return nil, usage("--arch %s: no GPU architecture; expected a name such as sm_90a", arch)
		}
	}
	if len(o.arch) > 0 {
		return unique(o.arch), nil
	}
	named := build.Arch("")
	if named != "" || !slices.ContainsFunc(selections, func(s spec.Selection) bool { return s.Kernel.Cell == spec.CellCUDA }) {
		return []string{named}, nil
	}
	found, why, err := lab.Architectures(e.ctx)
	switch {
	case err != nil:
		e.warn("the GPUs of this machine are not known: %v", err)
	case len(found) > 0:
		return found, nil
	case why != "":
		e.warn("%s", why)
	}
	return []string{""}, nil
}

func unique(names []string) []string {
	var out []string
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// buildFor compiles for one architecture.
func (o *buildOpts) buildFor(e *env, arch, mode string, requests []build.Request) ([]build.Outcome, error) {
	live := newFollower(e)
	defer live.done()
	builder, err := build.New(build.Options{Jobs: o.jobs, Arch: arch, Sandbox: mode, OnProgress: func(p build.Progress) {
		live.follow(run.Event{Kind: run.Build, Done: p.Done, Total: p.Total, Text: p.Current})
	}})
	if err != nil {
		return nil, err
	}
	if o.output != "" {
		if err := builder.Export(e.ctx, o.output, requests); err != nil {
			return nil, err
		}
	}
	return builder.Build(e.ctx, requests), nil
}

// builtFor is a variant and the architecture it was compiled for, "" where there is
// only one.
type builtFor struct {
	build.Outcome
	arch string
}

func (b builtFor) label(name string) string {
	if b.arch == "" {
		return name
	}
	return name + " for " + b.arch
}

// showBuild prints what the compilers wrote, under its variant, and the sum.
func showBuild(e *env, outcomes []builtFor, exported string) error {
	style := e.style()
	cached, failed, unable := 0, 0, 0
	noted := map[string]bool{}
	for _, o := range outcomes {
		name := o.label(o.Request.Variant.Kernel.Name + " " + o.Request.Variant.Name())
		output := o.Output
		switch {
		case o.Fault != nil && o.Fault.Cause == result.CauseLaunch: // it is too large for the GPU
			unable++
			fmt.Fprintf(e.stdout, "%s: %s\n", style.Yellow(name), o.Fault.Message)
		case o.Fault != nil && o.Fault.Cause == result.CauseUnsupported:
			unable++
			name = o.label(o.Request.Variant.Kernel.Name)
			if noted[name+o.Fault.Message] { // of every variant it is the same
				continue
			}
			noted[name+o.Fault.Message] = true
			fmt.Fprintf(e.stdout, "%s: %s\n", style.Yellow(name), o.Fault.Message)
		case o.Fault != nil:
			failed++
			fmt.Fprintf(e.stdout, "%s: %s\n", style.Red(name), o.Fault.Message)
		default:
			output = o.Artifact.Output
			if o.Artifact.Cached {
				cached++
			}
			if output != "" {
				fmt.Fprintf(e.stdout, "%s:\n", style.Yellow(name))
			}
		}
		if output != "" {
			fmt.Fprint(e.stdout, ensureNewline(output))
		}
		if o.Fault != nil && o.Fault.Hint != "" && !noted[o.Fault.Hint] {
			noted[o.Fault.Hint] = true
			fmt.Fprintf(e.stdout, "  hint: %s\n", o.Fault.Hint)
		}
		notes := o.Notes
		if o.Sandbox != nil && len(o.Sandbox.Missing) > 0 {
			notes = append(notes, "compilers ran without "+strings.Join(o.Sandbox.Missing, "; "))
		}
		for _, note := range notes {
			if !noted[note] {
				e.warn("%s", note)
				noted[note] = true
			}
		}
	}
	built := len(outcomes) - failed - unable
	elsewhere := ""
	if unable > 0 {
		elsewhere = fmt.Sprintf(", %d not for this machine", unable)
	}
	fmt.Fprintf(e.stdout, "%s: %d compiled, %d from the cache, %d failed%s, in %s\n",
		unit.Plural(len(outcomes), "variant", "variants"), built-cached, cached, failed, elsewhere, unit.Duration(time.Since(e.started).Seconds()))
	if exported != "" {
		fmt.Fprintf(e.stdout, "wrote %s/build.ninja and %s/compile_commands.json\n", exported, exported)
	}
	switch {
	case e.ctx.Err() != nil:
		return e.ctx.Err()
	case failed > 0:
		return &outcomeError{exitFailed, unit.Plural(failed, "variant does", "variants do") + " not build"}
	case unable > 0 && built == 0:
		return &outcomeError{exitUnjudged, "nothing could be built on this machine"}
	}
	return nil
}

func ensureNewline(text string) string {
	if text == "" || text[len(text)-1] == '\n' {
		return text
	}
	return text + "\n"
}

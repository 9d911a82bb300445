package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/bench"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/term"
	"pawl/internal/unit"
)

type buildOpts struct {
	bench.BuildOptions
	project projectOptions
	sandbox sandboxOptions
}

func (o *buildOpts) AddFlags(f *pflag.FlagSet) {
	o.project.AddFlags(f)
	f.StringVarP(&o.Export, "output", "o", "", "also write build.ninja and compile_commands.json into this folder")
	f.StringSliceVar(&o.Arch, "arch", nil, "GPU architectures to compile CUDA for, as sm_80,sm_90a (default: PAWL_CUDA_ARCH, else those of this machine's GPUs)")
	f.IntVarP(&o.Jobs, "jobs", "j", 0, "compilers to run at once (default: one per core)")
	o.sandbox.AddFlags(f)
}

func newBuild(e *env) *cobra.Command {
	opts := &buildOpts{}
	return withFlags(&cobra.Command{
		Use: "build [kernel…]", Short: "compile every variant into the cache", GroupID: groupMachine,
		RunE: func(cmd *cobra.Command, args []string) error { return runBuild(cmd.Context(), e, opts, args) },
	}, opts)
}

func runBuild(ctx context.Context, e *env, opts *buildOpts, patterns []string) error {
	if err := makeable(opts.Export); err != nil {
		return err
	}
	live := newFollower(e)
	q := e.request(patterns, nil, live)
	q.Quiet = true
	r, err := opts.project.prepare(result.KindBench, q)
	if err != nil {
		return err
	}
	if opts.Sandbox, err = opts.sandbox.mode(); err != nil {
		return err
	}
	if len(opts.Arch) > 0 && !slices.ContainsFunc(r.Selections, func(s spec.Selection) bool { return s.Kernel.Cell == spec.CellCUDA }) {
		e.warn("--arch %s is ignored: none of these kernels is CUDA", strings.Join(opts.Arch, ","))
	}
	built, err := bench.Build(ctx, r, opts.BuildOptions)
	live.done()
	if err != nil {
		return err
	}
	return showBuild(ctx, e, built, opts.Export)
}

// makeable refuses a folder whose path is a file, before anything is built for it.
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

// label names what was built.
func label(b bench.Built, name string) string {
	if b.Arch == "" {
		return name
	}
	return name + " for " + b.Arch
}

// showBuild prints the compilers' output, under its variant, and the summary.
func showBuild(ctx context.Context, e *env, outcomes []bench.Built, exported string) error {
	style := e.style()
	cached, failed, unable := 0, 0, 0
	noted := map[string]bool{}
	var flags []string // each set once
	for _, o := range outcomes {
		if set := term.ShellLine(o.Flags...); set != "" && !slices.Contains(flags, set) {
			flags = append(flags, set)
		}
		name := label(o, o.Request.Variant.Kernel.Name+" "+o.Request.Variant.Name())
		output := o.Output
		switch {
		case o.Fault != nil && (o.Fault.Cause == result.CauseLaunch || o.Fault.Cause == result.CauseUnsupported):
			unable++
			if o.Fault.Cause == result.CauseUnsupported { // it is the same for every variant
				name = label(o, o.Request.Variant.Kernel.Name)
			}
			if noted[name+o.Fault.Message] {
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
			fmt.Fprintln(e.stdout, "  "+strings.ReplaceAll(strings.TrimSuffix(output, "\n"), "\n", "\n  "))
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
		elsewhere = fmt.Sprintf(", %d not buildable on this machine", unable)
	}
	fmt.Fprintf(e.stdout, "%s: %d compiled, %d from the cache, %d failed%s, in %s\n",
		unit.Plural(len(outcomes), "variant", "variants"), built-cached, cached, failed, elsewhere, unit.Duration(time.Since(e.started).Seconds()))
	for _, set := range flags {
		fmt.Fprintf(e.stdout, "compiled with %s\n", set)
	}
	if len(flags) > 0 {
		fmt.Fprintln(e.stdout, term.Wrap("  hint: "+report.FlagsHint, widthOf(e.stdout)))
	}
	if exported != "" {
		fmt.Fprintf(e.stdout, "wrote %s/build.ninja and %s/compile_commands.json\n", exported, exported)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed > 0:
		return &outcomeError{exitFailed, unit.Plural(failed, "variant does", "variants do") + " not build"}
	case unable > 0 && built == 0:
		return &outcomeError{exitUnjudged, "nothing could be built on this machine"}
	}
	return nil
}

package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/build"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/stand"
	"pawl/internal/unit"
)

type buildOpts struct {
	project projectOptions
	output  string
	jobs    int
	sandbox sandboxOptions
}

func (o *buildOpts) AddFlags(f *pflag.FlagSet) {
	o.project.AddFlags(f)
	f.StringVarP(&o.output, "output", "o", "", "also write build.ninja and compile_commands.json into this folder")
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
	project, err := opts.project.load()
	if err != nil {
		return err
	}
	selections, err := project.Select(patterns)
	if err != nil {
		return err
	}
	var requests []build.Request
	var refused []build.Outcome
	for _, s := range selections {
		for variant := range s.Kernel.Variants() {
			request := build.Request{Dir: project.Dir, Variant: variant}
			if fault := stand.Unfit(variant, build.Arch("")); fault != nil {
				refused = append(refused, build.Outcome{Request: request, Fault: fault})
				continue
			}
			requests = append(requests, request)
		}
	}
	live := newFollower(e)
	mode, err := opts.sandbox.mode()
	if err != nil {
		return err
	}
	settings := build.Options{Jobs: opts.jobs, Sandbox: mode}
	settings.OnProgress = func(p build.Progress) {
		live.follow(run.Event{Kind: run.Build, Done: p.Done, Total: p.Total, Text: p.Current})
	}
	builder, err := build.New(settings)
	if err != nil {
		return err
	}
	if opts.output != "" {
		if err := builder.Export(e.ctx, opts.output, requests); err != nil {
			return err
		}
	}
	outcomes := builder.Build(e.ctx, requests)
	live.done()
	return showBuild(e, append(refused, outcomes...), opts.output)
}

// showBuild prints what the compilers wrote, under its variant, and the sum.
func showBuild(e *env, outcomes []build.Outcome, exported string) error {
	style := e.style()
	cached, failed, unable := 0, 0, 0
	noted := map[string]bool{}
	for _, o := range outcomes {
		name := o.Request.Variant.Kernel.Name + " " + o.Request.Variant.Name()
		output := o.Output
		switch {
		case o.Fault != nil && o.Fault.Cause == result.CauseLaunch: // it is too large for the GPU
			unable++
			fmt.Fprintf(e.stdout, "%s: %s\n", style.Yellow(name), o.Fault.Message)
		case o.Fault != nil && o.Fault.Cause == result.CauseUnsupported:
			unable++
			name = o.Request.Variant.Kernel.Name
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
		plural(len(outcomes), "variant", "variants"), built-cached, cached, failed, elsewhere, unit.Duration(time.Since(e.started).Seconds()))
	if exported != "" {
		fmt.Fprintf(e.stdout, "wrote %s/build.ninja and %s/compile_commands.json\n", exported, exported)
	}
	switch {
	case e.ctx.Err() != nil:
		return e.ctx.Err()
	case failed > 0:
		return &outcomeError{exitFailed, plural(failed, "variant does", "variants do") + " not build"}
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

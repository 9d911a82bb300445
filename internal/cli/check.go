package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/check"
	"pawl/internal/diag"
	"pawl/internal/result"
)

// checkOptions are the options of a check.
type checkOptions struct {
	check.Options
	runOptions
	explain string
}

func (o *checkOptions) AddFlags(f *pflag.FlagSet) {
	o.Options = check.Default()
	o.runOptions.AddFlags(f)
	f.StringVar(&o.Base, "base", "", "the commit or branch to compare with (default: where this branch left main)")
	f.BoolVar(&o.PlanOnly, "plan", false, "build, and show what would be measured")
	f.BoolVar(&o.Strict, "strict", false, "exit 2 if something could not be decided or is suspicious")
	f.BoolVar(&o.Update, "update-baseline", false, "make versions that are provably faster, or new, the best-known ones")
	f.StringVar(&o.Duet.Cache, "cache", o.Duet.Cache, "state of the caches before a launch: cold or hot")
	f.DurationVar(&o.Duet.Budget, "budget", o.Duet.Budget, "how long to measure each config, not the wall time: building, verifying and starting processes come on top, and a config that is undecided or would fail is measured again")
	f.DurationVar(&o.Duet.Timeout, "timeout", o.Duet.Timeout, "the longest one launch may take")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the generated inputs (0: a secret one, recorded in the report)")
	f.BoolVar(&o.Fork, "fork", false, "the change comes from a fork: results of code that shares its cell's address space do not move the baseline")
	f.IntVar(&o.Lab.Device, "device", 0, "which GPU to measure on")
	f.IntVar(&o.Lab.LockMHz, "lock-clocks", 0, "lock the GPU clock at this frequency (MHz); always restored")
	f.StringVar(&o.explain, "explain", "auto", "how to say why a row became slower or much faster: auto, ncu (profile both versions), static (no profiler) or off; auto is ncu, and static with --fork")
	f.StringVar(&o.pool, "pool", "", "measure on a worker of this pool instead of this machine")
}

func (o *checkOptions) check() error {
	if o.PlanOnly && o.Update {
		return usage("--plan measures nothing, so there is nothing for --update-baseline")
	}
	if o.Fork && o.pool != "" {
		return usage("--fork and --pool exclude each other: the commands of the pool would be those of the change, and run outside of any sandbox")
	}
	switch o.explain {
	case "auto":
		o.Explain.Static = o.Fork
	case "ncu":
	case "static":
		o.Explain.Static = true
	case "off":
		o.Explain = nil
	default:
		return usage("--explain %s: %s", o.explain, diag.Meant(o.explain, explainModes))
	}
	return cmp.Or(o.Options.Check(), o.output.check())
}

var explainModes = []string{"auto", "ncu", "static", "off"}

func newCheck(e *env) *cobra.Command {
	opts := &checkOptions{}
	return withFlags(&cobra.Command{
		Use: "check [kernel[/config]…]", Short: "judge a change against its base and the best-known version", GroupID: groupDaily,
		Long: `check builds every selected kernel in three versions: current, base and best-known. It
compares the answers with the oracle's, measures the versions that differ in turns on
the device, and judges them. It exits 1 when a kernel became more than 3% slower, is wrong, or is broken.

The base is where this branch left main; on main itself it is the last commit, or
HEAD when files have changed. Gate and configs are the base's. The best-known
versions are in .pawl/baseline, which --update-baseline moves forward.

A kernel that pawl init drafted is refused while a TODO comment about it is left.`,
		Example: "  pawl check\n  pawl check 'attention/*' --base origin/main\n  pawl check --update-baseline",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := runCheck(cmd.Context(), e, opts, args)
			return err
		},
	}, opts)
}

// runCheck checks, shows the report and returns it; nil where there is none.
func runCheck(ctx context.Context, e *env, opts *checkOptions, patterns []string) (*result.Report, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	r, live, err := opts.prepare(e, result.KindCheck, patterns, given(opts.seed), &opts.Lab)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	made, err := check.Run(ctx, r, opts.Options)
	live.done()
	if made == nil {
		return nil, err
	}
	delivered := opts.output.deliver(e, r, made)
	return made, gravest(e, outcomeOf(made), err, delivered)
}

// gravest returns the outcome of a command whose report has a verdict and which also had problems,
// such as a file that could not be written: problems do not hide a failed gate.
func gravest(e *env, verdict error, problems ...error) error {
	problems = slices.DeleteFunc(problems, func(err error) bool {
		_, judged := errors.AsType[*outcomeError](err)
		return err == nil || judged
	})
	if code := exitCode(verdict); code != exitFailed && code != exitInterrupted && len(problems) > 0 {
		last := len(problems) - 1
		problems, verdict = problems[:last], problems[last]
	}
	for _, problem := range problems {
		e.explain(problem)
	}
	return verdict
}

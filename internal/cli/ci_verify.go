package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
)

const ciVerifyHelp = `verify judges a report that another job wrote, such as the artifact of a
pull request: a report.json, or the folder or zip that it lies in. It reads the
report within limits, and believes nothing of it. It computes every verdict again
from the raw samples, with the gate, configs, tolerances and oracles of the base.
It needs no GPU and no network, and runs nothing of the change.

--base is a checkout of the base, and --head one of the change; files of the
change are only read. The report must be about these two commits.

--trust says who ran the job:
  claimed   the pull request's own job: it may have invented every number
  approved  a workflow of the default branch, on a commit that was approved
  own       a branch of the repository itself

Exit code 0: it passes, and the pull request's own job was not the one that
measured it; 1: it failed, or contradicts itself; 2: undecided, suspicious, or
a pass that is only claimed; 3: the report is not used, and the message says why.`

type ciVerifyOptions struct {
	ci.VerifyOptions
	output outputOptions
}

func (o *ciVerifyOptions) AddFlags(f *pflag.FlagSet) {
	o.output.AddFlags(f)
	f.StringVar(&o.Base, "base", "", "checkout of the base, whose rules judge (required)")
	f.StringVar(&o.Head, "head", "", "checkout of the change")
	f.StringVar(&o.BaseSHA, "base-sha", "", "commit of the base (default: the one that --base is at)")
	f.StringVar(&o.HeadSHA, "head-sha", "", "commit of the change (default: the one that --head is at)")
	f.StringVarP(&o.File, "file", "f", "", "the spec in both checkouts (default: pawl.yaml)")
	f.StringArrayVar(&o.Classes, "class", nil, "device class that was asked for (may be repeated; default: any, or the base's device_class)")
	f.StringVar(&o.Trust, "trust", "claimed", "who ran the job: claimed, approved or own")
	f.BoolVar(&o.Strict, "strict", false, "fail when something is undecided or suspicious")
}

func newCIVerify(e *env) *cobra.Command {
	opts := &ciVerifyOptions{}
	return withFlags(&cobra.Command{
		Use: "verify REPORT [kernel[/config]…]", Short: "judge a report again that another job wrote", Long: ciVerifyHelp,
		Example: "  pawl ci verify artifact.zip --base . --head ../change\n  pawl ci verify report.json --base . --head ../change --trust approved --strict",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || opts.Base == "" {
				return usage("expected a report, and --base with a checkout of the base (see pawl ci verify --help)")
			}
			return opts.output.check()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Report, opts.Patterns = args[0], args[1:]
			return runCIVerify(cmd.Context(), e, opts)
		},
	}, opts)
}

func runCIVerify(ctx context.Context, e *env, opts *ciVerifyOptions) error {
	got, err := ci.Verify(ctx, opts.VerifyOptions)
	if err != nil {
		return err
	}
	if err := opts.output.print(e, got.Report, ""); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	for _, rule := range got.Loosened {
		e.warn("the change's pawl.yaml has other rules, which were not used: %s", rule)
	}
	for _, c := range got.Contradictions {
		e.warn("%s", c)
	}
	e.warn("%s: %s", got.Trust.Words(), got.Conclusion())
	var verdict error
	switch code := resultCodes[got.Outcome.Result]; {
	case got.Passes():
	case got.Report.Passes(): // neutral
		verdict = &outcomeError{exitUndecided, cmp.Or(strings.Join(got.Outcome.Reasons, "; "), "a pass that is only claimed decides nothing")}
	default:
		verdict = &outcomeError{cmp.Or(code, exitUnjudged), strings.Join(got.Outcome.Reasons, "; ")}
	}
	return gravest(e, verdict, opts.output.write(got.Report, "")...)
}

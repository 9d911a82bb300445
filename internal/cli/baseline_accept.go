package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/baseline"
)

type acceptOptions struct {
	baselineOptions
	from string
}

func (o *acceptOptions) AddFlags(f *pflag.FlagSet) {
	o.baselineOptions.AddFlags(f)
	o.addReason(f)
	f.StringVar(&o.from, "from", "", "the report to take results from (default: the last check)")
}

func newBaselineAccept(e *env) *cobra.Command {
	opts := &acceptOptions{}
	return withFlags(&cobra.Command{
		Use: "accept [kernel[/config]…] --reason TEXT", Short: "make the last check's results the baseline, slower or not",
		Long: `accept makes results of the last check the baseline, even if they are slower, and records
who accepted them and why. Without a selector it takes the results that failed as
regressions, and those that were refused only because their answers are unproven.
Commit the baseline with the change it belongs to: the report of that change shows it.`,
		Example: "  pawl baseline accept attention/training_512 --reason 'correct for masked rows'",
		RunE:    func(cmd *cobra.Command, args []string) error { return runAccept(cmd.Context(), e, opts, args) },
	}, opts)
}

func runAccept(ctx context.Context, e *env, opts *acceptOptions, patterns []string) error {
	out, err := baseline.Accept(ctx, opts.Where, baseline.Acceptance{
		Patterns: patterns, Reason: opts.reason, From: opts.from, Warn: func(problem error) { e.warn("%v", problem) },
	})
	style := e.style()
	for _, a := range out.Made {
		e.print("%s %s: %s\n", style.Yellow("accepted"), style.Bold(a.Entry.Name), a)
	}
	if len(out.Made) == 0 {
		return err
	}
	var left []string
	for _, row := range out.Left {
		left = append(left, fmt.Sprintf("%s (%s)", row.Name(), row.Verdict))
	}
	if len(left) > 0 {
		e.print("not accepted, and failing: %s\n", strings.Join(left, ", "))
	}
	e.print("reason: %s\n", out.Made[0].Entry.Moved().Reason)
	e.print("next: git add %s && git commit\n", relative(out.Folder))
	return err
}

func newBaselineReset(e *env) *cobra.Command {
	opts := &baselineOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "reset kernel[/config]… --reason TEXT", Short: "remove entries from the baseline, for a reason",
		Long: `reset removes entries and records who removed them and why. The next check of
such a kernel starts over. '*' stands for all.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runReset(cmd.Context(), e, opts, args) },
	}, opts)
	opts.addReason(cmd.Flags())
	return cmd
}

func runReset(ctx context.Context, e *env, opts *baselineOptions, patterns []string) error {
	gone, folder, err := baseline.Reset(ctx, opts.Where, patterns, opts.reason, e.started)
	if err != nil {
		return err
	}
	for _, name := range gone {
		fmt.Fprintf(e.stdout, "%s %s\n", e.style().Yellow("removed"), e.style().Bold(name))
	}
	e.print("next: git add %s && git commit\n", relative(folder))
	return nil
}

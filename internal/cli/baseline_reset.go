package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/baseline"
)

func newBaselineReset(e *env) *cobra.Command {
	opts := &baselineOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "reset kernel[/config]… --reason TEXT", Short: "take entries out of the baseline, for a reason",
		Long: `reset takes entries away and records who wanted that and why. The next check of
such a kernel starts anew. '*' stands for all.`,
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
	fmt.Fprintf(e.stdout, "next: git add %s && git commit\n", relative(folder))
	return nil
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/baseline"
)

type resetOptions struct {
	baselineOptions
	reason string
}

func newBaselineReset(e *env) *cobra.Command {
	opts := &resetOptions{}
	cmd := &cobra.Command{
		Use: "reset kernel[/config]… --reason TEXT", Short: "take entries out of the baseline, for a reason",
		Long: `reset takes entries away and records who wanted that and why. The next check of
such a kernel starts anew. '*' stands for all.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runReset(cmd.Context(), e, opts, args) },
	}
	opts.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&opts.reason, "reason", "", "why; it stays in the baseline (required)")
	return cmd
}

func runReset(ctx context.Context, e *env, opts *resetOptions, patterns []string) error {
	gone, folder, err := baseline.Reset(ctx, opts.where(), patterns, opts.reason, e.started)
	if err != nil {
		return err
	}
	for _, name := range gone {
		fmt.Fprintf(e.stdout, "%s %s\n", e.style().Yellow("removed"), e.style().Bold(name))
	}
	fmt.Fprintf(e.stdout, "next: git add %s && git commit\n", relative(folder))
	return nil
}

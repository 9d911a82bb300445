package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/git"
	"pawl/internal/ratchet"
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
		RunE: func(_ *cobra.Command, args []string) error { return runReset(e, opts, args) },
	}
	opts.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&opts.reason, "reason", "", "why; it stays in the baseline (required)")
	return cmd
}

func runReset(e *env, opts *resetOptions, patterns []string) error {
	switch {
	case strings.TrimSpace(opts.reason) == "":
		return usage("--reason: say why these entries shall go")
	case len(patterns) == 0:
		return usage("name what to reset: kernel or kernel/config, '*' for all")
	}
	store, classes, err := opts.open()
	if err != nil {
		return err
	}
	if len(classes) > 1 {
		return usage("--class: which of %s?", strings.Join(classes, ", "))
	}
	dir, err := opts.folder()
	if err != nil {
		return err
	}
	actor := ratchet.Actor{Who: ratchet.Who(e.ctx, dir), Time: e.started}
	if head, ok, err := git.Head(e.ctx, dir); err == nil && ok {
		actor.Commit = head.SHA
	}
	var gone []string
	err = store.Update(e.ctx, classes[0], func(f *ratchet.File) error {
		chosen, err := ratchet.Select(f.Names(), patterns)
		if err != nil {
			return err
		}
		for _, name := range chosen {
			if _, err := f.Reset(name, actor, opts.reason); err != nil {
				return err
			}
		}
		gone = chosen
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range gone {
		fmt.Fprintf(e.stdout, "%s %s\n", e.style().Yellow("removed"), e.style().Bold(name))
	}
	fmt.Fprintf(e.stdout, "next: git add %s && git commit\n", relative(filepath.Dir(store.Path(classes[0]))))
	return nil
}

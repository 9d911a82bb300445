package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
	"pawl/internal/term"
	"pawl/internal/unit"
)

type ciSweepOptions struct {
	policy string
	dry    bool
}

func (o *ciSweepOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.policy, "policy", ci.PolicyFile, "the policy of this machine")
	f.BoolVar(&o.dry, "dry-run", false, "only say what would be done")
}

func newCISweep(e *env) *cobra.Command {
	opts := &ciSweepOptions{}
	return withFlags(&cobra.Command{
		Use: "sweep", Short: "the runner's job-completed hook: end and remove what a job left", Args: cobra.NoArgs,
		Long: `sweep ends the processes that the last job left, puts the runner's home folder back as
guard remembers it, and removes what the job wrote to folders for temporary files. After a
stranger's job it also empties the work folder, and removes what is new in caches.`,
		RunE: func(*cobra.Command, []string) error { return refusal(runCISweep(e, opts)) },
	}, opts)
}

func runCISweep(e *env, opts *ciSweepOptions) error {
	policy, err := readCIPolicy(opts.policy)
	if err != nil {
		return err
	}
	swept, err := policy.Sweep(opts.dry)
	if swept != nil {
		showSwept(e, swept, opts.dry)
	}
	if err != nil {
		return err
	}
	if len(swept.Left) > 0 {
		return &outcomeError{exitFailed, "the job left something that could not be put right; the next job is refused until it is"}
	}
	return nil
}

func showSwept(e *env, s *ci.Swept, dry bool) {
	would := ""
	if dry {
		would = "would have "
	}
	for _, part := range []struct {
		did   string
		what  [2]string
		names []string
	}{
		{"ended", [2]string{"process", "processes"}, s.Ended},
		{"removed", [2]string{"file or folder", "files and folders"}, s.Removed},
		{"restored", [2]string{"file or folder", "files and folders"}, s.Restored},
	} {
		if len(part.names) > 0 {
			// Strangers chose these names.
			fmt.Fprintf(e.stdout, "%s%s %s: %s\n", would, part.did, unit.Plural(len(part.names), part.what[0], part.what[1]), term.Plain(unit.Few(part.names, 20)))
		}
	}
	for _, left := range s.Left {
		fmt.Fprintf(e.stdout, "left: %s\n", term.Plain(left))
	}
}

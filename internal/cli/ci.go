package cli

import "github.com/spf13/cobra"

func newCI(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ci", Short: "pull requests: workflows, runners, and what other jobs measured", GroupID: groupMachine,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("expected a command of pawl ci (see pawl ci --help)")
		},
	}
	cmd.AddCommand(
		newCIInit(e), newCIScope(e), newCIGuard(e), newCISweep(e), newCIDoctor(e), newCIVerify(e), newCIPost(e), newCIRatchet(e), newCIRecord(e), newCIPropose(e), newCIWake(e),
	)
	return cmd
}

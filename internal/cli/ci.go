package cli

import "github.com/spf13/cobra"

func newCI(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ci", Short: "pull requests: judge what another job has measured", GroupID: groupMachine,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("expected a command of pawl ci (see pawl ci --help)")
		},
	}
	cmd.AddCommand(
		newCIVerify(e),
	)
	return cmd
}

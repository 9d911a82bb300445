package cli

import "github.com/spf13/cobra"

func newCI(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ci", Short: "pull requests: tell a forge what a check came to", GroupID: groupMachine,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("expected a command of pawl ci (see pawl ci --help)")
		},
	}
	cmd.AddCommand(
		newCIPost(e),
	)
	return cmd
}

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/spec"
)

func newCheck(e *env) *cobra.Command {
	opts := &benchOptions{}
	cmd := &cobra.Command{
		Use: "check [kernel[/config]…]", Short: "measure every kernel; fail on what is broken", GroupID: groupDaily,
		Long: `check builds and measures the selected kernels and fails when one is broken.
There is no baseline to compare with yet, so every verdict is "new".
A spec that pawl init drafted is refused until no TODO comment is left in it.`,
		RunE: func(_ *cobra.Command, args []string) error {
			return runBench(e, opts, args, result.KindCheck)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

// finished refuses a spec that still has guesses in it.
func finished(s *spec.Spec) error {
	if len(s.TODOs) == 0 {
		return nil
	}
	first := &diag.Problem{
		Pos:     s.TODOs[0],
		Message: fmt.Sprintf("%s left: check judges nothing that was only guessed", plural(len(s.TODOs), "TODO comment is", "TODO comments are")),
		Hint:    "put each guess right and delete its comment; pawl bench works meanwhile",
	}
	return diag.Errors{first}
}

// markNew gives measured rows their verdict: there is nothing to compare with.
func markNew(r *result.Report) {
	for _, row := range r.Rows {
		if row.Fault == nil && row.Timing != nil {
			row.Verdict = result.New
		}
	}
}

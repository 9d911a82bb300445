package cli

import (
	"fmt"
	"os"

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
	var list diag.List
	for _, at := range s.TODOs {
		list.Add(&diag.Problem{Pos: at, Message: "this is only guessed, and check judges nothing that is"})
	}
	source, err := os.ReadFile(s.File)
	if err != nil {
		return fmt.Errorf("read the spec again: %w", err)
	}
	problems := diag.Problems(list.Err(source))
	problems[len(problems)-1].Hint = "put each guess right and delete its TODO comment; pawl bench works meanwhile"
	return diag.Errors(problems)
}

// markNew gives measured rows their verdict: there is nothing to compare with.
func markNew(r *result.Report) {
	for _, row := range r.Rows {
		if row.Fault == nil && row.Timing != nil {
			row.Verdict = result.New
		}
	}
}

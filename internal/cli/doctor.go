package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/doctor"
	"pawl/internal/term"
)

func newDoctor(e *env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "doctor", Short: "show the tools and devices of this machine, and how to get more", GroupID: groupMachine, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), e, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

func runDoctor(ctx context.Context, e *env, asJSON bool) error {
	found := doctor.Examine(ctx, doctor.Options{})
	if asJSON {
		return printJSON(e, found)
	}
	style := e.style()
	fmt.Fprintf(e.stdout, "pawl %s · %s\n", version, found.Machine.CPU.Model)
	paints := map[doctor.Status]func(string) string{doctor.OK: style.Green, doctor.Limited: style.Yellow, doctor.Missing: style.Dim}
	group := ""
	var table *term.Table
	show := func() {
		if table != nil {
			fmt.Fprintf(e.stdout, "\n%s\n%s", style.Bold(group), table)
		}
	}
	for _, c := range found.Checks {
		if c.Group != group {
			show()
			group = c.Group
			table = e.table(left(""), left(""), left(""), words(""))
		}
		table.AddCells(term.Cell{Text: c.Name}, term.Cell{Text: string(c.Status), Style: paints[c.Status]}, term.Cell{Text: cmp.Or(c.Note, c.Value)}, term.Cell{Text: c.Gives, Style: style.Dim})
	}
	show()
	fixes := e.table(left(""), words(""))
	for _, c := range found.Checks {
		if c.Status != doctor.OK && c.Fix != "" {
			fixes.Add(c.Name, c.Fix)
		}
	}
	if len(fixes.Rows) > 0 {
		fmt.Fprintf(e.stdout, "\n%s\n%s", style.Bold("to get the rest"), fixes)
	}
	return nil
}

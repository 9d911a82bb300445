package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pawl/internal/doctor"
	"pawl/internal/term"
)

func newDoctor(e *env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "doctor", Short: "what this machine has, what it gives, how to get the rest", GroupID: groupMachine, Args: cobra.NoArgs,
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
			table = &term.Table{Indent: 2, Columns: make([]term.Column, 4)}
		}
		mark, paint, value := "ok", style.Green, c.Value
		switch c.Status {
		case doctor.OK:
		case doctor.Limited:
			mark, paint = "limited", style.Yellow
		case doctor.Missing:
			mark, paint = "missing", style.Dim
		}
		if c.Note != "" {
			value = c.Note
		}
		table.AddCells(term.Cell{Text: c.Name}, term.Cell{Text: mark, Style: paint}, term.Cell{Text: value}, term.Cell{Text: c.Gives, Style: style.Dim})
	}
	show()
	fixes := &term.Table{Indent: 2, Columns: make([]term.Column, 2)}
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

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pawl/internal/baseline"
	"pawl/internal/term"
	"pawl/internal/unit"
)

func newBaselineHistory(e *env) *cobra.Command {
	opts := &baselineOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "history [kernel[/config]…]", Short: "show how each entry came about",
		RunE: func(cmd *cobra.Command, args []string) error { return runBaselineHistory(cmd.Context(), e, opts, args) },
	}, opts)
	opts.addJSON(cmd.Flags())
	return cmd
}

func runBaselineHistory(ctx context.Context, e *env, opts *baselineOptions, patterns []string) error {
	found, classes, err := baseline.History(ctx, opts.Where, patterns)
	if err != nil {
		return err
	}
	if opts.json {
		return printJSON(e, found)
	}
	for _, class := range classes {
		showHistory(e, class, found[class])
	}
	return nil
}

func showHistory(e *env, class string, events []baseline.Event) {
	style := e.style()
	name := ""
	var table *term.Table
	flush := func() {
		if table != nil {
			_ = table.Render(e.stdout)
		}
	}
	for _, event := range events {
		if event.Name != name {
			flush()
			name = event.Name
			fmt.Fprintf(e.stdout, "%s · %s\n", style.Bold(name), class)
			table = e.table(left("date"), right("median"), left("commit"), left("recorded in"), words("moved by"))
		}
		m := event.Move
		recorded := cmp.Or(baseline.Short(event.Recorded), "not committed")
		table.Add(m.Time.Format("2006-01-02"), known(m.MedianMS/1e3, unit.Duration), baseline.Short(m.Commit), recorded, movedBy(m))
	}
	flush()
}

func newBaselineVerify(e *env) *cobra.Command {
	opts := &baselineOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "verify", Short: "verify the baseline against its history in git", Args: cobra.NoArgs,
		Long: `verify walks the history of the baseline. It fails when an entry was edited by hand,
got worse or went back without a recorded reason, was removed without a reset, or has
lost its samples. Problems that were corrected since are only listed.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runBaselineVerify(cmd.Context(), e, opts) },
	}, opts)
	opts.addJSON(cmd.Flags())
	return cmd
}

func runBaselineVerify(ctx context.Context, e *env, opts *baselineOptions) error {
	audits, err := baseline.Verify(ctx, opts.Where)
	if err != nil {
		return err
	}
	findings := 0
	for _, a := range audits {
		findings += len(a.Findings)
	}
	if opts.json {
		if err := printJSON(e, audits); err != nil {
			return err
		}
	} else {
		for _, a := range audits {
			showAudit(e, a)
		}
	}
	if findings > 0 {
		return &outcomeError{exitFailed, "the baseline cannot be trusted: " + unit.Plural(findings, "finding", "findings")}
	}
	return nil
}

func showAudit(e *env, a *baseline.Audit) {
	style := e.style()
	verdict := style.Green("in order")
	if len(a.Findings) > 0 {
		verdict = style.Red(unit.Plural(len(a.Findings), "finding", "findings"))
	}
	reach := "not committed yet"
	if a.Commits > 0 {
		reach = unit.Plural(a.Commits, "commit", "commits") + " read"
	}
	if a.Shallow {
		reach += fmt.Sprintf(", back to %s: this clone is shallow", baseline.Short(a.Oldest))
	}
	e.print("%s · %s · %s · %s\n", style.Bold(a.Class), unit.Plural(a.Entries, "entry", "entries"), reach, verdict)
	for _, f := range a.Findings {
		e.print("  %s\n", style.Red(describe(f)))
		if f.Remedy != "" {
			e.print("    hint: %s\n", f.Remedy)
		}
	}
	for _, f := range a.Settled {
		e.print("  corrected since: %s\n", describe(f))
	}
	for _, event := range a.Reasons {
		e.print("  %s: %s, %s\n", style.Yellow(event.Name), event.Move.Time.Format("2006-01-02"), movedBy(event.Move))
	}
}

func describe(f baseline.Finding) string {
	var parts []string
	if f.Name != "" {
		parts = append(parts, f.Name)
	}
	place := "not committed yet"
	if f.Commit != "" {
		place = "commit " + baseline.Short(f.Commit)
	}
	return strings.Join(append(parts, place, f.What), ": ")
}

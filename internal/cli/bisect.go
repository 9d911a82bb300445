package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/bisect"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

const bisectHelp = `bisect finds the commit that made a config slower. It halves the commits between a
fast one and a slow one, and checks each that it looks at against the fast one: built
from its own tree, verified, measured in turns. Commits whose code was measured before
are not measured again, and those that do not build are left out.

The fast commit is where this branch left main; on main itself it is the commit before
the last. Of merges, the branch that was merged into is followed.

Exit code 0: the commit was found; 2: several are left, since those between cannot be
measured; 1: the last commit is not slower than the first.`

// bisectOptions are the options of a search.
type bisectOptions struct {
	checkOptions
	good, bad string
}

func (o *bisectOptions) AddFlags(f *pflag.FlagSet) {
	o.checkOptions.AddFlags(f)
	for _, name := range []string{"base", "plan", "strict", "update-baseline", "fork"} {
		_ = f.MarkHidden(name)
	}
	f.StringVar(&o.good, "good", "", "a commit that was fast enough (default: where this branch left main)")
	f.StringVar(&o.bad, "bad", "", "a commit that is too slow (default: HEAD)")
}

func newBisect(e *env) *cobra.Command {
	opts := &bisectOptions{}
	return withFlags(&cobra.Command{
		Use: "bisect kernel/config", Short: "find the commit that made a config slower", GroupID: groupDaily, Long: bisectHelp,
		Example: "  pawl bisect attention/training_512\n  pawl bisect softmax/rows_4k --good v1.2",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runBisect(cmd.Context(), e, opts, args) },
	}, opts)
}

func runBisect(ctx context.Context, e *env, opts *bisectOptions, patterns []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	r, live, err := opts.prepare(e, result.KindCheck, patterns, given(opts.seed), &opts.Lab)
	if err != nil {
		return err
	}
	defer r.Close()
	made, err := bisect.Run(ctx, r, bisect.Options{
		Good: opts.good, Bad: opts.bad, Check: opts.Options,
		Step: func(step result.BisectStep) { live.progress.Line(strings.Join(stepCells(step), "  ")) },
	})
	live.done()
	if made == nil {
		return err
	}
	saved, problem := r.Save(made)
	e.explain(problem)
	e.explain(saved.Unrecorded)
	if err := opts.output.write(made, ""); len(err) > 0 {
		return gravest(e, nil, err...)
	}
	e.showBisect(patterns[0], made)
	switch found := made.Bisect; {
	case len(found.Suspects) == 0:
		return &outcomeError{exitFailed, fmt.Sprintf("%.7s is not slower than %.7s", found.Bad, found.Good)}
	case len(found.Suspects) > 1:
		return &outcomeError{exitUndecided, fmt.Sprintf("one of %d commits made it slower; those between cannot be measured", len(found.Suspects))}
	}
	return nil
}

// stepCells says what was found about a commit.
func stepCells(step result.BisectStep) []string {
	effect, interval, words := "", "", step.Subject
	switch {
	case step.Known:
		effect = "same code as before"
	case step.Pace == result.BisectSkipped:
		words += " (" + step.Why + ")"
	case step.Change != nil:
		effect, interval = unit.Percent(step.Change.Median), intervalOf(step.Change)
	}
	return []string{fmt.Sprintf("%.7s", step.SHA), step.Pace, effect, interval, term.Plain(words)}
}

func intervalOf(c *result.Change) string {
	trim := func(v float64) string { return strings.TrimSuffix(unit.Percent(v), "%") }
	return "[" + trim(c.Low) + ", " + trim(c.High) + "]"
}

// showBisect prints the steps of a search and what it came to.
func (e *env) showBisect(name string, made *result.Report) {
	found := made.Bisect
	fmt.Fprintf(e.stdout, "pawl bisect %s · from %.7s to %.7s · changes against %.7s\n\n", name, found.Good, found.Bad, found.Good)
	table := term.Table{Indent: 2, Width: term.Width(e.stdout), Columns: []term.Column{{}, {}, {Align: term.Right}, {Rank: 1}, {Words: true}}}
	for _, step := range found.Steps {
		table.Add(stepCells(step)...)
	}
	fmt.Fprintln(e.stdout, table.String())
	for _, c := range found.Suspects {
		fmt.Fprintf(e.stdout, "%.12s  %s (%s)\n", c.SHA, term.Plain(c.Subject), term.Plain(c.Author))
	}
	if found.Own != nil {
		fmt.Fprintf(e.stdout, "made it slower: %s %s against the commit before it\n", unit.Percent(found.Own.Median), intervalOf(found.Own))
	}
	for _, line := range report.Causes(made, 1, 4) {
		fmt.Fprintln(e.stdout, line)
	}
}

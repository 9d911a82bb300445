package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/baseline"
	"pawl/internal/diag"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// baselineOptions are the options of the baseline's commands; not every command has all of them.
type baselineOptions struct {
	baseline.Where
	json   bool
	reason string
}

func (o *baselineOptions) AddFlags(f *pflag.FlagSet) {
	addFileFlag(f, &o.File)
	f.StringVar(&o.Class, "class", "", "the device class, if there are several")
}

func (o *baselineOptions) addJSON(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print JSON")
}

func (o *baselineOptions) addReason(f *pflag.FlagSet) {
	f.StringVar(&o.reason, "reason", "", "the reason, recorded in the baseline (required)")
}

func newBaseline(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "baseline", Short: "the best-known versions: show, history, verify, accept, reset", GroupID: groupMemory,
		Long: `The baseline holds, for each kind of device, the best-known version of every kernel
on every config. pawl check moves it forward when a version is provably faster. It
goes back only with a reason, and verify finds the moves without one.`,
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &diag.Problem{
					Message: fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()), Hint: meantCommand(cmd, args[0]) + cmd.CommandPath() + " --help lists the commands",
				}
			}
			return usage("expected one of: show, history, verify, accept, reset (see pawl baseline --help)")
		},
	}
	cmd.AddCommand(newBaselineShow(e), newBaselineHistory(e), newBaselineVerify(e), newBaselineAccept(e), newBaselineReset(e))
	return cmd
}

// meantCommand asks whether a command that is spelt alike was meant; "" where none is.
func meantCommand(cmd *cobra.Command, word string) string {
	if likely := cmd.SuggestionsFor(word); len(likely) > 0 {
		return "did you mean " + likely[0] + "? "
	}
	return ""
}

func newBaselineShow(e *env) *cobra.Command {
	opts := &baselineOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "show [kernel[/config]…]", Short: "show the best-known versions",
		RunE: func(_ *cobra.Command, args []string) error { return runBaselineShow(e, opts, args) },
	}, opts)
	opts.addJSON(cmd.Flags())
	return cmd
}

func runBaselineShow(e *env, opts *baselineOptions, patterns []string) error {
	classes, err := baseline.Show(opts.Where, patterns)
	if err != nil {
		return err
	}
	if opts.json {
		return showJSON(e, classes, len(patterns) == 0)
	}
	damaged := false
	for _, c := range classes {
		if len(c.Names) == 0 && len(patterns) > 0 {
			continue
		}
		showBaseline(e, c, len(patterns) == 0)
		if err := c.Damaged(); err != nil {
			damaged = true
			e.explain(err)
		}
	}
	if damaged {
		return &outcomeError{exitUnjudged, "the baseline was edited by hand"}
	}
	return nil
}

func showJSON(e *env, classes []baseline.Class, removed bool) error {
	type class struct {
		Class   string                       `json:"class"`
		Entries map[string]*baseline.Entry   `json:"entries"`
		Removed map[string]*baseline.Removed `json:"removed,omitempty"`
	}
	var out []class
	for _, c := range classes {
		one := class{Class: c.Class, Entries: map[string]*baseline.Entry{}}
		for _, name := range c.Names {
			one.Entries[name] = c.Entries[name]
		}
		if removed {
			one.Removed = c.Removed
		}
		out = append(out, one)
	}
	return printJSON(e, out)
}

func showBaseline(e *env, c baseline.Class, removed bool) {
	style := e.style()
	e.print("%s · %s · %s\n", style.Bold(c.Class), unit.Plural(len(c.Names), "entry", "entries"), relative(c.Path))
	table := e.table(
		left("kernel/config"), right("median"), right("95% interval"), ranked(4, right("compute")), ranked(4, right("memory")), ranked(1, left("commit")), ranked(3, left("measured")), words("moved by"),
	)
	for _, name := range c.Names {
		entry := c.Entries[name]
		low, high, in := unit.Durations(entry.LowMS/1e3, entry.HighMS/1e3)
		table.Add(name, unit.Duration(entry.MedianMS/1e3), fmt.Sprintf("%s – %s %s", low, high, in), known(entry.GFLOPS, unit.GFLOPS),
			known(entry.GBps, unit.Bandwidth), baseline.Short(entry.Commit), entry.Time.Format("2006-01-02"), movedBy(entry.Moved()))
	}
	_ = table.Render(e.stdout)
	if removed {
		for _, name := range c.RemovedNames() {
			moves := c.Removed[name].Moves
			if len(moves) > 0 {
				m := moves[len(moves)-1]
				e.print("  removed: %s, %s, by %s\n", name, m.Time.Format("2006-01-02"), movedBy(m))
			}
		}
	}
}

func known(v float64, format func(float64) string) string {
	if v == 0 {
		return ""
	}
	return format(v)
}

// movedBy says how a move came about: "check −12.4%", "accept +5.2% (ann): why".
func movedBy(m baseline.Move) string {
	text := string(m.By)
	if m.Change != nil {
		text += " " + unit.Percent(m.Change.Median)
	}
	if m.Who != "" {
		text += " (" + m.Who + ")"
	}
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	return term.Plain(text) // somebody else may have written it
}

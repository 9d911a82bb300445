package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/history"
	"pawl/internal/store"
	"pawl/internal/term"
	"pawl/internal/trend"
	"pawl/internal/unit"
)

type historyTrendOptions struct {
	historyOptions
	config    string
	class     string
	line      string
	reference string
	json      bool
}

func (o *historyTrendOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	f.StringVar(&o.config, "config", "", "only this config; a pattern")
	f.StringVar(&o.class, "class", "", "only this class of devices")
	f.StringVar(&o.line, "line", "", "branch whose commits are followed, instead of the main branch")
	f.StringVar(&o.reference, "reference", "", "kernel/config whose code never changes, measured by the same runs: tells the machine from the kernel")
	f.BoolVar(&o.json, "json", false, "print JSON")
}

func newHistoryTrend(e *env) *cobra.Command {
	opts := &historyTrendOptions{}
	return withFlags(&cobra.Command{
		Use: "trend kernel[/config]", Short: "how a kernel's time went over the commits, and where it moved", Args: cobra.ExactArgs(1),
		Long: `The line is an index: each commit's duet with the best-known version, chained where the
baseline moved. Times of separate runs wander by tens of percent with the same code, and are not drawn.
A change is a move of the index's level, or of the times' where the index did not move: then it was the machine.`,
		Example: "  pawl history trend attention\n  pawl history trend 'attention/training_*' --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryTrend(cmd.Context(), e, opts, args[0])
		},
	}, opts)
}

func runHistoryTrend(ctx context.Context, e *env, opts *historyTrendOptions, selector string) error {
	f, err := (&historyFilter{Filter: store.Filter{Class: opts.class}}).filter(e.started, selector)
	if err != nil {
		return err
	}
	if opts.config != "" {
		if f.Config != "" {
			return usage("--config %s: %s names a config already", opts.config, selector)
		}
		f.Config = opts.config
	}
	h, err := opts.open(ctx, e, store.Read)
	if err != nil {
		return err
	}
	defer h.Close()
	trends, err := h.Trends(ctx, f, opts.line, opts.reference)
	if err != nil {
		return err
	}
	if opts.json {
		return printJSON(e, trends)
	}
	if len(trends) == 0 {
		return &diag.Problem{
			Message: fmt.Sprintf("no run on the main branch has measured %s", selector),
			Hint:    "pawl history list shows the runs; those of pull requests and of changed files are not on the line",
		}
	}
	for i, t := range trends {
		if i > 0 {
			e.print("\n")
		}
		if err := showTrend(e, t); err != nil {
			return err
		}
	}
	return nil
}

func showTrend(e *env, t *history.Trend) error {
	name := t.Kernel
	if t.Config != "" {
		name += "/" + t.Config
	}
	e.print("%s  %s  %s  %s\n", e.style().Bold(term.Plain(name)), term.Plain(t.Class), unit.Plural(measured(t), "commit", "commits"), term.Plain(t.Branch))
	width := 60
	if w := e.width(); w > 0 {
		width = min(width, w-2)
	}
	e.print("  %s\n", term.Spark(indices(t.Places), width))
	if last := lastPlace(t.Places); last != nil {
		e.print("  index %s\n", trend.IndexWords(last))
		if words := last.DebtWords(); words != "" {
			e.print("  %s\n", words)
		}
	}
	table := e.table(left("since"), left("change"), right("sure"), left("by"), term.Column{Header: "", Words: true})
	for i := range t.Changes {
		c := &t.Changes[i]
		table.Add(trend.Short(c.Commit), c.Change.Words(), sure(&c.Change), "duets", remark(t, &c.Change))
	}
	for i := range t.Times.Changes {
		c := &t.Times.Changes[i]
		if c.Cause != trend.Kernel { // the kernel's are above, where duets show them
			table.Add(trend.Short(c.Commit), c.Change.Words(), sure(&c.Change), "times", c.CauseWords())
		} else if c.Index == nil {
			table.Add(trend.Short(c.Commit), c.Change.Words(), sure(&c.Change), "times", c.CauseWords())
		}
	}
	for _, d := range t.Drifts {
		table.Add(trend.Short(t.Places[d.From].Commit), unit.Percent(d.Size), "", "duets", "drifts, by no commit alone, until "+trend.Short(t.Places[d.To-1].Commit))
	}
	if t.Times.Flips > 0 {
		e.print("  times of separate runs went to and fro between two levels, as those of a machine with two speeds do, %s\n", unit.Plural(t.Times.Flips, "time", "times"))
	}
	if len(table.Rows) == 0 {
		e.print("  its level has not moved\n")
		return nil
	}
	return table.Render(e.stdout)
}

// remark says what is uncertain about a change.
func remark(t *history.Trend, c *trend.Change) string {
	text := ""
	if c.First != c.Last {
		text = fmt.Sprintf("between %s and %s", trend.Short(t.Places[c.First].Commit), trend.Short(t.Places[c.Last].Commit))
	}
	if c.Provisional {
		if text != "" {
			text += "; "
		}
		text += "provisional: few commits have followed"
	}
	return text
}

func sure(c *trend.Change) string {
	if c.Confidence > 0.9995 {
		return "> 99.9%"
	}
	return unit.PercentPlain(c.Confidence)
}

// measured counts the places with an index.
func measured(t *history.Trend) (n int) {
	for _, v := range indices(t.Places) {
		if !math.IsNaN(v) {
			n++
		}
	}
	return n
}

// indices are the line as numbers; gaps are not numbers.
func indices(places []trend.Place) []float64 {
	values := make([]float64, len(places))
	for i, p := range places {
		values[i] = math.NaN()
		if p.Index != nil {
			values[i] = p.Index.Value
		}
	}
	return values
}

func lastPlace(places []trend.Place) *trend.Place {
	for i := len(places) - 1; i >= 0; i-- {
		if places[i].Index != nil {
			return &places[i]
		}
	}
	return nil
}

package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/history"
	"pawl/internal/result"
	"pawl/internal/store"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// historyOptions are the options of all commands of the history.
type historyOptions struct{ project projectOptions }

func (o *historyOptions) AddFlags(f *pflag.FlagSet) { o.project.AddFlags(f) }

// open opens the history of the project.
func (o *historyOptions) open(ctx context.Context, e *env, mode store.Mode) (*history.History, error) {
	folder, err := o.folder()
	if err != nil {
		return nil, err
	}
	return history.Open(ctx, folder, e.database, mode)
}

// folder returns the folder of the project.
func (o *historyOptions) folder() (string, error) {
	file, err := specFile(o.project.file)
	return filepath.Dir(file), err
}

func newHistory(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "history", Short: "past runs: list, show, trend, import, export, prune, note", GroupID: groupMemory,
		Long: `The history has every bench, check, fuzz, profile and tune run of a project, with its
whole report. It is .pawl/history.db, or the PostgreSQL database that PAWL_DB names
(postgres://USER:PASSWORD@HOST/DATABASE), which several machines can share.`,
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			var names []string
			for _, sub := range cmd.Commands() {
				names = append(names, sub.Name())
			}
			if len(args) > 0 {
				return &diag.Problem{
					Message: fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()), Hint: meantCommand(cmd, args[0]) + cmd.CommandPath() + " --help lists the commands",
				}
			}
			return usage("expected one of: %s (see pawl history --help)", strings.Join(names, ", "))
		},
	}
	cmd.AddCommand(newHistoryList(e), newHistoryShow(e), newHistoryTrend(e), newHistoryImport(e), newHistoryExport(e), newHistoryPrune(e), newHistoryNote(e))
	return cmd
}

// historyFilter selects runs by flags.
type historyFilter struct {
	store.Filter

	kind  string
	since string
	pulls bool
}

func (o *historyFilter) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.kind, "kind", "", "only these runs: bench, check, fuzz, profile or tune")
	f.StringVar(&o.Class, "class", "", "only runs on this class of devices")
	f.StringVar(&o.Branch, "branch", "", "only runs of this branch")
	f.Int64Var(&o.Pull, "pull", 0, "only runs of the pull request of this number")
	f.BoolVar(&o.pulls, "pulls", false, "only runs of pull requests")
	f.StringVar(&o.Commit, "commit", "", "only runs of the commits that begin so")
	f.StringVar((*string)(&o.Verdict), "verdict", "", "only runs in which a row has this verdict")
	f.StringVar(&o.since, "since", "", "only runs since then: a day (2026-11-10) or a time back (7d, 36h)")
}

// filter returns the filter that the flags and a selector make.
func (o *historyFilter) filter(now time.Time, selector string) (store.Filter, error) {
	made := o.Filter
	made.Kernel, made.Config, _ = strings.Cut(selector, "/")
	if err := oneOf("--kind", result.Kind(o.kind), result.Kinds); err != nil {
		return made, err
	}
	if err := oneOf("--verdict", o.Verdict, result.Verdicts); err != nil {
		return made, err
	}
	if o.kind != "" {
		made.Kinds = []result.Kind{result.Kind(o.kind)}
	}
	if o.pulls {
		made.Scope = store.Pulls
	}
	var err error
	made.Since, err = since(o.since, now)
	return made, err
}

// oneOf refuses a name that nothing can have: an empty list would be taken for the answer.
func oneOf[T ~string](flag string, given T, known []T) error {
	if given == "" || slices.Contains(known, given) {
		return nil
	}
	words := make([]string, len(known))
	for i, one := range known {
		words[i] = string(one)
	}
	return usage("%s %s: expected one of %s", flag, given, strings.Join(words, ", "))
}

// since reads a day, a time, or how long ago something was.
func since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); n == 1 && err == nil && days >= 0 && text == fmt.Sprintf("%dd", days) {
		return now.AddDate(0, 0, -days), nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, usage("--since %s: expected a day such as 2026-11-10, or a time back such as 7d or 36h", text)
}

type historyListOptions struct {
	historyOptions
	historyFilter
	json bool
	most int
}

func (o *historyListOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	o.historyFilter.AddFlags(f)
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.IntVarP(&o.most, "number", "n", 20, "the last so many runs; 0: all")
}

func newHistoryList(e *env) *cobra.Command {
	opts := &historyListOptions{}
	return withFlags(&cobra.Command{
		Use: "list [kernel[/config]]", Short: "list past runs, the newest first", Args: cobra.MaximumNArgs(1),
		Example: "  pawl history list\n  pawl history list 'attention/*' --verdict regression --since 30d",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryList(cmd.Context(), e, opts, strings.Join(args, ""))
		},
	}, opts)
}

func runHistoryList(ctx context.Context, e *env, opts *historyListOptions, selector string) error {
	f, err := opts.filter(e.started, selector)
	if err != nil {
		return err
	}
	h, err := opts.open(ctx, e, store.Read)
	if err != nil {
		return err
	}
	defer h.Close()
	f.Limit = opts.most
	runs, err := h.Runs(ctx, f)
	if err != nil {
		return err
	}
	if opts.json {
		if runs == nil {
			runs = []*store.Run{}
		}
		return printJSON(e, runs)
	}
	if len(runs) == 0 {
		e.print("no such runs\n")
		return nil
	}
	table := e.table(left("run"), left("kind"), left("commit"), ranked(2, left("of")), ranked(3, left("device")), right("rows"), left("outcome"))
	for _, r := range runs {
		table.Add(r.ID, string(r.Kind), commitOf(r), term.Plain(lineOf(r)), term.Plain(r.Class), unit.Count(r.Rows), string(r.Outcome))
	}
	return table.Render(e.stdout)
}

// commitOf names a run's commit; a plus follows where files differed from it.
func commitOf(r *store.Run) string {
	text := fmt.Sprintf("%.9s", term.Plain(r.Commit))
	if r.Dirty {
		text += "+"
	}
	return text
}

// lineOf names the line of work that a run belongs to.
func lineOf(r *store.Run) string {
	switch {
	case r.Pull != 0:
		return fmt.Sprintf("pull request %d", r.Pull)
	case r.Fork:
		return "a fork"
	}
	return r.Branch
}

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/disk"
	"pawl/internal/search"
	"pawl/internal/search/recorded"
	"pawl/internal/search/score"
	"pawl/internal/term"
	"pawl/internal/unit"
)

type replayOptions struct {
	score.Options
	trace string
	from  string
	json  bool
}

// maxReplay bounds evaluations and seeds: more is a slip of the finger.
const maxReplay = 1_000_000

func (o *replayOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Strategy, "strategy", search.Default, "the strategy to play: "+strings.Join(search.Names(), ", "))
	f.IntVar(&o.Evals, "evals", 200, "how many settings a run tries")
	f.IntVar(&o.Seeds, "seeds", 25, "how many runs on each space")
	f.StringVar(&o.trace, "trace", "", "write the settings that each run tried to this file, as JSON lines")
	f.StringVar(&o.from, "from", "", "score the runs of this trace, whoever wrote it, instead of playing")
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
}

func newTuneReplay(e *env) *cobra.Command {
	opts := &replayOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "replay SPACE.json.gz…", Short: "try a search strategy on recorded tuning spaces", Args: cobra.MinimumNArgs(1),
		Long: `replay plays a search strategy on recorded spaces, which hold the time of every setting
of a kernel on one GPU, and prints how good it is. It needs no GPU.

P is the score of Willemsen et al. over evaluations: 0 is as good as random search, 1 is
the optimum at once. Then come the fraction of the optimum that is reached after 50, 100
and 200 evaluations, how many runs found the optimum, and the seconds that the strategy
took to choose. docs/tuning.md says how it is scored.

A space is a compact recording, or a cache file of Kernel Tuner. A trace has one line for
each run, {"space","strategy","seed","seq"}: seq are numbers of settings, by their place in
the recording and from 0, in the order in which they were tried.`,
		Example: "  pawl tune replay spaces/*.json.gz\n  pawl tune replay gemm.json.gz --strategy evolve --seeds 100 --trace evolve.jsonl\n  pawl tune replay spaces/*.json.gz --from other-tuner.jsonl",
		RunE:    func(cmd *cobra.Command, args []string) error { return runReplay(cmd.Context(), e, opts, args) },
	}, opts)
	cmd.MarkFlagsMutuallyExclusive("from", "strategy")
	cmd.MarkFlagsMutuallyExclusive("from", "seeds")
	cmd.MarkFlagsMutuallyExclusive("from", "trace")
	return cmd
}

func runReplay(ctx context.Context, e *env, opts *replayOptions, paths []string) error {
	switch {
	case opts.Evals < 1 || opts.Evals > maxReplay:
		return usage("--evals %d: expected 1 to %d", opts.Evals, maxReplay)
	case opts.Seeds < 1 || opts.Seeds > maxReplay:
		return usage("--seeds %d: expected 1 to %d", opts.Seeds, maxReplay)
	case !slices.Contains(search.Names(), opts.Strategy):
		return usage("--strategy %s: expected one of %s", opts.Strategy, strings.Join(search.Names(), ", "))
	}
	spaces, err := score.Read(paths)
	if err != nil {
		return err
	}
	runs, err := replayed(ctx, e, opts, spaces)
	if err != nil {
		return err
	}
	judged := score.JudgeAll(spaces, runs, opts.Evals)
	if opts.json {
		return printJSON(e, judged)
	}
	for i, j := range judged {
		if i > 0 {
			fmt.Fprintln(e.stdout)
		}
		if err := showJudgement(e, j); err != nil {
			return fmt.Errorf("print the scores: %w", err)
		}
	}
	return nil
}

// replayed returns the runs to score: played now, or read from a trace.
func replayed(ctx context.Context, e *env, opts *replayOptions, spaces []*recorded.Space) ([]*score.Run, error) {
	if opts.from != "" {
		f, err := os.Open(opts.from)
		if err != nil {
			return nil, fmt.Errorf("open the trace: %w", err)
		}
		defer f.Close()
		runs, err := score.ReadTrace(f, opts.from, spaces)
		if err == nil && len(runs) == 0 {
			err = fmt.Errorf("%s: no runs: expected a JSON line for each", opts.from)
		}
		return runs, err
	}
	progress := term.NewProgress(e.stderr)
	opts.Progress = func(done, total int, space string) {
		progress.Part(done, total)
		progress.Set(fmt.Sprintf("replaying %d/%d  %s", done, total, space))
	}
	runs, err := score.Replay(ctx, spaces, opts.Options)
	progress.Done()
	if err != nil || opts.trace == "" {
		return runs, err
	}
	var text strings.Builder
	if err := score.WriteTrace(&text, runs); err != nil {
		return nil, err
	}
	if err := disk.Write(opts.trace, []byte(text.String())); err != nil {
		return nil, fmt.Errorf("write the trace: %w", err)
	}
	return runs, nil
}

func showJudgement(e *env, j *score.Judgement) error {
	style := e.style()
	fmt.Fprintf(e.stdout, "%s · %s on %s · %s each · %s\n\n", style.Bold(j.Strategy), unit.Plural(j.Mean.Seeds, "run", "runs"),
		unit.Plural(j.Mean.Spaces, "space", "spaces"), unit.Plural(j.Evals, "evaluation", "evaluations"), "0 is random search, 1 the optimum at once")
	table := e.table(left("space"), right("P"), right("95% interval"), ranked(1, right("P within 1%")), right("best at 50"), ranked(2, right("at 100")), right("at 200"),
		right("optimum found"), ranked(3, right("strategy")))
	add := func(name string, r *score.Row) {
		cells := []string{
			name, fmt.Sprintf("%.3f", r.P), fmt.Sprintf("%.3f to %.3f", r.Low, r.High), fmt.Sprintf("%.3f", r.Near),
			fmt.Sprintf("%.3f", r.Fraction[0]), fmt.Sprintf("%.3f", r.Fraction[1]), fmt.Sprintf("%.3f", r.Fraction[2]), fmt.Sprintf("%.0f%%", 100*r.Found), "",
		}
		if r.Seconds > 0 {
			cells[len(cells)-1] = unit.Duration(r.Seconds)
		}
		table.Add(cells...)
	}
	for _, r := range j.Spaces {
		add(r.Space, r)
	}
	if len(j.Spaces) > 1 {
		add("mean of all", j.Mean)
	}
	if j.Without != nil {
		add("without outliers", j.Without)
	}
	_, err := fmt.Fprint(e.stdout, table)
	return err
}

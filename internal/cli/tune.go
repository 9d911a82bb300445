package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/result"
	"pawl/internal/search"
	"pawl/internal/tune"
)

const tuneHelp = `tune searches for params that make one kernel faster: the values that pawl.yaml lists,
as far as the constraints and the device allow them.

Compilers work ahead of the device. Every setting that is tried must give right answers
before it counts, and one that is clearly slower than the best is given up early. What
fails to build, hangs, crashes or answers wrong is recorded with its cause, and the
search goes on. The best settings then play duets against today's defaults; the winner
is verified again. A gain under 5% is noise, and not suggested.

All trials are kept as they end: after Ctrl-C, a crash or a budget that was too short,
--resume goes on. The best settings of earlier searches are tried first in any case.

The exit code says whether the search did its work, not whether it found anything.`

// tuneOptions say what is searched for.
type tuneOptions struct {
	tune.Options
	runOptions
	device  string
	weights []string
}

func (o *tuneOptions) AddFlags(f *pflag.FlagSet) {
	o.Options, o.output.pictures = tune.Default(), true
	o.runOptions.AddFlags(f)
	f.DurationVar(&o.Budget, "budget", o.Budget, "how long the whole search may take, compiling and the final duets included")
	f.IntVar(&o.Most, "trials", 0, "settings to try at most; 0: as many as there is time for")
	f.StringVar(&o.Strategy, "strategy", o.Strategy, "how the next setting is chosen: "+strings.Join(search.Names(), ", "))
	f.StringVar(&o.Objective, "objective", o.Objective, "what is made small: time, energy (per launch), or both")
	f.StringVar(&o.Over, "over", o.Over, "one setting for several configs: the mean of their times relative to today's, or the worst")
	f.StringSliceVar(&o.weights, "weight", nil, "what a config counts for in the mean: --weight training_512=3 (1 where none is given)")
	f.BoolVar(&o.Resume, "resume", false, "go on from the last search of this kernel")
	f.StringVar(&o.Measure.Cache, "cache", o.Measure.Cache, "state of the caches before a launch: cold or hot")
	f.DurationVar(&o.Measure.Timeout, "timeout", o.Measure.Timeout, "the longest one launch may take")
	f.IntVarP(&o.Compilers, "jobs", "j", 0, "compilers at once; 0: one per core")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the generated inputs and of the search; 0: drawn")
	f.StringVar(&o.device, "device", "0", "which GPU to search on; several (0,1 or all) share the trials")
	f.StringVar(&o.pool, "pool", "", "search on the workers of this pool instead of this machine")
}

func newTune(e *env) *cobra.Command {
	opts := &tuneOptions{}
	return withFlags(&cobra.Command{
		Use: "tune kernel[/config]…", Short: "search for faster params", GroupID: groupDaily, Long: tuneHelp,
		Example: "  pawl tune gemm --budget 5m\n  pawl tune 'attention/*' --over worst -o suggestions.md\n  pawl tune gemm --resume",
		RunE: func(cmd *cobra.Command, args []string) error { return runTune(cmd.Context(), e, opts, args) },
	}, opts)
}

func runTune(ctx context.Context, e *env, opts *tuneOptions, patterns []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	r, live, err := opts.prepare(e, result.KindTune, patterns, given(opts.seed), &opts.Lab)
	if err != nil {
		return err
	}
	defer r.Close()
	made, err := tune.Run(ctx, r, opts.Options)
	live.done()
	if err != nil {
		return err
	}
	return opts.output.deliver(e, r, made)
}

// check refuses settings that make no sense, before anything is built.
func (o *tuneOptions) check() error {
	var err error
	if o.Devices, err = parseDevices(o.device); err != nil {
		return err
	}
	if o.Weights, err = parseWeights(o.weights); err != nil {
		return err
	}
	o.Duet.Cache, o.Duet.Timeout = o.Measure.Cache, o.Measure.Timeout
	if err := o.Options.Check(); err != nil {
		return err
	}
	return o.output.check()
}

func parseWeights(words []string) (map[string]float64, error) {
	out := map[string]float64{}
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		weight, err := strconv.ParseFloat(text, 64)
		if !ok || name == "" || err != nil {
			return nil, usage("--weight %s: expected CONFIG=NUMBER", word)
		}
		out[name] = weight
	}
	return out, nil
}


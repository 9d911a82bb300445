package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/disk"
	"pawl/internal/result"
	"pawl/internal/search"
	"pawl/internal/spec"
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
--last shows the last search again, and --apply makes what it suggests the defaults.

The exit code says whether the search did its work, not whether it found anything.`

// tuneOptions say what is searched for.
type tuneOptions struct {
	tune.Options
	runOptions
	device  string
	weights []string
	imports []string
	last    bool
	apply   bool
	patch   string
}

func (o *tuneOptions) AddFlags(f *pflag.FlagSet) {
	o.Options, o.output.pictures = tune.Default(), true
	o.runOptions.AddFlags(f)
	f.DurationVar(&o.Budget, "budget", o.Budget, "how long the whole search may take, compiling and the final duets included; waiting for another pawl does not count")
	f.IntVar(&o.Most, "trials", 0, "settings to try at most; 0: as many as there is time for")
	f.StringVar(&o.Strategy, "strategy", o.Strategy, "how the next setting is chosen: "+strings.Join(search.Names(), ", "))
	f.StringVar(&o.Objective, "objective", o.Objective, "what is made small: time, energy (per launch), or both")
	f.StringVar(&o.Over, "over", o.Over, "one setting for several configs: the mean of their times relative to today's, or the worst")
	f.StringSliceVar(&o.weights, "weight", nil, "what a config counts for in the mean: --weight training_512=3 (1 where none is given)")
	f.BoolVar(&o.Resume, "resume", false, "go on from the last search of this kernel")
	f.BoolVar(&o.last, "last", false, "search nothing: show the last search of this kernel that ended, for --apply, --patch and -o")
	f.BoolVar(&o.apply, "apply", false, "make what is suggested the defaults in pawl.yaml")
	f.StringVar(&o.patch, "patch", "", "write that edit to this file instead, as git apply takes it")
	f.StringArrayVar(&o.imports, "import", nil, "try the best of a recorded search first: a report of pawl's, a cache file of Kernel Tuner, T4 results (may be repeated)")
	f.StringVar(&o.Measure.Cache, "cache", o.Measure.Cache, "state of the caches before a launch: cold or hot")
	f.DurationVar(&o.Measure.Timeout, "timeout", o.Measure.Timeout, "the longest one launch may take")
	f.IntVarP(&o.Compilers, "jobs", "j", 0, "compilers at once; 0: one per core, or half of them beside kernels on the CPU")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the generated inputs and of the search; 0: drawn")
	f.StringVar(&o.device, "device", "0", "which GPU to search on; several (0,1 or all) share the trials")
	f.StringVar(&o.pool, "pool", "", "search on the workers of this pool instead of this machine")
}

func newTune(e *env) *cobra.Command {
	opts := &tuneOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "tune kernel[/config]…", Short: "search for faster params", GroupID: groupDaily, Long: tuneHelp,
		Example: "  pawl tune gemm --budget 5m\n  pawl tune 'attention/*' --over worst -o suggestions.md\n  pawl tune gemm --last --apply",
		RunE:    func(cmd *cobra.Command, args []string) error { return runTune(cmd.Context(), e, opts, args) },
	}, opts)
	cmd.AddCommand(newTuneReplay(e))
	return cmd
}

func runTune(ctx context.Context, e *env, opts *tuneOptions, patterns []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	if opts.last {
		return runTuneLast(ctx, e, opts, patterns)
	}
	for _, file := range opts.imports {
		known, notes, err := tune.Import(file)
		if err != nil {
			return fmt.Errorf("--import: %w", err)
		}
		for _, note := range notes {
			e.warn("%s: %s", file, note)
		}
		opts.Known = append(opts.Known, tune.Known{Tuning: known, File: file})
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
	files, edit := opts.leave(ctx, e, r.Spec, made)
	for _, file := range files {
		if err := r.Keep(file.Name, file.Data); err != nil {
			e.warn("%v", err)
			break
		}
	}
	delivered := opts.output.deliver(e, r, made)
	return gravest(e, delivered, opts.put(ctx, e, made, files, edit)...)
}

// runTuneLast shows the last search of a kernel.
func runTuneLast(ctx context.Context, e *env, opts *tuneOptions, patterns []string) error {
	s, err := opts.project.load()
	if err != nil {
		return err
	}
	selections, err := s.Select(patterns)
	if err != nil {
		return err
	}
	if len(patterns) == 0 || len(selections) != 1 {
		return usage("--last is about one kernel: name it")
	}
	made, past, err := tune.Last(s.Dir, selections[0].Kernel.Name)
	if err != nil {
		return err
	}
	shown := *made
	if opts.apply { // the next step is not what this command does
		shown.Command = append(slices.Clone(made.Command), "--apply")
	}
	if err := opts.output.print(e, &shown, relative(past.Path())); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	files, edit := opts.leave(ctx, e, s, made)
	problems := append(opts.output.write(made, past.Dir), opts.put(ctx, e, made, files, edit)...)
	return gravest(e, outcomeOf(made), problems...)
}

// leave returns what a search leaves beside its report, and the edit that it suggests; nil: none.
func (o *tuneOptions) leave(ctx context.Context, e *env, s *spec.Spec, made *result.Report) ([]tune.File, *tune.Edit) {
	edit, err := tune.NewEdit(s, made.Tuning)
	if err != nil {
		e.warn("the new defaults cannot be written into %s: %v", s.File, err)
	}
	files, err := tune.Files(ctx, made, edit)
	if err != nil {
		e.warn("%v", err)
	}
	return files, edit
}

// put puts the search's files into the folders that were named, and applies what it suggests where
// that was asked for.
func (o *tuneOptions) put(ctx context.Context, e *env, made *result.Report, files []tune.File, edit *tune.Edit) (problems []error) {
	fail := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	for _, folder := range o.output.named() {
		if !isFolder(folder) {
			continue
		}
		for _, file := range files {
			fail(disk.Write(filepath.Join(folder, file.Name), file.Data))
		}
	}
	switch {
	case !o.apply && o.patch == "":
	case edit == nil:
		e.warn("nothing is suggested, so that nothing is applied: %s", made.Tuning.NoSuggestion)
	default:
		if o.patch != "" {
			fail(disk.Write(o.patch, []byte(edit.Patch(ctx))))
		}
		if o.apply {
			if err := edit.Write(); err != nil {
				fail(err)
			} else {
				e.hint("%s has the new defaults; pawl check judges them like any other change", relative(edit.File))
			}
		}
	}
	return problems
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
	if o.last && o.Resume {
		return usage("--last and --resume exclude each other: one searches nothing, the other goes on")
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

package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/bench"
	"pawl/internal/result"
	"pawl/internal/run"
)

// benchOptions say what is measured, and how.
type benchOptions struct {
	bench.Options
	runOptions
	settings []string
	device   string
}

func (o *benchOptions) AddFlags(f *pflag.FlagSet) {
	o.Options = bench.Default()
	o.runOptions.AddFlags(f)
	f.StringVar(&o.Measure.Cache, "cache", o.Measure.Cache, "state of the caches before a launch: cold or hot")
	f.DurationVar(&o.Measure.Budget, "budget", o.Measure.Budget, "how long to sample each config, not the wall time: building, verifying and starting processes come on top")
	f.IntVar(&o.Measure.MinSamples, "min-samples", o.Measure.MinSamples, "take at least this many samples, whatever the budget")
	f.IntVar(&o.Measure.MaxSamples, "max-samples", o.Measure.MaxSamples, "take at most this many samples")
	f.DurationVar(&o.Measure.Timeout, "timeout", o.Measure.Timeout, "the longest one launch may take")
	f.Uint64Var(&o.seed, "seed", run.BenchSeed, "seed of the generated inputs")
	f.BoolVar(&o.Measure.Sustain, "sustain", false, "launch back to back for 100 ms or more at a time, as a power-limited kernel runs in production")
	f.StringSliceVar(&o.Against, "against", nil, "kernels to measure in turns and compare with")
	f.IntVar(&o.Lab.LockMHz, "lock-clocks", 0, "lock the GPU clock at this frequency (MHz); always restored")
	f.StringVar(&o.device, "device", "0", "which GPU to measure on; several (0,1 or all) share the work")
	f.StringVar(&o.pool, "pool", "", "measure on a worker of this pool instead of this machine")
	f.StringArrayVar(&o.settings, "set", nil, "override the value of a param: --set BLOCK_M=128 (may be repeated)")
}

// check refuses settings that make no sense, before anything is built.
func (o *benchOptions) check() error {
	if err := o.Options.Check(); err != nil {
		return err
	}
	var err error
	if o.Devices, err = parseDevices(o.device); err != nil {
		return err
	}
	if o.Set, err = parseSettings(o.settings); err != nil {
		return err
	}
	return o.output.check()
}

// parseDevices reads the GPUs to measure on; none named means all.
func parseDevices(text string) ([]int, error) {
	if text == "all" {
		return nil, nil
	}
	var devices []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		switch {
		case err != nil || n < 0:
			return nil, usage("--device %s: expected numbers of GPUs, counted from 0, or all", text)
		case slices.Contains(devices, n):
			return nil, usage("--device %s: GPU %d is named twice", text, n)
		}
		devices = append(devices, n)
	}
	return devices, nil
}

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func newBench(e *env) *cobra.Command {
	opts := &benchOptions{}
	return withFlags(&cobra.Command{
		Use: "bench [kernel[/config]…]", Short: "build and time kernels", GroupID: groupDaily,
		Example: "  pawl bench\n  pawl bench 'attention/*' --cache hot\n  pawl bench gemm --set TILE=64 -o gemm.md\n  pawl bench attention --against sdpa,sdpa:flash -o sweep.md -o sweep.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.Measure.Sustain && cmd.Flags().Changed("cache") {
				return usage("--sustain and --cache exclude each other: a back-to-back launch finds the caches as the previous one left them")
			}
			return runBench(cmd.Context(), e, opts, args)
		},
	}, opts)
}

func runBench(ctx context.Context, e *env, opts *benchOptions, patterns []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	r, live, err := opts.prepare(e, result.KindBench, patterns, &opts.seed, &opts.Lab)
	if err != nil {
		return err
	}
	defer r.Close()
	made, err := bench.Run(ctx, r, opts.Options)
	live.done()
	if err != nil {
		return err
	}
	return opts.output.deliver(e, r, made)
}

func parseSettings(words []string) ([]bench.Setting, error) {
	var out []bench.Setting
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" || value == "" {
			return nil, usage("--set %s: expected NAME=VALUE", word)
		}
		out = append(out, bench.Setting{Name: name, Value: value})
	}
	return out, nil
}

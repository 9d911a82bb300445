package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/fuzz"
	"pawl/internal/result"
)

// fuzzOptions are the options of fuzz.
type fuzzOptions struct {
	fuzz.Order
	runOptions
	all bool
}

func (o *fuzzOptions) AddFlags(f *pflag.FlagSet) {
	o.Order = fuzz.DefaultOrder()
	o.runOptions.AddFlags(f)
	f.IntVar(&o.Sample, "sample", 0, "how many cases of the matrix to draw (default: as in pawl.yaml, else all)")
	f.BoolVar(&o.all, "all", false, "try the whole matrix, whatever pawl.yaml says")
	f.BoolVar(&o.Plain, "plain", false, "try only the matrix: no unusual shapes, no other distributions")
	f.Uint64Var(&o.seed, "seed", 0, "replay the run with this seed (0: a secret one, recorded in the report)")
	f.DurationVar(&o.Timeout, "timeout", o.Timeout, "the longest one launch may take")
	f.IntVar(&o.Lab.Device, "device", 0, "which GPU to use")
	f.BoolVar(&o.Sanitize, "sanitize", false, "check small cases of GPU kernels with compute-sanitizer too: memory, races, barriers")
	f.StringVar(&o.pool, "pool", "", "use a worker of this pool instead of this machine")
}

func (o *fuzzOptions) check() error {
	if o.Sample > 0 && o.all {
		return usage("--sample and --all exclude each other")
	}
	return cmp.Or(o.Order.Check(), o.output.check())
}

func newFuzz(e *env) *cobra.Command {
	opts := &fuzzOptions{}
	return withFlags(&cobra.Command{
		Use: "fuzz [kernel[/config]…]", Short: "search for inputs and sizes where a kernel is wrong", GroupID: groupDaily,
		Long: `fuzz compares a kernel's answers with its oracle's: over the matrix of pawl.yaml, and
beyond it at sizes that no tile divides, on other distributions of the inputs, on small
integers whose answer is exact, and again on the same data, which must give the same bits.

A failing case is made as small as possible and kept in .pawl/failures; later runs try it
first. With --sanitize GPU kernels are launched on small cases under
compute-sanitizer as well, and an error that it finds fails the kernel, with its line.

It exits 1 when an answer is wrong or a kernel breaks, and 2 when there is nothing to try,
or when no case that pawl.yaml asks for could be tried.`,
		Example: "  pawl fuzz\n  pawl fuzz attention --all\n  pawl fuzz attention/training_512 --seed 81985529216486",
		RunE:    func(cmd *cobra.Command, args []string) error { return runFuzz(cmd.Context(), e, opts, args) },
	}, opts)
}

func runFuzz(ctx context.Context, e *env, opts *fuzzOptions, patterns []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	r, live, err := opts.prepare(e, result.KindFuzz, patterns, given(opts.seed), &opts.Lab)
	if err != nil {
		return err
	}
	defer r.Close()
	if named := slices.ContainsFunc(patterns, func(p string) bool { return strings.Contains(p, "/") }); named || r.Spec.Fuzz == nil || r.Spec.Fuzz.Matrix == nil {
		why := "pawl.yaml has no fuzz matrix"
		if named {
			why = "named configs are tried in place of the fuzz matrix"
		}
		for _, name := range []string{"sample", "all"} {
			if opts.flags.Changed(name) {
				e.warn("--%s is ignored: %s", name, why)
			}
		}
	}
	if opts.all {
		opts.Sample = fuzz.All
	}
	made, err := fuzz.Run(ctx, r, opts.Order)
	live.done()
	if errors.Is(err, fuzz.ErrNoCase) {
		return &outcomeError{exitUndecided, detail(r.Spec.File, err)}
	}
	if err != nil {
		return err
	}
	return opts.output.deliver(e, r, made)
}

// detail formats problems like those of an unreadable file: with the line that they are on, and the
// remedy.
func detail(file string, err error) string {
	problems := diag.Problems(err)
	if problems == nil {
		return err.Error()
	}
	var list diag.List
	for _, p := range problems {
		list.Add(p)
	}
	source, _ := os.ReadFile(file) // without it there is no line to show
	return list.Err(source).Error()
}

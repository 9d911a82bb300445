package cli

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/fuzz"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/trial"
)

// fuzzOptions say what is tried.
type fuzzOptions struct {
	project projectOptions
	output  outputOptions
	sandbox sandboxOptions
	sample  int
	all     bool
	plain   bool
	seed    uint64
	timeout time.Duration
	device  int
	pool    string

	sanitize bool
}

func (o *fuzzOptions) AddFlags(f *pflag.FlagSet) {
	o.project.AddFlags(f)
	o.output.AddFlags(f)
	o.sandbox.AddFlags(f)
	f.IntVar(&o.sample, "sample", 0, "cases to draw of the matrix (default: as pawl.yaml says, else all)")
	f.BoolVar(&o.all, "all", false, "try the whole matrix, whatever pawl.yaml says")
	f.BoolVar(&o.plain, "plain", false, "nothing beyond the matrix: no odd shapes, no other distributions")
	f.Uint64Var(&o.seed, "seed", 0, "replay the run with this seed (0: a secret one, which the report has)")
	f.DurationVar(&o.timeout, "timeout", measure.Default().Timeout, "the longest one launch may take")
	f.IntVar(&o.device, "device", 0, "which GPU to use")
	f.BoolVar(&o.sanitize, "sanitize", false, "look at small cases of GPU kernels with compute-sanitizer too: memory, races, barriers")
	f.StringVar(&o.pool, "pool", "", "use a worker of this pool instead of this machine")
}

func (o *fuzzOptions) check() error {
	switch {
	case o.sample < 0:
		return usage("--sample %d: expected at least 1", o.sample)
	case o.sample > 0 && o.all:
		return usage("--sample and --all exclude each other")
	case o.timeout <= 0:
		return usage("--timeout %v: expected more than 0", o.timeout)
	case o.device < 0:
		return usage("--device %d: expected the number of a GPU, counted from 0", o.device)
	}
	return o.output.check()
}

func newFuzz(e *env) *cobra.Command {
	opts := &fuzzOptions{}
	cmd := &cobra.Command{
		Use: "fuzz [kernel[/config]…]", Short: "look for problems that a kernel answers wrongly", GroupID: groupDaily,
		Long: `fuzz compares a kernel's answers with its oracle's: over the matrix of pawl.yaml, and
beyond it at sizes that no tile divides, on other distributions of the inputs, on small
integers whose answer is exact, and again on the same data, which must give the same bits.

A case that fails is made as small as it can be and kept in .pawl/failures; it is tried
first from then on. With --sanitize GPU kernels are launched on small cases under
compute-sanitizer as well, and an error that it finds fails the kernel, with its line.

It exits 1 when an answer is wrong or a kernel breaks, and 2 when there is nothing to try,
or nothing of what pawl.yaml asks for could be.`,
		Example: "  pawl fuzz\n  pawl fuzz attention --all\n  pawl fuzz attention/training_512 --seed 81985529216486",
		RunE:    func(_ *cobra.Command, args []string) error { return runFuzz(e, opts, args) },
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runFuzz(e *env, opts *fuzzOptions, patterns []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	project, err := opts.project.load()
	if err != nil {
		return err
	}
	selections, err := project.Select(patterns)
	if err != nil {
		return err
	}
	place, err := placeOf(project, &opts.sandbox, opts.pool, 0)
	if err != nil {
		return err
	}
	place.Device = opts.device
	order := fuzz.Order{
		Options: trial.Options{Seed: opts.seed, Sample: opts.sample, Plain: opts.plain},
		Tool:    e.tool(), Command: append([]string{"pawl"}, e.args...), Spec: project, Selections: selections,
		Chosen: named(patterns), Lab: place, Timeout: opts.timeout, Sanitize: opts.sanitize,
	}
	if order.Seed == 0 {
		order.Seed = trial.RandomSeed()
	}
	if opts.all {
		order.Sample = trial.All
	}
	live := newFollower(e)
	r := run.New(project.Dir, e.started, live.follow)
	made, err := fuzz.Run(e.ctx, r, order)
	live.done()
	if errors.Is(err, trial.ErrNoCase) {
		return &outcomeError{exitUndecided, detail(project.File, err)}
	}
	if err != nil {
		return err
	}
	return opts.output.deliver(e, r, made, false)
}

// detail tells problems as those of a file that cannot be read are told: with the line
// that they stand on, and the remedy.
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

// named tells whether selectors choose configs, and not only kernels.
func named(patterns []string) bool {
	for _, p := range patterns {
		if strings.Contains(p, "/") {
			return true
		}
	}
	return false
}

// judgeFuzz turns a fuzz report into the command's outcome.
func judgeFuzz(r *result.Report) error {
	wrong, rejected, broken, unjudged, passed := 0, 0, 0, 0, 0
	var untried []string
	for _, row := range r.Rows {
		switch {
		case row.Verdict == result.Incorrect:
			wrong++
		case row.Verdict == result.Rejected:
			rejected++
		case row.Verdict == result.Broken:
			broken++
		case row.Fault != nil:
			unjudged++
		case row.Verdict == result.Inconclusive:
			untried = append(untried, row.Kernel)
		case row.Verification != nil && row.Verification.Passed > 0:
			passed++
		}
	}
	var failed []string
	if wrong > 0 {
		failed = append(failed, plural(wrong, "kernel gives", "kernels give")+" wrong answers")
	}
	if rejected > 0 {
		failed = append(failed, plural(rejected, "kernel is", "kernels are")+" rejected")
	}
	if broken > 0 {
		failed = append(failed, plural(broken, "kernel is", "kernels are")+" broken")
	}
	switch {
	case r.Interrupted:
		return &outcomeError{exitInterrupted, "interrupted: what was tried until then is kept"}
	case len(failed) > 0:
		return &outcomeError{exitFailed, strings.Join(failed, ", ")}
	case unjudged > 0:
		return &outcomeError{exitUnjudged, plural(unjudged, "kernel", "kernels") + " could not be judged"}
	case len(untried) > 0:
		return &outcomeError{exitUndecided, "nothing that pawl.yaml asks for was tried of " + strings.Join(untried, ", ") + ": every such case was skipped"}
	case passed == 0:
		return &outcomeError{exitUndecided, "no case could be tried"}
	}
	return nil
}

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/selftest"
)

type selftestOptions struct {
	selftest.Options
	output  outputOptions
	sandbox sandboxOptions
	seed    uint64
}

func (o *selftestOptions) AddFlags(f *pflag.FlagSet) {
	o.Options = selftest.Default()
	o.output.AddFlags(f)
	o.sandbox.AddFlags(f)
	f.Uint64Var(&o.seed, "seed", 0, "seed of the data (0: a secret one, which is printed)")
	f.IntVar(&o.Lab.Device, "device", 0, "which GPU to use")
}

func newSelftest(e *env) *cobra.Command {
	opts := &selftestOptions{}
	kinds := []string{selftest.Host, selftest.Python, selftest.CUDA, selftest.Launcher}
	return withFlags(&cobra.Command{
		Use: "selftest [KIND[/KERNEL]…]", Short: "try pawl on kernels that cheat, on honest ones, and on mistakes", GroupID: groupMachine,
		Long: `selftest runs check and fuzz on a corpus of kernels: cheating ones, each of which must be
caught by name or at least be suspicious; honest ones that resemble them, which must
pass; and kernels with one planted mistake, which must all be found. Each is checked as a
change against an honest base, in a temporary git repository. docs/integrity.md lists
them, and those that are known not to be caught (open). Kinds are host, python, cuda and launcher;
cuda/cache_* selects some of one kind.

It exits 1 when a cheat was missed, an honest kernel was refused or a mistake was not found.
--json prints the totals: caught, suspicious, defused, missed, open, controls_passed,
controls_failed, mutants_killed, mutants, skipped; the seed; and every subject.`,
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, pattern := range args {
				if !selftest.Known(pattern) {
					return &diag.Problem{
						Message: fmt.Sprintf("%s: expected %s, or some kernels of one: host/skip_*", pattern, strings.Join(kinds, ", ")),
						Hint:    likeSubject(pattern),
					}
				}
			}
			return runSelftest(cmd.Context(), e, opts, args)
		},
	}, opts)
}

// likeSubject suggests subjects for a name that does not exist.
func likeSubject(name string) string {
	names := selftest.Names()
	if nearest := diag.Nearest(name, names); nearest != "" {
		return "did you mean " + nearest + "?"
	}
	beginning, _, _ := strings.Cut(name, "_")
	like := slices.DeleteFunc(names, func(other string) bool { return !strings.HasPrefix(other, beginning) })
	if len(like) == 0 || !strings.Contains(beginning, "/") {
		return "docs/integrity.md lists them"
	}
	return "similar names: " + strings.Join(like, ", ")
}

func runSelftest(ctx context.Context, e *env, opts *selftestOptions, only []string) error {
	if err := opts.output.check(); err != nil {
		return err
	}
	var err error
	if opts.Lab.Sandbox, err = opts.sandbox.mode(); err != nil {
		return err
	}
	opts.Only = only
	live := newFollower(e)
	r, err := run.Prepare(result.KindSelftest, e.request(nil, given(opts.seed), live))
	if err != nil {
		return err
	}
	made, err := selftest.Run(ctx, r, opts.Options)
	live.done()
	if err != nil {
		return err
	}
	if opts.output.json {
		err = printJSON(e, made.Selftest)
	} else {
		err = opts.output.print(e, made, "")
	}
	if err != nil {
		return err
	}
	return gravest(e, outcomeOf(made), opts.output.write(made, "")...)
}

package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/explain"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/run"
)

// adviseOptions say whose advice is wanted.
type adviseOptions struct {
	project       projectOptions
	json, verbose bool
}

func (o *adviseOptions) AddFlags(f *pflag.FlagSet) {
	o.project.AddFlags(f)
	f.BoolVar(&o.json, "json", false, "print the report of that run, with these kernels alone, as JSON")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show remarks, too, and what could not be judged")
}

func newAdvise(e *env) *cobra.Command {
	opts := &adviseOptions{}
	return withFlags(&cobra.Command{
		Use: "advise [kernel[/config]…]", Short: "say what to do about a kernel, from its latest profile", GroupID: groupDaily,
		Long: `advise shows what the newest run that explained a kernel has found: of pawl profile, or of
a check in which it became slower or much faster. The most promising finding comes
first, with its evidence, an upper bound on the gain, what to do, and the exact next
step. Nothing is built or measured.`,
		Example: "  pawl profile attention; pawl advise attention\n  pawl advise attention/training_512 --json",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := opts.project.prepare(result.KindProfile, run.Request{Patterns: args, Quiet: true})
			if err != nil {
				return err
			}
			found, broken, err := explain.Latest(r.Spec, r.Selections)
			for _, problem := range broken {
				e.warn("an unreadable run is left out: %v", problem)
			}
			if err != nil {
				return err
			}
			if opts.json {
				raw, err := found.Encode()
				if err == nil {
					_, err = e.stdout.Write(raw)
				}
				return err
			}
			return report.Advise(e.stdout, found, report.TextOptions{Style: e.style(), Width: e.width(), Verbose: opts.verbose})
		},
	}, opts)
}

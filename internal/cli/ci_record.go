package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
	"pawl/internal/forge"
	"pawl/internal/history"
	"pawl/internal/store"
	"pawl/internal/unit"
)

const ciRecordHelp = `record adds the report of the main branch's job to the history. With PAWL_DB it
goes into that database. Without, it goes into a branch of the repository, pawl-history:
compressed files, of which the oldest are dropped at --most, and whose only commit each
push replaces. pawl history reads the branch in every clone that has fetched it.

Only a job that runs none but your own code may have PAWL_DB, or a token that can push.
Reports of pull requests are refused: pawl history import --pull adds them to a database.

The token is in PAWL_FORGE_TOKEN, or in GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN.`

type ciRecordOptions struct {
	history.RecordOptions
	historyOptions
	forge forge.Options
	most  int64
}

func (o *ciRecordOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	f.StringVar(&o.Report, "report", "", "report.json of the run, or the folder or zip that it lies in (required)")
	f.StringVar(&o.Push.Branch, "branch", history.Branch, "the branch that keeps the history")
	f.StringVar(&o.Push.Remote.Name, "remote", "origin", "where it is pushed to")
	f.Int64Var(&o.most, "most", history.DefaultMost>>20, "MiB that the branch may take: older runs are dropped")
	addForgeFlags(f, &o.forge, "whose token pushes")
}

func newCIRecord(e *env) *cobra.Command {
	opts := &ciRecordOptions{}
	return withFlags(&cobra.Command{
		Use: "record --report report.json", Short: "add the report of main's job to the history", Long: ciRecordHelp,
		Example: "  pawl ci record --report report.json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCIRecord(cmd.Context(), e, opts) },
	}, opts)
}

func runCIRecord(ctx context.Context, e *env, opts *ciRecordOptions) error {
	if opts.Report == "" {
		return usage("name the report: --report report.json")
	}
	if opts.most < 1 {
		return usage("--most %d: expected at least 1 MiB", opts.most)
	}
	if e.database != "" {
		h, err := opts.open(ctx, e, store.Create)
		if err != nil {
			return err
		}
		defer h.Close()
		made, err := h.Import(ctx, opts.Report, history.ImportOptions{Own: true})
		if err == nil {
			e.print("%s: %s\n", h.Where(), made)
		}
		return err
	}
	known, err := ci.PostEnvironment(opts.forge.Kind, os.Getenv)
	if err != nil {
		return err
	}
	opts.Push.Remote.Token = known.Forge.Token
	if opts.Push.Remote.Dir, err = opts.folder(); err != nil {
		return err
	}
	opts.Push.Most = opts.most << 20
	got, err := history.Record(ctx, opts.RecordOptions)
	if err != nil {
		return err
	}
	if got.Added == 0 {
		e.print("%s has this run already\n", opts.Push.Branch)
		return nil
	}
	e.print("pushed %s to %s, which has %s\n", unit.Plural(got.Added, "run", "runs"), opts.Push.Branch, unit.Bytes(got.Bytes))
	if got.Dropped > 0 {
		e.print("dropped the oldest runs: %s\n", unit.Plural(got.Dropped, "segment", "segments"))
	}
	return nil
}

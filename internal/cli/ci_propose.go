package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
	"pawl/internal/forge"
	"pawl/internal/term"
)

const ciProposeHelp = `propose opens a draft pull request with the default params that a search in another
job suggests: it takes the folder of pawl tune -o FOLDER/ --patch FOLDER/pawl.patch, or
the zip of it. It runs in a clone of the branch, on a machine that need not have a GPU,
and builds and runs nothing of the repository. The patch may change the defaults of
params in pawl.yaml and nothing else; any other is refused. A suggestion that has been
proposed already is not proposed again.

The default token of a GitHub job may open a pull request only if the settings allow it,
and starts no checks on it: use an App (PAWL_APP_ID and PAWL_APP_KEY).

The token is in PAWL_FORGE_TOKEN, or in GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN.`

type ciProposeOptions struct {
	ci.ProposeOptions
	file string
}

func (o *ciProposeOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Report, "report", "", "folder of the search, or a zip of it (required)")
	f.StringVar(&o.Branch, "branch", "main", "branch that the change is for")
	f.StringVar(&o.Remote, "remote", "origin", "where it is pushed to")
	addForgeFlags(f, &o.Forge, "where the pull request is opened")
	f.StringVar(&o.URL, "url", "", "address of the job, for the pull request's text")
	f.BoolVar(&o.DryRun, "dry-run", false, "push nothing, open nothing")
	addFileFlag(f, &o.file)
}

func newCIPropose(e *env) *cobra.Command {
	opts := &ciProposeOptions{}
	return withFlags(&cobra.Command{
		Use: "propose --report FOLDER/", Short: "open a draft pull request with the params that a search has found", Long: ciProposeHelp,
		Example: "  pawl ci propose --report report.zip",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCIPropose(cmd.Context(), e, opts) },
	}, opts)
}

func runCIPropose(ctx context.Context, e *env, opts *ciProposeOptions) error {
	if opts.Report == "" {
		return usage("name the folder of the search: --report FOLDER/")
	}
	made := opts.ProposeOptions
	known, err := ci.PostEnvironment(opts.Forge.Kind, os.Getenv)
	if err != nil {
		return err
	}
	made.Forge = forgeOf(made.Forge, known.Forge)
	made.Token = known.Forge.Token
	if made.URL == "" {
		made.URL = known.URL
	}
	if made.Spec, err = specFile(opts.file); err != nil {
		return err
	}
	got, err := ci.Propose(ctx, made)
	if err != nil {
		return err
	}
	for _, change := range got.Changes {
		fmt.Fprintf(e.stdout, "%s\n", term.Plain(change))
	}
	switch {
	case len(got.Changes) == 0:
		fmt.Fprintln(e.stdout, "nothing to propose: the search suggests no other defaults")
	case got.Pull != nil:
		fmt.Fprintf(e.stdout, "pull request %d, %s\n", got.Pull.Number, term.Plain(got.Pull.URL))
		if made.Forge.Kind == forge.GitHub && made.Forge.App == nil {
			e.warn("no check starts on this pull request if a job's own token opened it: let an App open it (PAWL_APP_ID and PAWL_APP_KEY)")
		}
	default:
		fmt.Fprintf(e.stdout, "commit %.12s would be pushed to %s\n", got.Commit, got.Branch)
	}
	return nil
}

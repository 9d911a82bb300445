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

const ciRatchetHelp = `ratchet moves the baseline of a branch by the report of pawl check --update-baseline
that a job of the branch itself wrote. It runs in a clone of the branch, on a machine
that need not have a GPU: it judges the report again, commits the baseline alone and
pushes it. If somebody else has pushed meanwhile, it begins again with their commit; it
never forces a push. Where the branch is protected, it opens a pull request. The default
token of a GitHub job may open one only if the settings allow it, and starts no checks
on it: use an App (PAWL_APP_ID and PAWL_APP_KEY).

The token is in PAWL_FORGE_TOKEN, or in GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN.`

type ciRatchetOptions struct {
	ci.RatchetOptions
	file string
}

func (o *ciRatchetOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Report, "report", "", "report.json of the check, or the folder or zip that it lies in (required)")
	f.StringVar(&o.Branch, "branch", "main", "branch that holds the baseline")
	f.StringVar(&o.Remote, "remote", "origin", "where it is pushed to")
	addForgeFlags(f, &o.Forge, "where a pull request is opened")
	f.BoolVar(&o.DryRun, "dry-run", false, "push nothing")
	addFileFlag(f, &o.file)
}

func newCIRatchet(e *env) *cobra.Command {
	opts := &ciRatchetOptions{}
	return withFlags(&cobra.Command{
		Use: "ratchet --report report.json", Short: "commit the baseline that another job has moved", Long: ciRatchetHelp,
		Example: "  pawl ci ratchet --report report.zip",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCIRatchet(cmd.Context(), e, opts) },
	}, opts)
}

func runCIRatchet(ctx context.Context, e *env, opts *ciRatchetOptions) error {
	if opts.Report == "" {
		return usage("name the report of the check: --report report.json")
	}
	made := opts.RatchetOptions
	known, err := ci.PostEnvironment(opts.Forge.Kind, os.Getenv)
	if err != nil {
		return err
	}
	made.Forge = forgeOf(made.Forge, known.Forge)
	made.Token = known.Forge.Token
	if made.Spec, err = specFile(opts.file); err != nil {
		return err
	}
	got, err := ci.Ratchet(ctx, made)
	if err != nil {
		return err
	}
	for _, refused := range got.Refused {
		e.warn("%s", term.Plain(refused))
	}
	for _, moved := range got.Moved {
		fmt.Fprintf(e.stdout, "%s\n", term.Plain(moved))
	}
	switch {
	case got.Commit == "":
		fmt.Fprintln(e.stdout, "the baseline stays: nothing became provably faster")
	case got.Pull != nil:
		fmt.Fprintf(e.stdout, "%s is protected: pull request %d, %s\n", made.Branch, got.Pull.Number, term.Plain(got.Pull.URL))
		if made.Forge.Kind == forge.GitHub && made.Forge.App == nil {
			e.warn("no check starts on this pull request if a job's own token opened it: let an App open it (PAWL_APP_ID and PAWL_APP_KEY)")
		}
	case made.DryRun:
		fmt.Fprintf(e.stdout, "commit %.12s would be pushed to %s\n", got.Commit, got.Branch)
	default:
		fmt.Fprintf(e.stdout, "pushed %.12s to %s\n", got.Commit, got.Branch)
	}
	return nil
}

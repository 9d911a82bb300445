package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
	"pawl/internal/diag"
	"pawl/internal/forge"
	"pawl/internal/unit"
)

type ciDoctorOptions struct {
	forge, repo, api string
	json             bool
}

func (o *ciDoctorOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.forge, "forge", "github", "the forge; only GitHub has settings to read")
	f.StringVar(&o.repo, "repo", os.Getenv("GITHUB_REPOSITORY"), "the repository, as OWNER/NAME")
	f.StringVar(&o.api, "api", os.Getenv("GITHUB_API_URL"), "the address of the forge's API (default: GitHub's)")
	f.BoolVar(&o.json, "json", false, "print JSON")
}

func newCIDoctor(e *env) *cobra.Command {
	opts := &ciDoctorOptions{}
	return withFlags(&cobra.Command{
		Use: "doctor", Short: "read the repository's settings, and say what is open to strangers", Args: cobra.NoArgs,
		Long: `doctor reads the settings that no workflow can set: who needs approval, what the default
token may do, which check a merge needs, who could report it. It writes nothing. PAWL_FORGE_TOKEN
or GITHUB_TOKEN is a token that may read the repository's administration.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCIDoctor(cmd.Context(), e, opts) },
	}, opts)
}

func runCIDoctor(ctx context.Context, e *env, opts *ciDoctorOptions) error {
	if opts.forge != "github" {
		return usage("--forge %s: its API does not tell these settings; docs/ci.md lists what to look at", opts.forge)
	}
	access := forge.Options{URL: opts.api, Repo: opts.repo, Agent: "pawl/" + version}
	access.Token, access.App = forge.Credentials(forge.GitHub, os.Getenv)
	if access.Token == "" && access.App == nil {
		return &diag.Problem{Message: "no token for GitHub", Hint: "set GITHUB_TOKEN to a token of somebody who administers the repository, such as GITHUB_TOKEN=$(gh auth token)"}
	}
	found, err := ci.Doctor(ctx, access)
	if err != nil {
		return err
	}
	if opts.json {
		return printJSON(e, found)
	}
	style, open := e.style(), 0
	for _, f := range found {
		if f.OK {
			e.print("%s    %s\n", style.Green("ok"), f.What)
			continue
		}
		open++
		e.print("%s  %s\n      → %s\n", style.Red("open"), f.What, f.Remedy)
	}
	if open > 0 {
		return &outcomeError{exitFailed, fmt.Sprintf("%s open", unit.Plural(open, "setting is", "settings are"))}
	}
	return nil
}

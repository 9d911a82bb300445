package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
	"pawl/internal/forge"
	"pawl/internal/spec"
	"pawl/internal/term"
)

const ciPostHelp = `post tells a forge what a check came to: one comment on the pull request, updated in
place, a check of the commit with annotations beside the kernels (a commit status on
GitLab and Gitea), and the job's summary. It posts only while the commit is the pull
request's head; what a newer run has posted stays.

It runs in a checkout of the branch that the pull request is for, and judges the
report again by that branch's rules, from the samples (see pawl ci verify).

In a job of GitHub Actions, Gitea Actions or GitLab CI the options have their values
from the environment. The token is in PAWL_FORGE_TOKEN, or in GITHUB_TOKEN,
GITLAB_TOKEN or GITEA_TOKEN; a GitHub App is in PAWL_APP_ID and PAWL_APP_KEY (PEM).

--no-report is for a run that wrote none. The commit then has a check and no comment:
success if the change touches no input of a kernel, by the diff; else failure, or, for
a fork on GitHub, a request for approval.

The check says success only for what somebody other than the pull request measured:
  --trust claimed    the pull request's own job ran it: failure or neutral
  --trust approved   a workflow of the default branch, for a commit that was approved
  --trust own        a branch of the repository itself`

// ciPostOptions are the options of pawl ci post.
type ciPostOptions struct {
	ci.PostOptions
	file   string
	absent bool
}

func (o *ciPostOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar((*string)(&o.Forge.Kind), "forge", "", "github, gitlab or gitea")
	f.StringVar(&o.Forge.URL, "api", "", "address of the forge's API")
	f.StringVar(&o.Forge.Repo, "repo", "", "repository that the pull request is for, owner/name")
	f.StringVar(&o.Forge.Login, "as", "", "login that the token belongs to (default: ask the forge)")
	f.StringVar(&o.Head.SHA, "sha", "", "commit that was measured")
	f.StringVar(&o.Head.Repo, "head-repo", "", "repository that the commit is from, owner/name (default: any)")
	f.StringVar(&o.Report, "report", "", "report.json of the check, or the folder or zip that it lies in (required)")
	f.BoolVar(&o.absent, "no-report", false, "the run wrote no report: say whether there was anything to measure")
	f.StringVar(&o.Trust, "trust", "claimed", "who ran the check: claimed, approved or own")
	f.BoolVar(&o.Strict, "strict", false, "fail when something is undecided or suspicious")
	f.StringVar(&o.Name, "name", ci.RequiredCheck, "name of comment and check; give every one of several checks another")
	f.Int64Var(&o.Run, "run", 0, "number of the run: a lower one does not overwrite a higher one")
	f.StringVar(&o.URL, "url", "", "address of the whole report, for a link")
	f.StringVar(&o.CodeQuality, "code-quality", "", "also write annotations to this file, as GitLab's code-quality report")
	f.BoolVar(&o.DryRun, "dry-run", false, "send nothing: print comment, check and annotations")
	addFileFlag(f, &o.file)
}

func newCIPost(e *env) *cobra.Command {
	opts := &ciPostOptions{}
	return withFlags(&cobra.Command{
		Use: "post --report report.json", Short: "post a check's result to a pull request", Long: ciPostHelp,
		Example: "  pawl ci post --report report.json --trust claimed\n  pawl ci post --forge gitlab --repo group/kernels --sha $CI_COMMIT_SHA --report report.json --dry-run",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCIPost(cmd.Context(), e, opts) },
	}, opts)
}

// addForgeFlags adds the flags that say which forge is asked, and about which repository.
func addForgeFlags(f *pflag.FlagSet, o *forge.Options, why string) {
	f.StringVar((*string)(&o.Kind), "forge", "", "github, gitlab or gitea: "+why)
	f.StringVar(&o.URL, "api", "", "address of the forge's API")
	f.StringVar(&o.Repo, "repo", "", "repository, owner/name")
}

// forgeOf completes what flags say of a forge by what the environment knows.
func forgeOf(said, known forge.Options) forge.Options {
	said.Kind, said.URL, said.Repo = cmp.Or(said.Kind, known.Kind), cmp.Or(said.URL, known.URL), cmp.Or(said.Repo, known.Repo)
	said.Token, said.App, said.Agent = known.Token, known.App, "pawl/"+version
	return said
}

func runCIPost(ctx context.Context, e *env, opts *ciPostOptions) error {
	known, err := ci.PostEnvironment(opts.Forge.Kind, os.Getenv)
	if err != nil {
		return err
	}
	made := opts.PostOptions
	made.Forge = forgeOf(made.Forge, known.Forge)
	if made.Head.SHA == "" || made.Head.SHA == known.Head.SHA {
		made.Head.SHA, made.Head.Branch, made.Queue = known.Head.SHA, known.Head.Branch, known.Queue
		made.Head.Repo = cmp.Or(made.Head.Repo, known.Head.Repo)
	}
	made.Run, made.URL, made.Summary = cmp.Or(made.Run, known.Run), cmp.Or(made.URL, known.URL), known.Summary
	switch {
	case (made.Report == "") != opts.absent:
		return usage("name the report of the check: --report report.json, or --no-report if its run wrote none")
	case made.Head.SHA == "":
		return usage("name the commit that was measured: --sha HASH (outside of a forge's job nothing says which)")
	case made.Forge.Kind == "" && !made.DryRun:
		return usage("name the forge: --forge github, gitlab or gitea")
	}
	if made.Spec = opts.file; made.Spec == "" {
		if made.Spec, err = spec.Find("."); err != nil {
			return err
		}
	}
	post := ci.Post
	if opts.absent {
		post = ci.PostAbsent
	}
	posted, err := post(ctx, made)
	if posted != nil {
		e.showPosted(made, posted)
	}
	return err
}

// showPosted prints what was posted, or would be.
func (e *env) showPosted(opts ci.PostOptions, p *ci.Posted) {
	if p.Unannotated != nil {
		e.warn("no annotations: %v", p.Unannotated)
	}
	if opts.DryRun {
		if p.Comment != "" {
			fmt.Fprintln(e.stdout, p.Comment)
		}
		fmt.Fprintf(e.stdout, "check %s of %.12s: %s\n  %s\n", p.Check.Name, p.Check.SHA, p.Check.Conclusion, p.Check.Title)
		for _, n := range p.Check.Annotations {
			fmt.Fprintf(e.stdout, "%s:%d: %s: %s\n  %s\n", n.Path, n.Line, n.Level, n.Title, strings.ReplaceAll(n.Message, "\n", "\n  "))
		}
		return
	}
	if len(p.Pulls) == 0 && p.Checked == "" {
		e.warn("nothing was posted: no open pull request of %s has %.12s as its head", opts.Forge.Repo, opts.Head.SHA)
		e.hint("a newer commit was pushed, or the pull request was closed; the run of the newer commit posts its own result")
	}
	for _, pull := range p.Pulls {
		if pull.Stale() {
			e.warn("pull request %d: a newer commit or run has taken this one's place; its comment stays", pull.Number)
			continue
		}
		fmt.Fprintf(e.stdout, "pull request %d: comment %s %s\n", pull.Number, pull.Comment, term.Plain(pull.URL))
	}
	if p.Decided() {
		fmt.Fprintf(e.stdout, "check %s of %.12s: %s\n", p.Check.Name, p.Check.SHA, p.Check.Conclusion)
	}
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
)

type ciGuardOptions struct {
	policy, approve, repo, until string
	manifest                     bool
}

func (o *ciGuardOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.policy, "policy", ci.PolicyFile, "the policy of this machine")
	f.StringVar(&o.approve, "approve", "", "let one job measure this commit of a stranger, and do nothing else")
	f.StringVar(&o.until, "until", "24h", "how long the approval counts: a time from now, or a date such as 2026-11-30T18:00:00Z")
	f.StringVar(&o.repo, "repo", "", "the repository of the commit, where the policy has several")
	f.BoolVar(&o.manifest, "manifest", false, "remember the runner's home folder as it is now, and do nothing else")
}

func newCIGuard(e *env) *cobra.Command {
	opts := &ciGuardOptions{}
	return withFlags(&cobra.Command{
		Use: "guard", Short: "the runner's job-started hook: refuse jobs that must not run here", Args: cobra.NoArgs,
		Long: `guard decides about a job before its first step, by the policy of this machine and what
the forge says of the job. It refuses, with exit code 1, events, repositories, forks, workflows and
commits that the policy does not allow, and everything that it does not understand. It runs as
root, so that the job cannot rewrite what it remembers; docs/ci.md shows how to install it.`,
		Example: "  pawl ci guard\n  pawl ci guard --approve 4b825dc642cb6eb9a060e54bf8d69288fbee4904 --until 2h\n  pawl ci guard --manifest",
		RunE:    func(*cobra.Command, []string) error { return refusal(runCIGuard(e, opts)) },
	}, opts)
}

// refusal makes every error of a hook an exit code of 1: a runner must not begin, or go on.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	if _, isOutcome := errors.AsType[*outcomeError](err); isOutcome {
		return err
	}
	return &outcomeError{exitFailed, "refused: " + strings.ReplaceAll(err.Error(), "\n", " ")}
}

// policyOwner is root: whoever may write the policy decides what runs here.
const policyOwner = 0

func readCIPolicy(name string) (*ci.Policy, error) {
	if os.Geteuid() != policyOwner {
		return nil, errors.New("expected to run as root, by the sudo rule in docs/ci.md: otherwise the job could rewrite what is remembered of it")
	}
	return ci.ReadPolicy(name, policyOwner)
}

func runCIGuard(e *env, opts *ciGuardOptions) error {
	policy, err := readCIPolicy(opts.policy)
	if err != nil {
		return err
	}
	now := time.Now()
	switch {
	case opts.approve != "":
		until, err := untilTime(opts.until, now)
		if err != nil {
			return err
		}
		if err := policy.Approve(opts.approve, opts.repo, now, until); err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "approved %s for one job, until %s\n", opts.approve, until.UTC().Format(time.DateTime))
		return nil
	case opts.manifest:
		files, err := policy.TakeManifest()
		if err == nil {
			fmt.Fprintf(e.stdout, "remembered %d files and folders of %s\n", files, policy.Home)
		}
		return err
	}
	job, err := ci.ReadJob(os.Getenv, policy.Work)
	if err != nil {
		return err
	}
	admission, swept, err := policy.Guard(job, now)
	if swept != nil {
		showSwept(e, swept, false)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "admitted: %s of %s, %s\n", job.Event, job.Repository, laneWords[admission.Lane])
	return nil
}

var laneWords = map[ci.Lane]string{ci.OwnLane: "the repository's own code", ci.StrangerLane: "an approved commit of a stranger"}

func untilTime(text string, now time.Time) (time.Time, error) {
	if length, err := time.ParseDuration(text); err == nil {
		return now.Add(length), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--until %q: expected a time from now such as 2h, or a date such as 2026-11-30T18:00:00Z", text)
	}
	return at, nil
}

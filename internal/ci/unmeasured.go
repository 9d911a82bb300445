package ci

import (
	"context"
	"fmt"
	"slices"

	"pawl/internal/claim"
	"pawl/internal/forge"
)

// PostUnmeasured posts the check of a commit whose run left no report: there was nothing to measure,
// somebody must approve the commit first, or the run failed. The diff is read here, with the inputs
// of the branch that the pull request is for: the pull request's own word does not count. A required
// check must end in every case.
func PostUnmeasured(ctx context.Context, opts PostOptions) (*Posted, error) {
	if !forge.IsSHA(opts.Head.SHA) {
		return nil, fmt.Errorf("commit %q: expected a whole hash", opts.Head.SHA)
	}
	scope, err := FindScope(ctx, opts.Spec, "HEAD", opts.Head.SHA)
	if err != nil {
		return nil, err
	}
	own := opts.Trust == string(claim.Own)
	if opts.DryRun {
		return opts.unmeasured(scope, own), nil
	}
	at, err := forge.New(opts.Forge)
	if err != nil {
		return nil, err
	}
	pulls, err := at.Pulls(ctx, opts.Head)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find the pull requests of %.12s: %w", opts.Head.SHA, err)
	case len(pulls) == 0 && !opts.Queue:
		return &Posted{}, nil
	}
	own = own && (opts.Queue || slices.ContainsFunc(pulls, func(p forge.Pull) bool { return p.OwnHead }))
	posted := opts.unmeasured(scope, own)
	if posted.Checked, err = at.Check(ctx, posted.Check); err != nil {
		err = fmt.Errorf("check of %.12s: %w", opts.Head.SHA, err)
	}
	return posted, err
}

// unmeasured makes the check. Only GitHub has a lane in which a stranger's commit is approved.
func (o PostOptions) unmeasured(scope *Scope, own bool) *Posted {
	conclusion, title := forge.Failure, "The run ended without a report: its log says why"
	switch {
	case !scope.Measure:
		conclusion, title = forge.Success, "Nothing in this change is measured"
	case !own && (o.Forge.Kind == forge.GitHub || o.Forge.Kind == ""):
		conclusion, title = forge.ActionRequired, "Not measured: a maintainer reads the change and comments /pawl check "+o.Head.SHA
	}
	return &Posted{Check: forge.Check{
		Name: o.Name, SHA: o.Head.SHA, Run: o.Run, Conclusion: conclusion, Title: title, Summary: title, URL: linkable(o.URL),
	}}
}

package ci

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pawl/internal/claim"
	"pawl/internal/diag"
	"pawl/internal/forge"
	"pawl/internal/git"
)

// PostAbsent gives a commit whose run wrote no report its check all the same: a required check that
// nobody writes would hold the pull request for ever. Whether there is anything to measure is read
// from the diff here, because the run's own word is the pull request's. It writes no comment.
func PostAbsent(ctx context.Context, opts PostOptions) (*Posted, error) {
	a := &admitted{Admitted: &claim.Admitted{Trust: claim.Trust(opts.Trust)}}
	switch {
	case !forge.IsSHA(opts.Head.SHA):
		return nil, fmt.Errorf("commit %q: expected a whole hash", opts.Head.SHA)
	case !a.Trust.Known():
		return nil, &diag.SettingError{Setting: "trust", Value: opts.Trust, Expected: "claimed, approved or own"}
	}
	if err := git.Ensure(ctx, filepath.Dir(opts.Spec), opts.Head.SHA); err != nil {
		return nil, err
	}
	scope, err := FindScope(ctx, opts.Spec, "HEAD", opts.Head.SHA)
	if err != nil {
		return nil, err
	}
	if opts.DryRun {
		return a.absent(opts, scope), nil
	}
	at, pulls, err := opts.find(ctx)
	if err != nil {
		return nil, err
	}
	if len(pulls) == 0 && !opts.Queue {
		return &Posted{}, nil
	}
	a.look(ctx, at, pulls)
	posted := a.absent(opts, scope)
	if posted.Checked, err = at.Check(ctx, posted.Check); err != nil {
		err = fmt.Errorf("check of %.12s: %w", opts.Head.SHA, err)
	}
	return posted, errors.Join(err, posted.write(opts))
}

// absent makes the check of a run without a report.
func (a *admitted) absent(opts PostOptions, scope *Scope) *Posted {
	check := forge.Check{Name: opts.Name, SHA: opts.Head.SHA, Run: opts.Run, URL: linkable(opts.URL), Vouched: a.Trust != claim.Claimed}
	switch {
	case !scope.Measure && len(a.doubts) == 0:
		check.Conclusion, check.Title = forge.Success, "Nothing in this change is measured"
	case !scope.Measure:
		check.Conclusion, check.Title = forge.Neutral, "Nothing in this change is measured, "+strings.Join(a.doubts, ", ")
	case a.Trust == claim.Claimed && opts.Forge.Kind == forge.GitHub: // the only forge with a lane for strangers
		check.Conclusion, check.Title = forge.Waiting, "Not measured: a maintainer reads the change and comments /pawl check "+opts.Head.SHA
	default:
		check.Conclusion, check.Title = forge.Failure, "The run ended without a report"
	}
	check.Summary = check.Title + "."
	return &Posted{Check: check}
}

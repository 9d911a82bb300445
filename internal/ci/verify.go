package ci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pawl/internal/claim"
	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/spec"
)

// VerifyOptions say which report is judged again, and against what.
type VerifyOptions struct {
	Report   string // the file, or the folder or zip that it lies in
	Base     string // checkout of the base; the trusted one
	Head     string // checkout of the change, which is only read; "": there is none
	BaseSHA  string // "": the commit that Base is at
	HeadSHA  string // "": the commit that Head is at
	File     string // the spec in both checkouts; "": pawl.yaml
	Classes  []string
	Patterns []string
	Trust    string // claimed, approved or own
	Strict   bool
	First    bool // no commit before Head has kernels: Base is not read
}

// Verify judges a report that another job wrote, by the rules of the base.
func Verify(ctx context.Context, opts VerifyOptions) (*claim.Admitted, error) {
	ask := claim.Options{
		Report: opts.Report, BaseSHA: opts.BaseSHA, HeadSHA: opts.HeadSHA, Classes: opts.Classes, Patterns: opts.Patterns,
		Trust: claim.Trust(opts.Trust), Strict: opts.Strict, First: opts.First,
	}
	if !ask.Trust.Known() {
		return nil, &diag.SettingError{Setting: "trust", Value: opts.Trust, Expected: "claimed, approved or own"}
	}
	for _, one := range []struct {
		sha       *string
		dir, flag string
	}{{&ask.BaseSHA, opts.Base, "base-sha"}, {&ask.HeadSHA, opts.Head, "head-sha"}} {
		if opts.First && one.flag == "base-sha" {
			continue
		}
		if err := commitOf(ctx, one.sha, one.dir, one.flag); err != nil {
			return nil, err
		}
	}
	file := cmp.Or(opts.File, spec.FileName)
	var err error
	if !opts.First {
		if ask.Base, err = baseSpec(opts.Base, file, ask.BaseSHA); err != nil {
			return nil, err
		}
	}
	if opts.Head != "" {
		// A change may break its own pawl.yaml: then all that it adds is unknown, and Loosened says so.
		ask.Head, _ = spec.LoadEarlier(filepath.Join(opts.Head, file))
	}
	return claim.Admit(ctx, ask)
}

// baseSpec reads the rules that judge.
func baseSpec(dir, file, sha string) (*spec.Spec, error) {
	base, err := spec.LoadEarlier(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.Problem{
			Message: fmt.Sprintf("the base (commit %s) has no %s, so nothing says what the change must keep to", git.Short(sha), filepath.Base(file)),
			Hint:    "if the branch that it is for has the file by now, merge that branch into the change, and measure again",
		}
	}
	return base, err
}

// commitOf finds the commit that a report must be about, where the caller does not name it.
func commitOf(ctx context.Context, sha *string, dir, flag string) error {
	if *sha != "" {
		return nil
	}
	if dir != "" {
		state, ok, err := git.Head(ctx, dir)
		if err != nil {
			return err
		}
		if *sha = state.SHA; ok {
			return nil
		}
	}
	return &diag.Problem{Message: fmt.Sprintf("--%s is needed: the commit that the report must be about", flag), Hint: "without it a report of any other commit would do"}
}

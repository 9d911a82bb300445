// Package bisect finds the commit that made a config slower. It measures commits between two against
// the faster one, by whole checks: each commit is built from its own tree, verified and measured in
// turns with it. Commits with the same code are measured once.
package bisect

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"pawl/internal/check"
	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// Options say where to search.
type Options struct {
	Good  string // a commit that is fast enough; "": where the branch left main, as check has it
	Bad   string // one that is too slow; "": HEAD
	Check check.Options
	Step  func(result.BisectStep) // is told every step; may be nil
}

// Run searches for the commit that made the row of a run slower. The report is that of the check of
// that commit against its parent or, where the search ends before that, of the slow commit against
// the fast one. The error says why the search could not begin or go on.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	if err := r.Of(result.KindCheck); err != nil {
		return nil, err
	}
	if len(r.Selections) != 1 || len(r.Selections[0].Configs) != 1 {
		return nil, &diag.Problem{Message: "a search is about one config", Hint: "name it: pawl bisect kernel/config"}
	}
	s := &search{Options: opts, run: r, codes: map[string]pace{}}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s.search(ctx)
}

// pace says to which end of the history a commit belongs.
type pace string

// The paces.
const (
	fast    pace = result.BisectFast
	slow    pace = result.BisectSlow
	skipped pace = result.BisectSkipped
)

// search is the work of Run.
type search struct {
	Options
	run     *run.Run
	found   result.Bisect
	commits []git.Commit    // after the good one, the oldest first; the last is the bad one
	codes   map[string]pace // by the identity of the code
	effect  float64         // of the bad commit against the good one
	last    bool            // the next comparison is that of the commit that was found
}

// begin finds the commits, and how much slower the last of them is.
func (s *search) begin(ctx context.Context) error {
	dir := s.run.Spec.Dir
	bad := s.Bad
	if bad == "" {
		bad = "HEAD"
	}
	sha, err := git.Resolve(ctx, dir, bad)
	if err != nil {
		return err
	}
	var base git.Base
	if s.Good == "" {
		base, err = git.DefaultBase(ctx, dir)
	} else {
		base, err = git.NamedBase(ctx, dir, s.Good)
	}
	if err != nil {
		return err
	}
	s.found.Good, s.found.Bad = base.SHA, sha
	if s.commits, err = git.Between(ctx, dir, base.SHA, sha); err != nil {
		return err
	}
	if len(s.commits) == 0 {
		return &diag.Problem{
			Message: fmt.Sprintf("there is no commit between %s and %s", git.Short(base.SHA), git.Short(sha)),
			Hint:    "name a commit that was fast enough: pawl bisect kernel/config --good COMMIT",
		}
	}
	return nil
}

// search halves the range until one commit, or commits that cannot be told apart, are left.
func (s *search) search(ctx context.Context) (*result.Report, error) {
	last := len(s.commits) - 1
	s.last = last == 0
	whole, row, err := s.compare(ctx, s.commits[last].SHA, s.found.Good, false)
	if err == nil && whole == nil {
		err = fmt.Errorf("commit %s: %w", git.Short(s.found.Bad), row.Fault)
	}
	if err != nil {
		return nil, err
	}
	change := changeOf(row)
	s.found.Change = change
	step := s.step(s.commits[last], slow, row)
	if change == nil || change.Low <= 0 {
		step.Pace, step.Known = result.BisectFast, row.Verdict == result.Unchanged
		if change == nil && !step.Known {
			step.Pace, step.Why = result.BisectSkipped, whyNot(row)
		}
		s.told(step)
		return s.finish(whole), nil
	}
	s.effect = change.Median
	s.told(step)
	s.codes[row.Identity] = slow
	fastest, slowest := -1, last // the last commit that is fast, the first that is slow
	out := map[int]bool{}
	for slowest-fastest > 1 {
		at := middle(fastest, slowest, out)
		if at < 0 {
			break
		}
		switch got, err := s.look(ctx, at); {
		case err != nil:
			return nil, err
		case got == fast:
			fastest = at
		case got == slow:
			slowest = at
		default:
			out[at] = true
		}
	}
	for _, c := range s.commits[fastest+1 : slowest+1] {
		s.found.Suspects = append(s.found.Suspects, result.BisectCommit{SHA: c.SHA, Subject: c.Subject, Author: c.Author})
	}
	if len(s.found.Suspects) > 1 || last == 0 {
		return s.finish(whole), nil
	}
	parent := s.found.Good
	if fastest >= 0 {
		parent = s.commits[fastest].SHA
	}
	s.last = true
	made, row, err := s.compare(ctx, s.found.Suspects[0].SHA, parent, false)
	if err != nil {
		return nil, err
	}
	s.found.Own = changeOf(row)
	return s.finish(made), nil
}

// middle returns the commit between two that is nearest to the middle and not out; -1: there is none.
func middle(fastest, slowest int, out map[int]bool) int {
	best, centre := -1, (fastest+slowest)/2
	for at := fastest + 1; at < slowest; at++ {
		if !out[at] && (best < 0 || max(at-centre, centre-at) < max(best-centre, centre-best)) {
			best = at
		}
	}
	return best
}

// look finds out whether a commit is fast or slow. Code that is known is not measured again.
func (s *search) look(ctx context.Context, at int) (pace, error) {
	c := s.commits[at]
	_, row, err := s.compare(ctx, c.SHA, s.found.Good, true)
	if err != nil {
		return "", err
	}
	known, seen := s.codes[row.Identity]
	switch {
	case row.Fault != nil:
		s.told(s.step(c, skipped, row))
		return skipped, nil
	case row.Verdict == result.Unchanged:
		known, seen = fast, true
	}
	if seen {
		step := s.step(c, known, row)
		step.Known = true
		s.told(step)
		return known, nil
	}
	if _, row, err = s.compare(ctx, c.SHA, s.found.Good, false); err != nil {
		return "", err
	}
	got := skipped
	if change := changeOf(row); change != nil {
		if got = fast; math.Log1p(change.Median) > math.Log1p(s.effect)/2 { // nearer to the slow end than to the fast one
			got = slow
		}
		s.codes[row.Identity] = got
	}
	s.told(s.step(c, got, row))
	return got, nil
}

// compare checks a commit against an earlier one, in its own tree. With planned, it only builds it.
func (s *search) compare(ctx context.Context, sha, against string, planned bool) (*result.Report, *result.Row, error) {
	tree, err := git.Checkout(ctx, s.run.Spec.Dir, sha)
	if err != nil {
		return nil, nil, err
	}
	defer tree.Close()
	project, err := spec.Load(filepath.Join(tree.Folder, filepath.Base(s.run.Spec.File)))
	if err != nil {
		return nil, unread(err), nil
	}
	part, err := run.Prepare(result.KindCheck, run.Request{
		Tool: s.run.Tool, Command: s.run.Command, Spec: project, Patterns: s.run.Patterns, Seed: &s.run.Seed, Follow: s.run.Emit, Quiet: true,
	})
	if err != nil { // the kernel was not there yet, or was a draft
		return nil, unread(err), nil
	}
	opts := s.Check
	opts.Base, opts.PlanOnly, opts.Update = against, planned, false
	if !s.last {
		opts.Explain = nil
	}
	made, err := check.Run(ctx, part, opts)
	s.run.Include(made)
	if err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if len(made.Rows) != 1 {
		return nil, nil, fmt.Errorf("the check of %s has %d rows, expected one", git.Short(sha), len(made.Rows))
	}
	return made, made.Rows[0], nil
}

// unread is the row of a commit whose pawl.yaml does not have it.
func unread(err error) *result.Row {
	return &result.Row{Fault: &result.Fault{Stage: "load", Cause: result.CauseSpec, Message: err.Error()}}
}

// changeOf returns how a row compares with the commit that it was checked against; nil: not known.
func changeOf(row *result.Row) *result.Change {
	at := slices.IndexFunc(row.Sides, func(s *result.Side) bool { return s.Role == result.Base })
	if at < 0 {
		return nil
	}
	return row.Sides[at].Change
}

func whyNot(row *result.Row) string {
	if row.Fault != nil {
		return row.Fault.Message
	}
	return "it could not be compared: " + string(row.Verdict)
}

func (s *search) step(c git.Commit, p pace, row *result.Row) result.BisectStep {
	step := result.BisectStep{BisectCommit: result.BisectCommit{SHA: c.SHA, Subject: c.Subject, Author: c.Author}, Pace: string(p), Change: changeOf(row)}
	if p == skipped {
		step.Why = whyNot(row)
	}
	return step
}

func (s *search) told(step result.BisectStep) {
	s.found.Steps = append(s.found.Steps, step)
	if s.Step != nil {
		s.Step(step)
	}
}

func (s *search) finish(made *result.Report) *result.Report {
	made.ID, made.Started, made.Bisect = s.run.ID, s.run.Started, &s.found
	made.Finished = time.Now().UTC()
	made.Cost = s.run.Cost(made.Finished, 0)
	return made
}

package ci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/claim"
	"pawl/internal/diag"
	"pawl/internal/forge"
	"pawl/internal/git"
	"pawl/internal/measure"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// RatchetOptions say which report moves the baseline of which branch.
type RatchetOptions struct {
	Report string        // of pawl check --update-baseline: the file, or the folder or zip that it lies in
	Spec   string        // pawl.yaml in a clone of the repository
	Branch string        // that holds the baseline
	Remote string        // as the clone names it
	Forge  forge.Options // where a pull request is opened if the branch is protected; no Kind: nowhere
	Token  string        // that may push over HTTP; "": the clone's own way
	DryRun bool          // nothing is pushed
}

// Ratcheted is what became of the baseline.
type Ratcheted struct {
	Moved   []string // kernel/config, with its new median
	Refused []string // and why
	Commit  string   // "": nothing was to be moved
	Tries   int      // pushes; more than one where somebody else pushed meanwhile
	Branch  string   // that has the commit
	Pull    *forge.Pull
}

const ratchetTries = 5

// Ratchet moves the baseline by the report that a job of the branch itself has measured. It judges
// the report again, commits the baseline alone and pushes it. If somebody else has pushed meanwhile,
// it begins again with their commit. It never forces a push. Where the branch is protected, it opens
// a pull request.
func Ratchet(ctx context.Context, opts RatchetOptions) (*Ratcheted, error) {
	dir, file := filepath.Split(opts.Spec)
	remote := git.Remote{Dir: dir, Name: opts.Remote, Token: opts.Token}
	got, err := opts.admit(ctx, dir, file)
	if err != nil {
		return nil, err
	}
	if got.Outcome.Result != result.Passed && got.Outcome.Result != result.Undecided {
		return nil, &diag.Problem{
			Pos: diag.Pos{File: opts.Report}, Message: "the report did not pass: " + strings.Join(got.Outcome.Reasons, "; "), Hint: "a report that fails moves no baseline",
		}
	}
	made := &Ratcheted{Branch: opts.Branch}
	for {
		tip, err := remote.Tip(ctx, opts.Branch)
		if err != nil {
			return nil, err
		}
		if err := opts.commit(ctx, dir, tip, got.Report, made, " [skip ci]"); err != nil {
			return nil, err
		}
		if made.Commit == "" || opts.DryRun {
			return made, nil
		}
		made.Tries++
		pushed := remote.Push(ctx, made.Commit, opts.Branch)
		if pushed == nil {
			return made, nil
		}
		now, err := remote.Tip(ctx, opts.Branch)
		switch {
		case err != nil:
			return nil, errors.Join(pushed, err)
		case now == tip: // nobody was faster: the push itself is refused
			// The checks of a pull request must run: its commit does not skip them.
			if err := opts.commit(ctx, dir, tip, got.Report, made, ""); err != nil {
				return nil, err
			}
			return made, opts.propose(ctx, remote, got.Report, made, pushed)
		case made.Tries == ratchetTries:
			return nil, fmt.Errorf("%w; tried %d times, and others pushed each time", pushed, ratchetTries)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(made.Tries) * 200 * time.Millisecond):
		}
	}
}

// admit judges the report again. It must be about a commit of the branch, and compare it with an
// earlier one, if there is one.
func (o RatchetOptions) admit(ctx context.Context, dir, file string) (*claim.Admitted, error) {
	commits, err := claim.Subject(o.Report)
	if err != nil {
		return nil, err
	}
	grown := func(from, to string) error {
		base, err := git.MergeBase(ctx, dir, from, to)
		if err == nil && base != from {
			err = &diag.Problem{Pos: diag.Pos{File: o.Report}, Message: fmt.Sprintf("commit %s is not in the history of %s", git.Short(from), git.Short(to)), Hint: "only measurements of the branch itself move its baseline"}
		}
		return err
	}
	tip, _, err := git.Head(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := grown(commits.Head, tip.SHA); err != nil {
		return nil, err
	}
	head, err := git.Checkout(ctx, dir, commits.Head)
	if err != nil {
		return nil, err
	}
	defer head.Close()
	ask := VerifyOptions{Report: o.Report, Head: head.Folder, HeadSHA: head.SHA, File: file, Trust: string(claim.Own)}
	if commits.Base == "" {
		first, err := git.IsFirst(ctx, dir, commits.Head)
		if err == nil && !first {
			err = &diag.Problem{
				Pos: diag.Pos{File: o.Report}, Message: fmt.Sprintf("commit %s was compared with no earlier one, and it is not the first of its branch", git.Short(commits.Head)),
				Hint: "run pawl check in a clone that has the branch's history (fetch-depth: 0)",
			}
		}
		if err != nil {
			return nil, err
		}
		ask.First = true
		return Verify(ctx, ask)
	}
	if err := grown(commits.Base, commits.Head); err != nil {
		return nil, err
	}
	base, err := git.Checkout(ctx, dir, commits.Base)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	ask.Base, ask.BaseSHA = base.Folder, base.SHA
	_, err = os.Lstat(filepath.Join(base.Folder, file))
	ask.First = errors.Is(err, fs.ErrNotExist)
	return Verify(ctx, ask)
}

// commit moves the baseline as the tip of the branch has it, and commits it. Nothing else of that
// commit is changed. The mark ends the subject.
func (o RatchetOptions) commit(ctx context.Context, dir, tip string, report *result.Report, made *Ratcheted, mark string) error {
	made.Moved, made.Refused, made.Commit = nil, nil, ""
	below, err := git.Prefix(ctx, dir)
	if err != nil {
		return err
	}
	bench, err := git.NewBench(ctx, dir, tip)
	if err != nil {
		return err
	}
	defer bench.Close()
	folder := filepath.Join(bench.Root, below)
	store := ratchet.Open(folder)
	for _, row := range report.Rows {
		if row.Moved == nil || !row.Moved.Done {
			continue
		}
		if why := unproven(row); why != "" {
			made.Refused = append(made.Refused, row.Name()+": "+why)
			continue
		}
		class := row.Class
		if class == "" {
			class = report.DeviceClass
		}
		err := store.Update(ctx, class, func(f *ratchet.File) error {
			c := ratchet.CandidateOf(report, row, f.Entry(row.Kernel, row.Config), ratchet.Who(ctx, dir))
			if last := measure.LastSet(row); last != nil {
				c = c.Remeasured(last)
			}
			var entry *ratchet.Entry
			var err error
			if row.Moved.Anchor {
				entry, err = f.Anchor(c, "its commit can no longer be built, and this is the same version")
			} else {
				entry, err = f.Move(c)
			}
			if refused, ok := errors.AsType[*ratchet.Refusal](err); ok {
				made.Refused = append(made.Refused, refused.Error())
				return nil
			}
			if err == nil {
				made.Moved = append(made.Moved, fmt.Sprintf("%s %.4g ms", row.Name(), entry.MedianMS))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(made.Moved) == 0 {
		return nil
	}
	made.Commit, err = bench.Commit(ctx, filepath.Join(below, ratchet.Folder), o.message(report, made, mark))
	return err
}

// unproven says why a row does not move the baseline, whatever the job that measured it says; "": it may.
// That job keeps the same rule, but what is suspicious about its report is only found here.
func unproven(row *result.Row) string {
	v := row.Verification
	switch {
	case v != nil && v.Integrity != result.Clean:
		why := "its result is " + string(v.Integrity)
		if len(v.Findings) > 0 {
			why += ": " + v.Findings[len(v.Findings)-1].Message
		}
		return why
	case row.Moved.Anchor: // its answers were verified when it became the baseline
		return ""
	case v == nil || v.Passed == 0:
		return "its answers were not verified"
	}
	return ""
}

func (o RatchetOptions) message(report *result.Report, made *Ratcheted, mark string) string {
	return fmt.Sprintf("perf: ratchet baseline forward%s\n\n%s\n\nMeasured at %s by run %s.\n", mark, strings.Join(made.Moved, "\n"), report.Commit.SHA, report.ID)
}

// propose opens a pull request with the baseline, since the branch refuses the push.
func (o RatchetOptions) propose(ctx context.Context, remote git.Remote, report *result.Report, made *Ratcheted, refused error) error {
	if o.Forge.Kind == "" {
		return &diag.Problem{Message: refused.Error(), Hint: "the branch refuses the push: let pawl push to it, or name the forge (--forge), so that a pull request is opened"}
	}
	at, err := forge.New(o.Forge)
	if err != nil {
		return errors.Join(refused, err)
	}
	made.Branch = "pawl/ratchet-" + git.Short(report.Commit.SHA)
	if err := remote.Push(ctx, made.Commit, made.Branch); err != nil {
		return errors.Join(refused, err)
	}
	pull, err := at.Open(ctx, forge.Proposal{
		Title: "perf: ratchet baseline forward", Head: made.Branch, Base: o.Branch, SHA: made.Commit,
		Text: "`" + o.Branch + "` refuses pushes, so the baseline moves by this pull request.\n\n```\n" + strings.ReplaceAll(strings.Join(made.Moved, "\n"), "`", "'") + "\n```\n",
	})
	if err != nil {
		hint := "open it by hand, or give pawl a token that may"
		if o.Forge.Kind == forge.GitHub && o.Forge.App == nil {
			hint = "open it by hand; a job's own token may not, so let an App do it: PAWL_APP_ID and PAWL_APP_KEY, as docs/ci.md shows"
		}
		return &diag.Problem{Message: fmt.Sprintf("branch %s has the baseline, but no pull request could be opened: %v", made.Branch, err), Hint: hint}
	}
	made.Pull = pull
	return nil
}

package ci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/claim"
	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/forge"
	"pawl/internal/git"
	"pawl/internal/report"
	"pawl/internal/report/render"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// PostOptions say what is posted where.
type PostOptions struct {
	Forge  forge.Options
	Head   forge.Head // commit that was measured
	Queue  bool       // it is the commit of a merge queue: no pull request has it as its head
	Report string     // the file, or the folder or zip that it lies in
	Trust  string     // who ran the job: claimed, approved or own
	Strict bool       // what is undecided or suspicious does not pass
	Spec   string     // pawl.yaml in a checkout of the branch that the pull request is for
	Name   string     // of comment and check
	Run    int64      // a run with a lower number does not overwrite what this one posts
	URL    string     // where the whole report can be had; "": nowhere

	Summary     string // file that the comment is added to: the job's summary; "": none
	CodeQuality string // file for GitLab's code-quality report; "": none
	DryRun      bool   // nothing is sent; the code-quality report, which a job without a token can keep, is written
}

// Posted is what was posted, or would be.
type Posted struct {
	Comment string
	Check   forge.Check
	Checked forge.Posted // "": nothing was sent
	Pulls   []PostedPull

	Unannotated error // why there are no annotations
}

// PostedPull is a pull request, and what became of its comment.
type PostedPull struct {
	forge.Pull
	Comment forge.Posted
}

// Stale reports whether a newer commit or run has taken this one's place.
func (p PostedPull) Stale() bool { return p.Comment == forge.Stale }

// Decided reports whether the commit has the check now.
func (p *Posted) Decided() bool { return p.Checked != "" && p.Checked != forge.Stale }

// admitted is a report, judged again, and what is said against it besides.
type admitted struct {
	*claim.Admitted
	refused error    // why the report is not used at all; nil: it is
	doubts  []string // reasons why a pass is no success
}

// Post judges a report again, and posts what it comes to to the pull requests that still have its
// commit as their head. A report that is not used is a failure, which says why. A stale run writes
// nothing.
func Post(ctx context.Context, opts PostOptions) (*Posted, error) {
	if !forge.IsSHA(opts.Head.SHA) {
		return nil, fmt.Errorf("commit %q: expected a whole hash", opts.Head.SHA)
	}
	a, err := opts.admit(ctx)
	if err != nil {
		return nil, err
	}
	return post(ctx, opts, a)
}

// admit judges the report by the rules of the commit at which the change left the branch that it is
// for. Both commits are checked out, and nothing of them is built or run.
func (o PostOptions) admit(ctx context.Context) (*admitted, error) {
	dir, file := filepath.Split(o.Spec)
	tip, ok, err := git.Head(ctx, dir)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &diag.Problem{
			Pos: diag.Pos{File: o.Spec}, Message: "expected in a git checkout of the branch that the pull request is for",
			Hint: "the report is judged by that branch's rules; run pawl ci post in a clone of it",
		}
	}
	head, err := git.NewRaw(ctx, dir, o.Head.SHA)
	if err != nil {
		return nil, err
	}
	defer head.Close()
	below, err := git.Prefix(ctx, dir)
	if err != nil {
		return nil, err
	}
	parted, err := git.MergeBases(ctx, dir, tip.SHA, o.Head.SHA)
	if err != nil {
		return nil, err
	}
	left := parted[0]
	if left == o.Head.SHA { // or it was merged meanwhile: then no open pull request has it, and nothing is posted
		return o.refuse(fmt.Errorf("commit %s is in the history of the branch that is checked out here, so there is nothing to compare it with: check out the branch that the pull request is for", git.Short(left))), nil
	}
	base, err := git.Checkout(ctx, dir, left)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	got, err := Verify(ctx, VerifyOptions{
		Report: o.Report, Base: base.Folder, Head: filepath.Join(head.Root, below), BaseSHA: base.SHA, HeadSHA: o.Head.SHA, File: file, Trust: o.Trust, Strict: o.Strict,
	})
	a := &admitted{Admitted: got}
	if problem, ok := errors.AsType[*diag.Problem](err); ok {
		a, err = o.refuse(problem), nil
	}
	if err != nil {
		return nil, err
	}
	if len(parted) > 1 {
		a.doubts = append(a.doubts, leftTwice)
	}
	if o.Queue { // no pull request says what it changes
		files, err := git.Changed(ctx, dir, tip.SHA, o.Head.SHA)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(files, isWorkflow) {
			a.doubts = append(a.doubts, changesWorkflow)
		}
	}
	now, err := spec.LoadEarlier(o.Spec)
	if err != nil {
		return nil, err
	}
	was, err := spec.LoadEarlier(filepath.Join(base.Folder, file))
	if err == nil && len(claim.Differences(now, was)) > 0 {
		a.doubts = append(a.doubts, "by rules that the branch has changed since: merge it, and measure again")
	}
	return a, nil
}

// refuse makes a failure of a report that is not used.
func (o PostOptions) refuse(why error) *admitted {
	return &admitted{refused: why, Admitted: &claim.Admitted{Trust: claim.Trust(o.Trust), Outcome: &result.Outcome{Result: result.Failed}}}
}

// trust says in words who ran it.
func (a *admitted) trust() string {
	return strings.Join(append([]string{a.Trust.Words()}, a.doubts...), ", ")
}

// vouched reports whether somebody other than the pull request vouches for the numbers.
func (a *admitted) vouched() bool { return a.Trust != claim.Claimed && len(a.doubts) == 0 }

func (a *admitted) conclusion() forge.Conclusion {
	if said := forge.Conclusion(a.Conclusion()); said != forge.Success || a.vouched() {
		return said
	}
	return forge.Neutral
}

func post(ctx context.Context, opts PostOptions, a *admitted) (*Posted, error) {
	if opts.DryRun {
		posted := describe(ctx, opts, a, localSource)
		return posted, posted.write(PostOptions{CodeQuality: opts.CodeQuality})
	}
	at, pulls, err := opts.find(ctx)
	if err != nil {
		return nil, err
	}
	if len(pulls) == 0 && !opts.Queue {
		return &Posted{}, nil
	}
	a.look(ctx, at, pulls)
	posted := describe(ctx, opts, a, func(ctx context.Context, _, file string) ([]byte, error) { return at.Source(ctx, opts.Head.SHA, file) })
	return posted, errors.Join(posted.send(ctx, opts, at, pulls), posted.write(opts))
}

// find asks the forge for the pull requests whose head is the commit.
func (o PostOptions) find(ctx context.Context) (forge.Forge, []forge.Pull, error) {
	at, err := forge.New(o.Forge)
	if err != nil {
		return nil, nil, err
	}
	pulls, err := at.Pulls(ctx, o.Head)
	if err != nil {
		return nil, nil, fmt.Errorf("find the pull requests of %.12s: %w", o.Head.SHA, err)
	}
	return at, pulls, nil
}

// look finds out what the pull requests themselves say against a success.
func (a *admitted) look(ctx context.Context, at forge.Forge, pulls []forge.Pull) {
	if a.Trust == claim.Own && len(pulls) > 0 && !slices.ContainsFunc(pulls, func(p forge.Pull) bool { return p.OwnHead }) {
		a.Trust = claim.Claimed
	}
	if a.Trust == claim.Approved && a.Report != nil && slices.ContainsFunc(a.Report.Rows, func(r *result.Row) bool { return slices.Contains(r.Reasons, result.Accepted) }) {
		a.doubts = append(a.doubts, acceptedByItself)
	}
	for _, p := range pulls {
		files, err := at.Files(ctx, p.Number)
		switch {
		case err != nil:
			a.doubts = append(a.doubts, "and nobody knows whether the pull request changes the workflow")
		case slices.ContainsFunc(files, isWorkflow):
			a.doubts = append(a.doubts, changesWorkflow)
		default:
			continue
		}
		return
	}
}

// acceptedByItself: whoever approved the measurement has not accepted the slowdown.
const acceptedByItself = "and a slowdown is accepted by the pull request alone"

// leftTwice: against one of the commits where the change left the branch, nobody has measured it.
const leftTwice = "and the change left the branch in several places: merge the branch, and measure again"

const changesWorkflow = "and the pull request changes a workflow"

// isWorkflow reports whether a file decides what a forge runs.
func isWorkflow(file string) bool {
	for _, folder := range []string{".github/", ".gitea/", ".forgejo/", ".gitlab/"} {
		if strings.HasPrefix(file, folder) && !strings.HasSuffix(file, ".md") {
			return true
		}
	}
	base := path.Base(file)
	return file == ".gitlab-ci.yml" || base == "action.yml" || base == "action.yaml"
}

// describe makes what is posted.
func describe(ctx context.Context, opts PostOptions, a *admitted, source sourceReader) *Posted {
	trust := a.trust()
	words := report.CommentOptions{Trust: strings.ToUpper(trust[:1]) + trust[1:], Claimed: !a.vouched(), URL: linkable(opts.URL)}
	said := report.Refusal(a.refused, words)
	var notes []forge.Annotation
	var unannotated error
	if a.refused == nil {
		for _, c := range a.Contradictions {
			words.Against = append(words.Against, c.String())
		}
		words.Rules = a.Loosened
		said = report.CommentOf(a.Report, words)
		notes, unannotated = annotate(ctx, opts, a.Report, source)
	}
	plain := said.Plain()
	if !a.vouched() {
		plain = words.Trust + ": " + strings.TrimPrefix(strings.ToLower(plain[:1])+plain[1:], "claimed: ")
	}
	comment := render.Comment(said)
	return &Posted{Comment: comment, Check: forge.Check{
		Name: opts.Name, SHA: opts.Head.SHA, Run: opts.Run, Conclusion: a.conclusion(), Title: plain, Summary: comment, URL: words.URL, Annotations: notes,
		Vouched: a.Trust != claim.Claimed,
	}, Unannotated: unannotated}
}

// linkable returns an address that can stand in a comment; "" for others.
func linkable(at string) string {
	if !strings.HasPrefix(at, "https://") && !strings.HasPrefix(at, "http://") || strings.ContainsAny(at, " ()<>[]\"'`\\|\n\r\t") || len(at) > 500 {
		return ""
	}
	return at
}

// send posts the comments, and then the check, unless every comment is stale.
func (p *Posted) send(ctx context.Context, opts PostOptions, at forge.Forge, pulls []forge.Pull) error {
	current := opts.Queue && len(pulls) == 0
	var problems []error
	for _, pull := range pulls {
		state, err := at.Comment(ctx, forge.Comment{Pull: pull.Number, Name: opts.Name, SHA: opts.Head.SHA, Run: opts.Run, Text: p.Comment, Vouched: p.Check.Vouched})
		if err != nil {
			problems = append(problems, fmt.Errorf("comment on pull request %d: %w", pull.Number, err))
			current = true // the check says what the comment could not
			continue
		}
		p.Pulls = append(p.Pulls, PostedPull{pull, state})
		current = current || state != forge.Stale
	}
	if !current {
		p.Checked = forge.Stale
		return errors.Join(problems...)
	}
	state, err := at.Check(ctx, p.Check)
	p.Checked = state
	if err != nil {
		problems = append(problems, fmt.Errorf("check of %.12s: %w", opts.Head.SHA, err))
	}
	return errors.Join(problems...)
}

// write writes the job's summary and GitLab's code-quality report.
func (p *Posted) write(opts PostOptions) error {
	var problems []error
	if opts.Summary != "" {
		problems = append(problems, appendTo(opts.Summary, p.Check.Summary))
	}
	if opts.CodeQuality != "" {
		raw, err := codeQuality(p.Check.Annotations)
		if err == nil {
			err = disk.Write(opts.CodeQuality, raw)
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// appendTo adds a text to a file that the runner has made.
func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	return errors.Join(err, f.Close())
}

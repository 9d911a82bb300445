package ci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/forge"
	"pawl/internal/judge"
	"pawl/internal/report"
	"pawl/internal/result"
)

// Who ran the job that wrote a report, as --lane names it.
const (
	postClaimed  = "claimed"  // the pull request's own job: it may have written anything
	postApproved = "approved" // a workflow of the default branch, on a commit that a maintainer approved
	postOwn      = "own"      // a branch of the repository itself
)

// PostLanes are the lanes that Post knows.
var PostLanes = []string{postClaimed, postApproved, postOwn}

// PostOptions say what is posted where.
type PostOptions struct {
	Forge  forge.Options
	Head   forge.Head // commit that was measured
	Queue  bool       // it is the commit of a merge queue: no pull request has it as its head
	Report string     // file
	Lane   string     // "": claimed
	Spec   string     // pawl.yaml of the base, which says where kernels are; "": none is known
	Name   string     // of comment and check
	Run    int64      // a run with a lower number does not overwrite what this one posts
	URL    string     // where the whole report can be had; "": nowhere

	Summary     string // file that the comment is added to: the job's summary; "": none
	CodeQuality string // file for GitLab's code-quality report; "": none
	DryRun      bool   // nothing is sent
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

// admitted is a report and what its word is worth.
type admitted struct {
	report *result.Report
	lane   string
	doubts []string // reasons why a pass is no success
}

// admit reads a report. Its rows are the report's own word: what they come to is computed anew.
func admit(opts PostOptions) (*admitted, error) {
	const most = 256 << 20
	raw, err := readBounded(opts.Report, most)
	if err != nil {
		return nil, err
	}
	r, err := result.Decode(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", opts.Report, err)
	case r.Kind != result.KindCheck:
		return nil, fmt.Errorf("%s is the report of pawl %s: expected one of pawl check", opts.Report, r.Kind)
	case r.Commit == nil || r.Commit.SHA != opts.Head.SHA:
		about := "no commit"
		if r.Commit != nil {
			about = "commit " + r.Commit.SHA
		}
		return nil, fmt.Errorf("%s is about %.60s: expected %s. Measure the head of the pull request, and not its merge with the base", opts.Report, about, opts.Head.SHA)
	}
	strict := r.Outcome != nil && r.Outcome.Strict
	r.Outcome = judge.Outcome(r)
	r.Outcome.Strict = strict
	made := &admitted{report: r, lane: opts.Lane}
	if r.Commit.Dirty {
		made.doubts = append(made.doubts, "with uncommitted changes")
	}
	return made, nil
}

func readBounded(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("%s has more than %d MiB", file, most>>20)
	}
	return raw, err
}

// trust says in words who ran it.
func (a *admitted) trust() string {
	who := map[string]string{
		postClaimed: "claimed by the pull request's own job", postApproved: "measured in the approved lane", postOwn: "measured on the repository's own branch",
	}[a.lane]
	return strings.Join(append([]string{who}, a.doubts...), ", ")
}

// vouched reports whether somebody other than the pull request vouches for the numbers.
func (a *admitted) vouched() bool { return a.lane != postClaimed && len(a.doubts) == 0 }

func (a *admitted) conclusion() forge.Conclusion {
	switch {
	case !a.report.Passes():
		return forge.Failure
	case a.vouched() && a.report.Outcome.Result == result.Passed:
		return forge.Success
	}
	return forge.Neutral
}

// Post posts a report to the pull requests that still have its commit as their head. A stale run writes
// nothing.
func Post(ctx context.Context, opts PostOptions) (*Posted, error) {
	if opts.Lane == "" {
		opts.Lane = postClaimed
	}
	switch {
	case !slices.Contains(PostLanes, opts.Lane):
		return nil, fmt.Errorf("lane %q: expected one of %s", opts.Lane, strings.Join(PostLanes, ", "))
	case !forge.IsSHA(opts.Head.SHA):
		return nil, fmt.Errorf("commit %q: expected a whole hash", opts.Head.SHA)
	}
	a, err := admit(opts)
	if err != nil {
		return nil, err
	}
	if opts.DryRun {
		return describe(ctx, opts, a, localSource), nil
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
	a.look(ctx, at, pulls)
	posted := describe(ctx, opts, a, func(ctx context.Context, _, file string) ([]byte, error) { return at.Source(ctx, opts.Head.SHA, file) })
	return posted, errors.Join(posted.send(ctx, opts, at, pulls), posted.write(opts))
}

// look finds out what the pull requests themselves say against a success.
func (a *admitted) look(ctx context.Context, at forge.Forge, pulls []forge.Pull) {
	if a.lane == postOwn && len(pulls) > 0 && !slices.ContainsFunc(pulls, func(p forge.Pull) bool { return p.OwnHead }) {
		a.lane = postClaimed
	}
	for _, p := range pulls {
		files, err := at.Files(ctx, p.Number)
		switch {
		case err != nil:
			a.doubts = append(a.doubts, "and nobody knows whether the pull request changes the workflow")
		case slices.ContainsFunc(files, isWorkflow):
			a.doubts = append(a.doubts, "and the pull request changes a workflow")
		default:
			continue
		}
		return
	}
}

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
	notes, unannotated := annotate(ctx, opts, a.report, source)
	plain := report.CommentOf(a.report, report.CommentOptions{}).Plain()
	if !a.vouched() {
		plain = words.Trust + ": " + strings.ToLower(plain[:1]) + plain[1:]
	}
	comment := report.Comment(a.report, words)
	return &Posted{Comment: comment, Check: forge.Check{
		Name: opts.Name, SHA: opts.Head.SHA, Run: opts.Run, Conclusion: a.conclusion(), Title: plain, Summary: comment, URL: words.URL, Annotations: notes,
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
		state, err := at.Comment(ctx, forge.Comment{Pull: pull.Number, Name: opts.Name, SHA: opts.Head.SHA, Run: opts.Run, Text: p.Comment})
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
		problems = append(problems, appendTo(opts.Summary, p.Comment))
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

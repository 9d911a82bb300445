// Package forge is what pawl needs of GitHub, GitLab and Gitea, over HTTP: the pull requests of a
// commit, the files that a pull request changes, one comment that is updated in place, and a check
// with annotations or, where there are no checks, a commit status. It knows no Report.
//
// Writing is idempotent: a call that is repeated changes nothing. Requests are repeated after server
// errors and rate limits. A token is in the headers of requests and nowhere else.
package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pawl/internal/pattern"
)

// Kind is a kind of forge.
type Kind string

// The kinds.
const (
	GitHub Kind = "github"
	GitLab Kind = "gitlab"
	Gitea  Kind = "gitea"
)

// Kinds are all kinds.
var Kinds = []Kind{GitHub, GitLab, Gitea}

// Most is how many characters a forge takes as one comment, or as the summary of a check.
const Most = 65_535

// Forge is a repository on a forge.
type Forge interface {
	// Pulls returns the open pull requests whose head is this commit of this repository. There may be
	// several: for other base branches.
	Pulls(ctx context.Context, head Head) ([]Pull, error)
	// HeadSHA returns the commit that a pull request proposes now.
	HeadSHA(ctx context.Context, pull int) (string, error)
	// Files returns the files that a pull request changes, by all of their names. It fails if the
	// forge does not list all of them.
	Files(ctx context.Context, pull int) ([]string, error)
	// Source returns a file as it is in a commit.
	Source(ctx context.Context, sha, path string) ([]byte, error)
	// Comment makes or updates the one comment of its name.
	Comment(ctx context.Context, c Comment) (Posted, error)
	// Check reports the result of a check of a commit.
	Check(ctx context.Context, c Check) (Posted, error)
	// Open opens a pull request, unless there is one already.
	Open(ctx context.Context, p Proposal) (*Pull, error)
}

// Proposal is a pull request that pawl opens, from a branch of the same repository.
type Proposal struct {
	Title, Text string
	Head, Base  string // branches
	SHA         string // last commit of Head
	Draft       bool   // nobody is asked for a review yet
}

// opener is a forge's part of Open.
type opener interface {
	Pulls(ctx context.Context, head Head) ([]Pull, error)
	propose(ctx context.Context, p Proposal) error
}

// open opens a pull request. It looks for one first, and again if nobody knows whether it was opened.
func open(ctx context.Context, at opener, repo string, p Proposal) (*Pull, error) {
	find := func() (*Pull, error) {
		all, err := at.Pulls(ctx, Head{Repo: repo, SHA: p.SHA, Branch: p.Head})
		for _, pull := range all {
			if pull.Base == p.Base {
				return &pull, nil
			}
		}
		return nil, err
	}
	if found, err := find(); found != nil || err != nil {
		return found, err
	}
	proposed := at.propose(ctx, p)
	if proposed != nil && !maybe(proposed) {
		return nil, proposed
	}
	found, err := find()
	if found == nil && err == nil {
		err = cmp.Or(proposed, errors.New("the forge does not list the pull request that it has just opened"))
	}
	return found, err
}

// Head is a commit that a pull request may propose.
type Head struct {
	Repo   string // owner/name; of a fork, where it is one; "": any
	SHA    string
	Branch string // makes the search shorter; "": not known
}

// Pull is an open pull request (a merge request on GitLab).
type Pull struct {
	Number  int
	Head    Head
	Base    string // the branch that it is for
	URL     string
	OwnHead bool // its head is a branch of the same repository
}

// Comment is a comment of a pull request that every later run updates.
type Comment struct {
	Pull int
	Name string // tells several comments of pawl apart
	SHA  string // commit that the text is about
	Run  int64  // a run with a lower number does not overwrite it
	Text string

	Vouched bool // somebody other than the pull request measured it: no claim overwrites it
}

// Check is the result of a check of a commit.
type Check struct {
	Name        string
	SHA         string
	Run         int64
	Conclusion  Conclusion
	Title       string // one line
	Summary     string // Markdown
	URL         string // of more; "": none
	Annotations []Annotation

	Vouched bool // somebody other than the pull request measured it: no claim overwrites it
}

// standing is what decides which of two results about the same commit stays.
type standing struct {
	vouched bool
	run     int64
}

// over reports whether a result stays although another one is there: a claim of the pull request's own
// job never replaces what was measured in its stead, however late it comes.
func (s standing) over(other standing) bool {
	if s.vouched != other.vouched {
		return s.vouched
	}
	return s.run > other.run
}

// vouchedMark ends what pawl writes about a result that is no claim.
const vouchedMark = " vouched"

func (s standing) mark() string {
	if s.vouched {
		return vouchedMark
	}
	return ""
}

// Conclusion is what a check came to.
type Conclusion string

// The conclusions.
const (
	Success Conclusion = "success"
	Failure Conclusion = "failure"
	Neutral Conclusion = "neutral"         // neither
	Waiting Conclusion = "action_required" // a person must do something first
)

// Annotation is a remark about a line of a file.
type Annotation struct {
	Path    string
	Line    int
	Level   Level
	Title   string
	Message string
}

// Level says how grave a remark is.
type Level string

// The levels, as GitHub names them.
const (
	Notice Level = "notice"
	Warn   Level = "warning"
	Fail   Level = "failure"
)

// Posted says what became of a comment or a check.
type Posted string

// What may become of them.
const (
	Created   Posted = "created"
	Updated   Posted = "updated"
	Unchanged Posted = "unchanged" // it was there already
	Stale     Posted = "stale"     // it is about an older commit or run: nothing was written
)

// Options say how a forge is reached.
type Options struct {
	Kind  Kind
	URL   string // address of the API; "": the public forge
	Repo  string // owner/name; a GitLab project may have more parts
	Token string
	App   *App   // GitHub: in place of the token
	Login string // who the token belongs to; "": asked for
	Agent string // such as pawl/0.1.0

	Patience time.Duration // the longest wait for a rate limit; 0: five minutes
	Client   *http.Client  // nil: one with pawl's own timeouts

	sleep func(context.Context, time.Duration) error // for tests
}

var repoName = pattern.New(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)

// IsRepo reports whether a text is owner/name.
func IsRepo(text string) bool { return isProject(text) && strings.Count(text, "/") == 1 }

// isProject is IsRepo for GitLab, where a repository may be in groups of groups.
func isProject(text string) bool { return repoName.MatchString(text) && !strings.Contains(text, "..") }

// IsSHA reports whether a text is a whole commit hash.
func IsSHA(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// New returns a repository on a forge. It sends nothing yet.
func New(opts Options) (Forge, error) {
	if !IsRepo(opts.Repo) && !(opts.Kind == GitLab && isProject(opts.Repo)) {
		return nil, fmt.Errorf("repository %q: expected owner/name", opts.Repo)
	}
	if opts.Token == "" && opts.App == nil {
		return nil, fmt.Errorf("no token for %s: set PAWL_FORGE_TOKEN in the environment", opts.Kind)
	}
	public := map[Kind]string{GitHub: "https://api.github.com", GitLab: "https://gitlab.com/api/v4", Gitea: "https://gitea.com/api/v1"}
	if opts.URL == "" {
		opts.URL = public[opts.Kind]
	}
	c, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	switch opts.Kind {
	case GitHub:
		return newGitHub(c, opts)
	case GitLab:
		c.authorize = func(_ context.Context, r *http.Request) error { r.Header.Set("PRIVATE-TOKEN", opts.Token); return nil }
		return &gitlab{client: c, repo: opts.Repo, login: opts.Login}, nil
	case Gitea:
		c.authorize = func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "token "+opts.Token)
			return nil
		}
		return &gitea{client: c, repo: opts.Repo, at: "/repos/" + opts.Repo, login: opts.Login}, nil
	}
	return nil, fmt.Errorf("forge %q: expected one of %v", opts.Kind, Kinds)
}

// tooLong refuses texts that no forge takes.
func tooLong(what, text string) error {
	if n := len([]rune(text)); n > Most {
		return fmt.Errorf("%s has %d characters: a forge takes at most %d", what, n, Most)
	}
	return nil
}

// same reports whether two repositories are one: forges do not tell upper from lower case.
func same(a, b string) bool { return strings.EqualFold(a, b) }

// errIncomplete says that a forge does not list all files of a pull request.
var errIncomplete = errors.New("the forge does not list all changed files of this pull request, so nobody can say that it changes no workflow: split it")

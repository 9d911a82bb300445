package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// gitea is a repository on Gitea (or Forgejo). Pull requests and comments are described in GitHub's
// words there; check runs do not exist.
type gitea struct {
	*client
	repo, at string
	login    string
}

// perPage is what an instance gives at most, unless its owner allows more.
const perPage = 50

func (g *gitea) Pulls(ctx context.Context, head Head) ([]Pull, error) {
	query := url.Values{"state": {"open"}, "sort": {"recentupdate"}, "limit": {strconv.Itoa(perPage)}}
	return pullsOf(ctx, g.client, g.at+"/pulls", query, head, g.repo)
}

// Open opens a pull request, unless there is one already.
func (g *gitea) Open(ctx context.Context, p Proposal) (*Pull, error) { return open(ctx, g, g.repo, p) }

func (g *gitea) propose(ctx context.Context, p Proposal) error {
	if p.Draft { // by its title, and by nothing else
		p.Title = "WIP: " + p.Title
	}
	return proposeTo(ctx, g.client, g.at, p, nil)
}

func (g *gitea) HeadSHA(ctx context.Context, pull int) (string, error) {
	var p githubPull
	_, err := g.call(ctx, request{method: http.MethodGet, path: g.at + "/pulls/" + strconv.Itoa(pull)}, &p)
	if err == nil && p.State != "open" {
		return "", nil
	}
	return p.Head.SHA, err
}

func (g *gitea) Files(ctx context.Context, pull int) ([]string, error) {
	return filesOf(ctx, g.client, g.at, pull, "limit", perPage)
}

func (g *gitea) Source(ctx context.Context, sha, path string) ([]byte, error) {
	var raw []byte
	_, err := g.call(ctx, request{method: http.MethodGet, path: g.at + "/raw/" + escaped(path), query: url.Values{"ref": {sha}}}, &raw)
	return raw, err
}

func (g *gitea) Comment(ctx context.Context, c Comment) (Posted, error) { return stick(ctx, g, c) }

// giteaBot writes what the token of a workflow writes.
const giteaBot = "gitea-actions"

func (g *gitea) self(ctx context.Context) (string, error) {
	if g.login != "" {
		return g.login, nil
	}
	login, err := loginOf(ctx, g.client)
	if status(err) == http.StatusForbidden && Forbidden(err) {
		login, err = giteaBot, nil
	}
	g.login = login
	return login, err
}

func (g *gitea) notes(ctx context.Context, pull int) ([]note, error) {
	return notesOf(ctx, g.client, g.at+"/issues/"+strconv.Itoa(pull)+"/comments", nil)
}

func (g *gitea) write(ctx context.Context, pull int, id int64, body string) error {
	return writeNote(ctx, g.client, g.at+"/issues/", pull, id, body)
}

func (g *gitea) erase(ctx context.Context, _ int, id int64) error {
	_, err := g.call(ctx, request{method: http.MethodDelete, path: g.at + "/issues/comments/" + strconv.FormatInt(id, 10)}, nil)
	return err
}

// Check sets a commit status. A warning is neither success nor failure; a required status is not
// fulfilled by it.
func (g *gitea) Check(ctx context.Context, c Check) (Posted, error) {
	if !IsSHA(c.SHA) {
		return "", fmt.Errorf("commit %q: expected a whole hash", c.SHA)
	}
	state := map[Conclusion]string{Success: "success", Failure: "failure", Neutral: "warning", Waiting: "pending"}[c.Conclusion]
	body := map[string]string{"state": state, "context": c.Name, "description": described(c)}
	if c.URL != "" {
		body["target_url"] = c.URL
	}
	_, err := g.call(ctx, request{method: http.MethodPost, path: g.at + "/statuses/" + c.SHA, body: body}, nil)
	return Updated, err
}

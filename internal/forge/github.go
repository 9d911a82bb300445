package forge

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// github is a repository on GitHub.
type github struct {
	*client
	repo, at string // owner/name, and where the API has it
	login    string
	app      *appTokens // nil: a token was given
}

// apiVersion is the version of GitHub's API that forgetest/github.json describes. GitHub keeps a
// version for at least two years after the next one.
const apiVersion = "2022-11-28"

// newRepository returns a repository on GitHub.
func newRepository(opts Options) (*github, error) {
	made, err := New(opts)
	if err != nil {
		return nil, err
	}
	g, is := made.(*github)
	if !is {
		return nil, fmt.Errorf("forge %q: expected GitHub", opts.Kind)
	}
	return g, nil
}

func newGitHub(c *client, opts Options) (Forge, error) {
	g := &github{client: c, repo: opts.Repo, at: "/repos/" + opts.Repo, login: opts.Login}
	c.header.Set("Accept", "application/vnd.github+json")
	c.header.Set("X-GitHub-Api-Version", apiVersion)
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+opts.Token)
		return nil
	}
	if opts.App == nil {
		c.authorize = bearer
		return g, nil
	}
	_, name, _ := strings.Cut(opts.Repo, "/")
	tokens, err := newAppTokens(c, *opts.App, g.at, name)
	if err != nil {
		return nil, err
	}
	g.app, c.authorize = tokens, tokens.authorize
	return g, nil
}

// githubPull is a pull request in GitHub's words, which Gitea uses too.
type githubPull struct {
	Number       int    `json:"number"`
	URL          string `json:"html_url"`
	State        string `json:"state"`
	ChangedFiles int    `json:"changed_files"`
	Head         struct {
		SHA  string `json:"sha"`
		Ref  string `json:"ref"`
		Repo *struct {
			Name string `json:"full_name"`
		} `json:"repo"` // nil: the fork was deleted
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
}

// of returns the pull request, if its head is this one.
func (p githubPull) of(head Head, repo string) (Pull, bool) {
	if p.Head.SHA != head.SHA || p.Head.Repo == nil || head.Repo != "" && !same(p.Head.Repo.Name, head.Repo) {
		return Pull{}, false
	}
	return Pull{
		Number: p.Number, URL: p.URL, Base: p.Base.Ref, OwnHead: same(p.Head.Repo.Name, repo),
		Head: Head{Repo: p.Head.Repo.Name, SHA: p.Head.SHA, Branch: p.Head.Ref},
	}, true
}

func (g *github) Pulls(ctx context.Context, head Head) ([]Pull, error) {
	query := url.Values{"state": {"open"}, "sort": {"updated"}, "direction": {"desc"}, "per_page": {"100"}}
	if owner, _, _ := strings.Cut(head.Repo, "/"); head.Branch != "" && owner != "" {
		query.Set("head", owner+":"+head.Branch)
	}
	return pullsOf(ctx, g.client, g.at+"/pulls", query, head, g.repo)
}

func pullsOf(ctx context.Context, c *client, path string, query url.Values, head Head, repo string) ([]Pull, error) {
	var out []Pull
	err := pages(ctx, c, path, query, func(all []githubPull) bool {
		for _, p := range all {
			if found, matches := p.of(head, repo); matches {
				out = append(out, found)
			}
		}
		return true
	})
	return out, err
}

// Open opens a pull request, unless there is one already.
func (g *github) Open(ctx context.Context, p Proposal) (*Pull, error) { return open(ctx, g, g.repo, p) }

func (g *github) propose(ctx context.Context, p Proposal) error {
	return proposeTo(ctx, g.client, g.at, p, map[string]any{"draft": p.Draft})
}

func proposeTo(ctx context.Context, c *client, at string, p Proposal, more map[string]any) error {
	body := map[string]any{"title": p.Title, "body": p.Text, "head": p.Head, "base": p.Base}
	maps.Copy(body, more)
	_, err := c.call(ctx, request{method: http.MethodPost, path: at + "/pulls", body: body, once: true}, nil)
	return err
}

func (g *github) HeadSHA(ctx context.Context, pull int) (string, error) {
	var p githubPull
	_, err := g.call(ctx, request{method: http.MethodGet, path: g.at + "/pulls/" + strconv.Itoa(pull)}, &p)
	if err == nil && p.State != "open" {
		return "", nil // nobody reads a comment of a closed pull request
	}
	return p.Head.SHA, err
}

func (g *github) Files(ctx context.Context, pull int) ([]string, error) {
	return filesOf(ctx, g.client, g.at, pull, "per_page", 100)
}

func filesOf(ctx context.Context, c *client, at string, pull int, size string, perPage int) ([]string, error) {
	path := at + "/pulls/" + strconv.Itoa(pull)
	var p githubPull
	if _, err := c.call(ctx, request{method: http.MethodGet, path: path}, &p); err != nil {
		return nil, err
	}
	var out []string
	listed := 0
	err := pages(ctx, c, path+"/files", url.Values{size: {strconv.Itoa(perPage)}}, func(files []struct {
		Name     string `json:"filename"`
		Previous string `json:"previous_filename"`
	},
	) bool {
		listed += len(files)
		for _, f := range files {
			out = append(out, f.Name)
			if f.Previous != "" {
				out = append(out, f.Previous)
			}
		}
		return true
	})
	if err == nil && listed < p.ChangedFiles { // GitHub ends the list after 3,000
		err = fmt.Errorf("pull request %d changes %d files, %d are listed: %w", pull, p.ChangedFiles, listed, errIncomplete)
	}
	return out, err
}

func (g *github) Source(ctx context.Context, sha, path string) ([]byte, error) {
	var raw []byte
	_, err := g.call(ctx, request{
		method: http.MethodGet, path: g.at + "/contents/" + escaped(path), query: url.Values{"ref": {sha}}, accept: "application/vnd.github.raw+json",
	}, &raw)
	return raw, err
}

// escaped makes a path part of an address.
func escaped(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

func (g *github) Comment(ctx context.Context, c Comment) (Posted, error) { return stick(ctx, g, c) }

// actionsBot writes what the token of a workflow writes. That token may not ask who it is.
const actionsBot = "github-actions[bot]"

func (g *github) self(ctx context.Context) (string, error) {
	if g.login != "" {
		return g.login, nil
	}
	if g.app != nil {
		slug, err := g.app.slug(ctx)
		g.login = slug + "[bot]"
		return g.login, err
	}
	login, err := loginOf(ctx, g.client)
	if status(err) == http.StatusForbidden && Forbidden(err) {
		login, err = actionsBot, nil
	}
	g.login = login
	return login, err
}

// loginOf asks who a token belongs to.
func loginOf(ctx context.Context, c *client) (string, error) {
	var user struct {
		Login    string `json:"login"`
		Username string `json:"username"` // GitLab's word
	}
	if _, err := c.call(ctx, request{method: http.MethodGet, path: "/user"}, &user); err != nil {
		return "", err
	}
	login := cmp.Or(user.Login, user.Username)
	if login == "" {
		return "", errNoSelf
	}
	return login, nil
}

// githubComment is a comment in GitHub's words, which Gitea uses too.
type githubComment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	User *struct {
		Login string `json:"login"`
	} `json:"user"` // nil: it was deleted
}

func (g *github) notes(ctx context.Context, pull int) ([]note, error) {
	return notesOf(ctx, g.client, g.at+"/issues/"+strconv.Itoa(pull)+"/comments", url.Values{"per_page": {"100"}})
}

func notesOf(ctx context.Context, c *client, path string, query url.Values) ([]note, error) {
	var out []note
	err := pages(ctx, c, path, query, func(all []githubComment) bool {
		for _, one := range all {
			if one.User != nil {
				out = append(out, note{one.ID, one.User.Login, one.Body})
			}
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b note) int { return int(a.id - b.id) })
	return out, err
}

func (g *github) write(ctx context.Context, pull int, id int64, body string) error {
	return writeNote(ctx, g.client, g.at+"/issues/", pull, id, body)
}

func writeNote(ctx context.Context, c *client, at string, pull int, id int64, body string) error {
	r := request{method: http.MethodPatch, path: at + "comments/" + strconv.FormatInt(id, 10), body: map[string]string{"body": body}}
	if id == 0 {
		r.method, r.path, r.once = http.MethodPost, at+strconv.Itoa(pull)+"/comments", true
	}
	_, err := c.call(ctx, r, nil)
	return err
}

func (g *github) erase(ctx context.Context, _ int, id int64) error {
	_, err := g.call(ctx, request{method: http.MethodDelete, path: g.at + "/issues/comments/" + strconv.FormatInt(id, 10)}, nil)
	return err
}

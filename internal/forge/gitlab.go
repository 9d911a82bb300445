package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// gitlab is a project on GitLab.
type gitlab struct {
	*client
	repo  string // with all of its groups
	login string
}

// project returns where the API has a project.
func project(repo string) string { return "/projects/" + url.PathEscape(repo) }

func (g *gitlab) merge(pull int) string {
	return project(g.repo) + "/merge_requests/" + strconv.Itoa(pull)
}

type gitlabMerge struct {
	IID     int    `json:"iid"`
	URL     string `json:"web_url"`
	State   string `json:"state"`
	SHA     string `json:"sha"`
	Source  string `json:"source_branch"`
	Target  string `json:"target_branch"`
	From    int64  `json:"source_project_id"`
	To      int64  `json:"target_project_id"`
	Changes string `json:"changes_count"` // "1000+" where there are more than GitLab lists
}

func (g *gitlab) Pulls(ctx context.Context, head Head) ([]Pull, error) {
	var from struct {
		ID int64 `json:"id"`
	}
	if head.Repo != "" {
		if _, err := g.call(ctx, request{method: http.MethodGet, path: project(head.Repo)}, &from); err != nil {
			return nil, err
		}
	}
	query := url.Values{"state": {"opened"}, "order_by": {"updated_at"}, "per_page": {"100"}}
	if head.Branch != "" {
		query.Set("source_branch", head.Branch)
	}
	var out []Pull
	err := pages(ctx, g.client, project(g.repo)+"/merge_requests", query, func(all []gitlabMerge) bool {
		for _, m := range all {
			if m.SHA == head.SHA && (head.Repo == "" || m.From == from.ID) {
				out = append(out, Pull{
					Number: m.IID, URL: m.URL, Base: m.Target, OwnHead: m.From == m.To,
					Head: Head{Repo: head.Repo, SHA: m.SHA, Branch: m.Source},
				})
			}
		}
		return true
	})
	return out, err
}

func (g *gitlab) HeadSHA(ctx context.Context, pull int) (string, error) {
	var m gitlabMerge
	_, err := g.call(ctx, request{method: http.MethodGet, path: g.merge(pull)}, &m)
	if err == nil && m.State != "opened" {
		return "", nil
	}
	return m.SHA, err
}

func (g *gitlab) Files(ctx context.Context, pull int) ([]string, error) {
	var m gitlabMerge
	if _, err := g.call(ctx, request{method: http.MethodGet, path: g.merge(pull)}, &m); err != nil {
		return nil, err
	}
	var out []string
	listed := 0
	err := pages(ctx, g.client, g.merge(pull)+"/diffs", url.Values{"per_page": {"100"}}, func(files []struct {
		New string `json:"new_path"`
		Old string `json:"old_path"`
	},
	) bool {
		listed += len(files)
		for _, f := range files {
			out = append(out, f.New)
			if f.Old != f.New {
				out = append(out, f.Old)
			}
		}
		return true
	})
	if changed, bad := strconv.Atoi(m.Changes); err == nil && (bad != nil || listed < changed) {
		err = fmt.Errorf("merge request %d changes %s files, %d are listed: %w", pull, m.Changes, listed, errIncomplete)
	}
	return out, err
}

func (g *gitlab) Source(ctx context.Context, sha, path string) ([]byte, error) {
	var raw []byte
	_, err := g.call(ctx, request{
		method: http.MethodGet, path: project(g.repo) + "/repository/files/" + url.PathEscape(path) + "/raw", query: url.Values{"ref": {sha}},
	}, &raw)
	return raw, err
}

// Open opens a merge request, unless there is one already.
func (g *gitlab) Open(ctx context.Context, p Proposal) (*Pull, error) { return open(ctx, g, g.repo, p) }

func (g *gitlab) propose(ctx context.Context, p Proposal) error {
	if p.Draft { // by its title, and by nothing else
		p.Title = "Draft: " + p.Title
	}
	body := map[string]any{"title": p.Title, "description": p.Text, "source_branch": p.Head, "target_branch": p.Base, "remove_source_branch": true}
	_, err := g.call(ctx, request{method: http.MethodPost, path: project(g.repo) + "/merge_requests", body: body, once: true}, nil)
	return err
}

func (g *gitlab) Comment(ctx context.Context, c Comment) (Posted, error) { return stick(ctx, g, c) }

func (g *gitlab) self(ctx context.Context) (string, error) {
	if g.login != "" {
		return g.login, nil
	}
	login, err := loginOf(ctx, g.client)
	g.login = login
	return login, err
}

func (g *gitlab) notes(ctx context.Context, pull int) ([]note, error) {
	var out []note
	query := url.Values{"per_page": {"100"}, "sort": {"asc"}, "order_by": {"created_at"}}
	err := pages(ctx, g.client, g.merge(pull)+"/notes", query, func(all []struct {
		ID     int64  `json:"id"`
		Body   string `json:"body"`
		System bool   `json:"system"`
		Author struct {
			Name string `json:"username"`
		} `json:"author"`
	},
	) bool {
		for _, n := range all {
			if !n.System {
				out = append(out, note{n.ID, n.Author.Name, n.Body})
			}
		}
		return true
	})
	slices.SortStableFunc(out, func(a, b note) int { return int(a.id - b.id) })
	return out, err
}

func (g *gitlab) write(ctx context.Context, pull int, id int64, body string) error {
	r := request{method: http.MethodPost, path: g.merge(pull) + "/notes", body: map[string]string{"body": body}, once: true}
	if id != 0 {
		r.method, r.path, r.once = http.MethodPut, r.path+"/"+strconv.FormatInt(id, 10), false
	}
	_, err := g.call(ctx, r, nil)
	return err
}

func (g *gitlab) erase(ctx context.Context, pull int, id int64) error {
	_, err := g.call(ctx, request{method: http.MethodDelete, path: g.merge(pull) + "/notes/" + strconv.FormatInt(id, 10)}, nil)
	return err
}

// Check sets a commit status. What is neither success nor failure is skipped, and canceled on a GitLab
// that does not take skipped here.
func (g *gitlab) Check(ctx context.Context, c Check) (Posted, error) {
	if !IsSHA(c.SHA) {
		return "", fmt.Errorf("commit %q: expected a whole hash", c.SHA)
	}
	state := map[Conclusion]string{Success: "success", Failure: "failed", Neutral: "skipped", Waiting: "pending"}[c.Conclusion]
	body := map[string]string{"state": state, "name": c.Name, "description": described(c)}
	if c.URL != "" {
		body["target_url"] = c.URL
	}
	r := request{method: http.MethodPost, path: project(g.repo) + "/statuses/" + c.SHA, body: body}
	_, err := g.call(ctx, r, nil)
	unchanged := func() bool {
		return status(err) == http.StatusBadRequest && strings.Contains(err.Error(), "Cannot transition")
	}
	if status(err) == http.StatusBadRequest && state == "skipped" && !unchanged() {
		body["state"] = "canceled"
		_, err = g.call(ctx, r, nil)
	}
	if unchanged() {
		return Unchanged, nil
	}
	return Updated, err
}

// described returns what a commit status has room for.
func described(c Check) string {
	const most = 140
	if line := []rune(c.Title); len(line) > most {
		return string(line[:most-1]) + "…"
	}
	return c.Title
}

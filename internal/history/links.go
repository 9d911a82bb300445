package history

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"pawl/internal/git"
	"pawl/internal/pattern"
)

// Forge says where people look at commits.
type Forge struct{ base, commit string }

var scpRemote = pattern.New(`^(?:[^@/:]+@)?([A-Za-z0-9.-]+):([^/].*)$`) // git@host:owner/name.git

// Forge returns where the project's commits can be looked at. A project without a remote, or with one
// that is a folder, has no such place, and its links are empty.
func (h *History) Forge(ctx context.Context) (Forge, error) {
	remote, err := git.RemoteURL(ctx, h.root)
	if errors.Is(err, git.ErrNoRepository) {
		return Forge{}, nil
	}
	return forgeOf(remote), err
}

// forgeOf makes the address of a web page of that of a repository. No password is in it.
func forgeOf(remote string) Forge {
	host, path := "", ""
	if u, err := url.Parse(remote); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" || u.Scheme == "ssh" || u.Scheme == "git") {
		if host, path = u.Host, u.Path; u.Scheme == "ssh" || u.Scheme == "git" {
			host = u.Hostname() // a port of ssh serves no pages
		}
	} else if m := scpRemote.FindStringSubmatch(remote); m != nil && !strings.Contains(remote, "://") {
		host, path = m[1], m[2]
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if host == "" || path == "" {
		return Forge{}
	}
	scheme := "https"
	if strings.HasPrefix(remote, "http://") {
		scheme = "http"
	}
	f := Forge{(&url.URL{Scheme: scheme, Host: host, Path: "/" + path}).String(), "/commit/"}
	if strings.Contains(host, "gitlab") {
		f.commit = "/-/commit/"
	}
	return f
}

// Commit returns the address of a commit's page; "": there is none.
func (f Forge) Commit(sha string) string {
	if f.base == "" || !fullSHA.MatchString(sha) {
		return ""
	}
	return f.base + f.commit + sha
}

// Step is a commit between two points.
type Step struct{ SHA, Author, Subject string }

// Between lists the commits after one of main and up to another, the oldest first.
func (h *History) Between(ctx context.Context, from, to string) ([]Step, error) {
	if !fullSHA.MatchString(from) || !fullSHA.MatchString(to) {
		return nil, fmt.Errorf("list the commits between two runs: expected a commit of each")
	}
	commits, err := git.Between(ctx, h.root, from, to)
	steps := make([]Step, len(commits))
	for i, c := range commits {
		steps[i] = Step{c.SHA, c.Author, c.Subject}
	}
	return steps, err
}

package forge

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// Each forge has its own variables, the general one first; no token of another forge is taken.
func TestCredentials(t *testing.T) {
	all := map[string]string{"GITHUB_TOKEN": "hub", "GH_TOKEN": "gh", "GITLAB_TOKEN": "lab", "GITEA_TOKEN": "tea", appID: "7", appKey: "key"}
	env := func(changes ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(changes); i += 2 {
				if changes[i] == name {
					return changes[i+1]
				}
			}
			return all[name]
		}
	}
	for name, c := range map[string]struct {
		kind   Kind
		getenv func(string) string
		want   string
		app    bool
	}{
		"github":            {GitHub, env(), "hub", true},
		"github's other":    {GitHub, env("GITHUB_TOKEN", ""), "gh", true},
		"an App needs both": {GitHub, env(appKey, ""), "hub", false},
		"gitlab":            {GitLab, env(), "lab", false},
		"gitlab has none":   {GitLab, env("GITLAB_TOKEN", ""), "", false},
		"gitea":             {Gitea, env(), "tea", false},
		"gitea's job":       {Gitea, env("GITEA_TOKEN", ""), "hub", false},
		"the general one":   {GitLab, env("PAWL_FORGE_TOKEN", "pawl"), "pawl", false},
		"no forge":          {"", env("PAWL_FORGE_TOKEN", "pawl"), "pawl", false},
		"no forge, others'": {"", env(), "", false},
	} {
		if token, app := Credentials(c.kind, c.getenv); token != c.want || (app != nil) != c.app {
			t.Errorf("%s: %q, %v", name, token, app)
		}
	}
	for _, name := range []string{"PAWL_FORGE_TOKEN", "PAWL_APP_ID", "PAWL_APP_KEY", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"} {
		if !slices.Contains(SecretVariables(), name) {
			t.Errorf("%s is no secret", name)
		}
	}
}

func TestIsRepo(t *testing.T) {
	for text, want := range map[string]bool{
		"o/r": true, "my-org/ker_nels.cu": true, "": false, "o": false, "o/": false, "/r": false, "o/r/x": false, "o/..": false, "o/r r": false, "o/r?x": false, "o/%2e": false,
	} {
		if IsRepo(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
	for kind, want := range map[Kind]bool{GitHub: false, Gitea: false, GitLab: true} {
		if _, err := New(Options{Kind: kind, Repo: "group/sub/deeper/r", Token: token}); (err == nil) != want {
			t.Errorf("%s: a project in groups of groups: %v", kind, err)
		}
		if _, err := New(Options{Kind: kind, Repo: "group/../r", Token: token}); err == nil {
			t.Errorf("%s: a repository that leaves its group", kind)
		}
	}
}

// A limit of requests says nothing about what a token may do.
func TestForbidden(t *testing.T) {
	refused := &Error{Status: http.StatusForbidden}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"forbidden":         {refused, true},
		"not valid":         {&Error{Status: http.StatusUnauthorized}, true},
		"absent":            {&Error{Status: http.StatusNotFound}, false},
		"too many":          {&limitError{refused, time.Hour, time.Minute}, false},
		"not about a token": {nil, false},
	} {
		if Forbidden(c.err) != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
	if !Absent(&Error{Status: http.StatusNotFound}) || Absent(refused) || Absent(nil) {
		t.Error("what is absent")
	}
}

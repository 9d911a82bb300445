package forge

import (
	"context"
	"errors"
	"net/http"
	"slices"
)

// The variables that a GitHub App is looked for in.
const (
	appID  = "PAWL_APP_ID"
	appKey = "PAWL_APP_KEY" // PEM
)

// tokenVariables has the variables that a token is looked for in, the first that is set.
var tokenVariables = map[Kind][]string{
	GitHub: {"PAWL_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"},
	GitLab: {"PAWL_FORGE_TOKEN", "GITLAB_TOKEN"},
	Gitea:  {"PAWL_FORGE_TOKEN", "GITEA_TOKEN", "GITHUB_TOKEN"}, // its jobs have GitHub's names
	"":     {"PAWL_FORGE_TOKEN"},                                // a git server that is no forge
}

// Credentials returns the token and the App that the environment has for a kind of forge, and nothing
// that belongs to another one.
func Credentials(kind Kind, getenv func(string) string) (token string, app *App) {
	for _, name := range tokenVariables[kind] {
		if token = getenv(name); token != "" {
			break
		}
	}
	if id, key := getenv(appID), getenv(appKey); id != "" && key != "" && kind == GitHub {
		app = &App{ID: id, Key: []byte(key)}
	}
	return token, app
}

// SecretVariables lists all variables that Credentials reads.
func SecretVariables() []string {
	names := []string{appID, appKey}
	for _, kind := range Kinds {
		names = append(names, tokenVariables[kind]...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Settings are what GitHub's API says of a repository that no file of it says.
type Settings struct{ *github }

// NewSettings returns the settings of a repository on GitHub. It sends nothing yet.
func NewSettings(opts Options) (*Settings, error) {
	opts.Kind = GitHub
	g, err := newRepository(opts)
	if err != nil {
		return nil, err
	}
	if g.app != nil {
		g.app.permissions = map[string]string{"actions": "read", "administration": "read"}
	}
	return &Settings{g}, nil
}

// Get reads a path below the repository.
func (s *Settings) Get(ctx context.Context, path string, into any) error {
	_, err := s.call(ctx, request{method: http.MethodGet, path: s.at + path}, into)
	return err
}

// Absent reports whether a forge said that what was asked for does not exist. It also says so where
// the token may not see it.
func Absent(err error) bool { return status(err) == http.StatusNotFound }

// Forbidden reports whether a forge refused a request because of its token. A rate limit is another
// reason.
func Forbidden(err error) bool {
	code := status(err)
	_, limited := errors.AsType[*limitError](err)
	return !limited && (code == http.StatusUnauthorized || code == http.StatusForbidden)
}

package forge

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// App is a GitHub App that is installed in the repository.
type App struct {
	ID  string // its app id or client id
	Key []byte // its private key, as PEM
}

// appTokens gets tokens for one repository with the key of an App.
type appTokens struct {
	client   *client
	id       string
	key      *rsa.PrivateKey
	at, repo string

	permissions map[string]string // of the tokens

	mu      sync.Mutex
	token   string
	expires time.Time
}

var errKey = errors.New("the private key of the GitHub App is not readable: expected the PEM file that GitHub offers for download (RSA)")

func newAppTokens(c *client, app App, at, repo string) (*appTokens, error) {
	block, _ := pem.Decode(app.Key)
	if block == nil || app.ID == "" {
		return nil, errKey
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		rsaKey, is := parsed.(*rsa.PrivateKey)
		if err != nil || !is {
			return nil, errKey
		}
		key = rsaKey
	}
	return &appTokens{client: c, id: app.ID, key: key, at: at, repo: repo, permissions: postPermissions}, nil
}

// jwt returns what proves that pawl has the App's key.
func (a *appTokens) jwt() (string, error) {
	now := a.client.now()
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(9 * time.Minute).Unix(), "iss": a.id})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, sum[:])
	return signed + "." + encode(signature), err
}

// authorize puts a token on a request: of the App for what is about the App, and of its installation
// for everything else.
func (a *appTokens) authorize(ctx context.Context, r *http.Request) error {
	path := strings.TrimPrefix(r.URL.Path, a.client.base.Path)
	made, err := "", error(nil)
	if path == "/app" || path == a.at+"/installation" || strings.HasPrefix(path, "/app/installations/") {
		made, err = a.jwt()
	} else {
		made, err = a.installed(ctx)
	}
	r.Header.Set("Authorization", "Bearer "+made)
	return err
}

// postPermissions are those that writing comments and checks needs.
var postPermissions = map[string]string{"checks": "write", "contents": "read", "pull_requests": "write"}

// installed returns a token for this repository that has the permissions, and nothing else.
func (a *appTokens) installed(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token != "" && a.client.now().Before(a.expires.Add(-time.Minute)) {
		return a.token, nil
	}
	var installation struct {
		ID int64 `json:"id"`
	}
	if _, err := a.client.call(ctx, request{method: http.MethodGet, path: a.at + "/installation"}, &installation); err != nil {
		return "", fmt.Errorf("find the App's installation: %w", err)
	}
	var made struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	_, err := a.client.call(ctx, request{
		method: http.MethodPost, path: fmt.Sprintf("/app/installations/%d/access_tokens", installation.ID),
		body: map[string]any{
			"repositories": []string{a.repo},
			"permissions":  a.permissions,
		},
	}, &made)
	if err != nil {
		return "", fmt.Errorf("get a token of the App: %w", err)
	}
	a.token, a.expires = made.Token, made.Expires
	return a.token, nil
}

// slug returns the App's name in addresses.
func (a *appTokens) slug(ctx context.Context) (string, error) {
	var app struct {
		Slug string `json:"slug"`
	}
	if _, err := a.client.call(ctx, request{method: http.MethodGet, path: "/app"}, &app); err != nil {
		return "", err
	}
	if app.Slug == "" {
		return "", errNoSelf
	}
	return app.Slug, nil
}

package ci

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// HTTPGetter reads a forge's API over HTTP.
type HTTPGetter struct {
	Base  string // such as https://api.github.com
	Token string
}

// maxAnswer is the most that an answer may hold.
const maxAnswer = 16 << 20

// Get reads one path. A redirect is not followed: it could carry the token elsewhere.
func (g HTTPGetter) Get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.Base+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/vnd.github+json")
	request.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	if g.Token != "" {
		request.Header.Set("Authorization", "Bearer "+g.Token)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, ErrAbsent
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, ErrForbidden
	default:
		return nil, fmt.Errorf("%s: the server answered %s", path, answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = fmt.Errorf("%s: more than %d bytes", path, maxAnswer)
	}
	return text, err
}

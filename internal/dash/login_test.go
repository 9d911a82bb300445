package dash

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The form that asks for a token has none in it, though somebody put his into the address.
func TestLoginFormHasNoToken(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = "correct-horse-battery" })
	for address, next := range map[string]string{
		"/?token=correct-horse-battery":                         `value="/"`,
		"/runs?kind=check&token=correct-horse-battery":          `value="/runs?kind=check"`,
		"/runs?%74oken=correct-horse-battery":                   `value="/runs"`,
		"/runs?Token=correct-horse-battery":                     `value="/runs"`,
		"/login?next=/runs%3Ftoken%3Dcorrect-horse-battery%3Bx": `value="/runs"`,
		"/login?next=/runs%3Ftoken%3Dcorrect-horse-battery":     `value="/runs"`,
		"/login?next=/runs&token=correct-horse-battery":         `value="/runs"`,
		"/login?next=%2Fkernel%3Fname%3Dgemm%26config%3Dsquare": `value="/kernel?config=square&amp;name=gemm"`,
	} {
		body := s.get(address, nil).Body.String()
		if strings.Contains(body, "correct-horse-battery") {
			t.Errorf("%s: the form has the token", address)
		}
		if !strings.Contains(body, next) {
			t.Errorf("%s: the form does not lead to %s: %s", address, next, body)
		}
	}
}

// However many wrong tokens wait, the right one does not; the wrong ones are bounded, and leave with their
// visitors.
func TestWrongTokensKeepNobodyOut(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = token })
	send := func(ctx context.Context, given string) *httptest.ResponseRecorder {
		return s.get("/api/v1/notes", func(r *http.Request) {
			*r = *r.WithContext(ctx)
			r.Header.Set("Authorization", "Bearer "+given)
		})
	}
	form := func(given string) *httptest.ResponseRecorder {
		return s.get("/login", func(r *http.Request) {
			r.Method, r.PostForm = http.MethodPost, url.Values{"token": {given}}
			r.Form = r.PostForm
		})
	}
	s.logins.turn <- struct{}{} // nobody's pause ends
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range mostFailed {
		waiting.Go(func() { send(ctx, "wrong") })
	}
	for len(s.logins.queue) < mostFailed {
		runtime.Gosched()
	}
	if w := send(t.Context(), "wrong"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("one wrong token too many: status %d", w.Code)
	}
	if got := form("wrong").Code; got != http.StatusTooManyRequests {
		t.Errorf("one wrong token too many in the form: status %d", got)
	}
	if got := send(t.Context(), token).Code; got != http.StatusOK {
		t.Errorf("the right token: status %d", got)
	}
	if got := form(token).Code; got != http.StatusSeeOther {
		t.Errorf("the right token in the form: status %d", got)
	}
	leave()
	waiting.Wait()
	if n := len(s.logins.queue); n != 0 {
		t.Errorf("%d wrong tokens wait whose visitors have left", n)
	}
}

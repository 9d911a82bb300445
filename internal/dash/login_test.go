package dash

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/dash/dashtest"
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

// A logout ends one login, at the server: of its cookie nobody has any more use.
func TestLogout(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = token })
	with := func(cookie string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie}) }
	}
	log := func(method, cookie string) *httptest.ResponseRecorder {
		return s.get("/logout", func(r *http.Request) { r.Method = method; with(cookie)(r) })
	}
	until := s.Now().Add(time.Hour)
	one, other := s.logins.begin(until), s.logins.begin(until)
	server := httptest.NewServer(s.handler)
	defer server.Close()
	ctx, leave := context.WithTimeout(t.Context(), 30*time.Second)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/live/"+dashtest.LiveRun+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	with(one)(r)
	events, err := http.DefaultClient.Do(r)
	if err != nil || events.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", events, err)
	}
	defer events.Body.Close()
	log(http.MethodGet, one) // somebody's link logs nobody out
	if got := s.get("/", with(one)).Code; got != http.StatusOK {
		t.Errorf("before the logout: status %d", got)
	}
	if w := log(http.MethodPost, one); w.Code != http.StatusSeeOther || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("the logout: status %d, cookies %v", w.Code, w.Result().Cookies())
	}
	for name, c := range map[string]struct {
		cookie string
		want   int
	}{"after the logout": {one, 401}, "another login": {other, 200}, "no cookie": {"", 401}, "a part of one": {other[:25], 401}} {
		if got := s.get("/", with(c.cookie)).Code; got != c.want {
			t.Errorf("%s: status %d, want %d", name, got, c.want)
		}
	}
	if _, err := io.ReadAll(events.Body); err != nil {
		t.Errorf("what followed a run does not end: %v", err)
	}
}

// Logins are bounded, and the oldest gives way.
func TestLoginsAreBounded(t *testing.T) {
	l, now := newLogins(), end
	first := l.begin(now.Add(time.Hour))
	second := l.begin(now.Add(time.Hour))
	for range mostLogins - 1 {
		l.begin(now.Add(time.Hour))
	}
	if n := len(l.in); n != mostLogins || l.has(first, now) || !l.has(second, now) || l.has(second, now.Add(time.Hour)) {
		t.Errorf("%d logins; the first, %v, the second %v", n, l.has(first, now), l.has(second, now))
	}
}

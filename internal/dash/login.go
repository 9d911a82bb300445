package dash

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A visitor proves once that he has the token, in a form, and gets a cookie that lasts some days, or until
// he logs out or this server ends: it is a name by chance, which the server knows. A program sends the
// token with each request, in a header. It is never in an address, where logs and histories would keep it.

const (
	cookieName = "pawl"
	cookieLife = 7 * 24 * time.Hour
	// failPause is how long a wrong token takes, one after another: guessing is slow.
	failPause = 200 * time.Millisecond
	// mostFailed is how many wrong tokens wait at a time.
	mostFailed = 16
	// mostLogins is how many visitors are logged in; the oldest login ends for one more.
	mostLogins = 1000
)

// logins makes wrong tokens wait for each other. The right one waits for none of them.
type logins struct {
	queue chan struct{} // room for those that wait
	turn  chan struct{} // room for the one whose pause runs

	mu sync.Mutex
	in []login // the oldest first
}

// login is a visitor who has sent the token.
type login struct {
	cookie string
	until  time.Time
}

func newLogins() logins {
	return logins{queue: make(chan struct{}, mostFailed), turn: make(chan struct{}, 1)}
}

// begin logs a visitor in, and returns his cookie.
func (l *logins) begin(until time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.in = append(l.in[max(0, len(l.in)-mostLogins+1):], login{rand.Text(), until})
	return l.in[len(l.in)-1].cookie
}

// has reports whether a cookie is one of a visitor who is logged in.
func (l *logins) has(cookie string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.in, func(one login) bool {
		return subtle.ConstantTimeCompare([]byte(one.cookie), []byte(cookie)) == 1 && now.Before(one.until)
	})
}

// end logs the visitor with a cookie out.
func (l *logins) end(cookie string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.in = slices.DeleteFunc(l.in, func(one login) bool { return one.cookie == cookie })
}

var tooManyWrong = &failure{http.StatusTooManyRequests, "too many wrong tokens were sent", "try again in some seconds; the right token is taken at any time"}

// mayRead reports whether a request may be answered: all may where there is no token.
func (s *Server) mayRead(r *http.Request) bool {
	if s.Token == "" || r.URL.Path == "/login" || strings.HasPrefix(r.URL.Path, "/static/") {
		return true
	}
	if given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.right(given)
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && s.logins.has(cookie.Value, s.Now())
}

// right compares a token in a time that does not depend on how much of it is right.
func (s *Server) right(given string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.Token))
	return hmac.Equal(a[:], b[:])
}

// pause makes a visitor who has sent a wrong token wait, until he leaves. It is an error where too many
// wait already.
func (s *Server) pause(ctx context.Context) error {
	select {
	case s.logins.queue <- struct{}{}:
		defer func() { <-s.logins.queue }()
	default:
		return tooManyWrong
	}
	select {
	case s.logins.turn <- struct{}{}:
		defer func() { <-s.logins.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-time.After(failPause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failWrong answers a wrong token that did not wait its whole pause.
func (s *Server) failWrong(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, tooManyWrong) {
		w.Header().Set("Retry-After", "5")
	}
	s.fail(w, r, err)
}

// refuse asks a person for the token, and tells a program how to send it.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		if err := s.pause(r.Context()); err != nil {
			s.failWrong(w, r, err)
			return
		}
	}
	if strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/metrics" || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("WWW-Authenticate", `Bearer realm="pawl"`)
		s.fail(w, r, &failure{http.StatusUnauthorized, "a token is needed", "send it as a header, Authorization: Bearer TOKEN; a browser logs in at /login"})
		return
	}
	next := ""
	if r.Method == http.MethodGet {
		next = r.URL.RequestURI()
	}
	s.loginForm(w, http.StatusUnauthorized, next, "")
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if large, _ := errors.AsType[*http.MaxBytesError](r.ParseForm()); large != nil { // whose length was not announced
		s.fail(w, r, tooLarge)
		return
	}
	next := local(r.FormValue("next"))
	switch {
	case s.Token == "":
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case r.Method != http.MethodPost:
		s.loginForm(w, http.StatusOK, next, "")
	case r.URL.Query().Has("token"):
		s.loginForm(w, http.StatusBadRequest, next, "A token does not belong into an address: logs keep it. Change it.")
	case !s.right(strings.TrimSpace(r.PostFormValue("token"))):
		if err := s.pause(r.Context()); err != nil {
			s.failWrong(w, r, err)
			return
		}
		s.loginForm(w, http.StatusForbidden, next, "That is not the token.")
	default:
		s.setCookie(w, r, s.logins.begin(s.Now().Add(cookieLife)), int(cookieLife.Seconds()))
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if cookie, err := r.Cookie(cookieName); err == nil {
			s.logins.end(cookie.Value)
		}
		s.setCookie(w, r, "", -1)
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// local returns an address of this server, without a token that somebody has put into it; the first page
// for any other.
func local(address string) string {
	if !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") || strings.ContainsAny(address, "\\\r\n\t") {
		return "/"
	}
	u, err := url.Parse(address)
	if err != nil {
		return "/"
	}
	q := u.Query()
	maps.DeleteFunc(q, func(name string, _ []string) bool { return strings.EqualFold(name, "token") })
	u.RawQuery = q.Encode()
	return u.RequestURI()
}

func (s *Server) loginForm(w http.ResponseWriter, status int, next, problem string) {
	s.show(w, status, "login", struct {
		frame
		Next, Problem string
	}{s.frame("Log in", ""), local(next), problem})
}

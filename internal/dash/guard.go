package dash

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// policy is the Content-Security-Policy of every page: what a page needs comes from here, and nothing
// that stands in a page itself runs. data: is for pictures of reports, which stand in the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Limits of a request. A login is the only one with a body.
const (
	maxBody    = 4 << 10
	maxAddress = 8 << 10
)

var tooLarge = &failure{http.StatusRequestEntityTooLarge, "the request is too large", "expected at most 4 KiB"}

// guard lets through requests that may be answered.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard(r)
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.knows(r.Host):
			s.fail(w, r, &failure{http.StatusMisdirectedRequest, fmt.Sprintf("requests to %.80q are not answered", r.Host), "use the address that pawl serve has printed, or start it with --host NAME"})
			return
		case len(r.RequestURI) > maxAddress:
			s.fail(w, r, &failure{http.StatusRequestURITooLong, "the address is too long", ""})
			return
		case !readable(r.URL):
			s.fail(w, r, &failure{http.StatusBadRequest, "the address cannot be read", "expected UTF-8 without control characters, and each & ; % of a value as %26 %3B %25"})
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead && (r.Method != http.MethodPost || r.URL.Path != "/login" && r.URL.Path != "/logout"):
			h.Set("Allow", "GET, HEAD")
			s.fail(w, r, &failure{http.StatusMethodNotAllowed, "nothing can be changed here", ""})
			return
		case r.ContentLength > maxBody:
			s.fail(w, r, tooLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if !s.mayRead(r) {
			s.refuse(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// readable reports whether an address is text, with its parameters: PostgreSQL takes no other bytes, and a
// terminal that shows the log acts on control characters.
func readable(u *url.URL) bool {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil || !isText(u.Path) {
		return false
	}
	for name, values := range q {
		if !isText(name) || !isText(strings.Join(values, "")) {
			return false
		}
	}
	return true
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// knows reports whether a request was sent to this server by a name that is its own. A page of somebody
// else can make its own name mean this machine; it cannot make the browser send another name, and with a
// bare address there is no name to change.
func (s *Server) knows(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if net.ParseIP(name) != nil || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if own, err := os.Hostname(); err == nil && name == strings.ToLower(own) {
		return true
	}
	return slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// HTTP returns the server with limits that a slow or greedy visitor meets.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ConnContext: withVisit,
	}
}

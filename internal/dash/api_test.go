package dash

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Whatever goes wrong below /api, a program is told in JSON, with a status that docs/api.md lists.
func TestAPIErrors(t *testing.T) {
	open, closed := serve(t, nil), serve(t, func(o *Options) { o.Token = token })
	public, gone := serve(t, func(o *Options) { o.Public = true }), serve(t, nil)
	broken := serve(t, nil)
	run := newest(open)
	gone.History.Close()
	host := func(r *http.Request) { r.Host = "evil.example.org" }
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	large := func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("")), maxBody+1 }
	for _, c := range []struct {
		name    string
		of      *tested
		address string
		change  func(*http.Request)
		want    int
	}{
		{"no such address", open, "/api/v1/nothing", nil, 404},
		{"no such version", open, "/api/v2/runs", nil, 404},
		{"no version", open, "/api", nil, 404},
		{"no such run", open, "/api/v1/runs/20260101T000000Z-000000000000", nil, 404},
		{"no such report", open, "/run/20260101T000000Z-000000000000/report.json", nil, 404},
		{"no such series", open, "/api/v1/points?kernel=nothing", nil, 404},
		{"no series", open, "/api/v1/line", nil, 404},
		{"a limit that is no number", open, "/api/v1/runs?limit=x", nil, 400},
		{"a limit that is too high", open, "/api/v1/points?kernel=gemm&config=square&limit=1001", nil, 400},
		{"a pull request that is no number", open, "/api/v1/runs?pull=x", nil, 400},
		{"a path out of the API", open, "/api/v1/runs/..%2f..%2fpawl.yaml", nil, 404},
		{"POST", open, "/api/v1/runs", method(http.MethodPost), 405},
		{"DELETE", open, "/api/v1/runs/" + run, method(http.MethodDelete), 405},
		{"a large body", open, "/api/v1/runs", large, 413},
		{"a long address", open, "/api/v1/runs?q=" + strings.Repeat("x", maxAddress), nil, 414},
		{"another host", open, "/api/v1/runs", host, 421},
		{"no token", closed, "/api/v1/runs", nil, 401},
		{"a wrong token", closed, "/api/v1/series", func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong") }, 401},
		{"a token in the address", closed, "/api/v1/runs?token=" + url.QueryEscape(token), nil, 401},
		{"a whole report in public", public, "/run/" + run + "/report.json", nil, 403},
		{"no history", gone, "/api/v1/runs", nil, 503},
	} {
		w := c.of.get(c.address, c.change)
		var said struct{ Error, Hint string }
		if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || said.Error == "" || w.Code != c.want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d, want %d, as %s: %.200s", c.name, w.Code, c.want, w.Header().Get("Content-Type"), w.Body)
		}
		if h := w.Header(); (h.Get("WWW-Authenticate") != "") != (c.want == 401) || (h.Get("Allow") != "") != (c.want == 405) || (h.Get("Retry-After") != "") != (c.want == 503) || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", c.name, h)
		}
		if strings.Contains(w.Body.String(), token) {
			t.Errorf("%s: the token is in the answer", c.name)
		}
	}
	w := httptest.NewRecorder()
	broken.fail(w, httptest.NewRequest(http.MethodGet, "/api/v1/runs", http.NoBody), errors.New("a page of the database is damaged"))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "damaged") || !json.Valid(w.Body.Bytes()) {
		t.Errorf("an error inside: status %d: %s", w.Code, w.Body)
	}
	if w := open.get("/nowhere", nil); w.Code != 404 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("who asked for a page gets status %d as %s", w.Code, w.Header().Get("Content-Type"))
	}
}

// A login whose length nobody announced is not read beyond its limit.
func TestLoginIsBounded(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = token })
	form := "token=" + url.QueryEscape(token) + "&next=" + strings.Repeat("x", 10<<20)
	body := strings.NewReader(form)
	r := httptest.NewRequest(http.MethodPost, "/login", body)
	r.Host, r.ContentLength = "localhost", -1
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if read := len(form) - body.Len(); w.Code != http.StatusRequestEntityTooLarge || read > 2*maxBody || len(w.Result().Cookies()) != 0 {
		t.Errorf("status %d after %d bytes", w.Code, read)
	}
}

// An answer that panics leaves its room to the next one.
func TestPanicLeavesRoom(t *testing.T) {
	s := serve(t, nil)
	panics := s.cached(func(*Server, *http.Request) (*reply, error) { panic("a mistake") })
	for range mostWork {
		func() {
			defer func() { _ = recover() }()
			panics.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		}()
	}
	if n := len(s.work); n != 0 {
		t.Errorf("%d of %d places are taken by answers that nobody makes", n, mostWork)
	}
}

// The addresses that docs/api.md promises are those that the API names, and all of them answer.
func TestAPIRoot(t *testing.T) {
	s := serve(t, nil)
	var root map[string]any
	s.json("/api/v1/", &root)
	for _, address := range []string{"/api/v1/series", "/api/v1/points?kernel=gemm&config=square", "/api/v1/line?kernel=gemm&config=square", "/api/v1/runs", "/api/v1/runs/" + newest(s), "/api/v1/moved", "/api/v1/notes"} {
		w := s.get(address, nil)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("ETag") == "" || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: status %d as %s", address, w.Code, w.Header().Get("Content-Type"))
		}
		name := strings.TrimSuffix(strings.Split(strings.TrimPrefix(address, "/api/v1/"), "?")[0], "/"+newest(s))
		if _, named := root[name]; !named {
			t.Errorf("the first address does not name %s", name)
		}
	}
}

// What somebody noted about a point stands wherever the point does.
func TestNotesAreEverywhere(t *testing.T) {
	s := serve(t, nil)
	var moved struct{ Moved []apiMove }
	s.json("/api/v1/moved?days=90&q=gemm&way=slower", &moved)
	if len(moved.Moved) == 0 || len(moved.Moved[0].Notes) == 0 {
		t.Fatalf("no note to look for: %+v", moved.Moved)
	}
	point := moved.Moved[0]
	series := "kernel=" + point.Kernel + "&config=" + point.Config
	other := newest(s)
	for _, address := range []string{
		"/kernel?name=" + point.Kernel + "&config=" + point.Config, "/run/" + point.Run, "/moved?days=90", "/moved.atom?days=90", "/moved.txt?days=90", "/api/v1/moved?days=90",
		"/api/v1/points?" + series, "/api/v1/runs/" + point.Run, "/compare?a=" + other + "&b=" + point.Run + "&" + series, "/compare?a=" + point.Run + "&b=" + other,
	} {
		if !strings.Contains(s.page(address), "known: the new mask costs registers") {
			t.Errorf("%s does not have the note", address)
		}
	}
	if page := s.page("/compare?a=" + point.Run + "&b=" + other + "&kernel=softmax&config=rows_4k"); strings.Contains(page, "known: the new mask") {
		t.Error("a note about another kernel is in a comparison")
	}
	chart := s.page("/kernel?name=" + point.Kernel + "&config=" + point.Config)
	for _, part := range []string{"acknowledged: known: the new mask", "<b>acknowledged</b></td><td><a href=\"/compare"} { // the point itself, and the change of level
		if !strings.Contains(chart, part) {
			t.Errorf("the page of the config has no %q", part)
		}
	}
}

package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/forge/forgetest"
)

const (
	headSHA  = "0123456789abcdef0123456789abcdef01234567"
	otherSHA = "89abcdef0123456789abcdef0123456789abcdef"
	token    = "ghs_aSecretThatNobodyMaySee"
)

// forgeServer is a forge on loopback: a handler, faults on demand, and what it was asked for.
type forgeServer struct {
	t        *testing.T
	mu       sync.Mutex
	requests []string
	slept    []time.Duration
	faults   []fault
	handle   func(w http.ResponseWriter, r *http.Request)
	url      string
}

// fault replaces the answer to the next request that matches.
type fault struct {
	request string // such as "POST /repos/o/r/issues/7/comments"; a suffix
	after   bool   // the request has its effect, and only the answer is lost
	answer  func(w http.ResponseWriter)
}

func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request)) *forgeServer {
	t.Helper()
	s := &forgeServer{t: t, handle: handle}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *forgeServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Method + " " + r.URL.EscapedPath()
	s.requests = append(s.requests, name)
	for i, f := range s.faults {
		if strings.HasSuffix(name, f.request) {
			s.faults = slices.Delete(s.faults, i, i+1)
			if f.after {
				s.handle(httptest.NewRecorder(), r)
			}
			f.answer(w)
			return
		}
	}
	s.handle(w, r)
}

// options reach the server, without real pauses.
func (s *forgeServer) options(kind Kind) Options {
	return Options{Kind: kind, URL: s.url, Repo: "o/r", Token: token, Agent: "pawl/test", sleep: func(ctx context.Context, d time.Duration) error {
		s.slept = append(s.slept, d)
		return ctx.Err()
	}}
}

func (s *forgeServer) count(request string) int {
	n := 0
	for _, one := range s.requests {
		if strings.HasSuffix(one, request) {
			n++
		}
	}
	return n
}

// cut ends the connection without an answer.
func cut(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		connection.Close()
	}
}

func answer(code int, body string, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

// githubServer is GitHub on loopback. Every request and every reply is validated against GitHub's own
// description.
type githubServer struct {
	*forgeServer
	api      *forgetest.Description
	login    string // "": the token may not ask
	pulls    []map[string]any
	files    map[int][]string
	comments []map[string]any // of pull request 7
	runs     []map[string]any
	notes    []any // annotations, in order
	nextID   int

	installed int // tokens of the App
	may       any // what the last of them was asked to be allowed
	pageSize  int
	admits    func(path, token string) bool
	pushed    func() // called when the head of a pull request is asked for
}

func newGitHubServer(t *testing.T) *githubServer {
	t.Helper()
	api, err := forgetest.GitHub()
	if err != nil {
		t.Fatal(err)
	}
	s := &githubServer{api: api, login: "octopawl", files: map[int][]string{}, nextID: 100, pageSize: 100, admits: func(_, given string) bool { return given == token }}
	s.forgeServer = serve(t, s.answer)
	s.addPull(7, "o/r", headSHA)
	return s
}

func (s *githubServer) addPull(number int, repo, sha string) {
	o := s.api.Find(http.MethodGet, "/repos/o/r/pulls/1")
	p := o.Like(s.t, map[string]any{"number": number, "state": "open", "changed_files": len(s.files[number]), "requested_teams": []any{}})
	head := p["head"].(map[string]any)
	head["sha"], head["ref"] = sha, "faster"
	head["repo"].(map[string]any)["full_name"] = repo
	s.pulls = append(s.pulls, p)
}

func (s *githubServer) pull(number int) map[string]any {
	for _, p := range s.pulls {
		if p["number"] == number {
			return p
		}
	}
	return nil
}

// forge returns the client under test.
func (s *githubServer) forge() Forge {
	f, err := New(s.options(GitHub))
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

var last2 = regexp.MustCompile(`/(\d+)(/[a-z_]+)?$`)

func (s *githubServer) answer(w http.ResponseWriter, r *http.Request) {
	o, body, err := s.api.Request(r)
	if err != nil {
		s.t.Errorf("request: %v", err)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	if given := r.Header.Get("Authorization"); !s.admits(r.URL.Path, strings.TrimPrefix(given, "Bearer ")) {
		s.t.Errorf("%s %s: authorization %q", r.Method, r.URL.Path, given)
	}
	number := 0
	if parts := last2.FindStringSubmatch(r.URL.Path); parts != nil {
		number, _ = strconv.Atoi(parts[1])
	}
	code, reply := s.act(w, r, o, body, number)
	var raw []byte
	if reply != nil {
		var buf bytes.Buffer
		if err := json.NewEncoder(&buf).Encode(reply); err != nil {
			s.t.Error(err)
		}
		raw = buf.Bytes()
	}
	if err := s.api.Reply(o, code, raw); err != nil {
		s.t.Errorf("reply: %v", err)
	}
	w.WriteHeader(code)
	_, _ = w.Write(raw)
}

func (s *githubServer) act(w http.ResponseWriter, r *http.Request, o *forgetest.Operation, body map[string]any, number int) (int, any) {
	switch r.Method + " " + strings.TrimPrefix(o.Path, "/repos/{owner}/{repo}") {
	case "GET /user":
		if s.login == "" {
			return http.StatusForbidden, map[string]any{"message": "Resource not accessible by integration"}
		}
		return http.StatusOK, o.Like(s.t, map[string]any{"login": s.login})
	case "GET /app":
		return http.StatusOK, o.Like(s.t, map[string]any{"slug": "pawl-judge"})
	case "GET /installation":
		return http.StatusOK, o.Like(s.t, map[string]any{"id": 55})
	case "POST /app/installations/{installation_id}/access_tokens":
		s.installed++
		s.may = body["permissions"]
		return http.StatusCreated, o.Like(s.t, map[string]any{
			"token": fmt.Sprint("ghs_", s.installed), "expires_at": time.Now().Add(time.Duration(s.installed) * time.Hour).Format(time.RFC3339), "permissions": body["permissions"],
		})
	case "GET /pulls":
		simple := make([]any, 0)
		for _, p := range s.pulls {
			if p["state"] == "open" {
				simple = append(simple, o.Like(s.t, map[string]any{"number": p["number"], "head": p["head"], "base": p["base"], "requested_teams": []any{}}))
			}
		}
		return http.StatusOK, s.page(w, r, simple)
	case "POST /pulls":
		s.addPull(s.id(), "o/r", headSHA)
		p := s.pulls[len(s.pulls)-1]
		p["title"], p["body"] = body["title"], body["body"]
		p["head"].(map[string]any)["ref"], p["base"].(map[string]any)["ref"] = body["head"], body["base"]
		return http.StatusCreated, p
	case "GET /pulls/{pull_number}":
		if s.pushed != nil {
			s.pushed()
		}
		return http.StatusOK, s.pull(number)
	case "GET /pulls/{pull_number}/files":
		files := make([]any, 0)
		for _, name := range s.files[number] {
			from, to, renamed := strings.Cut(name, "→")
			if f := o.Like(s.t, map[string]any{"filename": from}); renamed {
				f["filename"], f["previous_filename"], f["status"] = to, from, "renamed"
				files = append(files, f)
			} else {
				files = append(files, f)
			}
		}
		return http.StatusOK, s.page(w, r, files)
	case "GET /issues/{issue_number}/comments":
		all := make([]any, 0)
		for _, c := range s.comments {
			all = append(all, c)
		}
		return http.StatusOK, s.page(w, r, all)
	case "POST /issues/{issue_number}/comments":
		return http.StatusCreated, s.addComment(s.author(), body["body"].(string))
	case "PATCH /issues/comments/{comment_id}":
		for _, c := range s.comments {
			if c["id"] == number {
				c["body"] = body["body"]
				return http.StatusOK, c
			}
		}
	case "DELETE /issues/comments/{comment_id}":
		s.comments = slices.DeleteFunc(s.comments, func(c map[string]any) bool { return c["id"] == number })
		return http.StatusNoContent, nil
	case "GET /commits/{ref}/check-runs":
		found := make([]any, 0)
		for _, run := range s.runs {
			if run["name"] == r.URL.Query().Get("check_name") {
				found = append(found, run)
			}
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		from := min(len(found), 100*max(0, page-1))
		return http.StatusOK, map[string]any{"total_count": len(found), "check_runs": found[from:min(len(found), from+100)]}
	case "POST /check-runs":
		run := o.Like(s.t, map[string]any{"id": s.id(), "name": body["name"], "external_id": body["external_id"], "head_sha": body["head_sha"]})
		run["output"] = map[string]any{"title": nil, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": "https://api.github.com/x"}
		s.runs = append([]map[string]any{run}, s.runs...)
		s.advance(run, body)
		return http.StatusCreated, run
	case "PATCH /check-runs/{check_run_id}":
		for _, run := range s.runs {
			if run["id"] == number {
				s.advance(run, body)
				return http.StatusOK, run
			}
		}
	case "GET /contents/{path}":
		return http.StatusOK, o.Like(s.t, nil)
	}
	s.t.Errorf("%s %s: the server does not know it", r.Method, r.URL.Path)
	return http.StatusNotFound, nil
}

// advance does with a check run what a request says.
func (s *githubServer) advance(run, body map[string]any) {
	for _, name := range []string{"status", "conclusion"} {
		run[name] = body[name]
	}
	to, from := run["output"].(map[string]any), body["output"].(map[string]any)
	to["title"], to["summary"] = from["title"], from["summary"]
	sent, _ := from["annotations"].([]any)
	if len(sent) > perRequest {
		sent = sent[:perRequest] // the others are dropped in silence
	}
	s.notes = append(s.notes, sent...)
	to["annotations_count"] = to["annotations_count"].(int) + len(sent)
}

func (s *githubServer) id() int { s.nextID++; return s.nextID }

func (s *githubServer) author() string {
	switch {
	case s.installed > 0:
		return "pawl-judge[bot]"
	case s.login == "":
		return actionsBot
	}
	return s.login
}

func (s *githubServer) addComment(author, body string) map[string]any {
	o := s.api.Find(http.MethodPost, "/repos/o/r/issues/7/comments")
	c := o.Like(s.t, map[string]any{"id": s.id(), "body": body})
	c["user"].(map[string]any)["login"] = author
	s.comments = append(s.comments, c)
	return c
}

// page returns a page of a list, and says where the next one is.
func (s *githubServer) page(w http.ResponseWriter, r *http.Request, all []any) []any {
	at, _ := strconv.Atoi(r.URL.Query().Get("page"))
	from := min((at-1)*s.pageSize, len(all))
	to := min(from+s.pageSize, len(all))
	if to < len(all) {
		w.Header().Set("Link", fmt.Sprintf(`<%s/x?page=%d>; rel="next", <%s/x?page=9>; rel="last"`, s.url, at+1, s.url))
	}
	return all[from:to]
}

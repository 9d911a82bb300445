package forge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// otherServer is a GitLab or a Gitea on loopback, with one pull request, 7, and the replies that their
// documentation shows, less the fields that pawl does not read.
type otherServer struct {
	*forgeServer
	kind     Kind
	head     string
	files    []string
	comments []map[string]any
	statuses []map[string]any
	oldStyle bool // GitLab: "skipped" is no state of a commit
	pageSize int
}

func newOtherServer(t *testing.T, kind Kind) *otherServer {
	s := &otherServer{kind: kind, head: headSHA, pageSize: 2}
	s.forgeServer = serve(t, s.answer)
	return s
}

func (s *otherServer) forge() Forge {
	f, err := New(s.options(s.kind))
	if err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *otherServer) answer(w http.ResponseWriter, r *http.Request) {
	header, want := "Private-Token", token
	if s.kind == Gitea {
		header, want = "Authorization", "token "+token
	}
	if r.Header.Get(header) != want {
		s.t.Errorf("%s: %s", r.URL, r.Header)
	}
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &body); err != nil {
			s.t.Error(err)
		}
	}
	act := s.gitea
	if s.kind == GitLab {
		act = s.gitlab
	}
	code, reply := act(w, r, body)
	if code == 0 { // it is answered
		return
	}
	if reply == nil && code == http.StatusOK {
		s.t.Errorf("%s %s: the server does not know it", r.Method, r.URL.EscapedPath())
		code = http.StatusNotFound
	}
	w.WriteHeader(code)
	if reply != nil {
		_ = json.NewEncoder(w).Encode(reply)
	}
}

func (s *otherServer) page(w http.ResponseWriter, r *http.Request, all []any) []any {
	at, _ := strconv.Atoi(r.URL.Query().Get("page"))
	from := min((at-1)*s.pageSize, len(all))
	to := min(from+s.pageSize, len(all))
	if to < len(all) {
		w.Header().Set("Link", fmt.Sprintf(`<%s/x?page=%d>; rel="next",<%s/x?page=9>; rel="last"`, s.url, at+1, s.url))
	}
	return append(make([]any, 0), all[from:to]...)
}

func list[T any](items []T) []any {
	out := make([]any, 0, len(items))
	for _, item := range items {
		out = append(out, item)
	}
	return out
}

func (s *otherServer) gitlab(w http.ResponseWriter, r *http.Request, body map[string]any) (int, any) {
	merge := func(iid int, from int64, sha string) map[string]any {
		return map[string]any{
			"id": 100 + iid, "iid": iid, "state": "opened", "sha": sha, "source_branch": "faster", "target_branch": "main", "source_project_id": from,
			"target_project_id": 1, "changes_count": strconv.Itoa(len(s.files)), "web_url": "https://gitlab.example/o/r/-/merge_requests/7",
		}
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/projects/o%2Fr")
	id, _ := strconv.ParseInt(path[strings.LastIndexByte(path, '/')+1:], 10, 64)
	switch {
	case path == "/user":
		return 200, map[string]any{"id": 42, "username": "project_1_bot_x"}
	case path == "":
		return 200, map[string]any{"id": 1, "path_with_namespace": "o/r"}
	case path == "/projects/fork%2Fr":
		return 200, map[string]any{"id": 2, "path_with_namespace": "fork/r"}
	case path == "/merge_requests":
		return 200, s.page(w, r, []any{merge(5, 1, otherSHA), merge(6, 2, s.head), merge(7, 1, s.head), merge(8, 1, s.head)})
	case path == "/merge_requests/7":
		m := merge(7, 1, s.head)
		if len(s.files) > 3 {
			m["changes_count"] = "1000+"
		}
		return 200, m
	case path == "/merge_requests/7/diffs":
		return 200, s.page(w, r, s.changed("new_path", "old_path"))
	case path == "/merge_requests/7/notes" && r.Method == http.MethodGet:
		return 200, s.page(w, r, list(s.comments))
	case path == "/merge_requests/7/notes":
		return 201, s.add("project_1_bot_x", body["body"].(string))
	case strings.HasPrefix(path, "/merge_requests/7/notes/"):
		return s.change(r, http.MethodPut, id, body)
	case path == "/statuses/"+headSHA:
		if body["state"] == "skipped" && s.oldStyle {
			return 400, map[string]any{"error": "state does not have a valid value"}
		}
		if n := len(s.statuses); n > 0 && s.statuses[n-1]["state"] == body["state"] {
			return 400, map[string]any{"message": map[string]any{"state": []string{"Cannot transition status via :drop"}}}
		}
		s.statuses = append(s.statuses, body)
		return 201, map[string]any{"id": 1, "status": body["state"], "name": body["name"]}
	case path == "/repository/files/kernels%2Fk.cu/raw":
		w.WriteHeader(200)
		fmt.Fprint(w, "source at "+r.URL.Query().Get("ref"))
		return 0, nil
	}
	return 200, nil
}

func (s *otherServer) changed(to, from string) []any {
	var out []any
	for _, name := range s.files {
		before, after, renamed := strings.Cut(name, "→")
		file := map[string]any{to: before}
		if s.kind == GitLab {
			file[from] = before
		}
		if renamed {
			file[to], file[from] = after, before
		}
		out = append(out, file)
	}
	return out
}

func (s *otherServer) add(author, body string) map[string]any {
	c := map[string]any{"id": len(s.comments) + 1, "body": body, "author": map[string]any{"username": author}, "user": map[string]any{"login": author}}
	s.comments = append(s.comments, c)
	return c
}

func (s *otherServer) change(r *http.Request, update string, id int64, body map[string]any) (int, any) {
	at := slices.IndexFunc(s.comments, func(c map[string]any) bool { return int64(c["id"].(int)) == id })
	switch {
	case at < 0:
		return 404, map[string]any{"message": "404 Not found"}
	case r.Method == update:
		s.comments[at]["body"] = body["body"]
		return 200, s.comments[at]
	case r.Method == http.MethodDelete:
		s.comments = slices.Delete(s.comments, at, at+1)
		return 204, nil
	}
	return 405, map[string]any{"message": r.Method}
}

func (s *otherServer) gitea(w http.ResponseWriter, r *http.Request, body map[string]any) (int, any) {
	pull := func(number int, repo, sha string) map[string]any {
		return map[string]any{
			"number": number, "state": "open", "html_url": "https://gitea.example/o/r/pulls/7", "changed_files": len(s.files), "base": map[string]any{"ref": "main"},
			"head": map[string]any{"sha": sha, "ref": "faster", "repo": map[string]any{"full_name": repo}},
		}
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/repos/o/r")
	id, _ := strconv.ParseInt(path[strings.LastIndexByte(path, '/')+1:], 10, 64)
	switch {
	case path == "/user":
		return 200, map[string]any{"id": -2, "login": giteaBot}
	case path == "/pulls":
		return 200, s.page(w, r, []any{pull(5, "o/r", otherSHA), pull(6, "fork/r", s.head), pull(7, "o/r", s.head), pull(8, "o/r", s.head)})
	case path == "/pulls/7":
		p := pull(7, "o/r", s.head)
		if len(s.files) > 3 {
			p["changed_files"] = len(s.files) + 1
		}
		return 200, p
	case path == "/pulls/7/files":
		return 200, s.page(w, r, s.changed("filename", "previous_filename"))
	case path == "/issues/7/comments" && r.Method == http.MethodGet:
		return 200, list(s.comments) // not in pages
	case path == "/issues/7/comments":
		return 201, s.add(giteaBot, body["body"].(string))
	case strings.HasPrefix(path, "/issues/comments/"):
		return s.change(r, http.MethodPatch, id, body)
	case path == "/statuses/"+headSHA:
		s.statuses = append(s.statuses, body)
		return 201, map[string]any{"id": 1, "status": body["state"], "context": body["context"]}
	case path == "/raw/kernels/k.cu":
		w.WriteHeader(200)
		fmt.Fprint(w, "source at "+r.URL.Query().Get("ref"))
		return 0, nil
	}
	return 200, nil
}

func TestOtherForges(t *testing.T) {
	for _, kind := range []Kind{GitLab, Gitea} {
		t.Run(string(kind), func(t *testing.T) {
			t.Run("comment", func(t *testing.T) {
				s := newOtherServer(t, kind)
				hidden := Comment{Name: "pawl", SHA: otherSHA}.hidden()
				s.add("stranger", hidden+"trust me")
				for _, text := range []string{"one", "two"} {
					post(t, s.forge(), Comment{Text: text})
				}
				if len(s.comments) != 2 || !strings.HasSuffix(s.comments[1]["body"].(string), "\ntwo") || !strings.HasSuffix(s.comments[0]["body"].(string), "trust me") {
					t.Errorf("comments: %v", s.comments)
				}
				s.add(s.comments[1]["user"].(map[string]any)["login"].(string), hidden+"twice")
				s.faults = []fault{{"GET /user", false, answer(502, "")}, {"comments", false, answer(429, "{}", "Retry-After", "3")}, {"notes", false, answer(429, "{}", "Retry-After", "3")}}
				if got := post(t, s.forge(), Comment{Text: "three"}); got != Updated || len(s.comments) != 2 {
					t.Errorf("%s, comments: %v", got, s.comments)
				}
				s.head = otherSHA
				if got := post(t, s.forge(), Comment{Text: "four"}); got != Stale {
					t.Errorf("after a push: %s", got)
				}
			})
			t.Run("pulls", func(t *testing.T) {
				s := newOtherServer(t, kind)
				for repo, want := range map[string][]int{"o/r": {7, 8}, "fork/r": {6}, "": {6, 7, 8}} {
					found, err := s.forge().Pulls(t.Context(), Head{Repo: repo, SHA: headSHA})
					var got []int
					for _, p := range found {
						got = append(got, p.Number)
						if p.OwnHead != (p.Number != 6) || p.Base != "main" {
							t.Errorf("%+v", p)
						}
					}
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("%s: %v, %v", repo, got, err)
					}
				}
			})
			t.Run("files", func(t *testing.T) {
				s := newOtherServer(t, kind)
				s.files = []string{"a.cu", "b.cu", "old.yml→new.yml"}
				got, err := s.forge().Files(t.Context(), 7)
				if err != nil || !slices.Equal(got, []string{"a.cu", "b.cu", "new.yml", "old.yml"}) {
					t.Errorf("files: %v, %v", got, err)
				}
				s.files = append(s.files, "c.cu")
				if _, err := s.forge().Files(t.Context(), 7); !errors.Is(err, errIncomplete) {
					t.Errorf("a list that ends early: %v", err)
				}
			})
			t.Run("status", func(t *testing.T) {
				s := newOtherServer(t, kind)
				states := map[Conclusion]string{Success: "success", Failure: map[Kind]string{GitLab: "failed", Gitea: "failure"}[kind], Neutral: map[Kind]string{GitLab: "skipped", Gitea: "warning"}[kind]}
				for conclusion, want := range states {
					c := Check{Name: "pawl", SHA: headSHA, Conclusion: conclusion, Title: strings.Repeat("é", 200), URL: "https://example.com"}
					for range 2 {
						if _, err := s.forge().Check(t.Context(), c); err != nil {
							t.Fatal(err)
						}
					}
					made := s.statuses[len(s.statuses)-1]
					if made["state"] != want || len([]rune(made["description"].(string))) != 140 || made["target_url"] != "https://example.com" {
						t.Errorf("%s: %v", conclusion, made)
					}
				}
				if s.oldStyle = true; kind == GitLab {
					if _, err := s.forge().Check(t.Context(), Check{Name: "pawl", SHA: headSHA, Conclusion: Neutral}); err != nil || s.statuses[len(s.statuses)-1]["state"] != "canceled" {
						t.Errorf("an older GitLab: %v, %v", s.statuses, err)
					}
				}
			})
			t.Run("source", func(t *testing.T) {
				got, err := newOtherServer(t, kind).forge().Source(t.Context(), headSHA, "kernels/k.cu")
				if err != nil || string(got) != "source at "+headSHA {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}

func TestOptions(t *testing.T) {
	good := Options{Kind: GitHub, Repo: "o/r", Token: token}
	for name, bad := range map[string]func(*Options){
		"repo":      func(o *Options) { o.Repo = "r" },
		"traversal": func(o *Options) { o.Repo = "o/../x" },
		"three":     func(o *Options) { o.Repo = "o/r/pulls" },
		"token":     func(o *Options) { o.Token = "" },
		"kind":      func(o *Options) { o.Kind = "sourcehut" },
		"address":   func(o *Options) { o.URL = "api.github.com" },
		"user":      func(o *Options) { o.URL = "https://" + token + "@api.github.com" },
	} {
		opts := good
		bad(&opts)
		if _, err := New(opts); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
}

package forge

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// everyForge runs a test on each kind of forge: with its server, and a way to add a comment.
func everyForge(t *testing.T, test func(t *testing.T, s *forgeServer, kind Kind, add func(author, body string))) {
	t.Helper()
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) {
			if kind == GitHub {
				s := newGitHubServer(t)
				test(t, s.forgeServer, kind, func(author, body string) { s.addComment(author, body) })
				return
			}
			s := newOtherServer(t, kind)
			test(t, s.forgeServer, kind, func(author, body string) { s.add(author, body) })
		})
	}
}

// Whose comments are pawl's own: those of the login that was named, else of the token's.
func TestWhoseComments(t *testing.T) {
	everyForge(t, func(t *testing.T, s *forgeServer, kind Kind, add func(author, body string)) {
		mine := Comment{Name: "pawl", SHA: otherSHA}.hidden() + "before"
		add("ann", mine)
		opts := s.options(kind)
		opts.Login = "ann"
		f, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := post(t, f, Comment{Text: "named"}); got != Updated || s.count("GET /user") != 0 {
			t.Errorf("a login that was named: %s, %v", got, s.requests)
		}
		opts.Login = ""
		for _, login := range []string{"ann", "ben"} {
			s.faults = []fault{{"GET /user", false, answer(200, fmt.Sprintf(`{"login": %q, "username": %q}`, login, login))}}
			if f, err = New(opts); err != nil {
				t.Fatal(err)
			}
			want := map[string]Posted{"ann": Updated, "ben": Created}[login]
			if got := post(t, f, Comment{Text: "asked as " + login}); got != want {
				t.Errorf("%s: %s, want %s", login, got, want)
			}
		}
		// Too many requests do not mean that a job's own token asks, which may not.
		s.faults = []fault{{"GET /user", false, answer(403, `{"message": "API rate limit exceeded"}`, "Retry-After", "3600")}}
		if f, err = New(opts); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Comment(t.Context(), Comment{Pull: 7, Name: "pawl", SHA: headSHA, Text: "x"}); err == nil || !strings.Contains(err.Error(), "rate limit") {
			t.Errorf("a limit of requests: %v", err)
		}
	})
}

// Of comments that raced the oldest stays, however long their numbers are.
func TestManyComments(t *testing.T) {
	everyForge(t, func(t *testing.T, s *forgeServer, kind Kind, add func(author, body string)) {
		mine := Comment{Name: "pawl", SHA: otherSHA}.hidden() + "before"
		for range 12 {
			add("somebody", "nice")
		}
		add("ann", mine)
		add("ann", mine)
		opts := s.options(kind)
		opts.Login = "ann"
		f, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		deleted := func() (n int) {
			for _, one := range s.requests {
				if strings.HasPrefix(one, http.MethodDelete) {
					n++
				}
			}
			return n
		}
		if got := post(t, f, Comment{Text: "now"}); got != Updated || deleted() != 1 {
			t.Errorf("%s, %v", got, s.requests)
		}
		if got := post(t, f, Comment{Text: "now"}); got != Unchanged || deleted() != 1 {
			t.Errorf("again: %s, %v", got, s.requests)
		}
	})
}

// A list that never ends is not read for ever.
func TestEndlessList(t *testing.T) {
	for _, kind := range Kinds {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", `<https://forge.example/x>; rel="next"`)
			fmt.Fprint(w, "[]")
		})
		f, err := New(s.options(kind))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Pulls(t.Context(), Head{SHA: headSHA}); err == nil || !strings.Contains(err.Error(), "more than 100 pages") || len(s.requests) != 100 {
			t.Errorf("%s: %v after %d requests", kind, err, len(s.requests))
		}
	}
}

// Without the fork's number GitLab could not tell its merge requests from others'.
func TestGitLabForkUnknown(t *testing.T) {
	s := newOtherServer(t, GitLab)
	s.faults = []fault{{"GET /projects/fork%2Fr", false, answer(404, `{"message": "404 Project Not Found"}`)}}
	if found, err := s.forge().Pulls(t.Context(), Head{Repo: "fork/r", SHA: headSHA}); !Absent(err) || found != nil {
		t.Errorf("%v, %v", found, err)
	}
}

func TestCheckTooLong(t *testing.T) {
	s := newGitHubServer(t)
	if _, err := s.forge().Check(t.Context(), Check{Name: "pawl", SHA: headSHA, Summary: strings.Repeat("x", Most+1)}); err == nil || len(s.requests) != 0 {
		t.Errorf("%v, %v", err, s.requests)
	}
}

// The settings are read by an App that asks for nothing but to read them.
func TestSettingsByApp(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]string{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/repos/o/r/installation":
			fmt.Fprint(w, `{"id": 5}`)
		case "/app/installations/5/access_tokens":
			var body struct {
				Permissions map[string]string `json:"permissions"`
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			maps.Copy(asked, body.Permissions)
			fmt.Fprintf(w, `{"token": "ghs_1", "expires_at": %q}`, time.Now().Add(time.Hour).Format(time.RFC3339))
		case "/repos/o/r/actions/permissions":
			if r.Header.Get("Authorization") != "Bearer ghs_1" || r.Header.Get("X-GitHub-Api-Version") != apiVersion {
				t.Errorf("%v", r.Header)
			}
			fmt.Fprint(w, `{"enabled": true}`)
		}
	})
	opts := s.options(GitHub)
	opts.Token, opts.App = "", &App{ID: "7", Key: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})}
	settings, err := NewSettings(opts)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Enabled bool `json:"enabled"`
	}
	if err := settings.Get(context.Background(), "/actions/permissions", &got); err != nil || !got.Enabled {
		t.Errorf("%+v, %v", got, err)
	}
	for name, may := range asked {
		if may != "read" {
			t.Errorf("asks to %s %s", may, name)
		}
	}
	if asked["administration"] == "" || asked["checks"] != "" {
		t.Errorf("asked for %v", asked)
	}
}

package forge

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDrafts: GitHub has a field for a draft, the others go by its title.
func TestDrafts(t *testing.T) {
	for kind, want := range map[Kind]string{GitHub: "better", GitLab: "Draft: better", Gitea: "WIP: better"} {
		for _, draft := range []bool{true, false} {
			var sent map[string]any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
						t.Error(err)
					}
					w.WriteHeader(http.StatusUnprocessableEntity)
				}
				reply := "[]"
				if strings.HasSuffix(r.URL.Path, "/projects/o/r") && kind == GitLab {
					reply = `{"id": 1}`
				}
				_, _ = w.Write([]byte(reply))
			}))
			at, err := New(Options{Kind: kind, URL: server.URL, Repo: "o/r", Token: "secret-token"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = at.Open(t.Context(), Proposal{Title: "better", Head: "a", Base: "main", SHA: strings.Repeat("1", 40), Draft: draft})
			server.Close()
			title := want
			if !draft {
				title = "better"
			}
			if err == nil || sent["title"] != title || kind == GitHub && sent["draft"] != draft {
				t.Errorf("%s: %v, sent %v", kind, err, sent)
			}
		}
	}
}
